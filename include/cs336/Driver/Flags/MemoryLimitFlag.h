//===- MemoryLimitFlag.h - Memory that a cell may take ----------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_DRIVER_FLAGS_MEMORYLIMITFLAG_H
#define CS336_DRIVER_FLAGS_MEMORYLIMITFLAG_H

#include "cs336/Support/ByteSize.h"
#include "llvm/Support/CommandLine.h"

#include "absl/status/status.h"

namespace cs336 {

/// `--memory-limit`.
class MemoryLimitFlag : public llvm::cl::opt<std::string> {
public:
  MemoryLimitFlag(llvm::StringRef description, llvm::cl::OptionCategory &category, llvm::cl::SubCommand &subcommand)
      : opt("memory-limit", llvm::cl::desc(description), llvm::cl::value_desc("size"), llvm::cl::cat(category),
            llvm::cl::sub(subcommand)) {}

  /// Returns INVALID_ARGUMENT if it was given and is not a size.
  absl::Status check() const;
  /// 0 if it was not given.
  int64_t getBytes() const { return parseBytes(getValue()).value_or(0); }
};

} // namespace cs336

#endif // CS336_DRIVER_FLAGS_MEMORYLIMITFLAG_H
