//===- DriverApi.cpp - The CUDA driver's functions ------------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "device/cuda/DriverApi.h"

#include "status/StatusMacros.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

#include <dlfcn.h>

namespace cs336::runtime {

namespace {

absl::StatusCode CodeOf(CUresult result) {
  switch (result) {
  case CUDA_ERROR_OUT_OF_MEMORY:
    return absl::StatusCode::kResourceExhausted;
  case CUDA_ERROR_NO_DEVICE:
  case CUDA_ERROR_INVALID_DEVICE:
  case CUDA_ERROR_NOT_FOUND:
    return absl::StatusCode::kNotFound;
  case CUDA_ERROR_NO_BINARY_FOR_GPU:
  case CUDA_ERROR_UNSUPPORTED_PTX_VERSION:
  case CUDA_ERROR_SYSTEM_DRIVER_MISMATCH:
  case CUDA_ERROR_SYSTEM_NOT_READY:
  case CUDA_ERROR_DEVICE_UNAVAILABLE:
    return absl::StatusCode::kFailedPrecondition;
  case CUDA_ERROR_INVALID_IMAGE:
    return absl::StatusCode::kDataLoss;
  case CUDA_ERROR_NOT_READY:
    return absl::StatusCode::kCancelled;
  case CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED:
    return absl::StatusCode::kAlreadyExists;
  case CUDA_ERROR_NOT_SUPPORTED:
    return absl::StatusCode::kUnimplemented;
  default:
    return absl::StatusCode::kInternal;
  }
}

std::string CudaVersionText(int version) { return absl::StrCat(version / 1000, ".", version % 1000 / 10); }

} // namespace

AnyDriverFunction::AnyDriverFunction(DriverApi &api, const char *name) : api_(api), name_(name) {
  api.functions_.push_back(this);
}

absl::Status DriverApi::ToStatus(CUresult result, absl::string_view call) const {
  if (result == CUDA_SUCCESS)
    return absl::OkStatus();
  const char *name = nullptr, *text = nullptr;
  get_error_name_(result, &name);
  get_error_string_(result, &text);
  return absl::Status(CodeOf(result), absl::StrCat(call, ": ", name ? name : absl::StrCat("error ", int{result}), " (",
                                                   text ? text : "without a description by this driver", ")"));
}

absl::StatusOr<std::shared_ptr<const DriverApi>> DriverApi::Load(const std::string &library) {
  // The library is never closed: the driver's threads and handlers stay in the
  // process.
  void *handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle)
    return absl::NotFoundError(absl::StrCat("there is no CUDA driver: ", dlerror(),
                                            ". Install NVIDIA's driver for CUDA 13.0 or newer, or run on the CPU"));
  auto broken = [&](absl::string_view what) {
    return absl::FailedPreconditionError(absl::StrCat(library, " is not a driver for CUDA 13.0: it has no ", what));
  };
  std::shared_ptr<DriverApi> api(new DriverApi);
  auto get_version = reinterpret_cast<decltype(&cuDriverGetVersion)>(dlsym(handle, "cuDriverGetVersion"));
  auto get_address = reinterpret_cast<decltype(&cuGetProcAddress)>(dlsym(handle, "cuGetProcAddress_v2"));
  api->get_error_name_ = reinterpret_cast<decltype(&cuGetErrorName)>(dlsym(handle, "cuGetErrorName"));
  api->get_error_string_ = reinterpret_cast<decltype(&cuGetErrorString)>(dlsym(handle, "cuGetErrorString"));
  if (!get_version || !api->get_error_name_ || !api->get_error_string_)
    return broken("function cuDriverGetVersion or cuGetErrorName");
  CS336_RETURN_IF_ERROR(api->ToStatus(get_version(&api->version_), "cuDriverGetVersion"));
  if (api->version_ < kRequiredVersion || !get_address)
    return absl::FailedPreconditionError(absl::StrCat("the CUDA driver supports CUDA ", CudaVersionText(api->version_),
                                                      ", but CUDA ", CudaVersionText(kRequiredVersion),
                                                      " is needed: install a newer NVIDIA driver (580 or later)"));
  for (AnyDriverFunction *function : api->functions_) {
    CUdriverProcAddressQueryResult found = CU_GET_PROC_ADDRESS_SUCCESS;
    CUresult result =
        get_address(function->name_, &function->address_, kRequiredVersion, CU_GET_PROC_ADDRESS_DEFAULT, &found);
    if (result != CUDA_SUCCESS || !function->address_)
      return broken(absl::StrCat("function ", function->name_));
  }
  if (absl::Status status = api->Init(0); !status.ok()) {
    // The driver's answer in a child of fork() whose parent has started it.
    absl::string_view hint = absl::StrContains(status.message(), "CUDA_ERROR_NOT_INITIALIZED")
                                 ? "; it cannot start in a child of fork(): start processes with the method 'spawn'"
                                 : "";
    return absl::Status(absl::IsNotFound(status) ? absl::StatusCode::kNotFound : absl::StatusCode::kFailedPrecondition,
                        absl::StrCat("the CUDA driver does not start: ", status.message(), hint));
  }
  return api;
}

} // namespace cs336::runtime
