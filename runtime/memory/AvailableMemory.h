//===- AvailableMemory.h - Memory that is left ------------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_RUNTIME_MEMORY_AVAILABLEMEMORY_H
#define CS336_RUNTIME_MEMORY_AVAILABLEMEMORY_H

#include <cstdint>
#include <string>

namespace cs336::runtime {

/// Returns what AvailableHostMemory() returns, from the files of a system whose
/// root is the folder `root`: "" for this system. Reads proc/meminfo,
/// proc/self/cgroup, and the control groups below sys/fs/cgroup, versions 1 and 2.
int64_t AvailableMemoryOf(const std::string &root);

} // namespace cs336::runtime

#endif // CS336_RUNTIME_MEMORY_AVAILABLEMEMORY_H
