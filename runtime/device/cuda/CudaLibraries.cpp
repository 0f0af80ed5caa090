//===- CudaLibraries.cpp - The CUDA libraries on this machine -------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/runtime/CudaInfo.h"
#include "device/cuda/SharedLibrary.h"

#include "absl/strings/str_cat.h"

#include <dlfcn.h>

namespace cs336::runtime {

namespace {

/// Calls the version function at that address. Returns false if it fails.
using ReadVersion = bool (*)(void (*function)(), int64_t *version);

struct KnownLibrary {
  const char *name;
  const char *wheel;
  const char *purpose;
  const char *version_function;
  ReadVersion read_version;
};

/// Calls functions of the form `int f(T *version)`, which return 0 for success.
template <typename T>
bool ReadByPointer(void (*function)(), int64_t *version) {
  T value = 0;
  if (reinterpret_cast<int (*)(T *)>(function)(&value) != 0)
    return false;
  *version = value;
  return true;
}

bool ReadResult(void (*function)(), int64_t *version) {
  *version = static_cast<int64_t>(reinterpret_cast<size_t (*)()>(function)());
  return true;
}

constexpr KnownLibrary kLibraries[] = {
    {"libcublasLt.so.13", "nvidia-cublas", "GEMMs on GPUs", "cublasLtGetVersion", ReadResult},
    {"libcupti.so.13", "nvidia-cuda-cupti", "times of single kernels", "cuptiGetVersion", ReadByPointer<uint32_t>},
    {"libnccl.so.2", "nvidia-nccl-cu13", "several GPUs", "ncclGetVersion", ReadByPointer<int>},
};

absl::Status Describe(const KnownLibrary &known, CudaLibraryInfo *info) {
  absl::StatusOr<SharedLibrary> library = SharedLibrary::Open(known.name, known.wheel);
  if (!library.ok())
    return library.status();
  absl::StatusOr<void (*)()> function = library->Find<void (*)()>(known.version_function);
  if (!function.ok())
    return function.status();
  Dl_info place;
  if (dladdr(reinterpret_cast<void *>(*function), &place) != 0 && place.dli_fname)
    info->path = place.dli_fname;
  if (!known.read_version(*function, &info->version))
    return absl::InternalError(absl::StrCat(known.name, ": ", known.version_function, " fails"));
  return absl::OkStatus();
}

} // namespace

std::vector<CudaLibraryInfo> QueryCudaLibraries() {
  std::vector<CudaLibraryInfo> libraries;
  for (const KnownLibrary &known : kLibraries) {
    CudaLibraryInfo &info = libraries.emplace_back();
    info.name = known.name;
    info.purpose = known.purpose;
    info.status = Describe(known, &info);
  }
  return libraries;
}

} // namespace cs336::runtime
