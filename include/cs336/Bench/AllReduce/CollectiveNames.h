//===- CollectiveNames.h - Names of collectives, types and reductions *- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_BENCH_ALLREDUCE_COLLECTIVENAMES_H
#define CS336_BENCH_ALLREDUCE_COLLECTIVENAMES_H

#include "cs336/Bench/AllReduce/Collective.h"
#include "llvm/ADT/StringRef.h"

#include <optional>
#include <utility>

namespace cs336::bench {

/// A value with its name in flags and in JSON.
template <typename Value>
using Named = std::pair<llvm::StringLiteral, Value>;

inline constexpr Named<runtime::DType> kTypes[] = {
    {"fp32", runtime::DType::kF32}, {"bf16", runtime::DType::kBF16}, {"fp16", runtime::DType::kF16}};
inline constexpr Named<runtime::Reduction> kOperations[] = {
    {"sum", runtime::Reduction::kSum}, {"mean", runtime::Reduction::kMean}, {"max", runtime::Reduction::kMax}};
inline constexpr Named<Collective> kCollectives[] = {{"all_reduce", Collective::AllReduce},
                                                     {"all_gather", Collective::AllGather},
                                                     {"reduce_scatter", Collective::ReduceScatter},
                                                     {"broadcast", Collective::Broadcast},
                                                     {"all_to_all", Collective::AllToAll}};

/// Returns the value of that name, or nullopt.
template <typename Value, size_t Size>
std::optional<Value> findValue(const Named<Value> (&known)[Size], llvm::StringRef name) {
  for (const auto &[each, value] : known)
    if (each == name)
      return value;
  return std::nullopt;
}

/// Returns the name of a value, which is among the known ones.
template <typename Value, size_t Size>
llvm::StringRef getName(const Named<Value> (&known)[Size], Value value) {
  for (const auto &[name, each] : known)
    if (each == value)
      return name;
  return "";
}

} // namespace cs336::bench

#endif // CS336_BENCH_ALLREDUCE_COLLECTIVENAMES_H
