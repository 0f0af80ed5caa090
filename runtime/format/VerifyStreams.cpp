//===- VerifyStreams.cpp - Streams do not race ----------------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Streams run at the same time. If two commands access the same bytes and one
// of them writes, events must order them as the entry does. This also holds for
// bytes of the arena that different buffers share one after the other.
//
// A command has happened before another one if both are on one stream, or if
// the other's stream has waited for an event that was recorded after the
// command. Vector clocks decide this: a stream has one number for each stream,
// of the commands there that have ended when its next command starts.
//
//===----------------------------------------------------------------------===//

#include "format/BytePieces.h"
#include "format/CommandVisitor.h"
#include "format/StorageRange.h"
#include "format/Verifier.h"
#include "status/StatusMacros.h"

#include "absl/container/inlined_vector.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace cs336::runtime {

namespace {

/// The number of commands that have ended, per stream.
using Clock = absl::InlinedVector<uint32_t, 4>;

/// The accesses that the next access of the same bytes must follow. Commands are named by their indices. All accesses
/// before the last write happened before that write.
struct Accesses {
  std::optional<uint32_t> write;
  /// The last read on each stream since that write.
  absl::InlinedVector<uint32_t, 2> reads;
};

/// The accesses to one piece of storage.
class ByteAccesses {
public:
  /// Calls `visit` with the accesses to pieces of [begin, end), which cover it without gaps afterwards.
  template <typename Function>
  absl::Status ForEachPiece(int64_t begin, int64_t end, Function &&visit) {
    SplitAt(pieces_, begin);
    SplitAt(pieces_, end);
    for (int64_t next = begin; next < end;) {
      auto piece = pieces_.lower_bound(next);
      if (piece == pieces_.end() || piece->first > next)
        piece = pieces_.insert(piece, {next, {piece == pieces_.end() ? end : std::min(end, piece->first), {}}});
      CS336_RETURN_IF_ERROR(visit(piece->second.accesses));
      next = piece->second.end;
    }
    return absl::OkStatus();
  }

  /// Makes `write` the only access to [begin, end), whose pieces were visited before.
  void Overwrite(int64_t begin, int64_t end, uint32_t write) {
    pieces_.erase(pieces_.lower_bound(begin), pieces_.lower_bound(end));
    pieces_.insert({begin, {end, {write, {}}}});
  }

private:
  /// Bytes from the key in the map to `end`.
  struct Piece {
    int64_t end;
    Accesses accesses;
  };

  BytePieces<Piece> pieces_;
};

/// Visits the commands of an entry in order.
class StreamVerifier {
public:
  StreamVerifier(const format::ExecutableT &executable, const format::EntryT &entry)
      : executable_(executable), entry_(entry), now_(entry.streams, Clock(entry.streams)), events_(entry.events) {}

  absl::Status Verify(const format::CommandT &command) {
    Clock &clock = now_[command.stream];
    if (const auto *wait = command.body.AsWait())
      for (size_t stream = 0; stream != clock.size(); ++stream)
        clock[stream] = std::max(clock[stream], events_[wait->event][stream]);
    ranks_.push_back(clock[command.stream]);
    for (uint32_t read : ReadBuffers(command))
      CS336_RETURN_IF_ERROR(Access(command, read, /*is_write=*/false));
    auto written = WrittenBuffers(command);
    if (std::optional<uint32_t> workspace = FindWorkspace(command))
      written.push_back(*workspace);
    for (uint32_t write : written)
      CS336_RETURN_IF_ERROR(Access(command, write, /*is_write=*/true));
    ++clock[command.stream];
    if (const auto *record = command.body.AsRecord())
      events_[record->event] = clock;
    return absl::OkStatus();
  }

private:
  absl::Status Access(const format::CommandT &command, uint32_t index, bool is_write) {
    const format::BufferT &buffer = *entry_.buffers[index];
    const StorageRange range = RangeOf(executable_, buffer);
    auto current = static_cast<uint32_t>(ranks_.size() - 1);
    ByteAccesses &bytes = storage_[range.storage];
    CS336_RETURN_IF_ERROR(bytes.ForEachPiece(range.begin, range.end, [&](Accesses &accesses) {
      if (accesses.write)
        CS336_RETURN_IF_ERROR(CheckFollows(command, buffer, is_write, *accesses.write, "writes"));
      if (!is_write) {
        AddRead(accesses, current);
        return absl::OkStatus();
      }
      for (uint32_t read : accesses.reads)
        CS336_RETURN_IF_ERROR(CheckFollows(command, buffer, is_write, read, "reads"));
      return absl::OkStatus();
    }));
    if (is_write)
      bytes.Overwrite(range.begin, range.end, current);
    return absl::OkStatus();
  }

  void AddRead(Accesses &accesses, uint32_t current) const {
    for (uint32_t &read : accesses.reads)
      if (entry_.commands[read]->stream == entry_.commands[current]->stream) {
        read = current;
        return;
      }
    accesses.reads.push_back(current);
  }

  /// Checks that the current command follows an earlier one. A command may write bytes that it also reads.
  absl::Status CheckFollows(const format::CommandT &command, const format::BufferT &buffer, bool is_write,
                            uint32_t earlier, absl::string_view other_access) const {
    const format::CommandT &other = *entry_.commands[earlier];
    if (earlier == ranks_.size() - 1 || now_[command.stream][other.stream] > ranks_[earlier])
      return absl::OkStatus();
    return Broken(absl::StrCat("on stream ", command.stream, " it ", is_write ? "writes" : "reads", " bytes of '",
                               buffer.name, "' that command ", earlier, " '", other.name, "' ", other_access,
                               " on stream ", other.stream, ", and it waits for no event after that command"));
  }

  const format::ExecutableT &executable_;
  const format::EntryT &entry_;
  std::vector<Clock> now_;    // By stream.
  std::vector<Clock> events_; // Empty before the event is recorded.
  /// The number of each visited command within its stream.
  std::vector<uint32_t> ranks_;
  std::map<std::pair<format::BufferSource, uint32_t>, ByteAccesses> storage_;
};

} // namespace

absl::Status VerifyStreams(const format::ExecutableT &executable, const format::EntryT &entry) {
  if (entry.streams == 1)
    return absl::OkStatus();
  StreamVerifier verifier(executable, entry);
  return VerifyEachCommand(entry, [&](const format::CommandT &command) { return verifier.Verify(command); });
}

} // namespace cs336::runtime
