//===- PlanSummary.h - Memory of an entry, known before it runs -*- C++ -*-===//
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

/// What one entry of an executable needs, in bytes; sums stop at INT64_MAX.
struct PlanSummary {
  struct Item {
    std::string name;
    std::string location;
    TensorType type;
    int64_t byte_size = 0;
  };

  int64_t arena_bytes = 0;     // Temporaries and outputs.
  int64_t parameter_bytes = 0; // Of the whole executable, as are the next three.
  int64_t state_bytes = 0;
  int64_t derived_bytes = 0;
  int64_t host_bytes = 0; // Of variables that a GPU leaves in host memory: in none of the others.
  int64_t input_bytes = 0;
  int64_t commands = 0;
  int64_t kernels = 0;       // Distinct ones that the entry launches.
  std::vector<Item> largest; // Arena buffers, the largest first.

  /// In the device's memory.
  int64_t total_bytes() const;
};

/// NOT_FOUND if there is no such entry. `largest` gets at most
/// `largest_count` items.
absl::StatusOr<PlanSummary> Summarize(const Executable &executable, absl::string_view entry,
                                      int64_t largest_count = 10);

} // namespace cs336::runtime

#endif // CS336_RUNTIME_PLANSUMMARY_H
