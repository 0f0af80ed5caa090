//===- OutputFolder.cpp - Folders of files to write -----------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Driver/Flags/OutputFolder.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

#include "absl/strings/str_cat.h"

absl::Status cs336::checkOutputFolder(llvm::StringRef flag, llvm::StringRef file) {
  llvm::StringRef folder = llvm::sys::path::parent_path(file);
  if (folder.empty() || llvm::sys::fs::is_directory(folder))
    return absl::OkStatus();
  return absl::NotFoundError(
      absl::StrCat(flag.str(), ": the folder '", folder.str(), "' does not exist: create it first"));
}
