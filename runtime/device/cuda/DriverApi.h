//===- DriverApi.h - The CUDA driver's functions ----------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The driver is loaded when it is first used and never linked, so that programs
// run on machines without a driver. Each member has the name of the driver's
// function that it calls, and returns a status with the call and the error.
//
//===----------------------------------------------------------------------===//

#ifndef CS336_RUNTIME_DEVICE_CUDA_DRIVERAPI_H
#define CS336_RUNTIME_DEVICE_CUDA_DRIVERAPI_H

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

#include <cuda.h>
#include <memory>
#include <string>
#include <vector>

namespace cs336::runtime {

class DriverApi;

/// A function of the driver, before its type is known.
class AnyDriverFunction {
public:
  AnyDriverFunction(DriverApi &api, const char *name);
  AnyDriverFunction(const AnyDriverFunction &) = delete;
  AnyDriverFunction &operator=(const AnyDriverFunction &) = delete;

protected:
  friend class DriverApi;

  const DriverApi &api_;
  const char *name_; // Without a version suffix: the driver selects the version.
  void *address_ = nullptr;
};

template <typename Type>
class DriverFunction;

template <typename... Args>
class DriverFunction<CUresult(Args...)> : public AnyDriverFunction {
public:
  using AnyDriverFunction::AnyDriverFunction;

  absl::Status operator()(Args... args) const;
};

/// The functions of libcuda.so.1, as CUDA 13.0 defines them.
class DriverApi {
public:
  /// CUDA 13.0, in the encoding of cuDriverGetVersion.
  static constexpr int kRequiredVersion = 13000;

  /// Loads the driver. Returns NOT_FOUND if the library does not exist,
  /// FAILED_PRECONDITION if the driver is older than CUDA 13.0 or cannot start.
  static absl::StatusOr<std::shared_ptr<const DriverApi>> Load(const std::string &library = "libcuda.so.1");

  DriverApi(const DriverApi &) = delete;
  DriverApi &operator=(const DriverApi &) = delete;

  /// Returns the newest CUDA version that the driver supports: 13000 is 13.0.
  int version() const { return version_; }

  /// Returns OK, or an error with the call's name, the error's name and its
  /// text. RESOURCE_EXHAUSTED: no memory. NOT_FOUND: no such device or symbol.
  /// FAILED_PRECONDITION: machine code for another device, or a driver that
  /// cannot be used. CANCELLED: work that is not done yet. INTERNAL: all other
  /// errors, such as faults of kernels.
  absl::Status ToStatus(CUresult result, absl::string_view call) const;

private:
  DriverApi() = default;
  friend class AnyDriverFunction;

  std::vector<AnyDriverFunction *> functions_;
  int version_ = 0;
  decltype(&cuGetErrorName) get_error_name_ = nullptr;
  decltype(&cuGetErrorString) get_error_string_ = nullptr;

public:
  template <typename Type>
  using Function = DriverFunction<Type>;

  // Devices and contexts.
  Function<decltype(cuInit)> Init{*this, "cuInit"};
  Function<decltype(cuDeviceGetCount)> DeviceGetCount{*this, "cuDeviceGetCount"};
  Function<decltype(cuDeviceGet)> DeviceGet{*this, "cuDeviceGet"};
  Function<decltype(cuDeviceGetName)> DeviceGetName{*this, "cuDeviceGetName"};
  Function<decltype(cuDeviceGetAttribute)> DeviceGetAttribute{*this, "cuDeviceGetAttribute"};
  Function<decltype(cuDeviceTotalMem)> DeviceTotalMem{*this, "cuDeviceTotalMem"};
  Function<decltype(cuDevicePrimaryCtxRetain)> DevicePrimaryCtxRetain{*this, "cuDevicePrimaryCtxRetain"};
  Function<decltype(cuDevicePrimaryCtxRelease)> DevicePrimaryCtxRelease{*this, "cuDevicePrimaryCtxRelease"};
  Function<decltype(cuCtxPushCurrent)> CtxPushCurrent{*this, "cuCtxPushCurrent"};
  Function<decltype(cuCtxPopCurrent)> CtxPopCurrent{*this, "cuCtxPopCurrent"};

  // Memory.
  Function<decltype(cuMemGetInfo)> MemGetInfo{*this, "cuMemGetInfo"};
  Function<decltype(cuMemAlloc)> MemAlloc{*this, "cuMemAlloc"};
  Function<decltype(cuMemFree)> MemFree{*this, "cuMemFree"};
  Function<decltype(cuMemGetAddressRange)> MemGetAddressRange{*this, "cuMemGetAddressRange"};
  Function<decltype(cuIpcGetMemHandle)> IpcGetMemHandle{*this, "cuIpcGetMemHandle"};
  Function<decltype(cuIpcOpenMemHandle)> IpcOpenMemHandle{*this, "cuIpcOpenMemHandle"};
  Function<decltype(cuIpcCloseMemHandle)> IpcCloseMemHandle{*this, "cuIpcCloseMemHandle"};
  Function<decltype(cuCtxEnablePeerAccess)> CtxEnablePeerAccess{*this, "cuCtxEnablePeerAccess"};
  Function<decltype(cuMemHostRegister)> MemHostRegister{*this, "cuMemHostRegister"};
  Function<decltype(cuMemHostUnregister)> MemHostUnregister{*this, "cuMemHostUnregister"};
  Function<decltype(cuMemHostGetDevicePointer)> MemHostGetDevicePointer{*this, "cuMemHostGetDevicePointer"};
  Function<decltype(cuMemcpyHtoDAsync)> MemcpyHtoDAsync{*this, "cuMemcpyHtoDAsync"};
  Function<decltype(cuMemcpyDtoHAsync)> MemcpyDtoHAsync{*this, "cuMemcpyDtoHAsync"};
  Function<decltype(cuMemcpyAsync)> MemcpyAsync{*this, "cuMemcpyAsync"};
  Function<decltype(cuMemcpy2DAsync)> Memcpy2DAsync{*this, "cuMemcpy2DAsync"};
  Function<decltype(cuMemsetD8Async)> MemsetD8Async{*this, "cuMemsetD8Async"};

