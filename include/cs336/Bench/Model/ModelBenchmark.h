//===- ModelBenchmark.h - Times of a model's steps --------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_BENCH_MODEL_MODELBENCHMARK_H
#define CS336_BENCH_MODEL_MODELBENCHMARK_H

#include "cs336/Bench/Model/InitialParameters.h"
#include "cs336/Bench/Model/TorchPeer.h"
#include "cs336/Bench/Timeline/MemoryTimeline.h"
#include "cs336/Driver/Compile/CompileModule.h"
#include "cs336/Driver/Run/RunProfile.h"
#include "cs336/Driver/Run/TraceFile.h"
#include "cs336/Frontend/ModelDescription.h"

#include "absl/status/statusor.h"
#include "llvm/ADT/STLFunctionalExtras.h"

#include <optional>
#include <vector>

namespace cs336::bench {

/// The settings of a measurement of a model.
struct MeasureOptions {
  CompileOptions compile;
  /// One measurement for each number of warm-up steps. One session's steps serve all of them.
  std::vector<int64_t> warmups;
  int64_t steps = 10;
  /// The device in the syntax of sessions: "cpu", "cuda:0".
  std::string device = "cpu";
  /// The name in reports: "NVIDIA H200".
  std::string deviceName;
  int numThreads = 0;
  uint64_t seed = 0;
  /// 0 stands for all available memory of the device.
  int64_t memoryLimitBytes = 0;
  /// Never null.
  InitialParameters *parameters = nullptr;
  /// Null for none.
  TorchPeer *peer = nullptr;
  /// If false, commands are launched one by one, and tools record the timed steps.
  bool useGraphs = true;
  /// If true, measurements keep what `profileModel` needs.
  bool profile = false;
  /// If true, the spans of the profiled steps are kept.
  bool trace = false;
  /// If true, the profile's times become those of the memory timeline.
  bool timeline = false;
  /// The compute type of the pipeline. The peer uses it too.
  ComputeType computeType = ComputeType::FP32;
  /// The level of fusion of the pipeline.
  Fusion fusion = Fusion::None;
};

/// A step before it runs, as `plan` predicts it.
struct StepPrediction {
  /// The device model that predicts the time: "h200".
  std::string device;
  double seconds = 0;
  /// Everything that a session allocates, without the alignment of variables.
  int64_t bytes = 0;
};

/// One cell of a sweep.
struct Measurement {
  int64_t warmup = 0;
  /// OK, or the reason why times are missing: RESOURCE_EXHAUSTED if memory does not suffice, CANCELLED if this program
  /// was asked to stop.
  absl::Status status;
  /// Times by the host's clock and by the GPU's; see StepTimes.
  std::vector<double> stepMilliseconds;
  std::vector<double> deviceMilliseconds;
  /// The time from the description to the executable, which is compiled or found in the cache. A GPU is initialized at
  /// the same time, which uses cores of the host. Part of the steps of --cs336-selective-checkpoint, from 0 to 1.
  double recomputedShare = 0;
  double compileSeconds = 0;
  /// The number of distinct kernels of the executable.
  int64_t numKernels = 0;
  /// The time to create the session from an executable: the rest of the device's initialization, loading kernels and
  /// allocating memory; on a GPU also tuning GEMMs or looking up earlier results, and capturing steps as graphs.
  /// Together with the time of compiling, it is the time from a description to a step that can run.
  std::optional<double> loadSeconds;
  /// The planned memory: parameters, state, inputs and arena.
  int64_t memoryBytes = 0;
  StepPrediction prediction;
  /// On a GPU: the memory that it reports as used after the steps.
  std::optional<runtime::SessionMemory> deviceMemory;
  /// With a peer, and only for the first number of warm-up steps: the values of the first step, and the peer's results
  /// with the same parameters and tokens.
  std::optional<StepValues> values;
  std::vector<PeerMeasurement> peers;
  /// If the steps are to be profiled, and only for the first number of warm-up steps: the program, until it is
  /// profiled; then the profile, and if requested the trace. They have the profiled steps that ended before an
  /// interruption, and are absent if none did.
  std::shared_ptr<const runtime::Executable> executable;
  std::optional<RunProfile> profile;
  std::optional<RankTrace> trace;
  /// The times of the profiled steps, as `deviceMilliseconds` on a GPU, and as `stepMilliseconds` on the CPU.
  std::vector<double> profiledMilliseconds;
  /// If requested: the memory of a step over the time of the profiled steps.
  std::optional<MemoryTimeline> timeline;

  /// Returns the times that `profiledMilliseconds` are compared with: as many steps after as many warm-up steps, of a
  /// session that ended before the profiler was created.
  const std::vector<double> &getUnprofiledMilliseconds() const {
    return deviceMilliseconds.empty() ? stepMilliseconds : deviceMilliseconds;
  }
};

/// The data of a session whose steps are measured.
runtime::SessionOptions getSessionOptions(const MeasureOptions &options);

/// The entry's inputs from the batch, which must outlive them.
std::vector<runtime::NamedTensor> getArguments(const runtime::Session &session, llvm::StringRef entry,
                                               const runtime::TensorMap &batch);

/// Draws random tokens and targets. A forward pass reads the tokens alone.
absl::StatusOr<runtime::TensorMap> makeBatch(const TransformerConfig &config, uint64_t seed);

/// Computes the timeline of the entry of that mode, with the times of the default device model.
MemoryTimeline predictTimeline(const format::ExecutableT &program, Mode mode);

/// Builds and compiles the model, then runs the entry of its mode on random tokens: warm-up steps first, then steps
/// that are timed one by one, from the copy of the inputs to the end of the last command. With a peer, the same session
/// first runs one step, and the values of this step are kept for the comparison. `report` is called with the stage and
/// the completed fraction, and `warn` with the compiler's warnings. If the model cannot be compiled, the function
/// returns one error for all measurements.
absl::StatusOr<std::vector<Measurement>> measureModel(const ModelDescription &description,
                                                      const MeasureOptions &options,
                                                      llvm::function_ref<void(llvm::StringRef, double)> report,
                                                      llvm::function_ref<void(llvm::StringRef)> warn);

} // namespace cs336::bench

#endif // CS336_BENCH_MODEL_MODELBENCHMARK_H
