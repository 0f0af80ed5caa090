//===- ScalingCommand.cpp - cs336-bench scaling ---------------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Bench/Scaling/ScalingCommand.h"

#include "cs336/Bench/Command/BenchFlags.h"
#include "cs336/Driver/Flags/GivenFlags.h"
#include "cs336/Driver/Tool/ToolFlags.h"
#include "cs336/Support/ByteSize.h"
#include "llvm/ADT/STLExtras.h"

#include "absl/strings/str_cat.h"

#include <functional>

using namespace cs336;
using namespace cs336::bench;
namespace cl = llvm::cl;
namespace json = llvm::json;

static constexpr llvm::StringLiteral kDescription =
    "computes when communication binds a training step on many ranks, without running it";

ScalingCommand::ScalingCommand()
    : subcommand("scaling", kDescription), model(modelCategory, subcommand, ModelFlags::Keys::Sizes),
      part("part", cl::desc("What to compute (default steps)"), cl::init(Part::Steps),
           cl::values(clEnumValN(Part::Steps, "steps", "training steps, by strategy"),
                      clEnumValN(Part::AllReduce, "all-reduce", "one all-reduce, by algorithm")),
           cl::cat(category), cl::sub(subcommand)),
      strategies("strategy", cl::desc("Ways to divide a step between ranks (default: all)"), cl::CommaSeparated,
                 cl::values(clEnumValN(Strategy::Data, "dp", "tokens; gradients are all-reduced"),
                            clEnumValN(Strategy::FSDP, "fsdp", "tokens, and parameters, which are gathered"),
                            clEnumValN(Strategy::Tensor, "tp", "GEMMs; activations are all-reduced"),
                            clEnumValN(Strategy::FSDPTensor, "fsdp-tp", "both, in the division that is fastest")),
                 cl::cat(category), cl::sub(subcommand)),
      ranks("ranks", cl::desc("Numbers of ranks, a device each (default 8,16,32,64,128,256,512,1024)"),
            cl::value_desc("number,..."), cl::CommaSeparated, cl::cat(category), cl::sub(subcommand)),
      dtypes("dtype", cl::desc("Types of GEMMs, parameters, gradients and activations (default bf16)"),
             getComputeTypeValues(), cl::CommaSeparated, cl::cat(category), cl::sub(subcommand)),
      globalBatch("global-batch",
                  cl::desc("Sequences of a step on all devices together, instead of --batch-size on each device"),
                  cl::value_desc("number"), cl::init(0), cl::cat(category), cl::sub(subcommand)),
      tflops(
          "tflops",
          cl::desc("Rate of a device in TFLOP/s, for example measured (default: that of large GEMMs of --predict-on)"),
          cl::value_desc("number"), cl::init(0), cl::cat(category), cl::sub(subcommand)),
      buffers("buffer",
              cl::desc("Bytes of the all-reduced buffer: 1MB is 10^6, 1MiB 2^20 (default: the gradients of the model)"),
              cl::value_desc("bytes,..."), cl::CommaSeparated, cl::cat(category), cl::sub(subcommand)),
      predictOn(category, subcommand), links(category, subcommand), output(category, subcommand) {
  predictOn.setDescription("Device whose rates and links predict times: h200 (default), h100, a100 or cpu");
}

void ScalingCommand::hideOtherOptions() { hideOtherFlags({&category, &modelCategory}, subcommand); }

std::vector<ColumnHead> ScalingCommand::getColumns() const {
  auto steps = getScalingColumns();
  std::vector<ColumnHead> columns(steps.begin(), steps.end());
  for (const ColumnHead &column : getAlgorithmColumns())
    if (llvm::none_of(columns, [&](const ColumnHead &known) { return known.key == column.key; }))
      columns.push_back(column);
  return columns;
}

/// Refuses flags that the part ignores.
absl::Status ScalingCommand::checkPart() {
  if (part == Part::Steps)
    return refuseFlag(buffers, "it requires --part all-reduce");
  for (const cl::Option &flag :
       std::initializer_list<std::reference_wrapper<const cl::Option>>{strategies, globalBatch, tflops})
    if (absl::Status status = refuseFlag(flag, "--part all-reduce computes no step"); !status.ok())
      return status;
  if (buffers.empty())
    return absl::OkStatus();
  constexpr llvm::StringLiteral reason = "--buffer has the bytes, so no model is required";
  if (absl::Status status = refuseFlag(dtypes, reason); !status.ok())
    return status;
  return refuseFlags(modelCategory, subcommand, reason);
}

