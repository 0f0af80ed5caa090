//===- RankJob.cpp - Work of one rank of a measurement --------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Bench/DDP/RankJob.h"

#include "JSONFile.h"

using namespace cs336::bench;
namespace json = llvm::json;

namespace cs336::bench {

static bool parse(llvm::StringRef name, runtime::GpuExchange &exchange) {
  absl::StatusOr<runtime::GpuExchange> parsed = runtime::ParseGpuExchange({name.data(), name.size()});
  if (parsed.ok())
    exchange = *parsed;
  return parsed.ok();
}

static bool fromJSON(const json::Value &value, RankJob &job, json::Path path) {
  json::ObjectMapper map(value, path);
  std::string exchange;
  return map && map.map("exchange", exchange) && parse(exchange, job.exchange) && map.map("folder", job.folder) &&
         map.map("device", job.device) && map.map("num_threads", job.numThreads) && map.map("seed", job.seed) &&
         map.map("memory_limit_bytes", job.memoryLimitBytes) && map.map("warmup", job.warmup) &&
         map.map("steps", job.steps) && map.map("timeout_seconds", job.timeoutSeconds) && map.map("beta1", job.beta1) &&
         map.map("profile", job.profile) && map.map("trace", job.trace) && map.map("give", job.give);
}

} // namespace cs336::bench

absl::Status cs336::bench::writeRankJob(const RankJob &job, llvm::StringRef path) {
  return writeJSON(json::Object{{"folder", job.folder},
                                {"device", job.device},
                                {"num_threads", job.numThreads},
                                {"seed", job.seed},
                                {"memory_limit_bytes", job.memoryLimitBytes},
                                {"warmup", job.warmup},
                                {"steps", job.steps},
                                {"timeout_seconds", job.timeoutSeconds},
                                {"exchange", ToString(job.exchange)},
                                {"beta1", job.beta1},
                                {"profile", job.profile},
                                {"trace", job.trace},
                                {"give", job.give}},
                   path);
}

absl::StatusOr<RankJob> cs336::bench::readRankJob(llvm::StringRef path) { return readJSONFile<RankJob>(path); }
