//===- LinkFlags.h - Links between devices as flags -------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_BENCH_PLAN_LINKFLAGS_H
#define CS336_BENCH_PLAN_LINKFLAGS_H

#include "cs336/Cost/Interconnect.h"
#include "cs336/Driver/Flags/FlagParsers.h"

#include "absl/status/status.h"

#include <optional>

namespace cs336::bench {

/// Parses a link: the time of a step and a bandwidth, "3us,320GB/s". Returns nullopt for any other text.
std::optional<Link> parseLink(llvm::StringRef text);
/// Parses a time above or equal to 0 with its unit: "3us", "1.5ms".
std::optional<double> parseSeconds(llvm::StringRef text);
/// "1.9 us, 308 GB/s".
std::string describeLink(const Link &link);

/// `--link`, `--network`, `--collective-start` and `--devices-per-host`, which replace the links of a device model.
class LinkFlags {
public:
  LinkFlags(llvm::cl::OptionCategory &category, llvm::cl::SubCommand &subcommand);

  /// Returns INVALID_ARGUMENT for values that are not links, times or positive numbers.
  absl::Status check() const;
  /// Returns INVALID_ARGUMENT, with the reason, if one of the flags was given.
  absl::Status refuse(llvm::StringRef reason) const;
  /// Returns the links with the flags' values. The flags are valid: see `check`.
  Interconnect apply(Interconnect links) const;

private:
  TextFlag link, network, start;
  llvm::cl::opt<int64_t> devicesPerHost;
};

} // namespace cs336::bench

#endif // CS336_BENCH_PLAN_LINKFLAGS_H
