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
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/LogicalResult.h"

namespace mlir {
class OpPassManager;
} // namespace mlir

namespace cs336 {

/// The arithmetic of matmuls, and the types that autocast gives all other operations.
enum class ComputeType { FP32, TF32, BF16, FP16 };

/// The operations that may share kernels. Each level includes those before it.
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

/// Returns the spelling of command lines: "fp32", "tf32", "bf16" or "fp16".
llvm::StringRef stringifyComputeType(ComputeType type);
/// Returns "none", "elementwise", "softmax", "flash" or "all".
llvm::StringRef stringifyFusion(Fusion level);

/// Returns "per-parameter", "flat", "overlap", "bucket", "zero1" or "fsdp".
llvm::StringRef stringifyDistributeMode(DistributeMode mode);

/// Return the values of `--dtype`, `--fusion` and `--distribute`, for flags and options.
llvm::cl::ValuesClass getComputeTypeValues();
llvm::cl::ValuesClass getDistributeValues();
llvm::cl::ValuesClass getFusionValues();

/// A place in `--cs336-pipeline` where an option adds passes: its text is a pass pipeline on the module.
struct ExtraPasses : mlir::detail::PassOptions::Option<std::string> {
  /// `description` must outlive the option, which keeps a reference. String literals do.
  ExtraPasses(mlir::detail::PassOptions &parent, llvm::StringRef name, llvm::StringRef description)
      : Option(parent, name, llvm::cl::desc(description)) {}
};

/// Options of `--cs336-pipeline`.
struct PipelineOptions : mlir::PassPipelineOptions<PipelineOptions> {
  Option<Target> target{
      *this, "target", llvm::cl::desc("Target that the program is planned for"), llvm::cl::init(Target::CPU),
      llvm::cl::values(clEnumValN(Target::CPU, "cpu", "buffers aligned to 64 bytes, a cache line"),
                       clEnumValN(Target::CUDA, "cuda",
                                  "buffers aligned to 256 bytes, as device allocations; commands have workspaces"))};
  Option<ComputeType> dtype{*this, "dtype", llvm::cl::desc("Mixed precision"), llvm::cl::init(ComputeType::FP32),
                            getComputeTypeValues()};
  Option<Fusion> fusion{*this, "fusion", llvm::cl::desc("Operations that may share kernels"),
                        llvm::cl::init(Fusion::All), getFusionValues()};
  Option<unsigned> checkpoint{
      *this, "checkpoint",
      llvm::cl::desc("Number of consecutive blocks (layers) per kept input; 0 keeps all activations"),
      llvm::cl::init(0)};
  Option<double> selectiveCheckpoint{
      *this, "selective-checkpoint",
      llvm::cl::desc("Part of the steps of --cs336-selective-checkpoint, from 0 to 1: activations that the backward "
                     "pass computes again, the cheapest per byte first"),
      llvm::cl::init(0)};
  Option<std::string> memoryBudget{
      *this, "memory-budget",
      llvm::cl::desc("Memory that the planned program may need, such as 30GiB, or auto: of the device. Compilation "
                     "selects the smallest selective-checkpoint that fits. Tools that run or write programs have this "
                     "option; a pipeline alone, as in cs336-opt, refuses it"),
      llvm::cl::init("")};
  Option<uint64_t> recomputePointwise{
      *this, "recompute-pointwise",
      llvm::cl::desc(
          "Size in bytes of the smallest element-wise result that the backward pass computes again from kept "
          "operands; 0 keeps all results. Default: 0 with fusion; without fusion 1 MiB, if the largest live "
          "set shrinks by 5 %")};
  Option<int64_t> worldSize{*this, "world-size",
                            llvm::cl::desc("Number of ranks that run the program together (see --cs336-distribute)"),
                            llvm::cl::init(1)};
  Option<DistributeMode> distribute{*this, "distribute",
                                    llvm::cl::desc("Exchange of gradients between ranks. Requires world-size above 1"),
                                    llvm::cl::init(DistributeMode::Bucket), getDistributeValues()};
  Option<BucketSize> bucketMiB{*this, "bucket-mib",
                               llvm::cl::desc("Size in MiB at which a bucket of gradients is complete; 0: a twentieth "
                                              "of all gradients, 25 to 256; auto: chosen by predicted times")};
  Option<int64_t> prefetch{*this, "prefetch",
                           llvm::cl::desc("Number of layers by which zero1 and fsdp gather parameters ahead; -1: all "
                                          "layers for a backward pass of zero1, otherwise 1"),
                           llvm::cl::init(-1)};
  Option<int64_t> gatherLayers{
      *this, "gather-layers",
      llvm::cl::desc("Maximum number of layers that one collective gathers for a backward pass of zero1"),
      llvm::cl::init(4)};
  Option<double> factors{
      *this, "factors",
      llvm::cl::desc("Compute bf16 gradients of zero1, fsdp and bucket from the factors of all ranks if a rank then "
                     "sends at most so many times the bytes; 0: never. Default: 2.5, or 2 for fsdp, if fuse-updates "
                     "has an effect, otherwise 0")};
  Option<Mode> mode{*this, "mode", llvm::cl::desc("Mode of functions that have none (see --cs336-name-ports)"),
                    llvm::cl::init(Mode::Forward),
                    llvm::cl::values(clEnumValN(Mode::Forward, "forward", "arguments are inputs, results outputs"),
                                     clEnumValN(Mode::Loss, "loss", "as forward; the result is called \"loss\""),
                                     clEnumValN(Mode::ForwardBackward, "forward_backward",
                                                "gradients of the loss for floating-point arguments"))};
  Option<bool> mergeGemms{*this, "merge-gemms", llvm::cl::desc("Pack weights that share an input"),
                          llvm::cl::init(true)};
  Option<bool> weightShadows{*this, "weight-shadows",
                             llvm::cl::desc("Keep copies of parameters in the low type, which updates write. Requires "
                                            "--fusion elementwise or higher"),
                             llvm::cl::init(true)};
  Option<unsigned> gatherAhead{
      *this, "gather-ahead",
      llvm::cl::desc("Maximum percentage of the bytes that zero1 gathers at the end of the step before. Default: "
                     "100 for the target cuda, and 0 for the target cpu")};
  Option<bool> fuseEpilogues{
      *this, "fuse-epilogues",
      llvm::cl::desc(
          "Compute additions, biases and ReLUs in the epilogues of GEMMs. Requires elementwise fusion or higher"),
      llvm::cl::init(true)};
  Option<bool> fuseUpdates{
      *this, "fuse-updates",
      llvm::cl::desc("Compute gradients in the launches that update parameters by them. Requires the target cuda, "
                     "elementwise fusion or higher, and architectures with wgmma"),
      llvm::cl::init(true)};
  Option<bool> hoistInvariants{*this, "hoist-invariants",
                               llvm::cl::desc("Compute tables that depend on no input once, in @prepare"),
                               llvm::cl::init(true)};
  Option<std::string> tunedSchedules{
      *this, "tuned-schedules",
      llvm::cl::desc("File of tuned schedules for --cuda-select-schedules (default: none). Requires the target cuda"),
      llvm::cl::init("")};

