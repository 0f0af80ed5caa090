//===- Version.h - Which build of the tools this is -------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_DRIVER_TOOL_VERSION_H
#define CS336_DRIVER_TOOL_VERSION_H

#include "llvm/ADT/StringRef.h"

#include <string>

namespace cs336 {

/// Returns the project's version: "0.1.0".
llvm::StringRef getProjectVersion();

/// Returns the git commit that was built, or "unknown" outside of a git repository.
llvm::StringRef getCommit();

/// Returns lines with the project's version, the git commit and the build id, the versions of LLVM and MLIR, of the
/// CUDA headers that the runtime was compiled against, and of the NVRTC that is loaded here.
std::string describeVersion();

} // namespace cs336

#endif // CS336_DRIVER_TOOL_VERSION_H
