//===- ProfileFlags.h - Flags of profiles -----------------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_BENCH_PROFILE_PROFILEFLAGS_H
#define CS336_BENCH_PROFILE_PROFILEFLAGS_H

#include "cs336/Driver/Compile/OutputPaths.h"
#include "cs336/Driver/Flags/FlagParsers.h"
#include "cs336/Driver/Flags/ListFlag.h"
#include "cs336/Driver/Run/ProfileKey.h"
#include "llvm/Support/CommandLine.h"

#include "absl/status/status.h"

#include <limits>
#include <vector>

namespace cs336::bench {

/// The tables of a profile.
struct ProfileLayout {
  /// The keys of the tables: one table for each key.
  std::vector<ProfileKey> keys = {ProfileKey::Kernel};
  /// The most rows of a table.
  size_t numRows = std::numeric_limits<size_t>::max();
  /// The keys of the columns, or {"all"}. If empty, the table format has those that fit into 120
  /// characters, and other formats have all.
  std::vector<std::string> columns = {};
};

/// `--profile`, and the flags that select its tables and files.
class ProfileFlags {
public:
  explicit ProfileFlags(llvm::cl::OptionCategory &category,
                        llvm::cl::SubCommand &subcommand = llvm::cl::SubCommand::getTopLevel());

  /// Returns whether the steps run under a profiler.
  bool isProfiled() const { return profile || !trace.empty(); }
  /// Returns the tables to print; without `--profile`, none.
  ProfileLayout getLayout() const;
  /// Returns whether rates are compared with those of the device.
  bool hasRoofline() const { return roofline; }
  /// Returns the path of the trace and its flag. The path may be empty.
  OutputPath getTracePath() const { return {"--trace", trace}; }

  /// Returns INVALID_ARGUMENT for a flag of the tables without `--profile` and for an unknown column, NOT_FOUND if the
  /// trace's folder does not exist.
  absl::Status check() const;

private:
  llvm::cl::opt<bool> profile;
  ListFlag<ProfileKey> keys;
  llvm::cl::list<std::string> columns;
  llvm::cl::opt<int64_t> largest;
  llvm::cl::opt<bool> roofline;
  TextFlag trace;
};

} // namespace cs336::bench

#endif // CS336_BENCH_PROFILE_PROFILEFLAGS_H
