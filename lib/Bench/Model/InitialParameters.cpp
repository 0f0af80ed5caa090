//===- InitialParameters.cpp - What the cells of a sweep have alike -------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Bench/Model/InitialParameters.h"

#include "cs336/runtime/Storage.h"

#include "absl/strings/str_cat.h"

using namespace cs336;
using namespace cs336::bench;

std::string cs336::bench::describeParameters(const ModelDescription &description, uint64_t seed) {
  const TransformerConfig &config = description.transformer;
  return absl::StrCat(config.vocabSize, " ", config.dModel, " ", config.dFF, " ", config.numLayers, " ",
                      static_cast<int>(description.dtype), " ", seed);
}

InitialParameters::InitialParameters(llvm::ArrayRef<ModelDescription> descriptions, size_t cells, uint64_t seed)
    : seed(seed) {
  for (const ModelDescription &description : descriptions)
    expected[describeParameters(description, seed)] += cells;
}

absl::Status InitialParameters::initialize(runtime::Session &session, const ModelDescription &description) {
  std::string model = describeParameters(description, seed);
  if (model != keptModel)
    kept.clear();
  keptModel = model;
  if (absl::Status status = session.InitializeVariables(seed, kept); !status.ok())
    return status;
  size_t &remaining = expected[model];
  remaining -= remaining > 0;
  if (remaining == 0)
    kept.clear();
  // Twice the session's memory is more than its parameters and its other host memory.
  if (remaining == 0 || !kept.empty() || runtime::AvailableHostMemory() / 2 < session.allocated_bytes())
    return absl::OkStatus();
  absl::StatusOr<runtime::TensorMap> parameters = session.SaveVariables(runtime::VariableSet::kParameters);
  if (parameters.ok())
    kept = *std::move(parameters);
  return parameters.status();
}
