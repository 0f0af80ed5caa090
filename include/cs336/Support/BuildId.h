//===- BuildId.h - Identification of this build of the compiler -*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_SUPPORT_BUILDID_H
#define CS336_SUPPORT_BUILDID_H

#include <optional>
#include <string>

namespace cs336 {

/// Returns the build ids that the linker wrote into the programs and libraries with this compiler, MLIR and LLVM. Each
/// is a hash of the file's content, so that two builds differ. Returns nullopt if one of the files has no build id.
std::optional<std::string> getCompilerBuildId();

} // namespace cs336

#endif // CS336_SUPPORT_BUILDID_H
