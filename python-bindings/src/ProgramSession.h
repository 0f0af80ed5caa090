//===- ProgramSession.h - A session for Python ------------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_PYTHON_PROGRAMSESSION_H
#define CS336_PYTHON_PROGRAMSESSION_H

#include "Arrays.h"

#include "cs336/Driver/Run/RunProfile.h"
#include "cs336/runtime/Session.h"
#include "llvm/ADT/STLFunctionalExtras.h"

#include <nanobind/nanobind.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace cs336::python {

/// A runtime session. Throws statuses that are not OK. Other Python threads run while it waits for its device.
class ProgramSession {
public:
  /// `profile` prepares for profile() on a GPU, which must happen before the session is created.
  ProgramSession(std::shared_ptr<const runtime::Executable> executable, const runtime::SessionOptions &options,
                 bool profile);

  std::string getDevice() const { return runtime::ToString(session->device()); }
  int64_t getAllocatedBytes() const { return session->allocated_bytes(); }
  nanobind::dict getMemory() const;

  void initialize(uint64_t seed);
  void prepare();
  void setVariable(const std::string &name, nanobind::handle given);
  OutputArray getVariable(const std::string &name) const;
  /// Returns the reason why further steps have other bits than an uninterrupted run; empty if there is none.
  std::string load(const std::string &path, bool parametersOnly, bool ignoreExtra);
  void save(const std::string &path, bool parametersOnly) const;
  /// Gathers sharded variables while another rank saves them.
  void joinSave(bool parametersOnly) const;

  /// `inputs` holds, by name, values that nanobind converts to InputArray.
  void run(const std::string &entry, const nanobind::dict &inputs, bool checkNaN);
  /// Runs the entry. Returns (index, phase, location, kind, command, name, array) for each value that the glob selects.
  nanobind::list getValues(const std::string &entry, const nanobind::dict &inputs, const std::string &pattern);
  /// Runs the entry `steps` times. Returns (phase, name, count, seconds) per key and phase, by decreasing time.
  /// `seconds` lists the total, mean, median, minimum, maximum and standard deviation. Writes the file `trace`, unless
  /// empty.
  nanobind::list profile(const std::string &entry, const nanobind::dict &inputs, int64_t steps, const std::string &key,
                         const std::string &trace);
  /// Runs the entry `steps` times, each after the end of the one before, and profiles the runs if `isProfiled`. Returns
  /// the device's seconds of each run. `isProfiled` requires a session that profile() accepts.
  std::vector<double> timeSteps(const std::string &entry, const nanobind::dict &inputs, int64_t steps, bool isProfiled);
  void synchronize();
  double getLastRunSeconds(const std::string &entry) const;

  OutputArray getOutput(const std::string &entry, const std::string &name) const;
  OutputArray getPreviousOutput(const std::string &entry, const std::string &name) const;

  /// Return the tensor itself, after waiting for the last run. `self` is this session's Python object, which the array
  /// keeps alive.
  SharedArray shareVariable(nanobind::handle self, const std::string &name);
  SharedArray shareOutput(nanobind::handle self, const std::string &entry, const std::string &name);

private:
  void runSteps(
      const std::string &entry, const nanobind::dict &inputs, runtime::RunObserver *observer, int64_t steps = 1,
      llvm::function_ref<absl::Status()> afterStep = [] { return absl::OkStatus(); });

  int rank;
  std::unique_ptr<RunProfiler> profiler; // From before the session until after it; null on a GPU unless asked for.
  std::unique_ptr<runtime::Session> session;
};

} // namespace cs336::python

#endif // CS336_PYTHON_PROGRAMSESSION_H
