//===- Version.cpp - Which build of the tools this is ---------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Driver/Tool/Version.h"

#include "cs336/Support/BuildId.h"
#include "cs336/Target/NVRTC/NVRTC.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/Support/FormatVariadic.h"

using namespace cs336;

// Written by CMake: the commit as a string literal.
static constexpr llvm::StringLiteral kCommit =
#include "Commit.inc"
    ;

llvm::StringRef cs336::getProjectVersion() { return CS336_VERSION; }

llvm::StringRef cs336::getCommit() { return kCommit; }

static std::string describeNVRTC() {
  llvm::Expected<NVRTC> compiler = NVRTC::load();
  if (!compiler)
    return "not loaded: " + llvm::toString(compiler.takeError());
  return (compiler->getVersion() + " in " + compiler->getToolkit()).str();
}

std::string cs336::describeVersion() {
  std::string text = llvm::formatv("cs336-opt {0}\n  commit: {1}\n", getProjectVersion(), getCommit());
  // The first object is this program.
  if (std::optional<std::string> id = getCompilerBuildId())
    text += llvm::formatv("  build id: {0}\n", llvm::StringRef(*id).split(' ').first);
  text += llvm::formatv("  LLVM and MLIR: {0}\n  CUDA headers: {1}.{2}\n  NVRTC: {3}\n", LLVM_VERSION_STRING,
                        CS336_CUDA_VERSION / 1000, CS336_CUDA_VERSION % 1000 / 10, describeNVRTC());
  return text;
}
