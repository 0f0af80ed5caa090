//===- ProfileFlags.cpp - Flags of profiles -------------------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Bench/Profile/ProfileFlags.h"

#include "cs336/Bench/Profile/ProfileReport.h"
#include "cs336/Driver/Flags/GivenFlags.h"
#include "cs336/Driver/Flags/OutputFile.h"

#include "absl/strings/str_cat.h"

#include <functional>

using namespace cs336;
using namespace cs336::bench;
namespace cl = llvm::cl;

ProfileFlags::ProfileFlags(cl::OptionCategory &category, cl::SubCommand &subcommand)
    : profile("profile",
              cl::desc("Print where the time of the steps goes: command by command on the CPU, kernel by kernel on a "
                       "GPU"),
              cl::cat(category), cl::sub(subcommand)),
      keys("profile-by", cl::desc("Tables of --profile, one for each key (default kernel):"), cl::CommaSeparated,
           cl::cat(category), cl::sub(subcommand)),
      columns("profile-columns",
              cl::desc("Columns of the tables of --profile, in this order, instead of those that fit 120 characters "
                       "in the table format; all adds nsys' Med and StdDev, and a name that is unknown lists the known "
                       "ones"),
              cl::value_desc("name,..."), cl::CommaSeparated, cl::cat(category), cl::sub(subcommand)),
      largest("largest", cl::desc("Maximum number of rows of each table of --profile (default all)"),
              cl::value_desc("number"), cl::init(0), cl::cat(category), cl::sub(subcommand)),
      roofline("roofline",
               cl::desc("With --profile: compare the rates of each command with those of a large GEMM and a large "
                        "copy, measured now; the command that loses the most time comes first"),
               cl::cat(category), cl::sub(subcommand)),
      trace("trace",
            cl::desc("File for each run of a command or kernel (.json), which ui.perfetto.dev opens; the first 1000000 "
                     "runs of each rank"),
            cl::value_desc("file"), cl::cat(category), cl::sub(subcommand)) {}

ProfileLayout ProfileFlags::getLayout() const {
  ProfileLayout layout;
  if (!profile || !keys.empty())
    layout.keys.assign(keys.begin(), keys.end());
  layout.columns.assign(columns.begin(), columns.end());
  if (largest.getNumOccurrences() > 0)
    layout.numRows = static_cast<size_t>(largest);
  return layout;
}

absl::Status ProfileFlags::check() const {
  if (largest < 0)
    return absl::InvalidArgumentError(absl::StrCat("--largest is ", largest.getValue(), ", must not be negative"));
  if (!profile)
    for (std::reference_wrapper<const cl::Option> flag :
         {std::cref<cl::Option>(keys), std::cref<cl::Option>(columns), std::cref<cl::Option>(largest),
          std::cref<cl::Option>(roofline)})
      if (absl::Status status = refuseFlag(flag, "it changes the tables of --profile: give that too"); !status.ok())
        return status;
  if (columns.getNumOccurrences() > 0)
    if (absl::Status status = checkColumns(std::vector<std::string>(columns.begin(), columns.end()),
                                           getProfileColumns(), "--profile-columns");
        !status.ok())
      return status;
  return checkOutputFile("--trace", trace);
}