absl::Status ScalingCommand::check() {
  if (absl::Status status = checkPart(); !status.ok())
    return status;
  int64_t fewest = part == Part::AllReduce ? 2 : 1;
  for (int64_t number : ranks)
    if (number < fewest || number > kMostRanks)
      return absl::InvalidArgumentError(
          absl::StrCat("--ranks is ", number, ", must be from ", fewest, " to ", kMostRanks));
  constexpr int64_t kMostSequences = int64_t(1) << 30;
  if (globalBatch.getNumOccurrences() > 0) {
    if (globalBatch < 1 || globalBatch > kMostSequences)
      return absl::InvalidArgumentError(
          absl::StrCat("--global-batch is ", globalBatch.getValue(), ", must be from 1 to ", kMostSequences));
    if (model.sets("batch_size"))
      return absl::InvalidArgumentError("--global-batch conflicts with --batch-size: pass one of them");
  }
  constexpr double kLeastRate = 1e-6, kMostRate = 1e9;
  if (tflops.getNumOccurrences() > 0 && (tflops < kLeastRate || tflops > kMostRate))
    return absl::InvalidArgumentError(
        absl::StrCat("--tflops is ", tflops.getValue(), ", must be from ", kLeastRate, " to ", kMostRate));
  for (const std::string &size : buffers)
    if (!parseBytes(size))
      return absl::InvalidArgumentError(absl::StrCat("--buffer: '", size, "' is not a size, such as 1MB or 64KiB"));
  if (absl::Status status = predictOn.check(); !status.ok())
    return status;
  if (absl::Status status = links.check(); !status.ok())
    return status;
  return part == Part::Steps ? output.check(getScalingColumns()) : output.check(getAlgorithmColumns());
}

std::vector<int64_t> ScalingCommand::getRanks() const {
  if (ranks.empty())
    return {8, 16, 32, 64, 128, 256, 512, 1024};
  return {ranks.begin(), ranks.end()};
}

static double getGemmRate(const DeviceModel &device, ComputeType type) {
  switch (type) {
  case ComputeType::FP32:
    return device.flops32;
  case ComputeType::TF32:
    return device.flopsTF32;
  case ComputeType::BF16:
  case ComputeType::FP16:
    return device.flops16;
  }
  llvm_unreachable("every type has a rate");
}

absl::StatusOr<std::vector<ScalingCase>> ScalingCommand::getCases(const DeviceModel &device) const {
  absl::StatusOr<std::vector<ModelDescription>> descriptions = describeModels(model, ModelDescription());
  if (!descriptions.ok())
    return descriptions.status();
  std::vector<ComputeType> types(dtypes.begin(), dtypes.end());
  if (types.empty())
    types.push_back(ComputeType::BF16);
  std::vector<ScalingCase> cases;
  for (const ModelDescription &description : *descriptions)
    for (ComputeType type : types) {
      const TransformerConfig &config = description.transformer;
      bool isNarrow = type == ComputeType::BF16 || type == ComputeType::FP16;
      ScalingRates rates{tflops > 0 ? tflops * 1e12 : getGemmRate(device, type), isNarrow ? 2 : 4,
                         links.apply(device.interconnect)};
      ScalingBatch batch{globalBatch > 0 ? globalBatch.getValue() : config.batchSize, globalBatch == 0};
      cases.push_back({ScalingModel(config, rates), type, batch});
    }
  return cases;
}

absl::Status ScalingCommand::runSteps(const DeviceModel &device, json::Object context) const {
  absl::StatusOr<std::vector<ScalingCase>> cases = getCases(device);
  if (!cases.ok())
    return cases.status();
  std::vector<Strategy> all{Strategy::Data, Strategy::FSDP, Strategy::Tensor, Strategy::FSDPTensor};
  std::vector<Strategy> ways = strategies.empty() ? all : std::vector<Strategy>(strategies.begin(), strategies.end());
  std::vector<ScalingRow> rows;
  std::vector<LimitRow> limits;
  for (const ScalingCase &each : *cases)
    for (Strategy strategy : ways) {
      for (int64_t number : getRanks())
        rows.push_back(scale(each, strategy, number));
      limits.push_back({&each, strategy, findMostRanks(each.model, strategy, each.batch)});
    }
  return output.write(makeScalingReport(rows, limits, std::move(context)));
}

absl::Status ScalingCommand::runAlgorithms(const DeviceModel &device, json::Object context) const {
  std::vector<int64_t> sizes;
  for (const std::string &size : buffers)
    sizes.push_back(*parseBytes(size));
  if (sizes.empty()) {
    absl::StatusOr<std::vector<ScalingCase>> cases = getCases(device);
    if (!cases.ok())
      return cases.status();
    for (const ScalingCase &each : *cases)
      sizes.push_back(each.model.getConfig().getParameterCount() * each.model.getRates().numberBytes);
  }
  std::vector<AllReduceAlgorithmRow> rows;
  for (int64_t bytes : sizes)
    for (int64_t number : getRanks())
      llvm::append_range(rows, compareAlgorithms(links.apply(device.interconnect), number, bytes));
  return output.write(makeAlgorithmReport(rows, std::move(context)));
}

absl::Status ScalingCommand::run(llvm::StringRef commandLine) {
  if (absl::Status status = check(); !status.ok())
    return status;
  const DeviceModel *named = predictOn.getDevice();
  const DeviceModel &device = named ? *named : getDefaultDeviceModel(/*isForGPU=*/true);
  json::Object context{{"benchmark", "scaling"}, {"command", commandLine}, {"predicted_on", device.name}};
  return part == Part::Steps ? runSteps(device, std::move(context)) : runAlgorithms(device, std::move(context));
}
