//===- PendingWork.cpp - Work in the order of streams and events ----------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fake_cuda/PendingWork.h"

#include <algorithm>

namespace cs336::runtime::testing {

bool AreDone(const Pieces &pieces) {
  return std::all_of(pieces.begin(), pieces.end(), [](const auto &piece) { return piece->is_done; });
}

bool Piece::MayRun() const { return AreDone(after) && (!is_ready || is_ready()); }

void Piece::Run() {
  run();
  is_done = true;
  after.clear(); // Otherwise a stream would keep all its work.
}

int PendingWork::Run(int count) {
  int done = 0;
  for (; done != count; ++done) {
    auto next = pieces_.end();
    for (auto piece = pieces_.begin(); piece != pieces_.end(); ++piece)
      if ((*piece)->MayRun() && (next == pieces_.end() || PriorityOf((*piece)->stream) > PriorityOf((*next)->stream)))
        next = piece;
    if (next == pieces_.end())
      break;
    std::shared_ptr<Piece> piece = *next;
    pieces_.erase(next);
    if (random_() % 4 == 0)
      PriorityOf(piece->stream) = random_();
    piece->Run();
  }
  return done;
}

void PendingWork::RunSome() { Run(static_cast<int>(random_() % 8)); }

} // namespace cs336::runtime::testing
