//===- UpdateGroups.cpp - Updates by gradients in one launch --------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "UpdateGroups.h"

#include "GradientProblem.h"
#include "cs336/Cost/DeviceModel.h"

using namespace mlir;
using namespace cs336;
using namespace cs336::cuda;
using namespace cs336::exec;

std::vector<UpdateGroup> cuda::groupUpdates(ArrayRef<GradientUpdate> updates, KernelForms &forms, int64_t leastTiles,
                                            unsigned mostMembers) {
  // Updates of one key do the same computation with the same scalars.
  std::map<std::vector<const void *>, UpdateGroup> open;
  std::vector<UpdateGroup> groups;
  auto close = [&](UpdateGroup &group) {
    if (!group.members.empty())
      groups.push_back(std::move(group));
    group = UpdateGroup();
  };
  for (const GradientUpdate &update : updates) {
    LaunchOp launch = update.launch;
    const KernelForm &form = **forms.find(launch);
    std::vector<const void *> key{reinterpret_cast<const void *>(uintptr_t(form.number)),
                                  reinterpret_cast<const void *>(uintptr_t(update.gradient)),
                                  reinterpret_cast<const void *>(uintptr_t(static_cast<bool>(update.gather))),
                                  reinterpret_cast<const void *>(launch.getStream())};
    for (auto [isScalar, input] : llvm::zip_equal(form.isScalar, launch.getInputs()))
      if (isScalar)
        key.push_back(input.getAsOpaquePointer());
    UpdateGroup &group = open[key];
    unsigned position = std::max(group.position, update.first), last = std::min(group.last, update.last);
    if (position >= last || group.members.size() == mostMembers) {
      close(group);
      position = update.first;
      last = update.last;
    }
    group.members.push_back(update);
    group.position = position;
    group.last = last;
    group.tiles += update.tiles;
    if (group.tiles >= leastTiles)
      close(group);
  }
  for (auto &[key, group] : open)
    close(group);
  return groups;
}

/// Returns the bytes of what an update reads and writes besides its gradient.
static int64_t getUpdateBytes(LaunchOp launch, unsigned gradient) {
  int64_t bytes = 0;
  for (auto [number, input] : llvm::enumerate(launch.getInputs()))
    bytes += number == gradient ? 0 : getStorageBytes(bufferType(input));
  for (Value output : launch.getOutputs())
    bytes += getStorageBytes(bufferType(output));
  return bytes;
}

/// Compares predicted times. Blocks multiply one tile per round while they update the tile before, so the first matmul
/// and the last update have no counterpart, and all blocks wait for those that have the most tiles.
bool cuda::isFaster(const UpdateGroup &group, int64_t multiprocessors) {
  const DeviceModel &device = getDefaultDeviceModel(/*isForGPU=*/true);
  // Measured on an H200: 3.3 of 4.24 TB/s.
  constexpr double shareOfMemory = 0.78;
  double apart = 0, updateBytes = 0, longestMatmul = 0;
  for (const GradientUpdate &update : group.members) {
    GemmOp gemm = update.gemm;
    auto gradient = bufferType(gemm.getOutput());
    double tokens = bufferType(gemm.getLhs()).getDimSize(1), bytes = getUpdateBytes(update.launch, update.gradient);
    double rate = device.getFlops(gradient.getElementType(), gemm.getPrecision());
    apart += 2 * tokens * gradient.getNumElements() / rate + device.commandSeconds +
             (bytes + 2 * getStorageBytes(gradient)) / device.memoryBytes;
    updateBytes += bytes;
    longestMatmul = std::max(longestMatmul, 2 * tokens * GradientProblem::rowsPerTile *
                                                GradientProblem::columnsPerTile * multiprocessors / rate);
  }
  double rounds = llvm::divideCeilSigned(group.tiles, multiprocessors);
  double updates = updateBytes / (shareOfMemory * device.memoryBytes);
  double lastUpdate = updates * multiprocessors / group.tiles;
  return std::max(rounds * longestMatmul, updates) + longestMatmul + lastUpdate < apart;
}

SmallVector<unsigned> cuda::getPlaces(ArrayRef<UpdateGroup> groups, ArrayRef<unsigned> hoisted, size_t count) {
  SmallVector<unsigned> places = llvm::to_vector(llvm::seq<unsigned>(0, count));
  unsigned first = count;
  for (const UpdateGroup &group : groups) {
    first = std::min(first, group.position);
    for (const GradientUpdate &update : group.members)
      places[update.gemmPosition] = places[update.launchPosition] = group.position;
  }
  // A gather follows the last launch that stores one of its operands.
  for (const UpdateGroup &group : groups)
    for (const GradientUpdate &update : group.members)
      if (update.gather)
        places[update.gatherPosition] = std::max(places[update.gatherPosition], group.position);
  for (unsigned position : hoisted)
    places[position] = first;
  return places;
}
