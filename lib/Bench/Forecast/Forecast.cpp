//===- Forecast.cpp - What a sweep is going to take -----------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Bench/Forecast/Forecast.h"

#include "cs336/Bench/Progress/RemainingTime.h"
#include "cs336/Support/ByteSize.h"
#include "llvm/Support/FormatVariadic.h"

#include <numeric>

using namespace cs336::bench;
namespace json = llvm::json;

std::optional<double> Forecast::getSeconds() const {
  if (taskSeconds.empty())
    return std::nullopt;
  return std::accumulate(taskSeconds.begin(), taskSeconds.end(), 0.0);
}

std::string Forecast::describe() const {
  std::string text = llvm::formatv("{0} {1}", cells, cells == 1 ? "cell" : "cells");
  if (memoryBytes)
    text += llvm::formatv(", {0} for the largest", formatBytes(*memoryBytes));
  if (std::optional<double> seconds = getSeconds())
    text += ", about " + formatDuration(*seconds);
  if (memoryBytes)
    text += "\n  memory: the plan of " + largest;
  if (!timeBasis.empty())
    text += "\n  time: " + timeBasis;
  return text + "\n";
}

json::Object Forecast::toJSON() const {
  json::Object object{{"cells", cells}, {"largest", largest}, {"time_basis", timeBasis}};
  object["memory_bytes"] = memoryBytes ? json::Value(*memoryBytes) : nullptr;
  std::optional<double> seconds = getSeconds();
  object["seconds"] = seconds ? json::Value(*seconds) : nullptr;
  return object;
}

std::optional<Forecast> Forecast::fromJSON(llvm::StringRef text) {
  llvm::Expected<json::Value> value = json::parse(text);
  const json::Object *object = value ? value->getAsObject() : nullptr;
  if (!value)
    llvm::consumeError(value.takeError());
  std::optional<int64_t> cells = object ? object->getInteger("cells") : std::nullopt;
  if (!cells)
    return std::nullopt;
  Forecast forecast;
  forecast.cells = *cells;
  forecast.memoryBytes = object->getInteger("memory_bytes");
  forecast.largest = object->getString("largest").value_or("").str();
  forecast.timeBasis = object->getString("time_basis").value_or("").str();
  if (std::optional<double> seconds = object->getNumber("seconds"))
    forecast.taskSeconds.push_back(*seconds);
  return forecast;
}
