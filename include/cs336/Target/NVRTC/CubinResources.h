//===- CubinResources.h - Registers and memory of machine code --*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_TARGET_NVRTC_CUBINRESOURCES_H
#define CS336_TARGET_NVRTC_CUBINRESOURCES_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <cstdint>
#include <string>
#include <vector>

namespace cs336 {

/// The resources of a kernel in a cubin.
struct CubinResources {
  std::string name;
  int64_t registersPerThread = 0;
  /// Bytes of local memory per thread: arrays that are not in registers, and spilled registers.
  int64_t localBytesPerThread = 0;
  /// Bytes of static shared memory per block, without the part that CUDA reserves.
  int64_t staticSharedBytes = 0;
};

/// Reads the resources of the kernels of a cubin, as the assembler reports them with `--verbose`. Requires neither a
/// GPU nor NVRTC. Fails if the bytes are not a cubin, or if a kernel has no number of registers.
///
/// A cubin is an ELF file. The section `.nv.info` is a list of attributes: a byte for the form, a byte for the
/// attribute, and two bytes that are a small value or the number of bytes that follow. The attributes 0x2f and 0x11 are
/// a symbol with its registers, and a symbol with its bytes of local memory. The section `.nv.shared.NAME` has the size
/// of the shared memory of a kernel. From sm_90 on, it includes the KiB that CUDA reserves, and the file has a section
/// `.nv.shared.reserved.0`.
llvm::Expected<std::vector<CubinResources>> readCubinResources(llvm::ArrayRef<uint8_t> image);

} // namespace cs336

#endif // CS336_TARGET_NVRTC_CUBINRESOURCES_H
