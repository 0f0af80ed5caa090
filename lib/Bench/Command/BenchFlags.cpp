//===- BenchFlags.cpp - What commands make of shared flags ----------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Bench/Command/BenchFlags.h"

#include "cs336/runtime/CudaInfo.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/TargetParser/Host.h"

#include "absl/strings/str_cat.h"

using namespace cs336;
namespace json = llvm::json;

absl::Status bench::readPipeline(llvm::StringRef text, PipelineOptions &pipeline) {
  if (llvm::Error error = pipeline.read(text))
    return absl::InvalidArgumentError(
        absl::StrCat("pipeline options '", text.str(), "': ", llvm::toString(std::move(error))));
  return absl::OkStatus();
}

absl::StatusOr<std::vector<ModelDescription>> bench::describeModels(const ModelFlags &flags,
                                                                    const ModelDescription &base) {
  llvm::Expected<std::vector<ModelDescription>> descriptions = flags.apply(base);
  if (!descriptions)
    return absl::InvalidArgumentError(llvm::toString(descriptions.takeError()));
  for (const ModelDescription &description : *descriptions)
    if (llvm::Error error = description.transformer.verify())
      return absl::InvalidArgumentError(llvm::toString(std::move(error)));
  return std::move(*descriptions);
}

absl::Status bench::checkTypes(const ModelDescription &description, ComputeType type) {
  if (description.dtype != BuildType::F64 || type == ComputeType::FP32)
    return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("--dtype ", stringifyComputeType(type).str(),
                                                 " has no effect with --build-dtype f64: omit one of them"));
}

absl::Status bench::checkCheckpoint(const CompileFlags &flags, llvm::ArrayRef<ModelDescription> descriptions) {
  bool hasBackwardPass = llvm::any_of(descriptions, [](const ModelDescription &each) {
    return each.mode == Mode::ForwardBackward || each.mode == Mode::Train;
  });
  if (hasBackwardPass)
    return absl::OkStatus();
  return flags.refuseCheckpoint("it requires a backward pass, which --mode forward_backward and train have");
}

json::Object bench::describeDevice(runtime::DeviceId device, int64_t numThreads) {
  json::Object object{{"kind", device.kind == runtime::DeviceKind::kCuda ? "cuda" : "cpu"},
                      {"processor", llvm::sys::getHostCPUName()},
                      {"num_threads", numThreads}};
  if (device.kind != runtime::DeviceKind::kCuda)
    return object;
  if (absl::StatusOr<runtime::CudaInfo> info = runtime::QueryCuda(); info.ok()) {
    object["driver_version"] = info->driver_version;
    for (const runtime::CudaDeviceInfo &gpu : info->devices)
      if (gpu.ordinal == device.ordinal)
        object["gpu"] = gpu.name;
  }
  return object;
}
