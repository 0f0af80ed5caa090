//===- ScheduleTuner.cpp - The fastest schedule per kernel ----------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Driver/Tune/ScheduleTuner.h"

#include "TunedFile.h"
#include "cs336/Support/FileCache.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FormatVariadic.h"

#include "absl/strings/str_cat.h"

#include <optional>

using namespace mlir;
using namespace cs336;
using namespace cs336::cuda;

namespace {
/// A candidate that ran.
struct Timed {
  const ScheduleSelection *selection;
  double microseconds;
};
} // namespace

/// Returns a hash of the texts of all candidates and of their compiler. A candidate without text counts as such.
static std::string hashCandidates(const TunableKernel &kernel, const CandidateTimer::Identity &identity) {
  CacheKey key;
  key.add(identity.compiler);
  ScopedDiagnosticHandler silent(kernel.kernel->getContext(), [](Diagnostic &) { return success(); });
  for (const ScheduleSelection &selection : kernel.candidates) {
    key.add(describeSelection(selection));
    OwningOpRef<ModuleOp> program = buildCandidate(kernel.kernel, selection, identity.architecture);
    FailureOr<std::vector<CUDAKernel>> kernels = emitCUDAKernels(*program, {identity.architecture});
    key.add(succeeded(kernels) ? kernels->front().implementations.front().text : "");
  }
  return key.finish();
}

static bool isCandidate(const TunableKernel &kernel, const ScheduleSelection &selection) {
  return llvm::any_of(kernel.candidates, [&](const ScheduleSelection &candidate) {
    return describeSelection(candidate) == describeSelection(selection);
  });
}

absl::StatusOr<double> ScheduleTuner::timeCandidate(const TunableKernel &kernel, const ScheduleSelection &selection,
                                                    const CandidateTimer::Identity &identity) {
  return timer->time(*buildCandidate(kernel.kernel, selection, identity.architecture));
}

/// Returns the fastest candidate. The first one is preferred to others that are hardly faster.
static Timed chooseFastest(ArrayRef<Timed> timed, const ScheduleSelection &first) {
  Timed fastest = timed.front();
  for (const Timed &each : timed.drop_front())
    if (each.microseconds < fastest.microseconds)
      fastest = each;
  if (timed.front().selection == &first &&
      fastest.microseconds > (1 - ScheduleTuner::kLeastGain) * timed.front().microseconds)
    return timed.front();
  return fastest;
}

absl::StatusOr<bool> ScheduleTuner::tuneProblem(const TunableKernel &kernel, const CandidateTimer::Identity &identity,
                                                TunedFile &file) {
  std::string kernels = hashCandidates(kernel, identity);
  if (const TunedSchedule *known = file.find(kernel.problem);
      known && known->kernels == kernels && isCandidate(kernel, known->selection))
    return true;
  report(absl::StrCat("autotune: ", kernel.problem, ": ", kernel.candidates.size(), " candidates"));
  SmallVector<Timed> timed;
  for (const ScheduleSelection &selection : kernel.candidates) {
    absl::StatusOr<double> microseconds = timeCandidate(kernel, selection, identity);
    if (absl::IsCancelled(microseconds.status()))
      return microseconds.status();
    std::string result = microseconds.ok() ? llvm::formatv("{0:f1} us", *microseconds).str()
                                           : absl::StrCat("left out: ", std::string(microseconds.status().message()));
    report(absl::StrCat("autotune:   ", describeSelection(selection), ": ", result));
    if (microseconds.ok())
      timed.push_back({&selection, *microseconds});
  }
  if (timed.empty()) {
    report("autotune:   no candidate ran: the schedule is selected without timing");
    return false;
  }
  const ScheduleSelection &first = kernel.candidates.front();
  Timed fastest = chooseFastest(timed, first);
  double byDefault = timed.front().selection == &first ? timed.front().microseconds : 0;
  std::string gain = fastest.selection == &first ? "as without tuning"
                     : byDefault == 0            ? "the selection without tuning did not run"
                                                 : llvm::formatv("{0:f1} us without tuning", byDefault).str();
  report(llvm::formatv("autotune:   fastest: {0}: {1:f1} us; {2}", describeSelection(*fastest.selection),
                       fastest.microseconds, gain)
             .str());
  absl::Status status =
      file.settle(kernel.problem, {*fastest.selection, fastest.microseconds, byDefault, std::move(kernels)});
  return status.ok() ? absl::StatusOr<bool>(true) : status;
}

FailureOr<std::string> ScheduleTuner::tune(ModuleOp planned) {
  auto fail = [&](const absl::Status &status) -> FailureOr<std::string> {
    return emitError(planned.getLoc()) << "autotune: " << std::string(status.message());
  };
  absl::StatusOr<CandidateTimer::Identity> identity = timer->identify();
  if (!identity.ok())
    return fail(identity.status());
  FailureOr<std::vector<TunableKernel>> kernels = findTunableKernels(planned, identity->architecture);
  if (failed(kernels))
    return failure();
  if (kernels->empty())
    return std::string();
  TunedFile file(folder, identity->device, identity->architecture, planned.getContext());
  if (absl::Status status = file.read(); !status.ok())
    report(absl::StrCat("warning: autotune: all problems are timed again: ", std::string(status.message())));
  llvm::StringSet<> problems;
  bool isAnyTuned = false;
  for (const TunableKernel &kernel : *kernels) {
    if (!problems.insert(kernel.problem).second)
      continue;
    absl::StatusOr<bool> isTuned = tuneProblem(kernel, *identity, file);
    if (!isTuned.ok())
      return fail(isTuned.status());
    isAnyTuned |= *isTuned;
  }
  return isAnyTuned ? file.getPath() : std::string();
}
