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
#include <map>

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

namespace {
/// Files by path and, for those that exist, by what a link leads to.
class NamedFiles {
public:
  /// Returns the first flag that named the same file, or null.
  const OutputPath *find(const OutputPath &file) const {
    if (auto found = byPath.find(resolve(file.path)); found != byPath.end())
      return found->second;
    fs::UniqueID id;
    auto found = fs::getUniqueID(file.path, id) ? byId.end() : byId.find(id);
    return found == byId.end() ? nullptr : found->second;
  }

  void add(const OutputPath &file) {
    byPath.try_emplace(resolve(file.path), &file);
    if (fs::UniqueID id; !fs::getUniqueID(file.path, id))
      byId.try_emplace(id, &file);
  }

private:
  std::map<std::string, const OutputPath *> byPath;
  std::map<fs::UniqueID, const OutputPath *> byId;
};
} // namespace

absl::Status cs336::checkDistinct(llvm::ArrayRef<OutputPath> outputs) {
  NamedFiles files;
  for (const OutputPath &output : outputs) {
    if (!isReplaced(output.path))
      continue;
    if (const OutputPath *other = files.find(output))
      return absl::InvalidArgumentError(absl::StrCat(other->flag.str(), " and ", output.flag.str(),
                                                     " name the same file, '", output.path.str(),
                                                     "', and one would be lost: give each its own"));
    files.add(output);
  }
  return absl::OkStatus();
}

absl::Status cs336::checkKept(llvm::ArrayRef<OutputPath> inputs, llvm::ArrayRef<OutputPath> outputs) {
  NamedFiles files;
  for (const OutputPath &input : inputs)
    if (isReplaced(input.path))
      files.add(input);
  for (const OutputPath &output : outputs)
    if (const OutputPath *input = isReplaced(output.path) ? files.find(output) : nullptr)
      return absl::InvalidArgumentError(absl::StrCat(output.flag.str(), " names '", output.path.str(),
                                                     "', which is also ", input->flag.str(),
                                                     ", and that would be lost: name another file"));
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
