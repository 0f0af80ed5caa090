//===- KernelLibrary.h - Compiles kernels and calls them -------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_TEST_TARGET_CPU_KERNELLIBRARY_H
#define CS336_TEST_TARGET_CPU_KERNELLIBRARY_H

#include "cs336/Target/CPU/CPUTarget.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"
#include <string>
#include <vector>

namespace cs336::test {

/// A context that knows the dialects, and keeps diagnostics instead of printing them.
class Compiler {
public:
  Compiler();

  /// Compiles the text of a module; failure leaves messages in `diagnostics`.
  mlir::FailureOr<CompiledKernels> compile(const std::string &text, const std::string &cpu = "host");

  std::string diagnostics;

private:
  mlir::MLIRContext context;
};

/// A compiled object, loaded into this process.
class KernelLibrary {
public:
  /// Compiles and loads; a failure fails the test.
  explicit KernelLibrary(const std::string &text, const std::string &cpu = "host");
  KernelLibrary(const KernelLibrary &) = delete;
  ~KernelLibrary();

  /// Calls a kernel in `parts` pieces of uneven length, as threads would.
  void run(const std::string &kernel, std::vector<void *> buffers, int64_t parts = 1) const;

  const CompiledKernels &getObject() const { return object; }

private:
  CompiledKernels object;
  void *library = nullptr;
};

} // namespace cs336::test

#endif // CS336_TEST_TARGET_CPU_KERNELLIBRARY_H
