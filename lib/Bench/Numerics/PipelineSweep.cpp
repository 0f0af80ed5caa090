//===- PipelineSweep.cpp - Small programs in several pipelines ------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PipelineSweep.h"

#include "cs336/Bench/Command/BenchFlags.h"

using namespace cs336;

absl::Status
bench::sweepPipelines(const CompileFlags &compile, runtime::DeviceId device,
                      llvm::function_ref<absl::Status(const CompileOptions &, const PipelineOptions &)> measure) {
  return compile.compile(device, [&](const CompileOptions &options) -> absl::Status {
    for (const PipelineVariant &variant : compile.getPipelines()) {
      CompileOptions own = options;
      own.pipeline = variant.options;
      PipelineOptions pipeline;
      if (absl::Status status = readPipeline(variant.options, pipeline); !status.ok())
        return status;
      if (absl::Status status = measure(own, pipeline); !status.ok())
        return status;
    }
    return absl::OkStatus();
  });
}
