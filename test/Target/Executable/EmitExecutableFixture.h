//===- EmitExecutableFixture.h - Programs emitted from text -----*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_TEST_TARGET_EXECUTABLE_EMITEXECUTABLEFIXTURE_H
#define CS336_TEST_TARGET_EXECUTABLE_EMITEXECUTABLEFIXTURE_H

#include "cs336/Dialect/Exec/IR/ExecOps.h"
#include "cs336/Target/Executable/EmitExecutable.h"

#include "cs336/runtime/Executable.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"

#include "gtest/gtest.h"

namespace cs336 {

/// Emits programs from text, with a kernel `add` as compiled for a CPU.
class EmitExecutableTest : public testing::Test {
protected:
  EmitExecutableTest() {
    context.loadDialect<exec::ExecDialect>();
    kernels.objects.push_back({"x86_64", {"avx2"}, {0x7f, 'E', 'L', 'F'}});
    kernels.kernels["add"] = CompiledKernel{{KernelImplementation{{{"cs336_add"}}, {0}}}, 2, 1, 4096};
  }

  mlir::FailureOr<std::vector<uint8_t>> Emit(const std::string &text) {
    mlir::ScopedDiagnosticHandler handler(&context, [&](mlir::Diagnostic &diagnostic) {
      if (diagnostic.getSeverity() == mlir::DiagnosticSeverity::Error)
        error = diagnostic.str();
    });
    mlir::OwningOpRef<mlir::ModuleOp> module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
    if (!module)
      return mlir::failure();
    return emitExecutable(*module, kernels);
  }

  mlir::MLIRContext context;
  CompiledKernels kernels;
  std::string error;
};

/// Returns the program as the runtime reads it, or null after a failed expectation.
inline std::shared_ptr<const runtime::Executable> Read(const std::vector<uint8_t> &bytes) {
  auto executable = runtime::Executable::FromBytes(bytes);
  EXPECT_TRUE(executable.ok()) << executable.status();
  return executable.ok() ? *executable : nullptr;
}

} // namespace cs336

#endif // CS336_TEST_TARGET_EXECUTABLE_EMITEXECUTABLEFIXTURE_H
