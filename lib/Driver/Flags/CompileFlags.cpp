//===- CompileFlags.cpp - Command-line flags of compilation ---------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Driver/Flags/CompileFlags.h"

#include "cs336/Driver/Flags/GivenFlags.h"
#include "cs336/Driver/Tune/ScheduleTuner.h"
#include "cs336/Driver/Tune/SessionTimer.h"
#include "cs336/Pipelines/Ladder.h"
#include "cs336/Support/ByteSize.h"
#include "cs336/runtime/CacheFolder.h"
#include "cs336/runtime/CudaInfo.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/Regex.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

using namespace cs336;
namespace cl = llvm::cl;

CompileFlags::CompileFlags(cl::OptionCategory &category, cl::SubCommand &subcommand, Sweep sweep,
                           const DistributeFlags *distribute)
    : distribute(distribute), dtypes("dtype", cl::desc("Mixed precision (default fp32)"), getComputeTypeValues(),
                                     cl::cat(category), cl::sub(subcommand)),
      fusions("fusion", cl::desc("Operations that may share kernels (default all)"), getFusionValues(),
              cl::cat(category), cl::sub(subcommand)),
      checkpoints(
          "checkpoint",
          cl::desc("Recompute activations in the backward pass: keep only the input of every so many consecutive "
                   "layers (default 0: keep all activations)"),
          cl::value_desc("layers"), cl::cat(category), cl::sub(subcommand)),
      memoryBudgets(
          "memory-budget",
          cl::desc("Maximum memory of variables, inputs and the arena, e.g. 30GiB, or auto: that of the device. The "
                   "backward pass recomputes the smallest share of activations that fits, the cheapest per byte first. "
                   "A GPU also holds kernels, graphs and libraries: 2 to 34 MiB"),
          cl::value_desc("size"), cl::cat(category), cl::sub(subcommand)),
      pipeline("pipeline-options",
               cl::desc("More options of --cs336-pipeline, which cs336-opt --help lists: 'merge-gemms=false'"),
               cl::value_desc("options"), cl::cat(category), cl::sub(subcommand)),
      cpu("cpu",
          cl::desc("Instruction set of kernels on the CPU: host (default), generic, x86-64-v2, x86-64-v3, x86-64-v4"),
          cl::value_desc("name"), cl::init("host"), cl::cat(category), cl::sub(subcommand)),
      architectures("arch", cl::desc("Architectures of kernels on GPUs (default: that of the GPU, sm_90a without one)"),
                    cl::value_desc("sm_90a,..."), cl::CommaSeparated, cl::cat(category), cl::sub(subcommand)),
      noCache("no-cache",
              cl::desc("Neither take executables and compiled GPU kernels from the cache nor keep them there"),
              cl::cat(category), cl::sub(subcommand)),
      autotune("autotune",
               cl::desc("Time several schedules of each attention on the GPU, use the fastest, and remember it in the "
                        "cache. Requires --device cuda"),
               cl::cat(category), cl::sub(subcommand)),
      dumpDir("dump-dir",
              cl::desc("Folder for the IR after every pass, the planned program, its memory plan, and the kernels as "
                       "linalg, as text and as machine code"),
              cl::value_desc("folder"), cl::cat(category), cl::sub(subcommand)),
      timing("timing", cl::desc("Print how long each phase of compilation took"), cl::cat(category),
             cl::sub(subcommand)),
      remarks("remarks-filter",
              cl::desc("Print the remarks of the passes whose names match, such as 'cs336-fuse-.*': what they changed, "
                       "and why they left something as it was. cs336-opt has the same flag"),
              cl::value_desc("regex"), cl::cat(category), cl::sub(subcommand)),
      passStatistics("pass-statistics", cl::desc("Print the statistics of each pass"), cl::cat(category),
                     cl::sub(subcommand)) {
  dtypes.setNumOccurrencesFlag(cl::Optional);
  fusions.setNumOccurrencesFlag(cl::Optional);
  checkpoints.setNumOccurrencesFlag(cl::Optional);
  memoryBudgets.setNumOccurrencesFlag(cl::Optional);
  if (sweep == Sweep::No)
    return;
  dtypes.setMiscFlag(cl::CommaSeparated);
  dtypes.setDescription("Mixed precision; a list with commas is measured side by side (default fp32)");
  fusions.setMiscFlag(cl::CommaSeparated);
  fusions.setDescription(
      "Operations that may share kernels; a list with commas is measured side by side (default all)");
  ladder = std::make_unique<cl::opt<bool>>(
      "ladder",
      cl::desc(
          "Instead of --fusion: from a kernel for each operation in float32 to all fusion in --dtype, one pass more "
          "at a time, side by side"),
      cl::cat(category), cl::sub(subcommand));
  if (sweep != Sweep::WithCheckpoints)
    return;
  checkpoints.setMiscFlag(cl::CommaSeparated);
  checkpoints.setDescription("Numbers of consecutive layers per kept input; the backward pass computes the rest again; "
                             "a list with commas is measured side by side (default 0: keep all)");
  memoryBudgets.setMiscFlag(cl::CommaSeparated);
  memoryBudgets.setDescription("Maximum memory of variables, inputs and the arena, e.g. 30GiB, or auto: that of the "
                               "device; a list with commas is measured side by side. The backward pass recomputes the "
                               "smallest share of activations that fits, the cheapest per byte first. A GPU also holds "
                               "kernels, graphs and libraries: 2 to 34 MiB");
}

