//===- StudySelection.cpp - The commands of a study that run --------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StudySelection.h"

#include "StudyForecast.h"
#include "llvm/ADT/STLExtras.h"

#include "absl/strings/str_cat.h"

using namespace cs336::bench;

absl::StatusOr<StudySelection> cs336::bench::selectCommands(const Study &study, const StudyArguments &arguments,
                                                            const std::string &program,
                                                            llvm::ArrayRef<Command *> commands) {
  std::vector<StudyLine> lines = arguments.expand(study, commands, arguments.isOnGPU(), arguments.isSmall());
  std::vector<LineForecast> answers = forecastLines(program, commands, lines), kept;
  StudySelection selection;
  std::vector<const StudyStep *> steps = study.getSteps(arguments.isOnGPU(), arguments.getEdition());
  for (auto [step, line, answer] : llvm::zip_equal(steps, lines, answers)) {
    if (answer.status.ok()) {
      selection.lines.push_back(std::move(line));
      kept.push_back(std::move(answer));
      continue;
    }
    std::string command = describeLine(line), reason(answer.status.message());
    if (!arguments.mayLeaveOut(*step))
      return absl::InvalidArgumentError(
          absl::StrCat(reason, "; no command has run, because '", command, "' would end with this error"));
    selection.leftOut.push_back(absl::StrCat("'", command, "': ", reason));
  }
  selection.forecast = addForecasts(kept);
  return selection;
}
