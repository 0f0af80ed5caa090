//===- CommandInfo.h - The description of a command -------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_RUNTIME_COMMANDINFO_H
#define CS336_RUNTIME_COMMANDINFO_H

#include "absl/strings/string_view.h"

#include <cstdint>

namespace cs336::runtime {

/// The description of a command. Its text lives as long as the executable.
struct CommandInfo {
  int64_t index = 0;            // In the entry's commands.
  absl::string_view entry = ""; // "train"
  absl::string_view name = "";
  absl::string_view source = "";   // The model's operation: "layers.0.attn.q_proj", or empty.
  absl::string_view layer = "";    // "layers.0.attn", or empty.
  absl::string_view phase = "";    // "forward", "backward", "communication", "optimizer", "prepare"
  absl::string_view kind = "";     // "launch", "gemm", "copy", "collective", ...
  absl::string_view location = ""; // The source location as text.
  int64_t stream = 0;              // The stream of the entry that runs it.
  int64_t event = -1;              // The event that a "record" records or a "wait" waits for.
  double flops = 0;                // A multiply-add counts as two.
  double bytes = 0;                // The bytes of its buffers; each element counts once.
  int64_t live_bytes = 0;          // The arena's live bytes while it runs.
  /// The type of most of its FLOPs: "f64", "f32", "tf32", "tf32x3", "bf16", "f16", or empty.
  absl::string_view arithmetic = "";
};

} // namespace cs336::runtime

#endif // CS336_RUNTIME_COMMANDINFO_H