  // In the order of the pipeline, whose sections in Pipelines.cpp they are named after.
  ExtraPasses extraBeforeRecognition{*this, "extra-before-recognition",
                                     "Passes to run on functions whose ports have names and whose indices are bounded"};
  ExtraPasses extraAfterRecognition{*this, "extra-after-recognition",
                                    "Passes to run after attention and softmax were recognised"};
  ExtraPasses extraAfterAutocast{*this, "extra-after-autocast",
                                 "Passes to run after mixed precision, merged GEMMs and the scaled loss"};
  ExtraPasses extraAfterDecomposition{*this, "extra-after-decomposition",
                                      "Passes to run on primitives, before differentiation"};
  ExtraPasses extraAfterDifferentiation{*this, "extra-after-differentiation",
                                        "Passes to run after gradients, and what they recompute, were added"};
  ExtraPasses extraAfterOptimizer{*this, "extra-after-optimizer",
                                  "Passes to run on the whole step, before anything is fused"};
  ExtraPasses extraAfterFusion{*this, "extra-after-fusion", "Passes to run on the last IR in the cs336 dialect"};
  ExtraPasses extraAfterLowering{*this, "extra-after-lowering", "Passes to run on exec IR, before memory is planned"};
  ExtraPasses extraAfterPlanning{*this, "extra-after-planning", "Passes to run on planned exec IR, at the end"};

  /// Returns whether any option adds passes.
  bool hasExtraPasses() const;

  /// Sets the options that `text` gives: "dtype=bf16 fusion=all". The error lists the known names of an option or value
  /// that is unknown.
  llvm::Error read(llvm::StringRef text);

  /// Returns whether the level of fusion is this one or includes it.
  bool fuses(Fusion part) const { return fusion >= part; }
};

/// Adds `--cs336-autocast` with the type. Adds nothing for fp32, which keeps the types of the program.
void addAutocast(mlir::OpPassManager &manager, ComputeType type);

/// Takes the reason why a pipeline cannot be built, and returns failure.
using PipelineError = llvm::function_ref<llvm::LogicalResult(const llvm::Twine &)>;

/// From a model's functions, in the cs336 dialect, to planned entries in the exec dialect. Fails if an option that adds
/// passes cannot be parsed; their passes must be registered.
llvm::LogicalResult buildPipeline(mlir::OpPassManager &manager, const PipelineOptions &options, PipelineError error);

/// The end of the pipeline: from commands in order to a memory plan. Fails as `buildPipeline`.
llvm::LogicalResult buildPlanning(mlir::OpPassManager &manager, const PipelineOptions &options, PipelineError error);

/// Splits the text of options ("dtype=bf16 extra-after-fusion='cse'") at spaces outside of quotes and braces.
llvm::SmallVector<llvm::StringRef> splitPipelineOptions(llvm::StringRef text);

/// Registers `--cs336-pipeline` for command lines and textual pipelines.
void registerPipelines();

} // namespace cs336

#endif // CS336_PIPELINES_PIPELINES_H
