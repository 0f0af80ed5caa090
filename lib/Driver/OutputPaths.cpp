//===- OutputPaths.cpp - Files that a tool is asked to write --------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Driver/OutputPaths.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

#include "absl/strings/str_cat.h"

using namespace cs336;
namespace fs = llvm::sys::fs;
namespace path = llvm::sys::path;

/// The path with its folder's links and dots resolved; the file need not be there.
static llvm::SmallString<128> resolve(llvm::StringRef file) {
  llvm::StringRef folder = path::parent_path(file);
  llvm::SmallString<128> resolved;
  if (fs::real_path(folder.empty() ? "." : folder, resolved))
    resolved = folder;
  path::append(resolved, path::filename(file));
  return resolved;
}

static bool nameOneFile(llvm::StringRef a, llvm::StringRef b) {
  bool isOneFile = false;
  return (!fs::equivalent(a, b, isOneFile) && isOneFile) || resolve(a) == resolve(b);
}

absl::Status cs336::checkDistinct(llvm::ArrayRef<OutputPath> outputs) {
  for (auto *a = outputs.begin(); a != outputs.end(); ++a)
    for (auto *b = outputs.begin(); b != a; ++b)
      if (!a->path.empty() && !b->path.empty() && nameOneFile(a->path, b->path))
        return absl::InvalidArgumentError(absl::StrCat(b->flag.str(), " and ", a->flag.str(), " name the same file, '",
                                                       a->path.str(), "', and one would be lost: give each its own"));
  return absl::OkStatus();
}
