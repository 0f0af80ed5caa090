//===- LowerToLLVM.cpp - Kernels' loops to the LLVM dialect ----------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LowerToLLVM.h"

#include "MathApproximation.h"
#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/FuncToLLVM/ConvertFuncToLLVM.h"
#include "mlir/Conversion/LLVMCommon/ConversionTarget.h"
#include "mlir/Conversion/LLVMCommon/MemRefBuilder.h"
#include "mlir/Conversion/LLVMCommon/Pattern.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/MathToLibm/MathToLibm.h"
#include "mlir/Conversion/MemRefToLLVM/MemRefToLLVM.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Conversion/VectorToLLVM/ConvertVectorToLLVM.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/Transforms/LoweringPatterns.h"
#include "mlir/Transforms/DialectConversion.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;

namespace {
/// Selects bf16 as an integer, which needs no registers of bf16.
struct SelectBits : OpRewritePattern<arith::SelectOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(arith::SelectOp op, PatternRewriter &rewriter) const override {
    if (!getElementTypeOrSelf(op.getType()).isBF16())
      return failure();
    Type bitsType = rewriter.getI16Type();
    if (auto vector = dyn_cast<VectorType>(op.getType()))
      bitsType = vector.clone(bitsType);
    auto getBits = [&](Value value) -> Value {
      return arith::BitcastOp::create(rewriter, op.getLoc(), bitsType, value);
    };
    Value bits = arith::SelectOp::create(rewriter, op.getLoc(), op.getCondition(), getBits(op.getTrueValue()),
                                         getBits(op.getFalseValue()));
    rewriter.replaceOpWithNewOp<arith::BitcastOp>(op, op.getType(), bits);
    return success();
  }
};

/// Returns the memory at an operand's address.
struct ConvertOperand : ConvertOpToLLVMPattern<UnrealizedConversionCastOp> {
  using ConvertOpToLLVMPattern::ConvertOpToLLVMPattern;

  LogicalResult matchAndRewrite(UnrealizedConversionCastOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    if (!isOperand(op))
      return failure();
    auto type = cast<MemRefType>(op.getResult(0).getType());
    Value address = adaptor.getInputs().front();
    Value memory = MemRefDescriptor::fromStaticShape(rewriter, op.getLoc(), *getTypeConverter(), type, address);
    rewriter.replaceOp(op, memory);
    return success();
  }

  static bool isOperand(UnrealizedConversionCastOp op) {
    return isa<MemRefType>(op.getResult(0).getType()) && isa<LLVM::LLVMPointerType>(op.getOperand(0).getType());
  }
};
} // namespace

/// Expands functions and conversions without an instruction into arithmetic.
static LogicalResult expandOperations(ModuleOp module) {
  RewritePatternSet patterns(module.getContext());
  cs336::cpu::populateMathApproximationPatterns(patterns);
  arith::populateExpandBFloat16Patterns(patterns);
  vector::populateVectorStepLoweringPatterns(patterns);
  patterns.add<SelectBits>(module.getContext());
  return applyPatternsGreedily(module, std::move(patterns));
}

static LogicalResult convertLoops(ModuleOp module) {
  RewritePatternSet patterns(module.getContext());
  populateSCFToControlFlowConversionPatterns(patterns);
  ConversionTarget target(*module.getContext());
  target.addIllegalDialect<scf::SCFDialect>();
  target.markUnknownOpDynamicallyLegal([](Operation *) { return true; });
  return applyPartialConversion(module, target, std::move(patterns));
}

static LogicalResult convertOperations(ModuleOp module) {
  MLIRContext *context = module.getContext();
  LLVMTypeConverter converter(context);
  RewritePatternSet patterns(context);
  arith::populateArithToLLVMConversionPatterns(converter, patterns);
  cf::populateControlFlowToLLVMConversionPatterns(converter, patterns);
  // Functions without an LLVM intrinsic (the error function) become calls.
  populateMathToLLVMConversionPatterns(converter, patterns, /*approximateLog1p=*/false, /*benefit=*/2);
  populateMathToLibmConversionPatterns(patterns, /*benefit=*/1);
  populateFuncToLLVMConversionPatterns(converter, patterns);
  populateFinalizeMemRefToLLVMConversionPatterns(converter, patterns);
  populateVectorToLLVMConversionPatterns(converter, patterns);
  patterns.add<ConvertOperand>(converter);
  LLVMConversionTarget target(*context);
  target.addLegalOp<ModuleOp>();
  target.addDynamicallyLegalOp<UnrealizedConversionCastOp>(
      [](UnrealizedConversionCastOp op) { return !ConvertOperand::isOperand(op); });
  return applyFullConversion(module, target, std::move(patterns));
}

LogicalResult cs336::cpu::lowerToLLVM(ModuleOp module) {
  if (failed(expandOperations(module)) || failed(convertLoops(module)) || failed(convertOperations(module)))
    return module.emitError("a kernel could not be lowered to the LLVM dialect");
  return success();
}
