//===- KernelNames.cpp - What kernels are called ---------------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Dialect/Exec/IR/KernelNames.h"

#include "cs336/Dialect/CS336/IR/CS336Interfaces.h"
#include "cs336/Dialect/CS336/IR/CS336Ops.h"
#include "cs336/Support/CompletePrinting.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/xxhash.h"

using namespace mlir;
using namespace cs336;
using namespace cs336::exec;

std::string exec::describeOperations(ArrayRef<Operation *> operations) {
  constexpr size_t kMostNames = 4;
  SmallVector<StringRef> names;
  for (Operation *op : operations) {
    auto fusible = dyn_cast<FusibleOpInterface>(op);
    bool onlyReads = isa<SliceOp>(op) || (fusible && fusible.isRematerializable());
    if (!onlyReads && names.size() < kMostNames)
      names.push_back(op->getName().stripDialect());
  }
  if (names.empty())
    names.push_back(operations.empty() ? StringRef("copy") : operations.back()->getName().stripDialect());
  return llvm::join(names, "_");
}

void exec::nameByContents(KernelOp kernel, StringRef description) {
  // A part of the text that is hashed.
  kernel.setSymName(description);
  std::string text;
  llvm::raw_string_ostream stream(text);
  kernel->print(stream, printCompletely().enableDebugInfo(false).printGenericOpForm().useLocalScope());
  kernel.setSymName(llvm::formatv("{0}_{1:x-4}", description, static_cast<uint16_t>(llvm::xxh3_64bits(text))).str());
}