static llvm::StringRef getOptionName(llvm::StringRef option) { return option.split('=').first; }

/// Returns the values of a flag as written, or an empty list if it was not given.
template <typename Values, typename Stringify>
static std::string joinValues(const Values &values, Stringify stringify) {
  return absl::StrJoin(values, ",", [&](std::string *out, auto value) { *out += stringify(value); });
}

static std::string stringifyNumber(unsigned number) { return std::to_string(number); }

std::vector<FlagOption> CompileFlags::getSingleOptions() const {
  return distribute ? distribute->getOptions() : std::vector<FlagOption>();
}

absl::Status CompileFlags::checkPipelineOptions() const {
  // Each option as its flag was given: "--checkpoint 2".
  llvm::StringMap<std::string> values;
  if (!dtypes.empty())
    values["dtype"] = "--dtype " + joinValues(dtypes, stringifyComputeType);
  if (!fusions.empty())
    values["fusion"] = "--fusion " + joinValues(fusions, stringifyFusion);
  if (!checkpoints.empty())
    values["checkpoint"] = "--checkpoint " + joinValues(checkpoints, stringifyNumber);
  if (!memoryBudgets.empty())
    values["memory-budget"] = "--memory-budget " + absl::StrJoin(memoryBudgets, ",");
  for (const FlagOption &option : getSingleOptions())
    values[option.name] = option.flag + " " + option.value;
  llvm::StringMap<llvm::StringRef> given;
  for (llvm::StringRef option : splitPipelineOptions(pipeline)) {
    llvm::StringRef name = getOptionName(option);
    if (auto [first, isNew] = given.try_emplace(name, option); !isNew)
      return absl::InvalidArgumentError(absl::StrCat("--pipeline-options gives '", name.str(), "' twice: '",
                                                     first->second.str(), "' and '", option.str(), "'"));
    if (std::string value = values.lookup(name); !value.empty())
      return absl::InvalidArgumentError(
          absl::StrCat(value, " conflicts with '", option.str(), "' in --pipeline-options: give one of the two"));
  }
  if (ladder && *ladder)
    for (llvm::StringRef option : splitPipelineOptions(getLadder(ComputeType::FP32).front().options))
      if (llvm::StringRef other = given.lookup(getOptionName(option)); !other.empty())
        return absl::InvalidArgumentError(absl::StrCat("--ladder conflicts with '", other.str(),
                                                       "' in --pipeline-options: every rung sets that option"));
  return absl::OkStatus();
}

absl::Status CompileFlags::checkMemoryBudget(runtime::DeviceId device) const {
  if (memoryBudgets.empty())
    return absl::OkStatus();
  if (!checkpoints.empty())
    return absl::InvalidArgumentError("--memory-budget conflicts with --checkpoint: it chooses what is recomputed");
  for (const std::string &budget : memoryBudgets)
    if (budget != kAuto && !parseBytes(budget))
      return absl::InvalidArgumentError(
          absl::StrCat("--memory-budget is '", budget, "', must be a size such as 30GiB, or auto"));
  if (!llvm::is_contained(memoryBudgets, kAuto))
    return absl::OkStatus();
  absl::StatusOr<int64_t> bytes = getMemoryBudget(device);
  if (bytes.ok())
    return absl::OkStatus();
  return absl::Status(bytes.status().code(), absl::StrCat("--memory-budget auto requires the device: ",
                                                          bytes.status().message(), "; or give a size such as 30GiB"));
}

