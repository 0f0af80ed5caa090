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

#include <cstddef>
#include <cstring>
#include <utility>
#include <vector>

namespace cs336::runtime {

namespace {

/// The alignment of a tensor map among the parameters of a kernel, where the
/// hardware needs less than the driver needs on the host.
constexpr size_t kMapAlignment = 64;

/// Returns the position of tensor map `index` in the block of parameters, after
/// `count` pointers.
size_t MapOffset(size_t count, size_t index) {
  return (count * sizeof(void *) + kMapAlignment - 1) / kMapAlignment * kMapAlignment + index * sizeof(CUtensorMap);
}

/// A function with all values of its parameters.
class BoundFunction {
public:
  static absl::StatusOr<BoundFunction> Bind(const CudaContext &context, const CudaFunction &function,
                                            absl::Span<void *const> operands) {
    size_t count = function.tensor_maps.size(), pointer_bytes = operands.size() * sizeof(void *);
    BoundFunction bound(function);
    bound.parameters_.resize(count == 0 ? pointer_bytes : MapOffset(operands.size(), count));
    std::memcpy(bound.parameters_.data(), operands.data(), pointer_bytes);
    for (size_t i = 0; i != count; ++i) {
      const format::TensorMapT &map = function.tensor_maps[i];
      absl::StatusOr<CUtensorMap> encoded = EncodeTensorMap(context.driver(), map, operands[map.operand]);
      if (!encoded.ok())
        return Annotate(encoded.status(), absl::StrCat("function '", function.symbol, "': tensor map ", i));
      std::memcpy(bound.parameters_.data() + MapOffset(operands.size(), i), &*encoded, sizeof(CUtensorMap));
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

class LaunchCommand : public PreparedCommand {
public:
  LaunchCommand(const CudaContext &context, std::vector<BoundFunction> functions)
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

/// Returns DATA_LOSS unless the last of `count` operands is a pointer parameter
/// at its position, or one parameter, a structure of pointers, holds all of
/// them, and the last tensor map is a parameter at its position.
absl::Status CheckParameters(const CudaFunction &function, size_t count, const DriverApi &driver) {
  size_t maps = function.tensor_maps.size(), offset = 0, size = 0;
  absl::Status status = driver.FuncGetParamInfo(function.handle, 0, &offset, &size);
  if (status.ok() && maps == 0 && size == count * sizeof(void *))
    return status;
  // Querying a parameter that does not exist is an error that checking tools report, so this comes last.
  if (status.ok())
    status = driver.FuncGetParamInfo(function.handle, count - 1, &offset, &size);
  bool fits = status.ok() && offset == (count - 1) * sizeof(void *) && size == sizeof(void *);
  if (fits && maps != 0) {
    status = driver.FuncGetParamInfo(function.handle, count + maps - 1, &offset, &size);
    fits = status.ok() && offset == MapOffset(count, maps - 1) && size == sizeof(CUtensorMap);
  }
  if (fits)
    return status;
  return absl::DataLossError(absl::StrCat("its kernel does not take the ", count, " operands ",
                                          maps == 0 ? "" : absl::StrCat("and ", maps, " tensor maps "), "that it gives",
                                          status.ok() ? "" : ": ", status.message()));
}

} // namespace

absl::StatusOr<std::unique_ptr<PreparedCommand>> PrepareCudaLaunch(const CudaContext &context, const CudaKernel &kernel,
                                                                   absl::Span<void *const> operands) {
  std::vector<BoundFunction> functions;
  for (const CudaFunction &function : kernel.functions) {
    CS336_RETURN_IF_ERROR(CheckParameters(function, operands.size(), context.driver()));
    CS336_ASSIGN_OR_RETURN(BoundFunction bound, BoundFunction::Bind(context, function, operands));
    functions.push_back(std::move(bound));
  }
  return std::make_unique<LaunchCommand>(context, std::move(functions));
}

} // namespace cs336::runtime
