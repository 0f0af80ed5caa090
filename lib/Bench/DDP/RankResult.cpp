//===- RankResult.cpp - Measurements of one rank --------------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Bench/DDP/RankResult.h"

#include "JSONFile.h"

#include <cmath>
#include <limits>

using namespace cs336::bench;
namespace json = llvm::json;

namespace cs336::bench {

static json::Value toJSON(const Overlap &overlap) {
  return json::Object{
      {"communication", overlap.communication}, {"compute", overlap.compute}, {"exposed", overlap.exposed}};
}

static bool fromJSON(const json::Value &value, Overlap &overlap, json::Path path) {
  json::ObjectMapper map(value, path);
  return map && map.map("communication", overlap.communication) && map.map("compute", overlap.compute) &&
         map.map("exposed", overlap.exposed);
}

static json::Value toJSON(const GatherWaits &waits) {
  return json::Object{{"late", waits.late}, {"waited", waits.waited}};
}

static bool fromJSON(const json::Value &value, GatherWaits &waits, json::Path path) {
  json::ObjectMapper map(value, path);
  return map && map.map("late", waits.late) && map.map("waited", waits.waited);
}

/// Returns nullopt for NaN and infinities, which JSON lacks: null stands for them.
static std::optional<double> toNumber(double value) {
  return std::isfinite(value) ? std::optional(value) : std::nullopt;
}

static bool mapNumber(json::ObjectMapper &map, llvm::StringLiteral key, double &value) {
  std::optional<double> number;
  if (!map.map(key, number))
    return false;
  value = number.value_or(std::numeric_limits<double>::quiet_NaN());
  return true;
}

static bool fromJSON(const json::Value &value, RankResult &result, json::Path path) {
  json::ObjectMapper map(value, path);
  int64_t code = 0;
  std::string message;
  if (!map || !map.map("code", code) || !map.map("message", message))
    return false;
  result.status = absl::Status(static_cast<absl::StatusCode>(code), message);
  return mapNumber(map, "loss", result.loss) && mapNumber(map, "grad_norm", result.gradNorm) &&
         mapNumber(map, "last_loss", result.lastLoss) && map.map("step_ms", result.stepMilliseconds) &&
         map.map("event_step_ms", result.deviceMilliseconds) && map.map("join_seconds", result.joinSeconds) &&
         map.map("load_seconds", result.loadSeconds) && map.map("device_memory_bytes", result.deviceMemoryBytes) &&
         map.map("overlap", result.overlap) && map.map("gather_waits", result.gatherWaits) &&
         map.map("profiled_ms", result.profiledMilliseconds) && map.map("profile_note", result.profileNote);
}

} // namespace cs336::bench

absl::Status cs336::bench::writeRankResult(const RankResult &result, llvm::StringRef path) {
  return writeJSON(json::Object{{"code", static_cast<int64_t>(result.status.code())},
                                {"message", std::string(result.status.message())},
                                {"loss", toNumber(result.loss)},
                                {"grad_norm", toNumber(result.gradNorm)},
                                {"last_loss", toNumber(result.lastLoss)},
                                {"step_ms", result.stepMilliseconds},
                                {"event_step_ms", result.deviceMilliseconds},
                                {"join_seconds", result.joinSeconds},
                                {"load_seconds", result.loadSeconds},
                                {"device_memory_bytes", result.deviceMemoryBytes},
                                {"overlap", result.overlap},
                                {"gather_waits", result.gatherWaits},
                                {"profiled_ms", result.profiledMilliseconds},
                                {"profile_note", result.profileNote}},
                   path);
}

absl::StatusOr<RankResult> cs336::bench::readRankResult(llvm::StringRef path) { return readJSONFile<RankResult>(path); }
