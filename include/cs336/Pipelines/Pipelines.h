//===- Pipelines.h - All passes in order ------------------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_PIPELINES_PIPELINES_H
#define CS336_PIPELINES_PIPELINES_H

#include "cs336/Dialect/CS336/IR/CS336Dialect.h"
#include "cs336/Dialect/CS336/Transforms/OptionParsers.h"
#include "cs336/Target/CompiledKernels.h"
#include "mlir/Pass/PassOptions.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/Error.h"

namespace mlir {
class OpPassManager;
} // namespace mlir

namespace cs336 {

/// The arithmetic of matrix products, and what autocast makes of everything else.
enum class ComputeType { FP32, TF32, BF16, FP16 };

/// Which operations share kernels. Each level includes those before it.
enum class Fusion { None, Elementwise, Softmax, Flash, All };

} // namespace cs336

namespace llvm::cl {

template <>
class parser<cs336::ComputeType> : public cs336::EnumParser<cs336::ComputeType> {
public:
  using EnumParser::EnumParser;
};

template <>
class parser<cs336::Fusion> : public cs336::EnumParser<cs336::Fusion> {
public:
  using EnumParser::EnumParser;
};

template <>
class parser<cs336::Target> : public cs336::EnumParser<cs336::Target> {
public:
  using EnumParser::EnumParser;
};

} // namespace llvm::cl

namespace cs336 {

/// As command lines spell it: "fp32", "tf32", "bf16", "fp16".
llvm::StringRef stringifyComputeType(ComputeType type);
/// "none", "elementwise", "softmax", "flash", "all".
llvm::StringRef stringifyFusion(Fusion level);

/// The values of `--dtype` and `--fusion`, wherever these are flags or options.
llvm::cl::ValuesClass getComputeTypeValues();
llvm::cl::ValuesClass getFusionValues();

/// Options of `--cs336-pipeline`.
struct PipelineOptions : mlir::PassPipelineOptions<PipelineOptions> {
  Option<Target> target{*this, "target", llvm::cl::desc("What the program is planned for"), llvm::cl::init(Target::CPU),
                        llvm::cl::values(clEnumValN(Target::CPU, "cpu", "buffers aligned to 64 bytes, a cache line"),
                                         clEnumValN(Target::CUDA, "cuda",
                                                    "to 256 bytes, as device allocations; commands get workspaces"))};
  Option<ComputeType> dtype{*this, "dtype", llvm::cl::desc("Mixed precision"), llvm::cl::init(ComputeType::FP32),
                            getComputeTypeValues()};
  Option<Fusion> fusion{*this, "fusion", llvm::cl::desc("Which operations share kernels"), llvm::cl::init(Fusion::All),
                        getFusionValues()};
  Option<unsigned> checkpoint{
      *this, "checkpoint",
      llvm::cl::desc("Of so many blocks (layers) keep only the input for the backward pass; 0 keeps all activations"),
      llvm::cl::init(0)};
  Option<uint64_t> recomputePointwise{
      *this, "recompute-pointwise",
      llvm::cl::desc("Pointwise results of at least so many bytes are computed again for the backward pass where their "
                     "operands are kept anyway; 0 keeps all. If it is not given: none at a level of fusion, else those "
                     "of 1 MiB, if that saves a twentieth")};
  Option<Mode> mode{*this, "mode", llvm::cl::desc("Mode of functions that have none (see --cs336-name-ports)"),
                    llvm::cl::init(Mode::Forward),
                    llvm::cl::values(clEnumValN(Mode::Forward, "forward", "arguments are inputs, results outputs"),
                                     clEnumValN(Mode::Loss, "loss", "the same; the result is called \"loss\""),
                                     clEnumValN(Mode::ForwardBackward, "forward_backward",
                                                "gradients of the loss for floating-point arguments"))};
  Option<bool> mergeGemms{*this, "merge-gemms", llvm::cl::desc("Pack weights that share an input"),
                          llvm::cl::init(true)};
  Option<bool> weightShadows{*this, "weight-shadows",
                             llvm::cl::desc("Keep rounded copies of parameters, which updates write; from the level "
                                            "elementwise on"),
                             llvm::cl::init(true)};
  Option<bool> fuseEpilogues{
      *this, "fuse-epilogues",
      llvm::cl::desc("Let products add what they are added to, and compute ReLU; from the level elementwise on"),
      llvm::cl::init(true)};
  Option<bool> hoistInvariants{*this, "hoist-invariants",
                               llvm::cl::desc("Compute tables that depend on no input once, in @prepare"),
                               llvm::cl::init(true)};

  /// Sets the options that `text` gives: "dtype=bf16 fusion=all". The error lists the known names of an option or value
  /// that is unknown.
  llvm::Error read(llvm::StringRef text);

  /// Whether the level of fusion is this one or includes it.
  bool fuses(Fusion part) const { return fusion >= part; }
};

/// Adds `--cs336-autocast` to the type; nothing for fp32, which is the types that the program has.
void addAutocast(mlir::OpPassManager &manager, ComputeType type);

/// From a model's functions, in the cs336 dialect, to planned entries in the exec dialect.
void buildPipeline(mlir::OpPassManager &manager, const PipelineOptions &options);

/// The end of the pipeline: from commands in order to a memory plan.
void buildPlanning(mlir::OpPassManager &manager, Target target);

/// Makes `--cs336-pipeline` known to command lines and textual pipelines.
void registerPipelines();

} // namespace cs336

#endif // CS336_PIPELINES_PIPELINES_H
