//===- CellNames.cpp - What reports call a cell of a sweep ----------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Bench/Command/CellNames.h"

#include "cs336/Pipelines/Pipelines.h"
#include "llvm/ADT/StringExtras.h"
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

std::optional<llvm::StringRef> cs336::bench::findOption(const PipelineVariant &pipeline, llvm::StringRef name) {
  std::optional<llvm::StringRef> found;
  for (llvm::StringRef option : splitPipelineOptions(pipeline.options))
    if (auto [key, value] = option.split('='); key == name)
      found = value;
  return found;
}

Cell cs336::bench::makeCheckpoint(const PipelineVariant &pipeline) {
  int64_t layers = 0;
  std::optional<llvm::StringRef> text = findOption(pipeline, "checkpoint");
  return text && llvm::to_integer(*text, layers) ? Cell::integer(layers) : Cell("", 0);
}

std::string cs336::bench::describeFusion(Fusion level, const PipelineVariant &pipeline) {
  std::string text = level == Fusion::None ? "unfused" : ("fusion " + stringifyFusion(level)).str();
  if (!pipeline.added.empty() && pipeline.added != "none")
    text = "with " + pipeline.added;
  if (std::optional<llvm::StringRef> layers = findOption(pipeline, "checkpoint"))
    text += llvm::formatv(", checkpoint {0}", *layers);
  if (std::optional<llvm::StringRef> budget = findOption(pipeline, "memory-budget"))
    text += llvm::formatv(", memory budget {0}", *budget);
  return text;
}

llvm::StringRef cs336::bench::getFailureText(const absl::Status &status) {
  if (absl::IsResourceExhausted(status))
    return "OOM";
  return absl::IsUnimplemented(status) ? "unsupported" : "";
}
