//===- Kernels.h - The kernels of the fake driver ---------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_TEST_RUNTIME_KERNELS_H
#define CS336_TEST_RUNTIME_KERNELS_H

#include "fake_cuda/PtxParser.h"

#include <cstddef>
#include <cstdint>
#include <cuda.h>
#include <memory>
#include <string>

// The objects behind the driver's opaque handles.
struct CUfunc_st {
  size_t parameters = 0;
  void (*body)(void *const *operands) = nullptr;
  bool takes_structure = false; // Its only parameter is a structure of all pointers.
  size_t tensor_maps = 0;       // Parameters after the pointers.
  /// A kernel that waits has a first part, and a condition for its body. Others have neither.
  void (*begin)(void *const *operands) = nullptr;
  bool (*may_go_on)(void *const *operands) = nullptr;
  /// Is interpreted in place of the body.
  std::shared_ptr<const cs336::runtime::testing::PtxProgram> program = nullptr;
  unsigned most_shared_bytes = 1000; // Per block.

  /// The position of tensor map `index`, and of the end after the last one.
  /// Parameters begin 16 bytes after a multiple of 64 in the memory of a multiprocessor.
  size_t MapOffset(size_t index) const {
    return (8 * parameters + 16 + 63) / 64 * 64 - 16 + index * sizeof(CUtensorMap);
  }
  size_t ParameterBytes() const { return tensor_maps == 0 ? 8 * parameters : MapOffset(tensor_maps); }
};
struct CUmod_st {
  std::string text;        // In PTX; empty for other modules.
  CUfunc_st function = {}; // The kernel in the text.
};

namespace cs336::runtime::testing {

/// The contents of an encoded tensor map of rank 2.
struct FakeTensorMap {
  CUdeviceptr address;
  uint64_t columns, rows, row_bytes;
  uint64_t box_columns, box_rows, swizzle, promotion, data_type;
};
static_assert(sizeof(FakeTensorMap) <= sizeof(CUtensorMap));

/// Returns a kernel of a module. Some kernels are functions of the host, in modules of any contents, because they wait
/// for other ranks or were compiled. The text of the others is interpreted. Returns null if there is none, or text that
/// cannot be interpreted.
CUfunc_st *FindKernel(CUmod_st &module, const std::string &name);

/// Runs a kernel that is interpreted. The device has a fault if it accesses other memory than it may.
void Interpret(const PtxProgram &program, const CUlaunchConfig &launch, std::vector<uint64_t> parameters);

} // namespace cs336::runtime::testing

#endif // CS336_TEST_RUNTIME_KERNELS_H
