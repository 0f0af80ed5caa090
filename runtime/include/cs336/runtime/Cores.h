//===- Cores.h - Cores of the ranks of a host -------------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_RUNTIME_CORES_H
#define CS336_RUNTIME_CORES_H

#include "cs336/runtime/Communicator.h"

#include "absl/status/status.h"

#include <sched.h>

namespace cs336::runtime {

/// Divides a set of cores into `parts` parts and returns one of them. If there are fewer cores than parts, each part is
/// one core, and several parts are the same.
cpu_set_t ShareOfCores(const cpu_set_t &cores, int part, int parts);

/// Divides cores among the ranks of a host that may use exactly the same cores, and binds this rank to its share: the
/// calling thread, and the threads that it creates later. A rank that has cores of its own, because its launcher has
/// divided them, keeps them. All ranks call this. Returns the errors of Communicator::AllGather().
absl::Status BindToShareOfCores(Communicator &ranks);

} // namespace cs336::runtime

#endif // CS336_RUNTIME_CORES_H
