//===- InputTensors.h - The inputs of a run ---------------------*- C++ -*-===//
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

/// Reads the entry's inputs from .npy, .npz and .safetensors files. Each string is either a path, whose tensors have
/// their names in the file (a .npy file has its file name without extension), or NAME=PATH for a file with one tensor.
/// Values are widened to the input's type if that is exact. Returns an error that names the input that is missing,
/// unknown, given twice, or of another type.
absl::StatusOr<runtime::TensorMap> readInputs(const format::EntryT &entry, llvm::ArrayRef<std::string> files);

/// Returns random inputs: uniform integers below each input's bound (2 without a bound), and standard normal numbers.
absl::StatusOr<runtime::TensorMap> makeRandomInputs(const format::EntryT &entry, uint64_t seed);

/// Returns the tensors as arguments of Session::Run. `tensors` must outlive them.
std::vector<runtime::NamedTensor> asArguments(const runtime::TensorMap &tensors);

/// Lists the inputs: "arg0: f32[4, 8], tokens: i64[4, 256] in [0, 97)".
std::string describeInputs(const format::EntryT &entry);

} // namespace cs336

#endif // CS336_DRIVER_RUN_INPUTTENSORS_H
