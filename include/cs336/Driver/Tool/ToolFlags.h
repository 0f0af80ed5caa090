//===- ToolFlags.h - Flags that all tools share -----------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_DRIVER_TOOL_TOOLFLAGS_H
#define CS336_DRIVER_TOOL_TOOLFLAGS_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/CommandLine.h"

namespace cs336 {

/// Hides the registered flags of all other categories: `--help-hidden` lists them. `--help` and `--version` stay.
/// Unlike `cl::HideUnrelatedOptions`, which leaves them out of both.
void hideOtherFlags(llvm::ArrayRef<const llvm::cl::OptionCategory *> shown,
                    llvm::cl::SubCommand &subcommand = llvm::cl::SubCommand::getTopLevel());

/// The hidden flag `--complete`, which shell completion uses: prints the possible completions of the last of `argv`,
/// and ends the process. See Completion.h.
class CompleteFlag {
public:
  CompleteFlag(int argc, char **argv);

private:
  llvm::cl::opt<bool> flag;
};

} // namespace cs336

#endif // CS336_DRIVER_TOOL_TOOLFLAGS_H
