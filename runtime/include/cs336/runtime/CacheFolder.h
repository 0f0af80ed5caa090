//===- CacheFolder.h - Where results are kept between runs ------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Here alone for compiler and runtime, which link nothing of each other: it
// uses the standard library only.
//
//===----------------------------------------------------------------------===//

#ifndef CS336_RUNTIME_CACHEFOLDER_H
#define CS336_RUNTIME_CACHEFOLDER_H

#include <cstdlib>
#include <string>

namespace cs336::runtime {

/// $CS336_CACHE_DIR, else $XDG_CACHE_HOME/cs336-opt, else ~/.cache/cs336-opt;
/// empty if there is no home either. It may not exist yet.
inline std::string CacheFolder() {
  auto get = [](const char *name) -> std::string {
    const char *value = std::getenv(name);
    return value ? value : "";
  };
  if (std::string folder = get("CS336_CACHE_DIR"); !folder.empty())
    return folder;
  if (std::string folder = get("XDG_CACHE_HOME"); !folder.empty())
    return folder + "/cs336-opt";
  if (std::string home = get("HOME"); !home.empty())
    return home + "/.cache/cs336-opt";
  return "";
}

} // namespace cs336::runtime

#endif // CS336_RUNTIME_CACHEFOLDER_H
