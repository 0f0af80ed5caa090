//===- FormatFlag.h - How results are printed -------------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_BENCH_COMMAND_FORMATFLAG_H
#define CS336_BENCH_COMMAND_FORMATFLAG_H

#include "cs336/Bench/Report/Report.h"
#include "cs336/Support/EnumParser.h"
#include "llvm/Support/CommandLine.h"

namespace cs336::bench {

/// `--format`.
class FormatFlag : public llvm::cl::opt<Format, /*ExternalStorage=*/false, EnumParser<Format>> {
public:
  FormatFlag(llvm::cl::OptionCategory &category, llvm::cl::SubCommand &subcommand)
      : opt("format", llvm::cl::desc("How to print the results"), llvm::cl::init(Format::Table),
            llvm::cl::values(clEnumValN(Format::Table, "table", "aligned columns (default)"),
                             clEnumValN(Format::Markdown, "markdown", "a Markdown table"),
                             clEnumValN(Format::CSV, "csv", "comma-separated values"),
                             clEnumValN(Format::JSON, "json", "for programs: everything that is known")),
            llvm::cl::cat(category), llvm::cl::sub(subcommand)) {}

  /// Whether people read it.
  bool isForPeople() const { return getValue() == Format::Table || getValue() == Format::Markdown; }
};

} // namespace cs336::bench

#endif // CS336_BENCH_COMMAND_FORMATFLAG_H
