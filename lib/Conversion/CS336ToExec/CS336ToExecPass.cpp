//===- CS336ToExecPass.cpp - Converts functions on tensors to entries -----===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Conversion/CS336ToExec/Passes.h"

#include "EntryBuilder.h"
#include "Variables.h"
#include "cs336/Dialect/CS336/IR/CS336Dialect.h"
#include "cs336/Dialect/CS336/IR/Ports.h"
#include "cs336/Dialect/CS336/IR/Sizes.h"
#include "cs336/Dialect/Exec/IR/Buffers.h"
#include "cs336/Dialect/Exec/IR/ExecOps.h"
#include "cs336/Statistics/PassCounter.h"

namespace cs336 {
#define GEN_PASS_DEF_CONVERTCS336TOEXECPASS
#include "cs336/Conversion/CS336ToExec/Passes.h.inc"
} // namespace cs336

using namespace mlir;
using namespace cs336;

static LogicalResult verifyValues(func::FuncOp function) {
  for (Operation &op : function.getBody().front())
    if (isa_and_present<CS336Dialect>(op.getDialect()))
      for (Type type : op.getResultTypes())
        if (!isStorable(type))
          return op.emitOpError() << "has a result of type " << type << ", must be " << kStorable;
  return success();
}

/// Verifies that an entry point has a mode, one block, values that buffers can store, and argument names that are not
/// symbols of the module.
static LogicalResult verifyFunction(func::FuncOp function, const SymbolTable &symbols) {
  if (!getMode(function))
    return function.emitError() << "@" << function.getSymName()
                                << " computes on tensors but is not an entry point: set its attribute cs336.mode";
  if (!function.getBody().hasOneBlock())
    return function.emitError() << "an entry point must have one block, but @" << function.getSymName() << " has "
                                << function.getBody().getBlocks().size();
  if (failed(verifyValues(function)))
    return failure();
  for (unsigned index = 0; index < function.getNumArguments(); ++index)
    if (symbols.lookup(getPortName(function.getArgAttrDict(index))))
      return function.emitError() << "argument " << index << " has the name of a symbol of the module, '"
                                  << getPortName(function.getArgAttrDict(index)) << "'; rename one of them";
  return success();
}

static bool holdsModelCode(func::FuncOp function) {
  return getMode(function) || function
                                  .walk([](Operation *op) {
                                    return isa_and_present<CS336Dialect>(op->getDialect()) ? WalkResult::interrupt()
                                                                                           : WalkResult::advance();
                                  })
                                  .wasInterrupted();
}

namespace {
struct ConvertCS336ToExecPass : cs336::impl::ConvertCS336ToExecPassBase<ConvertCS336ToExecPass>, CountingPass {
  void runOnOperation() override {
    if (failed(convert()))
      signalPassFailure();
  }

private:
  LogicalResult convert();

  PassCounter numEntries{this, "num-entries", "Number of entry points"};
  PassCounter numKernels{this, "num-kernels", "Number of distinct kernels"};
  PassCounter numLaunches{this, "num-launches", "Number of launches"};
  PassCounter numRequiredCopies{this, "num-required-copies", "Number of copies to layouts that strides cannot express"};
  PassCounter numResultCopies{this, "num-result-copies", "Number of copies of results at the end of an entry"};
  PassCounter numInPlace{this, "num-in-place", "Number of results written over an operand or a variable's old value"};
};
} // namespace

LogicalResult ConvertCS336ToExecPass::convert() {
  ModuleOp module = getOperation();
  SmallVector<func::FuncOp> functions;
  SymbolTable names(module);
  for (auto function : module.getOps<func::FuncOp>()) {
    if (!holdsModelCode(function))
      continue;
    if (failed(verifyFunction(function, names)))
      return failure();
    functions.push_back(function);
  }
  if (functions.empty())
    return success();

  OpBuilder builder(functions.front());
  if (failed(createVariables(functions, builder)))
    return failure();
  SymbolTable symbols(module);
  KernelTable kernels(symbols, functions.front()->getIterator());
  ConversionCounts counts;
  for (func::FuncOp function : functions) {
    builder.setInsertionPointAfter(function);
    if (failed(EntryBuilder(function, kernels, builder, counts).build()))
      return failure();
  }
  for (func::FuncOp function : functions)
    function.erase();

  numEntries += functions.size();
  numKernels += kernels.size();
  numLaunches += counts.launches;
  numResultCopies += counts.resultCopies;
  numRequiredCopies += counts.requiredCopies - counts.resultCopies;
  numInPlace += counts.inPlace;
  return success();
}
