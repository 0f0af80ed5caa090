//===- SharedLibrary.h - Finding CUDA's libraries ---------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_RUNTIME_DEVICE_CUDA_SHAREDLIBRARY_H
#define CS336_RUNTIME_DEVICE_CUDA_SHAREDLIBRARY_H

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include <string>

namespace cs336::runtime {

/// A library of the CUDA toolkit that is loaded when it is first used. It stays
/// loaded, because CUDA's libraries keep threads and handlers in the process.
class SharedLibrary {
public:
  /// Opens `name`, such as "libcublasLt.so.13". Takes the library that the
  /// process already has or that the loader finds; else searches $CUDA_HOME,
  /// /usr/local/cuda, and the wheels (nvidia/*/lib) of $VIRTUAL_ENV, of the
  /// environment that this package is installed in, and of the system's Python.
  /// Returns NOT_FOUND with the folders searched and the name of `wheel`, which
  /// contains the library. Opens a `name` with a slash as it is.
  static absl::StatusOr<SharedLibrary> Open(const std::string &name, const std::string &wheel);

  const std::string &name() const { return name_; }

  /// Looks up a function. Returns FAILED_PRECONDITION if the library lacks it,
  /// that is, has another version.
  template <typename Function>
  absl::StatusOr<Function> Find(const char *symbol) const {
    absl::StatusOr<void *> address = FindAddress(symbol);
    if (!address.ok())
      return address.status();
    return reinterpret_cast<Function>(*address);
  }

  /// Sets `function` to the library's function of that name. If there is none, updates `status` as Find() fails.
  template <typename Function>
  void Bind(Function &function, const char *symbol, absl::Status &status) const {
    absl::StatusOr<Function> found = Find<Function>(symbol);
    if (found.ok())
      function = *found;
    status.Update(found.status());
  }

private:
  SharedLibrary(std::string name, void *handle) : name_(std::move(name)), handle_(handle) {}
  absl::StatusOr<void *> FindAddress(const char *symbol) const;

  std::string name_;
  void *handle_;
};

} // namespace cs336::runtime

#endif // CS336_RUNTIME_DEVICE_CUDA_SHAREDLIBRARY_H
