//===- KernelDump.cpp - Files with the text and code of kernels -----------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelDump.h"

#include "cs336/Support/WriteOutput.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"

using namespace mlir;
using namespace cs336;
using namespace cs336::cuda;

/// Returns `folder`/kernels/NAME.EXTENSION
static std::string getKernelPath(StringRef folder, StringRef name, StringRef extension) {
  SmallString<128> path(folder);
  llvm::sys::path::append(path, "kernels", name + "." + extension);
  return path.str().str();
}

std::string cuda::getTextPath(StringRef folder, const CUDAKernel &kernel, size_t implementation) {
  bool isOnly = kernel.implementations.size() == 1;
  return getKernelPath(folder, kernel.name,
                       isOnly ? "cu" : kernel.implementations[implementation].architectures.front() + ".cu");
}

static LogicalResult writeFile(StringRef path, Location loc, llvm::function_ref<void(raw_ostream &)> print) {
  if (llvm::Error error = writeDump(path, print))
    return emitError(loc) << "cannot write '" << path << "': " << llvm::toString(std::move(error));
  return success();
}

LogicalResult cuda::dumpTexts(ArrayRef<CUDAKernel> kernels, StringRef folder, Location loc) {
  for (const CUDAKernel &kernel : kernels)
    for (auto [index, implementation] : llvm::enumerate(kernel.implementations))
      if (failed(writeFile(getTextPath(folder, kernel, index), loc,
                           [&](raw_ostream &stream) { stream << implementation.text; })))
        return failure();
  return success();
}

static void printTable(ArrayRef<KernelCubin> cubins, raw_ostream &stream) {
  constexpr llvm::StringLiteral row = "{0,-12} {1,9} {2,9} {3,9} {4,10} {5,8}  {6}\n";
  stream << llvm::formatv(row.data(), "architecture", "blocks", "threads", "shared", "registers", "spilled",
                          "function");
  for (const KernelCubin &dumped : cubins) {
    for (const KernelFunction &function : dumped.kernel->implementations[dumped.implementation].functions) {
      auto compiled = llvm::find_if(dumped.cubin.kernels,
                                    [&](const Cubin::Kernel &kernel) { return kernel.name == function.symbol; });
      bool isKnown = compiled != dumped.cubin.kernels.end();
      stream << llvm::formatv(row.data(), dumped.cubin.architecture, function.blocks, function.threads,
                              function.sharedBytes, isKnown ? std::to_string(compiled->registers) : "?",
                              isKnown ? std::to_string(compiled->spilledBytes) : "?", function.symbol);
    }
  }
}

LogicalResult cuda::dumpCubins(ArrayRef<KernelCubin> cubins, StringRef folder, Location loc) {
  for (const KernelCubin &dumped : cubins) {
    std::string path = getKernelPath(folder, dumped.kernel->name, dumped.cubin.architecture + ".cubin");
    if (failed(writeFile(path, loc, [&](raw_ostream &stream) {
          stream.write(dumped.cubin.image.data(), dumped.cubin.image.size());
        })))
      return failure();
  }
  SmallString<128> table(folder);
  llvm::sys::path::append(table, "kernels.txt");
  return writeFile(table, loc, [&](raw_ostream &stream) { printTable(cubins, stream); });
}
