//===- CompileProfile.cpp - Where the time of a compilation goes ----------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Driver/Compile/CompileProfile.h"

using namespace cs336;

CompileProfile::CompileProfile() { nodes.emplace_back(); }

std::optional<void *> CompileProfile::rootTimer() { return &nodes.front(); }

void CompileProfile::startTimer(void *handle) {
  std::scoped_lock lock(mutex);
  static_cast<Node *>(handle)->started[std::this_thread::get_id()] = Clock::now();
}

void CompileProfile::stopTimer(void *handle) {
  Clock::time_point now = Clock::now();
  std::scoped_lock lock(mutex);
  Node &node = *static_cast<Node *>(handle);
  auto started = node.started.find(std::this_thread::get_id());
  if (started == node.started.end())
    return;
  node.time += now - started->second;
  ++node.runs;
  node.started.erase(started);
}

void *CompileProfile::nestTimer(void *handle, const void *id, llvm::function_ref<std::string()> nameBuilder) {
  std::scoped_lock lock(mutex);
  Node &outer = *static_cast<Node *>(handle);
  auto [known, isNew] = outer.byId.try_emplace(id, nullptr);
  if (isNew) {
    Node &node = nodes.emplace_back();
    node.name = nameBuilder();
    known->second = &node;
    outer.inner.push_back(&node);
  }
  return known->second;
}

void CompileProfile::hideTimer(void *handle) {
  std::scoped_lock lock(mutex);
  static_cast<Node *>(handle)->isHidden = true;
}

void CompileProfile::collect(const Node &node, std::vector<std::string> &outer, std::vector<TimedPhase> &phases) const {
  for (const Node *inner : node.inner) {
    if (inner->runs == 0)
      continue;
    if (inner->isHidden) {
      collect(*inner, outer, phases);
      continue;
    }
    phases.push_back({inner->name, outer, inner->runs, std::chrono::duration<double>(inner->time).count()});
    outer.push_back(inner->name);
    collect(*inner, outer, phases);
    outer.pop_back();
  }
}

std::vector<TimedPhase> CompileProfile::getPhases() const {
  std::scoped_lock lock(mutex);
  std::vector<std::string> outer;
  std::vector<TimedPhase> phases;
  collect(nodes.front(), outer, phases);
  return phases;
}
