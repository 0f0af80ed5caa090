//===- FuzzContext.h - MLIR's context for many cases ------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_TEST_FUZZ_FUZZCONTEXT_H
#define CS336_TEST_FUZZ_FUZZCONTEXT_H

#include "cs336/Dialect/CS336/IR/CS336Dialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "llvm/ADT/FunctionExtras.h"

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>

namespace cs336::fuzz {

/// Ends the process if `condition` does not hold, which is how a fuzz target reports a fault.
inline void require(bool condition, const std::string &fault) {
  if (condition)
    return;
  std::fprintf(stderr, "FAULT: %s\n", fault.c_str());
  std::abort();
}

/// A context with one thread, which collects errors instead of printing them. Contexts never free types and attributes,
/// so a new one replaces it after some cases.
class FuzzContext {
public:
  /// Returns the context for the next case, without errors. Objects of the previous case must be gone.
  static FuzzContext &renew(llvm::function_ref<void(mlir::DialectRegistry &)> addDialects = {}) {
    constexpr int kCases = 500;
    static std::unique_ptr<FuzzContext> current;
    static int left = 0;
    if (left-- == 0) {
      current.reset(new FuzzContext(addDialects));
      left = kCases;
    }
    current->error.clear();
    return *current;
  }

  mlir::MLIRContext *get() { return &context; }
  bool hasError() const { return !error.empty(); }
  const std::string &getError() const { return error; }

private:
  explicit FuzzContext(llvm::function_ref<void(mlir::DialectRegistry &)> addDialects)
      : context(mlir::MLIRContext::Threading::DISABLED) {
    mlir::DialectRegistry registry;
    registry.insert<CS336Dialect, mlir::func::FuncDialect>();
    if (addDialects)
      addDialects(registry);
    context.appendDialectRegistry(registry);
    context.loadAllAvailableDialects();
    context.getDiagEngine().registerHandler([this](mlir::Diagnostic &diagnostic) {
      if (diagnostic.getSeverity() == mlir::DiagnosticSeverity::Error)
        error += diagnostic.str() + "\n";
    });
  }

  mlir::MLIRContext context;
  std::string error;
};

} // namespace cs336::fuzz

#endif // CS336_TEST_FUZZ_FUZZCONTEXT_H
