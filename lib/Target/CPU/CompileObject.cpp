//===- CompileObject.cpp - The LLVM dialect to machine code ---------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NativeObject.h"

#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Passes/StandardInstrumentations.h"

using namespace mlir;
using namespace cs336::cpu;

static void setTarget(llvm::Module &module, const InstructionSet &isa, const llvm::TargetMachine &machine) {
  module.setTargetTriple(isa.triple);
  module.setDataLayout(machine.createDataLayout());
  for (llvm::Function &function : module) {
    if (function.isDeclaration())
      continue;
    function.addFnAttr("target-cpu", isa.cpu);
    function.addFnAttr("tune-cpu", isa.tuneFor);
    function.addFnAttr(llvm::Attribute::NoUnwind);
  }
}

static void optimize(llvm::Module &module, llvm::TargetMachine &machine) {
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager callGraph;
  llvm::ModuleAnalysisManager modules;
  llvm::PipelineTuningOptions tuning;
  // Most loops are vectorized and marked already. LLVM's vectorizer is for scatters and for scalar loops.
  tuning.LoopVectorization = true;
  tuning.SLPVectorization = false;
  // Vectors of several registers are unrolled already. Loops that are marked for unrolling are still unrolled.
  tuning.LoopUnrolling = false;
  llvm::PassBuilder builder(&machine, tuning);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(callGraph);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, callGraph, modules);
  builder.buildPerModuleDefaultPipeline(llvm::OptimizationLevel::O3).run(module, modules);
}

FailureOr<ObjectFile> cs336::cpu::compileToObject(ModuleOp module, const InstructionSet &isa, TimingScope &timing) {
  std::string error;
  std::unique_ptr<llvm::TargetMachine> machine = createTargetMachine(isa, error);
  if (!machine)
    return module.emitError("cannot generate code for ") << isa.triple.str() << ": " << error;

  llvm::LLVMContext context;
  TimingScope translation = timing.nest("Translate to LLVM IR");
  std::unique_ptr<llvm::Module> llvmModule = translateModuleToLLVMIR(module, context, "kernels");
  translation.stop();
  if (!llvmModule)
    return module.emitError("kernels could not be translated to LLVM IR");
  setTarget(*llvmModule, isa, *machine);

  TimingScope optimization = timing.nest("Optimize LLVM IR");
  optimize(*llvmModule, *machine);
  optimization.stop();

  TimingScope generation = timing.nest("Generate code");
  ObjectFile object;
  llvm::raw_svector_ostream stream(object);
  llvm::legacy::PassManager codegen;
  if (machine->addPassesToEmitFile(codegen, stream, /*DwoOut=*/nullptr, llvm::CodeGenFileType::ObjectFile))
    return module.emitError("LLVM emits no objects for ") << isa.triple.str();
  codegen.run(*llvmModule);
  return object;
}
