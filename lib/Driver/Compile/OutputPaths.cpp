//===- OutputPaths.cpp - Files that a tool is asked to write --------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Driver/Compile/OutputPaths.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

#include "absl/strings/str_cat.h"

#include <filesystem>

using namespace cs336;
namespace fs = llvm::sys::fs;

/// The files and folders that `--dump-dir` writes.
static constexpr llvm::StringLiteral kDumped[] = {"passes",     "planned.mlir", "plan.txt",   "kernels.linalg.mlir",
                                                  "kernels.so", "kernels",      "kernels.txt"};

/// Returns the path with links and dots resolved. The file and its folders need not exist.
static std::string resolve(llvm::StringRef path) {
  std::error_code error;
  std::filesystem::path resolved =
      std::filesystem::weakly_canonical(std::filesystem::absolute(path.str(), error), error);
  return error ? path.str() : resolved.string();
}

/// Returns whether writing to the path replaces earlier contents.
static bool isReplaced(llvm::StringRef path) {
  return !path.empty() && path != "-" && (!fs::exists(path) || fs::is_regular_file(path));
}

static bool nameOneFile(llvm::StringRef a, llvm::StringRef b) {
  bool isOneFile = false;
  return (!fs::equivalent(a, b, isOneFile) && isOneFile) || resolve(a) == resolve(b);
}

absl::Status cs336::checkDistinct(llvm::ArrayRef<OutputPath> outputs) {
  for (auto *a = outputs.begin(); a != outputs.end(); ++a)
    for (auto *b = outputs.begin(); b != a; ++b)
      if (isReplaced(a->path) && isReplaced(b->path) && nameOneFile(a->path, b->path))
        return absl::InvalidArgumentError(absl::StrCat(b->flag.str(), " and ", a->flag.str(), " name the same file, '",
                                                       a->path.str(), "', and one would be lost: give each its own"));
  return absl::OkStatus();
}

absl::Status cs336::checkOutsideDump(llvm::ArrayRef<OutputPath> outputs, llvm::StringRef folder) {
  if (folder.empty())
    return absl::OkStatus();
  for (const OutputPath &output : outputs) {
    if (!isReplaced(output.path))
      continue;
    std::string path = resolve(output.path);
    for (llvm::StringRef name : kDumped) {
      llvm::SmallString<128> dumped(folder);
      llvm::sys::path::append(dumped, name);
      llvm::StringRef rest(path);
      if (rest.consume_front(resolve(dumped)) && (rest.empty() || llvm::sys::path::is_separator(rest.front())))
        return absl::InvalidArgumentError(absl::StrCat(output.flag.str(), " names '", output.path.str(),
                                                       "', which --dump-dir writes, and one would be lost: give ",
                                                       output.flag.str(), " another name"));
    }
  }
  return absl::OkStatus();
}
