//===- ToolFlags.cpp - Flags that all tools share -------------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Driver/Tool/ToolFlags.h"

#include "cs336/Driver/Tool/Completion.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;

void cs336::hideOtherFlags(ArrayRef<const cl::OptionCategory *> shown, cl::SubCommand &subcommand) {
  SmallPtrSet<const cl::OptionCategory *, 4> kept(shown.begin(), shown.end());
  // LLVM does not export the category of its own --help and --version.
  if (const cl::Option *help = cl::getRegisteredOptions(cl::SubCommand::getTopLevel()).lookup("help"))
    kept.insert(help->Categories.front());
  for (cl::Option *option : make_second_range(cl::getRegisteredOptions(subcommand)))
    if (none_of(option->Categories, [&](const cl::OptionCategory *category) { return kept.contains(category); }))
      option->setHiddenFlag(cl::Hidden);
}

cs336::CompleteFlag::CompleteFlag(int argc, char **argv)
    : flag("complete", cl::desc("Print completions of the last word (for shells)"), cl::ReallyHidden,
           cl::callback([words = ArrayRef(argv, argc)](const bool &) {
             SmallVector<StringRef> line;
             // The program, and the flag itself.
             for (const char *word : words.drop_front(std::min<size_t>(2, words.size())))
               line.push_back(word);
             for (const std::string &candidate : completeLine(line))
               outs() << candidate << "\n";
             std::exit(EXIT_SUCCESS);
           })) {}
