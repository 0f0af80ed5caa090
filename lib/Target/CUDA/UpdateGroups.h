//===- UpdateGroups.h - Updates by gradients in one launch -------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_LIB_TARGET_CUDA_UPDATEGROUPS_H
#define CS336_LIB_TARGET_CUDA_UPDATEGROUPS_H

#include "UpdateSearch.h"

namespace cs336::cuda {

/// Updates that become one launch, after the command `position` and before the command `last`.
struct UpdateGroup {
  std::vector<GradientUpdate> members;
  unsigned position = 0, last = ~0u;
  int64_t tiles = 0;
};

/// Groups updates that do the same computation until a group has `leastTiles` tiles or `mostMembers` members.
std::vector<UpdateGroup> groupUpdates(llvm::ArrayRef<GradientUpdate> updates, KernelForms &forms, int64_t leastTiles,
                                      unsigned mostMembers);

/// Returns whether the group is predicted to be faster than its GEMMs and launches, on a GPU with that many
/// multiprocessors.
bool isFaster(const UpdateGroup &group, int64_t multiprocessors);

/// Returns the position of each of the `count` commands if the groups' commands move to the group's position, and the
/// hoisted ones before the first of them.
llvm::SmallVector<unsigned> getPlaces(llvm::ArrayRef<UpdateGroup> groups, llvm::ArrayRef<unsigned> hoisted,
                                      size_t count);

} // namespace cs336::cuda

#endif // CS336_LIB_TARGET_CUDA_UPDATEGROUPS_H
