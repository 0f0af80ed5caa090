//===- InputTensors.h - What an entry is run with ---------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_DRIVER_RUN_INPUTTENSORS_H
#define CS336_DRIVER_RUN_INPUTTENSORS_H

#include "cs336/runtime/Session.h"
#include "llvm/ADT/ArrayRef.h"

#include <string>
#include <vector>

namespace cs336 {

/// The entry's inputs out of .npy, .npz and .safetensors files. Each is a path, whose tensors have their names in the
/// file (a .npy file's is the file's without extension), or NAME=PATH for a file with one tensor. Values are widened to
/// the input's type where that loses nothing. Errors name the input that is missing, unknown, given twice, or of
/// another type.
absl::StatusOr<runtime::TensorMap> readInputs(const format::EntryT &entry, llvm::ArrayRef<std::string> files);

/// Uniform integers below each input's bound, or below 2 without one, and standard normal numbers.
absl::StatusOr<runtime::TensorMap> makeRandomInputs(const format::EntryT &entry, uint64_t seed);

/// The tensors as arguments of Session::Run; `tensors` must outlive them.
std::vector<runtime::NamedTensor> asArguments(const runtime::TensorMap &tensors);

/// "arg0: f32[4, 8], tokens: i64[4, 256] in [0, 97)".
std::string describeInputs(const format::EntryT &entry);

} // namespace cs336

#endif // CS336_DRIVER_RUN_INPUTTENSORS_H
