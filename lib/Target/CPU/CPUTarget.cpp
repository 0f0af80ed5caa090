//===- CPUTarget.cpp - Kernels as machine code of the CPU -----------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Target/CPU/CPUTarget.h"

#include "AttentionKernel.h"
#include "EmitKernel.h"
#include "LowerToLLVM.h"
#include "NativeObject.h"
#include "cs336/Codegen/KernelToLinalg.h"
#include "cs336/Target/Executable/KernelSignatures.h"
#include "cs336/runtime/format/KernelSignature.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Threading.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"

using namespace mlir;
using namespace cs336;
using namespace cs336::cpu;

/// Kernels that are compiled as one module: few enough to use all cores, many enough to share the fixed cost of a
/// module.
static constexpr size_t kKernelsPerModule = 4;

/// Loads the dialects before threads start, which must not load them.
static void loadDialects(MLIRContext *context) {
  context->loadDialect<arith::ArithDialect, cf::ControlFlowDialect, func::FuncDialect, linalg::LinalgDialect,
                       LLVM::LLVMDialect, math::MathDialect, memref::MemRefDialect, scf::SCFDialect,
                       tensor::TensorDialect, vector::VectorDialect>();
  registerBuiltinDialectTranslation(*context);
  registerLLVMDialectTranslation(*context);
}

static LogicalResult checkTypes(exec::KernelOp kernel, const InstructionSet &isa) {
  if (!isa.triple.isX86() || isa.has("f16c"))
    return success();
  auto isHalf = [](Type type) { return getElementTypeOrSelf(type).isF16(); };
  WalkResult found = kernel.walk([&](Operation *op) {
    bool usesHalf = llvm::any_of(op->getOperandTypes(), isHalf) || llvm::any_of(op->getResultTypes(), isHalf);
    return usesHalf ? WalkResult::interrupt() : WalkResult::advance();
  });
  if (found.wasInterrupted())
    return kernel.emitOpError("uses f16, whose conversions ")
           << isa.cpu << " has no instructions for; compile for x86-64-v3";
  return success();
}

FailureOr<LLVM::LLVMFuncOp> cs336::lowerKernelToCPULoops(exec::KernelOp kernel, int64_t vectorBits, OpBuilder &builder,
                                                         CompiledKernel &compiled) {
  // A kernel may have the name of a function of libm.
  std::string symbol = ("cs336_" + kernel.getSymName()).str();
  if (std::optional<LLVM::LLVMFuncOp> attention = emitAttention(kernel, symbol, vectorBits, builder, compiled))
    return *attention;
  FailureOr<func::FuncOp> func = lowerKernelToLinalg(kernel, builder);
  if (failed(func))
    return failure();
  SmallVector<Type> operandTypes(kernel.getInTypes());
  llvm::append_range(operandTypes, kernel.getOutTypes());
  FailureOr<KernelPlan> plan = planKernel(*func, operandTypes);
  if (failed(plan))
    return failure();
  compiled = {{KernelImplementation{{{symbol}}, {0}}}, plan->rows, plan->grain, plan->threadBytes};
  LLVM::LLVMFuncOp function = emitKernel(*plan, *func, symbol, vectorBits, builder);
  func->erase();
  return function;
}

/// Lowers a kernel to a function whose symbol ends with the kernel's signature, so that an executable with this code
/// cannot declare another signature.
static LogicalResult lowerKernel(exec::KernelOp kernel, const KernelSignatures &signatures, const InstructionSet &isa,
                                 OpBuilder &builder, CompiledKernel &compiled) {
  FailureOr<LLVM::LLVMFuncOp> function = lowerKernelToCPULoops(kernel, isa.vectorBits, builder, compiled);
  if (failed(function))
    return failure();
  std::string &symbol = compiled.implementations.front().functions.front().symbol;
  symbol += format::ToSymbolSuffix(*signatures.describe(kernel, compiled));
  function->setSymName(symbol);
  return success();
}

/// Compiles some kernels to one object. `compiled` has one element per kernel.
static FailureOr<ObjectFile> compileModule(ArrayRef<exec::KernelOp> kernels, MutableArrayRef<CompiledKernel> compiled,
                                           const KernelSignatures &signatures, const InstructionSet &isa,
                                           TimingScope &timing) {
  exec::KernelOp first = kernels.front();
  OwningOpRef<ModuleOp> module = ModuleOp::create(first.getLoc());
  OpBuilder builder = OpBuilder::atBlockEnd(module->getBody());
  TimingScope lowering = timing.nest("Lower to LLVM dialect");
  for (auto [kernel, place] : llvm::zip_equal(kernels, compiled))
    if (failed(checkTypes(kernel, isa)) || failed(lowerKernel(kernel, signatures, isa, builder, place)))
      return failure();
  if (failed(lowerToLLVM(*module)))
    return failure();
  lowering.stop();
  return compileToObject(*module, isa, timing);
}

FailureOr<CompiledKernels> cs336::compileKernelsForCPU(ModuleOp module, const CPUTargetOptions &options,
                                                       TimingScope *timing) {
  FailureOr<InstructionSet> isa = findInstructionSet(options.cpu, module.getLoc());
  if (failed(isa))
    return failure();
  MLIRContext *context = module.getContext();
  loadDialects(context);
  TimingScope inactive;
  TimingScope &scope = timing ? *timing : inactive;

  const KernelSignatures signatures(module);
  SmallVector<exec::KernelOp> kernels(module.getOps<exec::KernelOp>());
  std::vector<CompiledKernel> compiled(kernels.size());
  std::vector<ObjectFile> objects(llvm::divideCeil(kernels.size(), kKernelsPerModule));
  ParallelDiagnosticHandler diagnostics(context);
  LogicalResult isCompiled = failableParallelForEachN(context, 0, objects.size(), [&](size_t index) -> LogicalResult {
    diagnostics.setOrderIDForThread(index);
    size_t start = index * kKernelsPerModule;
    size_t count = std::min(kKernelsPerModule, kernels.size() - start);
    FailureOr<ObjectFile> object = compileModule(
        ArrayRef(kernels).slice(start, count), MutableArrayRef(compiled).slice(start, count), signatures, *isa, scope);
    diagnostics.eraseOrderIDForThread();
    if (failed(object))
      return failure();
    objects[index] = std::move(*object);
    return success();
  });
  if (failed(isCompiled))
    return failure();

  TimingScope linking = scope.nest("Link");
  FailureOr<std::vector<uint8_t>> image = linkSharedObject(objects, *isa, module.getLoc());
  if (failed(image))
    return failure();
  CompiledKernels result;
  result.objects.push_back({isa->triple.getArchName().str(), isa->features, std::move(*image)});
  for (auto [kernel, place] : llvm::zip_equal(kernels, compiled))
    result.kernels[kernel.getSymName()] = std::move(place);
  return result;
}
