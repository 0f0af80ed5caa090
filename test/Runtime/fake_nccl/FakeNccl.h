//===- FakeNccl.h - An NCCL for machines without a GPU ----------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A library with the name libnccl.so.2 that works on the memory of the fake CUDA
// driver. The other ranks do not exist: each has the values of the rank that
// calls. As NCCL does, it refuses calls on a communicator that is not done with
// the previous one.
//
//===----------------------------------------------------------------------===//

#ifndef CS336_TEST_RUNTIME_FAKENCCL_H
#define CS336_TEST_RUNTIME_FAKENCCL_H

#include <string>
#include <vector>

namespace cs336::runtime::testing {

struct FakeNccl {
  int version = 22803;
  std::string failing_call; // Returns an error, such as "ncclAllReduce".
  bool is_stuck = false;    // Calls are never done.

  bool abort_ends_work = true;
  bool abort_never_ends = false;

  int comms = 0; // Communicators that exist.
  int aborted = 0;
  int blocking = 1;               // The option of the last communicator.
  std::vector<std::string> calls; // Collectives that were enqueued: "ncclAllReduce 12 7", the count and the type.
};

/// The library of this process.
FakeNccl &TheFakeNccl();

} // namespace cs336::runtime::testing

#endif // CS336_TEST_RUNTIME_FAKENCCL_H
