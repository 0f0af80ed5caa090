//===- PendingWork.h - Work in the order of streams and events --*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Work of the fake GPUs that has been enqueued and has not run. It runs when
// the host waits or queries, one piece at a time, in a random order that
// streams and events allow. An order that they should exclude, but do not, is
// therefore likely to appear in a test that runs many times.
//
//===----------------------------------------------------------------------===//

#ifndef CS336_TEST_RUNTIME_PENDINGWORK_H
#define CS336_TEST_RUNTIME_PENDINGWORK_H

#include <functional>
#include <map>
#include <memory>
#include <random>
#include <vector>

struct CUstream_st;

namespace cs336::runtime::testing {

/// A piece of work, which runs once all of `after` is done and `is_ready` returns true.
struct Piece {
  CUstream_st *stream = nullptr;
  std::function<void()> run;
  std::function<bool()> is_ready; // Null if it is always ready.
  std::vector<std::shared_ptr<Piece>> after;
  bool is_done = false;

  void Run();
  bool MayRun() const;
};
using Pieces = std::vector<std::shared_ptr<Piece>>;

bool AreDone(const Pieces &pieces);

class PendingWork {
public:
  void Add(std::shared_ptr<Piece> piece) { pieces_.push_back(std::move(piece)); }
  /// Runs at most `count` pieces. Returns the number of those that have run.
  int Run(int count);
  /// Runs some pieces, possibly none.
  void RunSome();

private:
  /// Pieces of the stream with the highest priority run first. Priorities are random, and change at times: streams are
  /// late by any amount.
  unsigned &PriorityOf(CUstream_st *stream) { return priorities_.try_emplace(stream, random_()).first->second; }

  Pieces pieces_;
  std::map<CUstream_st *, unsigned> priorities_;
  std::mt19937 random_;
};

} // namespace cs336::runtime::testing

#endif // CS336_TEST_RUNTIME_PENDINGWORK_H
