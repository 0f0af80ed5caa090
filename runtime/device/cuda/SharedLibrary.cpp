//===- SharedLibrary.cpp - Finding CUDA's libraries -----------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "device/cuda/SharedLibrary.h"

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

#include <cstdlib>
#include <dlfcn.h>
#include <filesystem>
#include <glob.h>
#include <vector>

namespace cs336::runtime {

namespace {

/// Returns the folders, or patterns of folders, in which a toolkit or NVIDIA's
/// wheels install libraries.
std::vector<std::string> LibraryFolders() {
  constexpr char kWheels[] = "/nvidia/*/lib";
  std::vector<std::string> folders;
  if (const char *home = std::getenv("CUDA_HOME"))
    folders.push_back(absl::StrCat(home, "/lib64"));
  if (const char *environment = std::getenv("VIRTUAL_ENV"))
    folders.push_back(absl::StrCat(environment, "/lib/python3.*/site-packages", kWheels));
  // Installed by pip, this library is in site-packages/cs336.
  Dl_info self;
  if (dladdr(reinterpret_cast<void *>(&LibraryFolders), &self) && self.dli_fname)
    folders.push_back(std::filesystem::path(self.dli_fname).parent_path().parent_path().string() + kWheels);
  folders.push_back("/usr/local/cuda/lib64");
  folders.push_back(absl::StrCat("/usr/local/lib/python3.*/*-packages", kWheels));
  return folders;
}

std::vector<std::string> Matches(const std::string &pattern) {
  glob_t found;
  std::vector<std::string> paths;
  if (glob(pattern.c_str(), 0, nullptr, &found) == 0)
    paths.assign(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  globfree(&found);
  return paths;
}

} // namespace

absl::StatusOr<SharedLibrary> SharedLibrary::Open(const std::string &name, const std::string &wheel) {
  constexpr int kFlags = RTLD_NOW | RTLD_LOCAL;
  if (void *handle = dlopen(name.c_str(), kFlags))
    return SharedLibrary(name, handle);
  std::string error = dlerror();
  std::vector<std::string> folders;
  if (!absl::StrContains(name, '/'))
    folders = LibraryFolders();
  for (const std::string &folder : folders) {
    for (const std::string &path : Matches(absl::StrCat(folder, "/", name))) {
      if (void *handle = dlopen(path.c_str(), kFlags))
        return SharedLibrary(path, handle);
      error = dlerror();
    }
  }
  return absl::NotFoundError(absl::StrCat("cannot load ", name, ": ", error,
                                          folders.empty() ? "" : "; searched the loader's folders, ",
                                          absl::StrJoin(folders, ", "), ". Install CUDA 13, or the wheel ", wheel,
                                          " and name its environment by VIRTUAL_ENV"));
}

absl::StatusOr<void *> SharedLibrary::FindAddress(const char *symbol) const {
  void *address = dlsym(handle_, symbol);
  if (!address)
    return absl::FailedPreconditionError(
        absl::StrCat(name_, " has no function ", symbol, ": it is not a library of CUDA 13"));
  return address;
}

} // namespace cs336::runtime