  // Streams and events.
  Function<decltype(cuCtxGetStreamPriorityRange)> CtxGetStreamPriorityRange{*this, "cuCtxGetStreamPriorityRange"};
  Function<decltype(cuStreamCreateWithPriority)> StreamCreateWithPriority{*this, "cuStreamCreateWithPriority"};
  Function<decltype(cuStreamDestroy)> StreamDestroy{*this, "cuStreamDestroy"};
  Function<decltype(cuStreamSynchronize)> StreamSynchronize{*this, "cuStreamSynchronize"};
  Function<decltype(cuStreamQuery)> StreamQuery{*this, "cuStreamQuery"};
  Function<decltype(cuStreamWaitEvent)> StreamWaitEvent{*this, "cuStreamWaitEvent"};
  Function<decltype(cuLaunchHostFunc)> LaunchHostFunc{*this, "cuLaunchHostFunc"};
  Function<decltype(cuStreamBeginCapture)> StreamBeginCapture{*this, "cuStreamBeginCapture"};
  Function<decltype(cuStreamEndCapture)> StreamEndCapture{*this, "cuStreamEndCapture"};
  Function<decltype(cuEventCreate)> EventCreate{*this, "cuEventCreate"};
  Function<decltype(cuEventDestroy)> EventDestroy{*this, "cuEventDestroy"};
  Function<decltype(cuEventRecord)> EventRecord{*this, "cuEventRecord"};
  Function<decltype(cuEventRecordWithFlags)> EventRecordWithFlags{*this, "cuEventRecordWithFlags"};
  Function<decltype(cuEventSynchronize)> EventSynchronize{*this, "cuEventSynchronize"};
  Function<decltype(cuEventQuery)> EventQuery{*this, "cuEventQuery"};
  Function<decltype(cuEventElapsedTime)> EventElapsedTime{*this, "cuEventElapsedTime"};

  // Tools that record a range of the program. No header of NVIDIA's wheels declares these.
  Function<CUresult()> ProfilerStart{*this, "cuProfilerStart"};
  Function<CUresult()> ProfilerStop{*this, "cuProfilerStop"};

  // Graphs.
  Function<decltype(cuGraphInstantiate)> GraphInstantiate{*this, "cuGraphInstantiateWithFlags"};
  Function<decltype(cuGraphLaunch)> GraphLaunch{*this, "cuGraphLaunch"};
  Function<decltype(cuStreamGetCaptureInfo)> StreamGetCaptureInfo{*this, "cuStreamGetCaptureInfo"};
  Function<decltype(cuStreamUpdateCaptureDependencies)> StreamUpdateCaptureDependencies{
      *this, "cuStreamUpdateCaptureDependencies"};
  Function<decltype(cuGraphNodeGetDependencies)> GraphNodeGetDependencies{*this, "cuGraphNodeGetDependencies"};
  Function<decltype(cuGraphNodeGetDependentNodes)> GraphNodeGetDependentNodes{*this, "cuGraphNodeGetDependentNodes"};
  Function<decltype(cuGraphMemsetNodeGetParams)> GraphMemsetNodeGetParams{*this, "cuGraphMemsetNodeGetParams"};
  Function<decltype(cuGraphAddDependencies)> GraphAddDependencies{*this, "cuGraphAddDependencies"};
  Function<decltype(cuGraphDestroyNode)> GraphDestroyNode{*this, "cuGraphDestroyNode"};
  Function<decltype(cuGraphNodeGetType)> GraphNodeGetType{*this, "cuGraphNodeGetType"};
  Function<decltype(cuGraphDestroy)> GraphDestroy{*this, "cuGraphDestroy"};
  Function<decltype(cuGraphExecDestroy)> GraphExecDestroy{*this, "cuGraphExecDestroy"};

  // Kernels.
  Function<decltype(cuModuleLoadData)> ModuleLoadData{*this, "cuModuleLoadData"};
  Function<decltype(cuModuleUnload)> ModuleUnload{*this, "cuModuleUnload"};
  Function<decltype(cuModuleGetFunction)> ModuleGetFunction{*this, "cuModuleGetFunction"};
  Function<decltype(cuFuncGetAttribute)> FuncGetAttribute{*this, "cuFuncGetAttribute"};
  Function<decltype(cuFuncSetAttribute)> FuncSetAttribute{*this, "cuFuncSetAttribute"};
  Function<decltype(cuFuncGetParamInfo)> FuncGetParamInfo{*this, "cuFuncGetParamInfo"};
  Function<decltype(cuFuncLoad)> FuncLoad{*this, "cuFuncLoad"};
  Function<decltype(cuLaunchKernel)> LaunchKernel{*this, "cuLaunchKernel"};
  Function<decltype(cuLaunchKernelEx)> LaunchKernelEx{*this, "cuLaunchKernelEx"};
  Function<decltype(cuTensorMapEncodeTiled)> TensorMapEncodeTiled{*this, "cuTensorMapEncodeTiled"};
};

template <typename... Args>
absl::Status DriverFunction<CUresult(Args...)>::operator()(Args... args) const {
  CUresult result = reinterpret_cast<CUresult (*)(Args...)>(address_)(args...);
  return result == CUDA_SUCCESS ? absl::OkStatus() : api_.ToStatus(result, name_);
}

} // namespace cs336::runtime

#endif // CS336_RUNTIME_DEVICE_CUDA_DRIVERAPI_H
