//===- PeerSequence.h - Collectives that follow each other ------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_RUNTIME_DEVICE_CUDA_PEERSEQUENCE_H
#define CS336_RUNTIME_DEVICE_CUDA_PEERSEQUENCE_H

#include "cs336/runtime/Executable.h"
#include "device/CollectiveCommand.h"

#include <vector>

namespace cs336::runtime {

/// The end that a collective waits for before it accesses memory of other ranks. What it reads there must have been
/// written, and what it writes there must not be in use any more.
enum class PeerStart {
  kBarrier,        ///< A barrier of its own.
  kPreviousEnd,    ///< The last barrier of the previous collective.
  kPreviousCopies, ///< The copies of the previous collective on this rank.
};

/// The collectives of a group, in the order of their stream, and what each of them waits for.
///
/// A collective that directly follows another one in its stream relies on the other's last barrier. Executables are
/// verified (VerifyStreams.cpp): on each rank, events or the order of the stream place every command that uses the
/// operands' bytes before or after this collective. A command that is before it is also before the previous
/// collective's last barrier on the same rank: it is the previous collective, or earlier in this stream, or in another
/// stream. In the last case, this stream waits for an event after it; since no wait is between the two collectives,
/// this wait is before the previous one. All ranks run the same program, so this holds on every rank, and the previous
/// collective's last barrier ends only after all ranks have reached it. A command that is after this collective waits
/// for its last barrier.
///
/// Gathers that directly follow each other are a chain. By the same argument, the other commands before a gather of the
/// chain have ended on all ranks when the chain's first copy begins. A gather may therefore copy before the last
/// barriers of the chain's earlier gathers, unless one of them writes bytes that it reads or writes, or reads bytes
/// that it writes.
///
/// The first collective of an entry's stream has no previous command and waits for a barrier. Between it and the last
/// collective of the run before, the host may have written inputs and variables of one rank.
class PeerSequence {
public:
  /// Adds the collective that is prepared now, with its operands on this rank. `previous` is the command before it in
  /// its stream, or null.
  PeerStart Add(const format::CommandT *previous, const format::CommandT &command, format::CollectiveKind kind,
                const std::vector<Transfer> &transfers);

private:
  const format::CommandT *latest_ = nullptr;
  std::vector<Transfer> chain_; // The operands of the latest chain of gathers; empty after a reduction.
};

} // namespace cs336::runtime

#endif // CS336_RUNTIME_DEVICE_CUDA_PEERSEQUENCE_H
