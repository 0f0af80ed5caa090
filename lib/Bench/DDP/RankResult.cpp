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

using namespace cs336;
using namespace cs336::bench;
namespace json = llvm::json;

// Found by argument-dependent lookup.
namespace cs336::runtime {

static json::Value toJSON(const TracedCommand &command) {
  return json::Object{{"index", command.index},          {"stream", command.stream},
                      {"entry", command.entry},          {"name", command.name},
                      {"source", command.source},        {"layer", command.layer},
                      {"phase", command.phase},          {"kind", command.kind},
                      {"location", command.location},    {"flops", command.flops},
                      {"bytes", command.bytes},          {"live_bytes", command.live_bytes},
                      {"arithmetic", command.arithmetic}};
}

static bool fromJSON(const json::Value &value, TracedCommand &command, json::Path path) {
  json::ObjectMapper map(value, path);
  return map && map.map("index", command.index) && map.map("stream", command.stream) &&
         map.map("entry", command.entry) && map.map("name", command.name) && map.map("source", command.source) &&
         map.map("layer", command.layer) && map.map("phase", command.phase) && map.map("kind", command.kind) &&
         map.map("location", command.location) && map.map("flops", command.flops) && map.map("bytes", command.bytes) &&
         map.map("live_bytes", command.live_bytes) && map.map("arithmetic", command.arithmetic);
}

static json::Value toJSON(const TraceSpan &span) {
  return json::Array{span.start_ns, span.duration_ns,     int64_t{span.name},
                     span.command,  int64_t{span.stream}, static_cast<int64_t>(span.graph_node)};
}

static bool fromJSON(const json::Value &value, TraceSpan &span, json::Path path) {
  std::vector<int64_t> numbers;
  constexpr size_t kMembers = 6;
  if (!json::fromJSON(value, numbers, path))
    return false;
  if (numbers.size() != kMembers) {
    path.report("expected six numbers");
    return false;
  }
  span.start_ns = numbers[0];
  span.duration_ns = numbers[1];
  span.name = static_cast<uint32_t>(numbers[2]);
  span.command = static_cast<int32_t>(numbers[3]);
  span.stream = static_cast<uint32_t>(numbers[4]);
  span.graph_node = static_cast<uint64_t>(numbers[5]);
  return true;
}

static json::Value toJSON(const Trace &trace) {
  return json::Object{{"commands", trace.commands}, {"names", trace.names}, {"spans", trace.spans}};
}

static bool fromJSON(const json::Value &value, Trace &trace, json::Path path) {
  json::ObjectMapper map(value, path);
  return map && map.map("commands", trace.commands) && map.map("names", trace.names) && map.map("spans", trace.spans);
}

} // namespace cs336::runtime

namespace cs336 {

static json::Value toJSON(const RankTrace &trace) {
  return json::Object{
      {"rank", trace.rank}, {"device", trace.device}, {"trace", trace.trace}, {"omitted", trace.omitted}};
}

static bool fromJSON(const json::Value &value, RankTrace &trace, json::Path path) {
  json::ObjectMapper map(value, path);
  return map && map.map("rank", trace.rank) && map.map("device", trace.device) && map.map("trace", trace.trace) &&
         map.map("omitted", trace.omitted);
}

} // namespace cs336

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
         map.map("overlap", result.overlap) && map.map("profiled_ms", result.profiledMilliseconds) &&
         map.map("profile_note", result.profileNote) && map.map("trace", result.trace);
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
                                {"profiled_ms", result.profiledMilliseconds},
                                {"profile_note", result.profileNote},
                                {"trace", result.trace}},
                   path);
}

absl::StatusOr<RankResult> cs336::bench::readRankResult(llvm::StringRef path) { return readJSONFile<RankResult>(path); }
