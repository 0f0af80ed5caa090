//===- CollectivePeer.cpp - The same collectives in PyTorch ---------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Bench/AllReduce/CollectivePeer.h"

#include "cs336/Bench/AllReduce/CollectiveNames.h"
#include "cs336/Bench/Peer/RanksScript.h"

using namespace cs336::bench;
namespace json = llvm::json;

// Written by CMake: benchmarks/peers/torch_collectives.py as a string literal.
static constexpr llvm::StringLiteral kScript =
#include "TorchCollectives.inc"
    ;

static constexpr llvm::StringLiteral kPackages[] = {"torch"};

absl::StatusOr<std::unique_ptr<CollectivePeer>> CollectivePeer::start(const PeerOptions &options) {
  auto process = TorchProcess::start({{"torch_collectives.py", kScript}, getRanksScript()}, kPackages, options);
  if (!process.ok())
    return process.status();
  return std::unique_ptr<CollectivePeer>(new CollectivePeer(options, *std::move(process)));
}

bool CollectivePeer::isMeasured(llvm::StringRef variant, const CollectiveCase &one, bool isOnGPU) {
  if (isOnGPU)
    return true;
  bool isMean = isReducing(one.collective) && one.reduction == runtime::Reduction::kMean;
  return variant != "graph" && !isMean && one.collective != Collective::ReduceScatter &&
         one.collective != Collective::AllToAll;
}

/// Reads the times of one case. Returns false if the answer lacks them.
static bool readTimes(const json::Value &answer, AllReduceTimes &times) {
  const json::Object *object = answer.getAsObject();
  const json::Array *list = object ? object->getArray("times_ms") : nullptr;
  std::optional<int64_t> wrong = object ? object->getInteger("wrong") : std::nullopt;
  if (!list || list->empty() || !wrong)
    return false;
  times.wrong = *wrong;
  for (const json::Value &time : *list)
    times.milliseconds.push_back(time.getAsNumber().value_or(0));
  return true;
}

absl::StatusOr<std::vector<AllReduceTimes>>
CollectivePeer::measure(llvm::StringRef variant, llvm::ArrayRef<CollectiveCase> cases, int ranks, bool isOnGPU) {
  constexpr int64_t kChain = 10;
  json::Array questions;
  for (const CollectiveCase &one : cases) {
    json::Object question{{"collective", getName(kCollectives, one.collective)},
                          {"dtype", getName(kTypes, one.dtype)},
                          {"count", one.count},
                          {"chain", isOnGPU ? kChain : 1}};
    if (isReducing(one.collective))
      question["op"] = getName(kOperations, one.reduction);
    questions.push_back(std::move(question));
  }
  json::Object job{{"ranks", ranks},
                   {"device", isOnGPU ? "cuda" : "cpu"},
                   {"variant", variant},
                   {"cases", std::move(questions)},
                   {"warmup", options.warmup},
                   {"steps", options.steps},
                   {"threads", options.numThreads}};
  absl::StatusOr<json::Object> answer = process->ask(std::move(job));
  if (!answer.ok())
    return answer.status();
  const json::Array *answers = answer->getArray("cases");
  std::vector<AllReduceTimes> results;
  for (const CollectiveCase &one : cases) {
    AllReduceTimes &times = results.emplace_back(AllReduceTimes{one, {}, 0});
    if (!answers || answers->size() != cases.size() || !readTimes((*answers)[results.size() - 1], times))
      return process->fail(absl::DataLossError("its answer has no times_ms and wrong of every case"));
  }
  return results;
}
