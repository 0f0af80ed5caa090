//===- KernelImage.h - Compiled code in memory ------------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_RUNTIME_DEVICE_CPU_KERNELIMAGE_H
#define CS336_RUNTIME_DEVICE_CPU_KERNELIMAGE_H

#include "cs336/runtime/format/Executable_generated.h"
#include "device/cpu/CpuFeatures.h"

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

#include <cstdint>
#include <memory>

namespace cs336::runtime {

/// Computes rows [begin, end) of a launch. operands[i] is the address of the
/// first element of operand i.
using KernelFunction = void (*)(void *const *operands, int64_t begin, int64_t end);

/// A code object in this process. The destructor unloads it.
class KernelImage {
public:
  /// Loads a code object. Returns FAILED_PRECONDITION if it is for another
  /// architecture or needs an instruction set that `features` lacks; DATA_LOSS
  /// if it is not a shared object or cannot be linked.
  static absl::StatusOr<KernelImage> Load(const format::CodeObjectT &object, const CpuFeatures &features);

  absl::StatusOr<KernelFunction> Find(absl::string_view symbol) const;

private:
  /// Unlinks the library, then closes the file that it was linked from. The
  /// linker identifies libraries by path, here by a descriptor's path: if the
  /// descriptor were closed earlier, the linker would take the next file with
  /// the same descriptor for this library.
  struct Close {
    int descriptor;
    void operator()(void *library) const;
  };
  std::unique_ptr<void, Close> library_;
};

} // namespace cs336::runtime

#endif // CS336_RUNTIME_DEVICE_CPU_KERNELIMAGE_H
