//===- CopiesToKernelsPass.cpp - Kernels in place of strided copies -------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Dialect/Exec/Transforms/Passes.h"
#include "cs336/Statistics/PassCounter.h"
#include "mlir/IR/SymbolTable.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/xxhash.h"

namespace cs336::exec {
#define GEN_PASS_DEF_COPIESTOKERNELSPASS
#include "cs336/Dialect/Exec/Transforms/Passes.h.inc"
} // namespace cs336::exec

using namespace mlir;
using namespace cs336;
using namespace cs336::exec;

/// Returns the type at offset 0, as kernel signatures contain it. Dense buffers have the type without a layout.
static MemRefType getLayoutOfKernel(MemRefType type) {
  auto [strides, offset] = type.getStridesAndOffset();
  auto dense = MemRefType::get(type.getShape(), type.getElementType());
  if (dense.getStridesAndOffset().first == strides)
    return dense;
  return MemRefType::get(type.getShape(), type.getElementType(), StridedLayoutAttr::get(type.getContext(), 0, strides));
}

namespace {
struct CopiesToKernelsPass : exec::impl::CopiesToKernelsPassBase<CopiesToKernelsPass>, CountingPass {
  void runOnOperation() override {
    SymbolTable symbols(getOperation());
    SmallVector<CopyOp> copies;
    getOperation().walk([&](CopyOp copy) { copies.push_back(copy); });
    for (CopyOp copy : copies)
      replace(copy, symbols);
  }

private:
  void replace(CopyOp copy, SymbolTable &symbols);
  KernelOp getOrCreateKernel(FunctionType signature, Location loc, SymbolTable &symbols);

  DenseMap<FunctionType, KernelOp> kernels;
  PassCounter numCopies{this, "num-copies", "Number of copies that became launches"};
  PassCounter numKernels{this, "num-kernels", "Number of kernels created"};
};
} // namespace

void CopiesToKernelsPass::replace(CopyOp copy, SymbolTable &symbols) {
  MemRefType source = getLayoutOfKernel(cast<MemRefType>(copy.getSource().getType()));
  MemRefType target = getLayoutOfKernel(cast<MemRefType>(copy.getTarget().getType()));
  // Contiguous bytes need no kernel, and kernels write dense buffers only.
  if (source.getLayout().isIdentity() || !target.getLayout().isIdentity())
    return;
  OpBuilder builder(copy);
  KernelOp kernel = getOrCreateKernel(builder.getFunctionType(source, target), copy.getLoc(), symbols);
  LaunchOp::create(builder, copy.getLoc(), kernel.getSymName(), copy.getSource(), copy.getTarget(),
                   /*workspace=*/Value(), copy.getStream());
  copy.erase();
  ++numCopies;
}

KernelOp CopiesToKernelsPass::getOrCreateKernel(FunctionType signature, Location loc, SymbolTable &symbols) {
  KernelOp &kernel = kernels[signature];
  if (kernel)
    return kernel;
  std::string text;
  llvm::raw_string_ostream(text) << signature;
  std::string name = llvm::formatv("copy_{0:x-4}", static_cast<uint16_t>(llvm::xxh3_64bits(text))).str();
  OpBuilder builder(&getContext());
  kernel = KernelOp::create(builder, loc, name, signature);
  auto type = cast<MemRefType>(signature.getInput(0));
  Block &body = kernel.getBody().emplaceBlock();
  Value element = body.addArgument(RankedTensorType::get(type.getShape(), type.getElementType()), loc);
  builder.setInsertionPointToStart(&body);
  exec::YieldOp::create(builder, loc, element);
  // Kernels precede their launches.
  auto entries = getOperation().getOps<EntryOp>();
  symbols.insert(kernel, entries.empty() ? getOperation().getBody()->end() : Block::iterator(*entries.begin()));
  ++numKernels;
  return kernel;
}
