//===- GivenFlags.h - Which flags a command line has ------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_DRIVER_FLAGS_GIVENFLAGS_H
#define CS336_DRIVER_FLAGS_GIVENFLAGS_H

#include "llvm/Support/CommandLine.h"

#include "absl/status/status.h"

namespace cs336 {

/// INVALID_ARGUMENT, "--arch does nothing: " and the reason, if the command line has the flag: what would do nothing is
/// refused, so that nobody takes it to have done something.
absl::Status refuseFlag(const llvm::cl::Option &flag, llvm::StringRef reason);

/// The same for every flag of a category.
absl::Status refuseFlags(const llvm::cl::OptionCategory &category, llvm::cl::SubCommand &subcommand,
                         llvm::StringRef reason);

} // namespace cs336

#endif // CS336_DRIVER_FLAGS_GIVENFLAGS_H
