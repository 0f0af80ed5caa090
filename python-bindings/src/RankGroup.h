//===- RankGroup.h - A group of ranks for Python ----------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_PYTHON_RANKGROUP_H
#define CS336_PYTHON_RANKGROUP_H

#include "cs336/runtime/Communicator.h"
#include "cs336/runtime/RankEnvironment.h"

#include <memory>

namespace cs336::python {

/// This process's place in a group, and its end of the group, which sessions share. Null once it is closed.
struct RankGroup {
  runtime::RankEnvironment place;
  std::shared_ptr<runtime::Communicator> communicator;
};

} // namespace cs336::python

#endif // CS336_PYTHON_RANKGROUP_H
