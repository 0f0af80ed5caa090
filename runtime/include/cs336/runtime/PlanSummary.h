//===- PlanSummary.h - Memory of an entry before it runs --------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_RUNTIME_PLANSUMMARY_H
#define CS336_RUNTIME_PLANSUMMARY_H

#include "cs336/runtime/Executable.h"

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

#include <cstdint>
#include <string>
#include <vector>

namespace cs336::runtime {

/// The memory that one entry of an executable needs, in bytes. Sums saturate at
/// INT64_MAX.
struct PlanSummary {
  struct Item {
    std::string name;
    std::string location;
    TensorType type;
    int64_t byte_size = 0;
  };

  int64_t arena_bytes = 0;     // Allocations and outputs.
  int64_t parameter_bytes = 0; // For the whole executable, like the next three. A sharded variable counts one part.
  int64_t state_bytes = 0;
  int64_t derived_bytes = 0;
  int64_t host_bytes = 0; // Variables that a GPU leaves in host memory; not part of the other numbers.
  int64_t input_bytes = 0;
  int64_t commands = 0;
  int64_t kernels = 0;       // Distinct kernels that the entry launches.
  std::vector<Item> largest; // Arena buffers, the largest first.

  /// Returns all bytes in the device's memory.
  int64_t total_bytes() const;
};

/// Summarizes one entry. `largest` gets at most `largest_count` items. Returns
/// NOT_FOUND if there is no such entry.
absl::StatusOr<PlanSummary> Summarize(const Executable &executable, absl::string_view entry,
                                      int64_t largest_count = 10);

} // namespace cs336::runtime

#endif // CS336_RUNTIME_PLANSUMMARY_H
