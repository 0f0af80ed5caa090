//===- ProfileKey.h - The rows of a profile ---------------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_DRIVER_RUN_PROFILEKEY_H
#define CS336_DRIVER_RUN_PROFILEKEY_H

#include "cs336/Support/EnumParser.h"
#include "cs336/runtime/Trace.h"
#include "llvm/ADT/StringRef.h"

#include "absl/status/statusor.h"

#include <string>

namespace cs336 {

/// The property of spans by which the rows of a profile are formed. Each span of a trace belongs to one row.
enum class ProfileKey {
  /// A kernel, copy or fill on a GPU; a command on the CPU.
  Kernel,
  /// A command of the compiled entry: "gemm_q_proj". On a GPU it may run several kernels.
  Command,
  /// "gemm", "copy", "collective", or the operations of a generated kernel: "cast_add_mul_reduce".
  Kind,
  /// An operation of the model, merged over all layers: "layers.*.attn.q_proj".
  Operation,
  /// A part of a Transformer's step: see `getRange`.
  Range,
  /// A kernel within a part of a step: "norm: cast_add_mul_reduce_9f5c".
  RangeKernel,
  /// A layer, "layers.0", or an operation outside of layers, "lm_head".
  Layer,
  /// "forward", "backward", "communication", "optimizer".
  Phase
};

/// Returns the key's name in flags: "kernel".
llvm::StringRef stringifyProfileKey(ProfileKey key);
/// Returns the key of that name, or INVALID_ARGUMENT with the known names.
absl::StatusOr<ProfileKey> parseProfileKey(llvm::StringRef name);

/// Returns the name of the row that the spans of a kernel belong to. Spans without a command, for which `command` is
/// null, have the row "inputs and outputs", except for the key `Kernel`.
std::string getProfileKey(ProfileKey key, const runtime::TracedCommand *command, llvm::StringRef kernel);

/// Returns the part of a step that a command belongs to: "optimizer" and "communication" by phase, and otherwise by the
/// names that the importer gives to operations: "embedding", "norm", "qkv", "rope", "scores", "mask", "softmax",
/// "values", "attention" (one kernel for the last four), "attention output", "ffn", "head", "loss", "residual".
/// Commands with other names have their operation as a range: "layers.*.conv".
std::string getRange(const runtime::TracedCommand &command);

/// Returns the range with its phase as nsys prints a range of the default domain: ":forward/norm". Returns "" for null.
std::string getRangePath(const runtime::TracedCommand *command);

} // namespace cs336

namespace llvm::cl {
template <>
class parser<cs336::ProfileKey> : public cs336::EnumParser<cs336::ProfileKey> {
public:
  explicit parser(Option &option);
};
} // namespace llvm::cl

#endif // CS336_DRIVER_RUN_PROFILEKEY_H
