//===- AllReduceAlgorithms.cpp - Costs of all-reduces ---------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Bench/Scaling/AllReduceAlgorithms.h"

#include "llvm/Support/MathExtras.h"

using namespace cs336;
using namespace cs336::bench;

llvm::ArrayRef<AllReduceAlgorithm> cs336::bench::getAllReduceAlgorithms() {
  static constexpr AllReduceAlgorithm kAll[] = {AllReduceAlgorithm::Ring, AllReduceAlgorithm::WholeBufferRing,
                                                AllReduceAlgorithm::OneShot, AllReduceAlgorithm::HalvingDoubling};
  return kAll;
}

llvm::StringRef cs336::bench::stringifyAllReduceAlgorithm(AllReduceAlgorithm algorithm) {
  switch (algorithm) {
  case AllReduceAlgorithm::Ring:
    return "ring";
  case AllReduceAlgorithm::WholeBufferRing:
    return "whole-buffer ring";
  case AllReduceAlgorithm::OneShot:
    return "one-shot";
  case AllReduceAlgorithm::HalvingDoubling:
    return "halving-doubling";
  }
  llvm_unreachable("every algorithm has a name");
}

std::optional<AllReduceCost> cs336::bench::getAllReduceCost(AllReduceAlgorithm algorithm, int64_t ranks,
                                                            int64_t bytes) {
  int64_t ringBytes = getRingBytes(CollectiveKind::AllReduce, ranks, bytes), wholeBytes = 0;
  bool isTooLarge = llvm::MulOverflow(ranks - 1, bytes, wholeBytes);
  switch (algorithm) {
  case AllReduceAlgorithm::Ring:
    return AllReduceCost{getRingSteps(CollectiveKind::AllReduce, ranks), ringBytes};
  case AllReduceAlgorithm::WholeBufferRing:
    return isTooLarge ? std::nullopt : std::optional(AllReduceCost{ranks - 1, wholeBytes});
  case AllReduceAlgorithm::OneShot:
    return isTooLarge ? std::nullopt : std::optional(AllReduceCost{ranks > 1 ? 1 : 0, wholeBytes});
  case AllReduceAlgorithm::HalvingDoubling:
    if (!llvm::isPowerOf2_64(static_cast<uint64_t>(ranks)))
      return std::nullopt;
    return AllReduceCost{2 * static_cast<int64_t>(llvm::Log2_64(static_cast<uint64_t>(ranks))), ringBytes};
  }
  llvm_unreachable("every algorithm has a cost");
}

const Link &cs336::bench::getSlowestLink(const Interconnect &links, int64_t ranks) {
  return ranks > links.devicesPerHost ? links.network : links.link;
}

std::optional<double> cs336::bench::getEqualBytes(const Link &link, int64_t ranks) {
  if (ranks <= 2)
    return std::nullopt;
  return link.stepSeconds * link.bytesPerSecond * static_cast<double>(ranks) / static_cast<double>(ranks - 2);
}
