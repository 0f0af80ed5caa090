//===- KernelNames.cpp - Kernels by name ----------------------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Bench/Explain/KernelNames.h"

#include "cs336/Support/UnknownValue.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/GlobPattern.h"

#include "absl/strings/str_cat.h"

using namespace cs336;
using namespace cs336::bench;

absl::StatusOr<std::vector<std::string>> bench::findKernels(llvm::StringRef pattern,
                                                            llvm::ArrayRef<llvm::StringRef> names) {
  if (llvm::is_contained(names, pattern))
    return std::vector<std::string>{pattern.str()};
  std::vector<std::string> found;
  auto keep = [&](llvm::function_ref<bool(llvm::StringRef)> matches) {
    for (llvm::StringRef name : names)
      if (matches(name))
        found.push_back(name.str());
  };
  if (pattern.find_first_of("*?[") != llvm::StringRef::npos) {
    llvm::Expected<llvm::GlobPattern> glob = llvm::GlobPattern::create(pattern);
    if (!glob)
      return absl::InvalidArgumentError(
          absl::StrCat("the pattern '", pattern.str(), "' is not a glob: ", llvm::toString(glob.takeError())));
    keep([&](llvm::StringRef name) { return glob->match(name); });
  } else {
    keep([&](llvm::StringRef name) { return name.contains(pattern); });
  }
  if (found.empty() && names.empty())
    return absl::NotFoundError("the program has no kernels");
  if (found.empty())
    return absl::NotFoundError(describeUnknownOfMany("kernel", pattern, names, "cs336-bench explain without a name"));
  return found;
}
