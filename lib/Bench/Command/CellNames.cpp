//===- CellNames.cpp - What reports call a cell of a sweep ----------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Bench/Command/CellNames.h"

#include "llvm/Support/FormatVariadic.h"

using namespace cs336;
using namespace cs336::bench;

std::string cs336::bench::describeSize(const TransformerConfig &config) {
  for (llvm::StringRef name : TransformerConfig::getSizeNames()) {
    TransformerConfig named;
    llvm::cantFail(named.setSize(name));
    if (named.dModel == config.dModel && named.dFF == config.dFF && named.numLayers == config.numLayers &&
        named.numHeads == config.numHeads)
      return name.str();
  }
  return llvm::formatv("d{0} ff{1} L{2} h{3}", config.dModel, config.dFF, config.numLayers, config.numHeads);
}

std::string cs336::bench::describeFusion(Fusion level, const PipelineVariant &pipeline) {
  if (!pipeline.added.empty() && pipeline.added != "none")
    return "with " + pipeline.added;
  return level == Fusion::None ? "unfused" : ("fusion " + stringifyFusion(level)).str();
}

llvm::StringRef cs336::bench::getFailureText(const absl::Status &status) {
  if (absl::IsResourceExhausted(status))
    return "OOM";
  return absl::IsUnimplemented(status) ? "unsupported" : "";
}
