//===- FunctionTable.cpp - The functions of the fake driver ---------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every function has a wrapper that counts its calls and makes the chosen one
// fail.
//
//===----------------------------------------------------------------------===//

#include "fake_cuda/FakeCuda.h"
#include "fake_cuda/WorkQueue.h"

#include <cuda.h>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

// No header of NVIDIA's wheels declares these.
extern "C" CUresult cuProfilerStart();
extern "C" CUresult cuProfilerStop();

using cs336::runtime::testing::DriverMutex;
using cs336::runtime::testing::FakeCuda;
using cs336::runtime::testing::TheFakeCuda;
using cs336::runtime::testing::WorkQueue;

namespace {

/// Returns true if a failing call has done its work: functions that release something report errors of earlier
/// work, and are not called again.
bool IsRelease(std::string_view name) {
  for (std::string_view word : {"Destroy", "Free", "Release", "Unregister", "Unload", "Pop"})
    if (name.find(word) != std::string_view::npos)
      return true;
  return false;
}

template <auto function>
struct CountedFunction;

template <typename... Args, CUresult (*function)(Args...)>
struct CountedFunction<function> {
  static CUresult Call(Args... args) {
    if (WorkQueue::IsThisThread()) {
      ++TheFakeCuda().calls_from_host_functions;
      return CUDA_ERROR_NOT_PERMITTED;
    }
    std::lock_guard<std::recursive_mutex> lock(DriverMutex());
    if (!TheFakeCuda().Fails(name))
      return function(args...);
    if (IsRelease(name))
      function(args...);
    return static_cast<CUresult>(TheFakeCuda().error);
  }
  static inline const char *name = nullptr;
};

/// A failed capture ends without a graph.
CUresult EndCapture(CUstream stream, CUgraph *graph) {
  std::lock_guard<std::recursive_mutex> lock(DriverMutex());
  CUresult result = cuStreamEndCapture(stream, graph);
  if (result != CUDA_SUCCESS || !TheFakeCuda().Fails("cuStreamEndCapture"))
    return result;
  cuGraphDestroy(std::exchange(*graph, nullptr));
  return static_cast<CUresult>(TheFakeCuda().error);
}

template <auto function>
std::pair<const std::string, void *> Counted(const char *name) {
  CountedFunction<function>::name = name;
  return {name, reinterpret_cast<void *>(CountedFunction<function>::Call)};
}

} // namespace

bool FakeCuda::Fails(const char *name) {
  std::lock_guard<std::recursive_mutex> lock(DriverMutex());
  if (++calls != failing_call)
    return false;
  failed = name;
  return true;
}

