//===- ByteSize.h - Sizes of memory as people write them --------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_BENCH_REPORT_BYTESIZE_H
#define CS336_BENCH_REPORT_BYTESIZE_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/CommandLine.h"

#include "absl/status/status.h"

#include <cstdint>
#include <optional>
#include <string>

namespace cs336::bench {

/// "40GiB", "1.5 GB", "1000000": bytes; MB is 10^6, MiB 2^20. Returns nullopt if it is not a size of at
/// least one byte.
std::optional<int64_t> parseBytes(llvm::StringRef text);

/// "139.8 GiB", "12.0 MiB".
std::string formatBytes(uint64_t bytes);

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

} // namespace cs336::bench

#endif // CS336_BENCH_REPORT_BYTESIZE_H
