//===- Communication.h - Predicted communication of a step ------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_BENCH_PLAN_COMMUNICATION_H
#define CS336_BENCH_PLAN_COMMUNICATION_H

#include "cs336/Bench/Plan/PlanReport.h"
#include "cs336/Bench/Report/Table.h"

namespace cs336::bench {

/// Returns the number of collectives of one rank, the bytes that it sends, their predicted time, and the predicted time
/// of the step.
std::string describeCommunication(const PlanRow &row);

/// Returns "collectives": a row per collective of a step, in order, with the bytes that each rank sends, and its
/// predicted time. If its exposed time is 0, no command waits for the collective.
Table makeCollectiveTable(const ModelPlan &plan);

} // namespace cs336::bench

#endif // CS336_BENCH_PLAN_COMMUNICATION_H
