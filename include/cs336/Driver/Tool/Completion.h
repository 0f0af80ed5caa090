//===- Completion.h - Shell completion --------------------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_DRIVER_TOOL_COMPLETION_H
#define CS336_DRIVER_TOOL_COMPLETION_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <string>
#include <vector>

namespace cs336 {

/// Returns the possible completions of the last word of a command line, in alphabetical order. `words` excludes the
/// program. Its last element is "" if a new word begins. Shells that split words at '=' pass "--dtype", "=", "bf".
///
/// All of it comes from the registered flags:
/// - subcommands for the first word, if the tool has any;
/// - flags for a word that begins with '-', but for hidden ones, and the names of passes;
/// - values for "--flag=" and for the word after "--flag", if the flag's value string lists them, separated by '|', as
///   EnumParser's do; in a list with commas, for what follows the last comma;
/// - a positional argument's values, if its value string lists them so;
/// - for a subcommand that hands all further arguments on, the flags of the subcommands that the value string of its
///   `cl::ConsumeAfter` option lists.
/// Nothing is returned where a file may stand.
std::vector<std::string> completeLine(llvm::ArrayRef<llvm::StringRef> words);

} // namespace cs336

#endif // CS336_DRIVER_TOOL_COMPLETION_H
