//===- OutputFile.cpp - Files that will be written ------------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Driver/Flags/OutputFile.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

#include "absl/strings/str_cat.h"

namespace fs = llvm::sys::fs;

absl::Status cs336::checkOutputFile(llvm::StringRef flag, llvm::StringRef file) {
  if (file.empty() || file == "-")
    return absl::OkStatus();
  if (fs::is_directory(file))
    return absl::InvalidArgumentError(absl::StrCat(flag.str(), ": '", file.str(), "' is a folder: name a file"));
  // Devices and pipes are opened. Other files are replaced, which requires a folder that can be changed.
  if (fs::exists(file) && !fs::is_regular_file(file))
    return absl::OkStatus();
  std::string folder = llvm::sys::path::parent_path(file).str();
  if (folder.empty())
    folder = ".";
  if (!fs::is_directory(folder))
    return absl::NotFoundError(absl::StrCat(flag.str(), ": the folder '", folder, "' does not exist: create it first"));
  if (std::error_code error = fs::access(folder, fs::AccessMode::Write))
    return absl::PermissionDeniedError(absl::StrCat(flag.str(), ": files cannot be written to the folder '", folder,
                                                    "' (", error.message(), "): name another one"));
  return absl::OkStatus();
}
