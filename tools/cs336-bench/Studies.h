//===- Studies.h - Measurements of published write-ups ----------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_TOOLS_BENCH_STUDIES_H
#define CS336_TOOLS_BENCH_STUDIES_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <optional>
#include <utility>
#include <vector>

namespace cs336::bench {

using StudyFlags = std::vector<std::pair<llvm::StringRef, llvm::StringRef>>;

/// The year of the assignment whose grids a study measures. In 2026, xl is the size that is 2.7B here, 10B is new, and
/// the context is 512 unless a problem gives others.
enum class Edition { Of2025, Of2026 };

/// "2025".
llvm::StringRef stringifyEdition(Edition edition);
/// Returns nullopt for a year without an edition.
std::optional<Edition> parseEdition(llvm::StringRef year);
/// Returns the years of all editions.
llvm::ArrayRef<llvm::StringRef> getEditionNames();

/// Returns the size of this tool that an edition calls `name`.
llvm::StringRef getSizeOf(Edition edition, llvm::StringRef name);

/// A command of this tool with some of its flags fixed.
struct StudyStep {
  llvm::StringRef command;
  /// Those of 2025.
  StudyFlags flags;
  /// On the CPU unless --full is given: replace those of `flags`, or join them. A laptop with two cores and 4 GiB runs
  /// all steps of a study within about two minutes.
  StudyFlags cpuFlags;
  /// In 2026: replace those of `flags`, or join them, before those of the CPU do.
  StudyFlags flagsOf2026 = {};
  /// True for a plan of one model: `study all` also writes its memory over time, as long as it is one model.
  bool hasTimeline = false;
  /// True for a command that CPUs do not have.
  bool needsGPU = false;
  /// Flags that make this step what it is. Given by the user, they are for this step alone among those of its command,
  /// which would reject them in the others. The study leaves this step out if it rejects other flags of the user.
  std::vector<llvm::StringRef> ownFlags = {};
  /// The only edition that has this command; nullopt for a command of all editions.
  std::optional<Edition> onlyEdition = std::nullopt;

  /// The flags on that device, in the order of `flags`.
  StudyFlags getFlags(Edition edition, bool isSmall) const;
};

/// A problem of the assignment, with its name there, and the commands that measure it.
struct Study {
  llvm::StringRef name, description, source;
  std::vector<StudyStep> steps;
  /// The names of other problems that the same commands measure.
  std::vector<llvm::StringRef> aliases = {};

  /// Returns true for the study's name and its aliases.
  bool isCalled(llvm::StringRef problem) const;
  /// Returns the commands of the edition that the device has.
  std::vector<const StudyStep *> getSteps(bool isOnGPU, Edition edition) const;
  /// Returns true if the flag, in the study's spelling, is one of another step's `ownFlags` and not of `step`'s.
  bool isOfOtherStep(llvm::StringRef flag, const StudyStep &step) const;
};

const std::vector<Study> &getStudies();

} // namespace cs336::bench

#endif // CS336_TOOLS_BENCH_STUDIES_H
