//===- BuildId.h - Which build of the compiler this is ----------*- C++ -*-===//
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

/// What the linker wrote into the programs and libraries that hold this compiler, MLIR and LLVM, each a hash of its
/// content: another build has another. Nothing if one of them has no such note.
std::optional<std::string> getCompilerBuildId();

} // namespace cs336

#endif // CS336_SUPPORT_BUILDID_H
