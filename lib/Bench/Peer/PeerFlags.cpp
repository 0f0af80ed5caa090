//===- PeerFlags.cpp - Flags of the comparison with PyTorch ---------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Bench/Peer/PeerFlags.h"

#include "cs336/Support/UnknownValue.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"

#include "absl/strings/str_cat.h"

using namespace cs336;
using namespace cs336::bench;
namespace cl = llvm::cl;

PeerFlags::PeerFlags(llvm::ArrayRef<llvm::StringLiteral> variants, llvm::StringRef description,
                     cl::OptionCategory &category, cl::SubCommand &subcommand)
    : variants(variants),
      peer("peer", cl::desc(description), cl::value_desc("peer"), cl::cat(category), cl::sub(subcommand)),
      python("peer-python",
             cl::desc("The Python that has PyTorch, NumPy and safetensors (default: python3). Without them our own "
                      "cells are measured, and the exit code is 2"),
             cl::value_desc("program"), cl::init("python3"), cl::cat(category), cl::sub(subcommand)),
      timeout("peer-timeout",
              cl::desc("Seconds after which a Python that has not imported its packages counts as one without them "
                       "(default: 60)"),
              cl::value_desc("seconds"), cl::init(60), cl::cat(category), cl::sub(subcommand)),
      answerTimeout("peer-cell-timeout",
                    cl::desc("Seconds after which PyTorch is ended if it has not compiled and measured a cell; its "
                             "cells are then missing (default: 900)"),
                    cl::value_desc("seconds"), cl::init(900), cl::cat(category), cl::sub(subcommand)) {}

std::vector<std::string> PeerFlags::getVariants() const {
  llvm::StringRef text = peer;
  if (text == "torch")
    return {variants.front().str()};
  llvm::SmallVector<llvm::StringRef> names;
  if (text.consume_front("torch:"))
    text.split(names, ',');
  bool isKnown = llvm::all_of(names, [&](llvm::StringRef name) { return llvm::is_contained(variants, name); });
  return isKnown ? std::vector<std::string>(names.begin(), names.end()) : std::vector<std::string>();
}

absl::Status PeerFlags::check() const {
  for (const cl::Option *flag : {static_cast<const cl::Option *>(&python), static_cast<const cl::Option *>(&timeout),
                                 static_cast<const cl::Option *>(&answerTimeout)})
    if (flag->getNumOccurrences() > 0 && peer.empty())
      return absl::InvalidArgumentError(absl::StrCat("--", flag->ArgStr.str(), " requires --peer"));
  for (const RealFlag *each : {&timeout, &answerTimeout})
    if (*each <= 0)
      return absl::InvalidArgumentError(
          absl::StrCat("--", each->ArgStr.str(), " is ", each->getValue(), ", must be positive"));
  if (isGiven() && getVariants().empty())
    return absl::InvalidArgumentError(describeUnknown("--peer", peer, {"torch"}) +
                                      ", or torch: and a list with commas of " +
                                      listAlternatives(llvm::SmallVector<llvm::StringRef>(variants)));
  std::vector<std::string> given = getVariants();
  for (const std::string &variant : given)
    if (llvm::count(given, variant) > 1)
      return absl::InvalidArgumentError(absl::StrCat("--peer names '", variant, "' twice"));
  return absl::OkStatus();
}

PeerOptions PeerFlags::getOptions() const {
  PeerOptions options;
  options.variants = getVariants();
  options.python = python;
  options.timeoutSeconds = timeout;
  options.answerSeconds = answerTimeout;
  return options;
}