absl::Status CompileFlags::checkAutotune(runtime::DeviceId device) const {
  if (!autotune)
    return absl::OkStatus();
  if (device.kind != runtime::DeviceKind::kCuda)
    return absl::InvalidArgumentError("--autotune requires --device cuda: only kernels of GPUs have schedules to time");
  if (!architectures.empty())
    return absl::InvalidArgumentError("--autotune conflicts with --arch: it times kernels for the architecture of the "
                                      "GPU");
  if (noCache)
    return absl::InvalidArgumentError("--autotune conflicts with --no-cache: the cache remembers the choices");
  if (absl::StatusOr<std::string> own = runtime::QueryCudaTarget(device.ordinal); !own.ok())
    return absl::Status(own.status().code(), absl::StrCat("--autotune requires a GPU: ", own.status().message()));
  if (runtime::CacheFolder().empty())
    return absl::FailedPreconditionError("--autotune requires a folder for the cache: set CS336_CACHE_DIR");
  return absl::OkStatus();
}

std::unique_ptr<Autotuner> CompileFlags::createAutotuner(runtime::DeviceId device,
                                                         const std::string &cacheFolder) const {
  if (!autotune)
    return nullptr;
  return std::make_unique<ScheduleTuner>(std::make_unique<SessionTimer>(device, cacheFolder, interruption), cacheFolder,
                                         [](llvm::StringRef line) { llvm::errs() << line << "\n"; });
}

absl::Status CompileFlags::check(runtime::DeviceId device) const {
  absl::Status status = distribute ? distribute->check() : absl::OkStatus();
  status.Update(checkPipelineOptions());
  status.Update(checkMemoryBudget(device));
  status.Update(checkAutotune(device));
  if (!status.ok())
    return status;
  if (ladder && *ladder && !fusions.empty())
    return absl::InvalidArgumentError("--ladder conflicts with --fusion: it adds the passes of --fusion one at a time");
  if (!architectures.empty() && device.kind != runtime::DeviceKind::kCuda)
    return absl::InvalidArgumentError("--arch requires --device cuda: for the CPU use --cpu, which selects the "
                                      "instruction set");
  if (llvm::is_contained(architectures, ""))
    return absl::InvalidArgumentError("--arch has a name that is empty: architectures are as in 'sm_80,sm_90a'");
  if (std::string error; !remarks.empty() && !llvm::Regex(remarks).isValid(error))
    return absl::InvalidArgumentError(
        absl::StrCat("--remarks-filter is '", remarks.getValue(), "', which is not a regular expression: ", error));
  return absl::OkStatus();
}

absl::Status CompileFlags::checkOutputs(llvm::ArrayRef<OutputPath> outputs) const {
  absl::Status status = checkDistinct(outputs);
  status.Update(checkOutsideDump(outputs, dumpDir));
  return status;
}

absl::Status CompileFlags::checkWithoutCode() const {
  constexpr llvm::StringLiteral reason = "no machine code is made here";
  absl::Status status = refuseFlag(architectures, reason);
  status.Update(refuseFlag(cpu, reason));
  status.Update(refuseFlag(noCache, reason));
  status.Update(refuseFlag(autotune, reason));
  return status;
}

absl::Status CompileFlags::refuseCheckpoint(llvm::StringRef reason) const { return refuseFlag(checkpoints, reason); }

std::vector<PipelineVariant> CompileFlags::getPipelines() const {
  std::vector<PipelineVariant> variants{{pipeline, "", ""}};
  // Without a flag, the option keeps the pipeline's default.
  auto append = [&](const std::string &option, const auto &values, auto stringify) {
    if (values.empty())
      return;
    std::vector<PipelineVariant> combined;
    for (const PipelineVariant &variant : variants)
      for (auto value : values) {
        combined.push_back(variant);
        absl::StrAppend(&combined.back().options, " ", option, "=", std::string(stringify(value)));
      }
    variants = std::move(combined);
  };
  if (ladder && *ladder) {
    variants.clear();
    for (ComputeType type : dtypes.empty() ? std::vector{ComputeType::FP32} : std::vector(dtypes.begin(), dtypes.end()))
      for (const Rung &rung : getLadder(type))
        variants.push_back({pipeline + " " + rung.options, rung.name.str(), stringifyComputeType(type).str()});
  } else {
    append("dtype", dtypes, stringifyComputeType);
    append("fusion", fusions, stringifyFusion);
  }
  append("checkpoint", checkpoints, stringifyNumber);
  append("memory-budget", memoryBudgets, [](const std::string &budget) { return budget; });
  for (const FlagOption &option : getSingleOptions())
    for (PipelineVariant &variant : variants)
      variant.options += " " + option.name + "=" + option.value;
  return variants;
}
