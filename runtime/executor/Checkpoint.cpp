//===- Checkpoint.cpp - A session's variables in a file -------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/runtime/Checkpoint.h"

#include "status/StatusMacros.h"

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"

namespace cs336::runtime {

namespace {

constexpr char kThreadsNote[] = "num_threads";

/// Returns true on the CPU. A GPU computes the same bits with any number of
/// host threads.
bool BitsDependOnThreads(const Session &session) { return session.device().kind == DeviceKind::kCpu; }

} // namespace

absl::Status SaveCheckpoint(const Session &session, absl::string_view path, VariableSet set) {
  CS336_ASSIGN_OR_RETURN(TensorMap variables, session.SaveVariables(set));
  FileNotes notes;
  if (BitsDependOnThreads(session))
    notes[kThreadsNote] = absl::StrCat(session.num_threads());
  return WriteTensors(path, variables, notes);
}

absl::Status JoinCheckpoint(const Session &session, VariableSet set) {
  const auto &variables = session.executable().variables();
  if (absl::c_none_of(variables, [](const auto &variable) { return variable->shards > 1; }))
    return absl::OkStatus();
  return session.SaveVariables(set).status();
}

std::string ExplainOtherBits(const FileNotes &notes, const Session &session) {
  auto threads = notes.find(kThreadsNote);
  if (threads == notes.end() || !BitsDependOnThreads(session) || threads->second == absl::StrCat(session.num_threads()))
    return "";
  return absl::StrCat("the checkpoint was written by a session with num_threads = ", threads->second,
                      ", but this one has ", session.num_threads(),
                      ": the last bits of further steps differ from those of an uninterrupted run");
}

} // namespace cs336::runtime
