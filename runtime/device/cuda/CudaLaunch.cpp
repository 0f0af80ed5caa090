//===- CudaLaunch.cpp - Launches of a program's kernels -------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "device/cuda/CudaLaunch.h"

#include "device/cuda/TensorMaps.h"
#include "status/StatusMacros.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"

#include <cstddef>
#include <cstring>
#include <utility>
#include <vector>

namespace cs336::runtime {

namespace {

/// A function with all values of its parameters.
class BoundFunction {
public:
  /// `map_offsets` has the position of each tensor map in the block of
  /// parameters, in order.
  static absl::StatusOr<BoundFunction> Bind(const CudaContext &context, const CudaFunction &function,
                                            absl::Span<void *const> operands, absl::Span<const size_t> map_offsets) {
    size_t pointer_bytes = operands.size() * sizeof(void *);
    BoundFunction bound(function);
    bound.parameters_.resize(map_offsets.empty() ? pointer_bytes : map_offsets.back() + sizeof(CUtensorMap));
    std::memcpy(bound.parameters_.data(), operands.data(), pointer_bytes);
    for (size_t i = 0; i != map_offsets.size(); ++i) {
      const format::TensorMapT &map = function.tensor_maps[i];
      absl::StatusOr<CUtensorMap> encoded = EncodeTensorMap(context.driver(), map, operands[map.operand]);
      if (!encoded.ok())
        return Annotate(encoded.status(), absl::StrCat("function '", function.symbol, "': tensor map ", i));
      std::memcpy(bound.parameters_.data() + map_offsets[i], &*encoded, sizeof(CUtensorMap));
    }
    return bound;
  }

  absl::Status Launch(const CudaContext &context) {
    // One block of parameters has a size that the driver can check. With single
    // parameters, it would read as many as the kernel has.
    size_t bytes = parameters_.size();
    void *block[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, parameters_.data(), CU_LAUNCH_PARAM_BUFFER_SIZE, &bytes,
                     CU_LAUNCH_PARAM_END};
    CUlaunchAttribute cluster = {};
    cluster.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
    cluster.value.clusterDim = {function_.cluster, 1, 1};
    CUlaunchConfig config = {};
    config.gridDimX = function_.blocks;
    config.gridDimY = config.gridDimZ = 1;
    config.blockDimX = function_.threads;
    config.blockDimY = config.blockDimZ = 1;
    config.sharedMemBytes = function_.shared_bytes;
    config.hStream = context.stream();
    // Devices without clusters reject the attribute.
    config.attrs = &cluster;
    config.numAttrs = function_.cluster == 1 ? 0 : 1;
    return context.driver().LaunchKernelEx(&config, function_.handle, nullptr, block);
  }

private:
  explicit BoundFunction(const CudaFunction &function) : function_(function) {}

  const CudaFunction &function_;
  std::vector<char> parameters_;
};

class CudaLaunchCommand : public PreparedCommand {
public:
  CudaLaunchCommand(const CudaContext &context, std::vector<BoundFunction> functions)
      : context_(context), functions_(std::move(functions)) {}

  absl::Status Execute() override {
    for (BoundFunction &function : functions_)
      CS336_RETURN_IF_ERROR(function.Launch(context_));
    return absl::OkStatus();
  }

private:
  const CudaContext &context_;
  std::vector<BoundFunction> functions_;
};

absl::Status WrongParameters(const CudaFunction &function, size_t count, const absl::Status &status) {
  size_t maps = function.tensor_maps.size();
  return absl::DataLossError(absl::StrCat("its kernel does not take the ", count, " operands ",
                                          maps == 0 ? "" : absl::StrCat("and ", maps, " tensor maps "), "that it gives",
                                          status.ok() ? "" : ": ", status.message()));
}

/// Returns the number of parameters that hold `count` operands: one, a structure
/// of pointers, or `count` pointers. Returns DATA_LOSS if the function has other
/// parameters.
absl::StatusOr<size_t> CountPointers(const CudaFunction &function, size_t count, const DriverApi &driver) {
  size_t offset = 0, size = 0;
  absl::Status status = driver.FuncGetParamInfo(function.handle, 0, &offset, &size);
  if (status.ok() && offset == 0 && size == count * sizeof(void *))
    return 1;
  // Querying a parameter that does not exist is an error that checking tools report, so this comes last.
  if (status.ok())
    status = driver.FuncGetParamInfo(function.handle, count - 1, &offset, &size);
  if (status.ok() && offset == (count - 1) * sizeof(void *) && size == sizeof(void *))
    return count;
  return WrongParameters(function, count, status);
}

/// Returns the positions of the tensor maps in the block of parameters, which
/// follow `count` pointers in `parameters` parameters: each is a parameter, or
/// one parameter, a structure, holds all of them. The compiler chooses the
/// positions: it aligns the address in the multiprocessor's memory, where the
/// block does not begin at a multiple of the alignment.
absl::StatusOr<std::vector<size_t>> FindMaps(const CudaFunction &function, size_t count, size_t parameters,
                                             const DriverApi &driver) {
  // The largest block of parameters of any GPU.
  constexpr size_t kMostBytes = 32764;
  std::vector<size_t> offsets;
  size_t end = count * sizeof(void *), maps = function.tensor_maps.size();
  while (offsets.size() != maps) {
    size_t offset = 0, size = 0;
    absl::Status status = driver.FuncGetParamInfo(function.handle, parameters++, &offset, &size);
    size_t held = size / sizeof(CUtensorMap);
    bool fits = status.ok() && size % sizeof(CUtensorMap) == 0 && (held == 1 || held == maps) && offset >= end &&
                size <= kMostBytes && offset <= kMostBytes - size && offsets.size() + held <= maps;
    if (!fits)
      return WrongParameters(function, count, status);
    for (size_t i = 0; i != held; ++i)
      offsets.push_back(offset + i * sizeof(CUtensorMap));
    end = offset + size;
  }
  return offsets;
}

} // namespace

absl::StatusOr<std::unique_ptr<PreparedCommand>> PrepareCudaLaunch(const CudaContext &context, const CudaKernel &kernel,
                                                                   absl::Span<void *const> operands) {
  // Encoding a tensor map takes the context of the thread.
  CurrentContext current(context);
  CS336_RETURN_IF_ERROR(current.status());
  std::vector<BoundFunction> functions;
  for (const CudaFunction &function : kernel.functions) {
    CS336_ASSIGN_OR_RETURN(size_t parameters, CountPointers(function, operands.size(), context.driver()));
    CS336_ASSIGN_OR_RETURN(std::vector<size_t> maps, FindMaps(function, operands.size(), parameters, context.driver()));
    CS336_ASSIGN_OR_RETURN(BoundFunction bound, BoundFunction::Bind(context, function, operands, maps));
    functions.push_back(std::move(bound));
  }
  return std::make_unique<CudaLaunchCommand>(context, std::move(functions));
}

} // namespace cs336::runtime
