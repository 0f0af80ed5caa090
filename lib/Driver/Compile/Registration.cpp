//===- Registration.cpp - What the tools know about -----------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Driver/Compile/Registration.h"

#include "cs336/Codegen/Passes.h"
#include "cs336/Conversion/CS336ToExec/CommandLoweringInterface.h"
#include "cs336/Conversion/CS336ToExec/Passes.h"
#include "cs336/Dialect/CS336/IR/CS336Dialect.h"
#include "cs336/Dialect/CS336/Transforms/Passes.h"
#include "cs336/Dialect/Exec/IR/ExecDialect.h"
#include "cs336/Dialect/Exec/Transforms/Passes.h"
#include "cs336/Pipelines/Pipelines.h"
#include "cs336/Target/CPU/Passes.h"
#include "cs336/Target/CUDA/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/InitAllDialects.h"
#include "mlir/InitAllExtensions.h"
#include "mlir/InitAllPasses.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/Support/CommandLine.h"

using namespace mlir;

void cs336::registerDialects(DialectRegistry &registry) {
  registry.insert<CS336Dialect, exec::ExecDialect, func::FuncDialect>();
  registerCommandLoweringModels(registry);
}

void cs336::registerAllDialects(DialectRegistry &registry) {
  mlir::registerAllDialects(registry);
  mlir::registerAllExtensions(registry);
  registerDialects(registry);
}

void cs336::registerPasses() {
  mlir::registerTransformsPasses();
  registerCS336Passes();
  registerCS336CodegenPasses();
  registerCS336TargetCPUPasses();
  registerCS336TargetCUDAPasses();
  registerCS336ToExecPasses();
  exec::registerExecPasses();
  registerPipelines();
}

void cs336::registerAllPasses() {
  mlir::registerAllPasses();
  registerPasses();
}

void cs336::printLocationsByDefault() {
  auto &options = llvm::cl::getRegisteredOptions();
  auto found = options.find("mlir-print-debuginfo");
  assert(found != options.end() && "the printer's options are not registered");
  static_cast<llvm::cl::opt<bool> *>(found->second)->setInitialValue(true);
}
