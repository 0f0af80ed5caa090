//===- ProgramIR.cpp - Programs in contexts of their own ------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Bench/Program/ProgramIR.h"

#include "cs336/Dialect/Exec/IR/CommandSource.h"
#include "cs336/Driver/Compile/Autotuner.h"
#include "cs336/Driver/Compile/MemoryBudget.h"
#include "cs336/Driver/Compile/Registration.h"
#include "cs336/Frontend/ImportTransformer.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/WithColor.h"

#include "absl/strings/str_cat.h"

using namespace mlir;
using namespace cs336;

/// Follows the location in the model, with the explanation.
static std::string describe(Diagnostic &diagnostic) {
  Location loc = diagnostic.getLocation();
  std::string text = isa<UnknownLoc>(loc) ? "" : exec::printLocation(loc) + ": ";
  absl::StrAppend(&text, diagnostic.str());
  for (Diagnostic &note : diagnostic.getNotes())
    absl::StrAppend(&text, "; ", note.str());
  return text;
}

static absl::Status run(llvm::function_ref<OwningOpRef<ModuleOp>(MLIRContext &)> make,
                        llvm::function_ref<void(StringRef)> warn, llvm::function_ref<LogicalResult(ModuleOp)> use) {
  DialectRegistry registry;
  registerDialects(registry);
  MLIRContext context(registry);
  context.loadDialect<CS336Dialect, func::FuncDialect>();
  std::string message;
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    if (diagnostic.getSeverity() == DiagnosticSeverity::Error)
      absl::StrAppend(&message, message.empty() ? "" : "; ", describe(diagnostic));
    else if (diagnostic.getSeverity() == DiagnosticSeverity::Warning)
      warn(describe(diagnostic));
    else if (diagnostic.getSeverity() == DiagnosticSeverity::Remark)
      llvm::WithColor::remark(llvm::errs(), "cs336-bench") << describe(diagnostic) << "\n";
  });
  OwningOpRef<ModuleOp> module = make(context);
  if (!module || failed(use(*module)))
    return absl::InvalidArgumentError(message);
  return absl::OkStatus();
}

absl::Status bench::withProgram(llvm::function_ref<void(ModuleOp)> build, llvm::function_ref<void(StringRef)> warn,
                                llvm::function_ref<LogicalResult(ModuleOp)> use) {
  auto make = [&](MLIRContext &context) {
    OwningOpRef<ModuleOp> module = ModuleOp::create(UnknownLoc::get(&context));
    build(*module);
    return failed(verify(*module)) ? OwningOpRef<ModuleOp>() : std::move(module);
  };
  return run(make, warn, use);
}

absl::Status bench::withModelIR(const ModelDescription &description, llvm::function_ref<void(StringRef)> warn,
                                llvm::function_ref<LogicalResult(ModuleOp)> use) {
  auto make = [&](MLIRContext &context) {
    FailureOr<OwningOpRef<ModuleOp>> module = importTransformer(description, UnknownLoc::get(&context));
    return failed(module) ? OwningOpRef<ModuleOp>() : *std::move(module);
  };
  return run(make, warn, use);
}

absl::Status bench::withFittedModelIR(const ModelDescription &description, const CompileOptions &options,
                                      llvm::function_ref<void(StringRef)> warn,
                                      llvm::function_ref<LogicalResult(ModuleOp, const CompileOptions &)> use) {
  absl::Status unmet;
  absl::Status status = withModelIR(description, warn, [&](ModuleOp module) {
    // Workspaces of tuned schedules count towards the budget.
    FailureOr<CompileOptions> tuned = tuneSchedules(module, options);
    if (failed(tuned))
      return failure();
    FailureOr<BudgetFit> fit = findBudgetFit(module, *tuned);
    if (failed(fit))
      return failure();
    if (fit->whyNot.empty())
      return use(module, fit->options);
    unmet = absl::ResourceExhaustedError(fit->whyNot);
    return success();
  });
  status.Update(unmet);
  return status;
}

absl::Status bench::withIR(StringRef text, llvm::function_ref<void(StringRef)> warn,
                           llvm::function_ref<LogicalResult(ModuleOp)> use, StringRef name) {
  return run([&](MLIRContext &context) { return parseSourceString<ModuleOp>(text, &context, name); }, warn, use);
}

absl::StatusOr<std::shared_ptr<const runtime::Executable>>
bench::compileProgram(llvm::function_ref<void(ModuleOp)> build, const CompileOptions &options) {
  auto warn = [](StringRef text) { llvm::WithColor::warning(llvm::errs(), "cs336-bench") << text << "\n"; };
  FailureOr<std::vector<uint8_t>> bytes = failure();
  absl::Status status = withProgram(build, warn, [&](ModuleOp module) {
    bytes = compileModule(module, options);
    return success(succeeded(bytes));
  });
  if (!status.ok())
    return status;
  return runtime::Executable::FromBytes(*bytes);
}