extern "C" CUresult cuGetProcAddress(const char *symbol, void **address, int version, cuuint64_t,
                                     CUdriverProcAddressQueryResult *) {
  if (version > TheFakeCuda().driver_version)
    return CUDA_ERROR_NOT_FOUND;
  static const std::map<std::string, void *> functions = {
      Counted<cuInit>("cuInit"),
      Counted<cuDeviceGetCount>("cuDeviceGetCount"),
      Counted<cuDeviceGet>("cuDeviceGet"),
      Counted<cuDeviceGetName>("cuDeviceGetName"),
      Counted<cuDeviceGetAttribute>("cuDeviceGetAttribute"),
      Counted<cuDeviceTotalMem>("cuDeviceTotalMem"),
      Counted<cuDevicePrimaryCtxRetain>("cuDevicePrimaryCtxRetain"),
      Counted<cuDevicePrimaryCtxRelease>("cuDevicePrimaryCtxRelease"),
      Counted<cuCtxPushCurrent>("cuCtxPushCurrent"),
      Counted<cuCtxPopCurrent>("cuCtxPopCurrent"),
      Counted<cuMemGetInfo>("cuMemGetInfo"),
      Counted<cuMemAlloc>("cuMemAlloc"),
      Counted<cuMemFree>("cuMemFree"),
      Counted<cuMemGetAddressRange>("cuMemGetAddressRange"),
      Counted<cuIpcGetMemHandle>("cuIpcGetMemHandle"),
      Counted<cuIpcOpenMemHandle>("cuIpcOpenMemHandle"),
      Counted<cuIpcCloseMemHandle>("cuIpcCloseMemHandle"),
      Counted<cuCtxEnablePeerAccess>("cuCtxEnablePeerAccess"),
      Counted<cuMemHostRegister>("cuMemHostRegister"),
      Counted<cuMemHostUnregister>("cuMemHostUnregister"),
      Counted<cuMemHostGetDevicePointer>("cuMemHostGetDevicePointer"),
      Counted<cuMemcpyHtoDAsync>("cuMemcpyHtoDAsync"),
      Counted<cuMemcpyDtoHAsync>("cuMemcpyDtoHAsync"),
      Counted<cuMemcpyAsync>("cuMemcpyAsync"),
      Counted<cuMemcpy2DAsync>("cuMemcpy2DAsync"),
      Counted<cuMemsetD8Async>("cuMemsetD8Async"),
      Counted<cuCtxGetStreamPriorityRange>("cuCtxGetStreamPriorityRange"),
      Counted<cuStreamCreateWithPriority>("cuStreamCreateWithPriority"),
      Counted<cuStreamQuery>("cuStreamQuery"),
      Counted<cuEventQuery>("cuEventQuery"),
      Counted<cuStreamDestroy>("cuStreamDestroy"),
      Counted<cuStreamSynchronize>("cuStreamSynchronize"),
      Counted<cuStreamWaitEvent>("cuStreamWaitEvent"),
      Counted<cuLaunchHostFunc>("cuLaunchHostFunc"),
      Counted<cuStreamBeginCapture>("cuStreamBeginCapture"),
      {"cuStreamEndCapture", reinterpret_cast<void *>(EndCapture)},
      Counted<cuEventCreate>("cuEventCreate"),
      Counted<cuEventDestroy>("cuEventDestroy"),
      Counted<cuEventRecord>("cuEventRecord"),
      Counted<cuEventRecordWithFlags>("cuEventRecordWithFlags"),
      Counted<cuEventSynchronize>("cuEventSynchronize"),
      Counted<cuEventElapsedTime>("cuEventElapsedTime"),
      Counted<cuProfilerStart>("cuProfilerStart"),
      Counted<cuProfilerStop>("cuProfilerStop"),
      Counted<cuGraphInstantiate>("cuGraphInstantiateWithFlags"),
      Counted<cuGraphLaunch>("cuGraphLaunch"),
      Counted<cuStreamGetCaptureInfo>("cuStreamGetCaptureInfo"),
      Counted<cuStreamUpdateCaptureDependencies>("cuStreamUpdateCaptureDependencies"),
      Counted<cuGraphNodeGetDependencies>("cuGraphNodeGetDependencies"),
      Counted<cuGraphNodeGetDependentNodes>("cuGraphNodeGetDependentNodes"),
      Counted<cuGraphMemsetNodeGetParams>("cuGraphMemsetNodeGetParams"),
      Counted<cuGraphAddDependencies>("cuGraphAddDependencies"),
      Counted<cuGraphDestroyNode>("cuGraphDestroyNode"),
      Counted<cuGraphNodeGetType>("cuGraphNodeGetType"),
      Counted<cuGraphDestroy>("cuGraphDestroy"),
      Counted<cuGraphExecDestroy>("cuGraphExecDestroy"),
      Counted<cuModuleLoadData>("cuModuleLoadData"),
      Counted<cuModuleUnload>("cuModuleUnload"),
      Counted<cuModuleGetFunction>("cuModuleGetFunction"),
      Counted<cuFuncGetAttribute>("cuFuncGetAttribute"),
      Counted<cuFuncSetAttribute>("cuFuncSetAttribute"),
      Counted<cuFuncGetParamInfo>("cuFuncGetParamInfo"),
      Counted<cuFuncLoad>("cuFuncLoad"),
      Counted<cuLaunchKernel>("cuLaunchKernel"),
      Counted<cuLaunchKernelEx>("cuLaunchKernelEx"),
      Counted<cuTensorMapEncodeTiled>("cuTensorMapEncodeTiled"),
  };
  auto found = functions.find(symbol);
  *address = found == functions.end() ? nullptr : found->second;
  return *address ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}
