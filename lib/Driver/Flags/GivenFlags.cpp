//===- GivenFlags.cpp - Which flags a command line has --------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Driver/Flags/GivenFlags.h"

#include "llvm/ADT/STLExtras.h"

#include "absl/strings/str_cat.h"

using namespace cs336;
namespace cl = llvm::cl;

absl::Status cs336::refuseFlag(const cl::Option &flag, llvm::StringRef reason) {
  if (flag.getNumOccurrences() == 0)
    return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("--", flag.ArgStr.str(), " has no effect: ", reason.str()));
}

absl::Status cs336::refuseFlags(const cl::OptionCategory &category, cl::SubCommand &subcommand,
                                llvm::StringRef reason) {
  // If there are several, the first one given is reported.
  const cl::Option *first = nullptr;
  for (cl::Option *option : llvm::make_second_range(cl::getRegisteredOptions(subcommand)))
    if (option->getNumOccurrences() > 0 && llvm::is_contained(option->Categories, &category) &&
        (!first || option->getPosition() < first->getPosition()))
      first = option;
  return first ? refuseFlag(*first, reason) : absl::OkStatus();
}
