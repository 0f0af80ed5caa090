//===- KernelFacts.h - Properties of kernels and GEMMs ----------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_BENCH_EXPLAIN_KERNELFACTS_H
#define CS336_BENCH_EXPLAIN_KERNELFACTS_H

#include "cs336/Bench/Report/Report.h"
#include "cs336/Bench/Timeline/PredictedTime.h"
#include "cs336/Target/CUDA/Occupancy.h"
#include "cs336/Target/CompiledKernels.h"
#include "cs336/Target/NVRTC/CubinResources.h"

#include "absl/status/statusor.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringMap.h"

#include <optional>
#include <set>
#include <string>
#include <vector>

namespace cs336::bench {

/// The launches of a kernel by equal operations of all layers.
struct LaunchGroup {
  /// "train", "backward", and "layers.*.ffn.silu".
  std::string entry, phase, operation;
  /// The layers that the launches belong to: "layers.0".
  std::set<std::string> layers;
  int64_t count = 0;
  /// The source location of the first of them, as text.
  std::string location;
};

/// The schedule of a part of a kernel.
struct ScheduleFacts {
  /// "sm_90a", or "cpu".
  std::string target;
  /// "rows"; and its named parameters as text.
  std::string name, parameters;
};

/// A function of a kernel on a GPU.
struct FunctionFacts {
  std::string architecture;
  KernelFunction function;
  /// Without values if there is no machine code.
  std::optional<CubinResources> resources;
  std::optional<cuda::Occupancy> occupancy;
  /// Bytes of registers that the assembler stores in local memory, per thread; nullopt if only the machine code is
  /// known.
  std::optional<int64_t> spilledBytes;
};

/// The time of a launch in a record.
struct MeasuredTime {
  double seconds = 0;
  int64_t launches = 0;
};

/// Kinds of commands: the launch of a kernel of the program, a GEMM, which a library runs, and a copy.
inline constexpr llvm::StringLiteral kKernel = "kernel", kGemm = "gemm", kCopy = "copy";

/// A kernel of a program, or all GEMMs or copies with one name: "gemm_w13".
struct KernelFacts {
  std::string name;
  /// "kernel", "gemm" or "copy".
  std::string kind = kKernel.str();
  /// The operations of the kernel as IR with locations, or its commands, of which equal ones are left out. For a kernel
  /// of an executable, a description of its operations; empty for other commands of an executable.
  Listing operations{"operations", "mlir", ""};
  std::vector<LaunchGroup> launches;
  std::vector<ScheduleFacts> schedules;
  std::vector<Listing> texts;
  std::vector<FunctionFacts> functions;
  /// The arithmetic of most of its FLOPs ("bf16", or empty).
  std::string arithmetic;
  std::optional<MeasuredTime> measured;

  int64_t countLaunches() const;
  /// Adds a launch to the group of its operation.
  void addLaunch(llvm::StringRef entry, llvm::StringRef phase, llvm::StringRef source, llvm::StringRef location);
  /// Adds the work of a launch, and its predicted time.
  void addWork(const exec::Work &work, format::Arithmetic arithmetic, const DeviceModel &device);

  /// Means over all launches: bytes, FLOPs, and predicted seconds. All launches of a kernel are equal; GEMMs with one
  /// name may have different shapes.
  double getBytes() const { return getMean(bytes); }
  double getFlops() const { return getMean(flops); }
  double getExpectedSeconds() const { return getMean(expectedSeconds); }
  PredictedTime getPredicted() const;

private:
  double getMean(double sum) const;

  /// Sums over all launches.
  double bytes = 0, flops = 0, expectedSeconds = 0;
  PredictedTime predicted;
};

/// Computes the occupancy of a function on its architecture. Requires resources.
void addOccupancy(FunctionFacts &function);

/// Returns "bf16", "tf32": the name of an arithmetic, or "" for a command without FLOPs.
std::string nameArithmetic(format::Arithmetic arithmetic);

/// The selected kernels and other commands of a program, with their descriptions.
struct ExplainedProgram {
  Target target = Target::CPU;
  std::vector<KernelFacts> kernels;
  /// The names of its entries.
  std::vector<std::string> entries;
  /// The number of kernels of the program, and of names of GEMMs and copies.
  size_t numKernels = 0;
  /// Notes for the report, such as the reason for missing columns.
  std::vector<std::string> notes;
};

/// Selects kernels: returns the names to explain, or an error.
using SelectKernels =
    llvm::function_ref<absl::StatusOr<std::vector<std::string>>(llvm::ArrayRef<llvm::StringRef> names)>;

/// Keeps the selected kernels and other commands of a program that lists all of them, and indexes them by name. Returns
/// the error of the selection.
absl::Status selectCommands(ExplainedProgram &program, SelectKernels select, llvm::StringMap<KernelFacts *> &byName);

} // namespace cs336::bench

#endif // CS336_BENCH_EXPLAIN_KERNELFACTS_H
