//===- VerifyIntegers.cpp - Integers used as indices ----------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Kernels do not check the integers that they use as indices. Their signatures
// have the ranges that these must be in, and the ranges of the integers that
// they write. This file follows an entry's commands in order and tracks the
// ranges of integers in the arena. Commands of different streams may run in
// another order, but not those that access the same bytes (VerifyStreams.cpp).
// Integers in variables and from other ranks are unbounded.
//
//===----------------------------------------------------------------------===//

#include "cs336/runtime/Executable.h"
#include "cs336/runtime/format/KernelSignature.h"
#include "format/BytePieces.h"
#include "format/CommandVisitor.h"
#include "format/Layout.h"
#include "format/Verifier.h"
#include "status/StatusMacros.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <map>
#include <optional>

namespace cs336::runtime {

namespace {

using absl::StrCat;
using format::AnyInteger;
using format::IntegerRange;

IntegerRange Unite(const IntegerRange &a, const IntegerRange &b) {
  return {std::min(a.least(), b.least()), std::max(a.most(), b.most())};
}

/// Returns the range of an element type's integers in [0, bound).
IntegerRange Below(int64_t bound, format::DType dtype) {
  int64_t most = dtype == format::DType::i32 ? std::numeric_limits<int32_t>::max() : AnyInteger().most();
  return {0, std::min(bound - 1, most)};
}

bool IsWithin(const IntegerRange &inner, const IntegerRange &outer) {
  return inner.least() >= outer.least() && inner.most() <= outer.most();
}

/// The ranges of integers in the arena.
class ArenaRanges {
public:
  /// Returns the range that holds the integers of a buffer in the arena.
  IntegerRange Read(const format::BufferT &buffer) const {
    int64_t next = buffer.byte_offset, end = EndOf(buffer);
    auto piece = pieces_.upper_bound(next);
    if (piece == pieces_.begin())
      return AnyInteger();
    IntegerRange range = std::prev(piece)->second.range;
    for (--piece; next < end; next = piece++->second.end) {
      if (piece == pieces_.end() || piece->first > next || piece->second.end <= next ||
          piece->second.dtype != buffer.dtype)
        return AnyInteger();
      range = Unite(range, piece->second.range);
    }
    return range;
  }

  /// Records that integers in `range` were written to a buffer in the arena.
  void Write(const format::BufferT &buffer, const IntegerRange &range) {
    int64_t begin = buffer.byte_offset, end = EndOf(buffer);
    SplitAt(pieces_, begin);
    SplitAt(pieces_, end);
    bool is_known = range != AnyInteger(), is_dense = IsDense(Layout(buffer));
    for (auto piece = pieces_.lower_bound(begin); piece != pieces_.end() && piece->first < end;) {
      // Elements between the written ones keep their values.
      bool is_kept = is_known && !is_dense && piece->second.dtype == buffer.dtype;
      if (is_kept)
        piece->second.range = Unite(piece->second.range, range);
      piece = is_kept ? std::next(piece) : pieces_.erase(piece);
    }
    if (is_known && is_dense)
      pieces_.insert({begin, {end, buffer.dtype, range}});
  }

private:
  /// Bytes from the key in the map to `end` that hold elements of one type, or parts of them. Elements of a type start
  /// at multiples of their size, so a write of a part of an element as that type wrote all of it.
  struct Piece {
    int64_t end;
    format::DType dtype;
    IntegerRange range;
  };

  static int64_t EndOf(const format::BufferT &buffer) { return buffer.byte_offset + ExtentBytes(Layout(buffer)); }

  BytePieces<Piece> pieces_;
};

/// Visits the commands of an entry in order.
class IntegerVerifier {
public:
  IntegerVerifier(const format::ExecutableT &executable, const format::EntryT &entry)
      : executable_(executable), entry_(entry) {}

  absl::Status Verify(const format::CommandT &command) {
    CS336_RETURN_IF_ERROR(
        VisitBody(command.body, Overloaded{
                                    [&](const format::LaunchT &launch) { return VerifyLaunch(launch); },
                                    [&](const format::CopyT &copy) {
                                      Write(copy.dst, Read(copy.src));
                                      return absl::OkStatus();
                                    },
                                    [&](const format::CheckBoundT &check) {
                                      Write(check.dst, Below(check.bound, entry_.buffers[check.dst]->dtype));
                                      return absl::OkStatus();
                                    },
                                    [&](const auto &) {
                                      for (uint32_t written : WrittenBuffers(command))
                                        Write(written, AnyInteger());
                                      return absl::OkStatus();
                                    },
                                }));
    if (std::optional<uint32_t> workspace = FindWorkspace(command))
      Write(*workspace, AnyInteger());
    return absl::OkStatus();
  }

private:
  IntegerRange Read(uint32_t index) const {
    const format::BufferT &buffer = *entry_.buffers[index];
    switch (buffer.source) {
    case format::BufferSource::arena:
      return arena_.Read(buffer);
    case format::BufferSource::variable:
    case format::BufferSource::gathered:
      return AnyInteger();
    case format::BufferSource::input:
      break;
    }
    int64_t bound = entry_.inputs[buffer.index]->bound;
    return bound == 0 ? AnyInteger() : Below(bound, buffer.dtype);
  }

  void Write(uint32_t index, const IntegerRange &range) {
    if (const format::BufferT &buffer = *entry_.buffers[index]; buffer.source == format::BufferSource::arena)
      arena_.Write(buffer, range);
  }

  absl::Status VerifyLaunch(const format::LaunchT &launch) {
    const auto &operands = executable_.kernels[launch.kernel]->signature->operands;
    auto range_of = [&](size_t i) {
      return operands[i]->ranges.empty() ? AnyInteger() : operands[i]->ranges[launch.variant];
    };
    for (size_t i = 0; i != operands.size(); ++i) {
      if (operands[i]->is_written || IsWithin(Read(launch.operands[i]), range_of(i)))
        continue;
      const format::BufferT &buffer = *entry_.buffers[launch.operands[i]];
      IntegerRange range = Read(launch.operands[i]);
      return absl::InvalidArgumentError(
          StrCat("operand ", i, ": '", buffer.name, "' ", ToString(Layout(buffer)), " holds ",
                 range == AnyInteger() ? "unbounded integers" : "integers in " + format::ToString(range),
                 ", but the kernel uses them as indices in ", format::ToString(range_of(i))));
    }
    for (size_t i = 0; i != operands.size(); ++i)
      if (operands[i]->is_written)
        Write(launch.operands[i], range_of(i));
    return absl::OkStatus();
  }

  const format::ExecutableT &executable_;
  const format::EntryT &entry_;
  ArenaRanges arena_;
};

} // namespace

bool IsIndexType(format::DType dtype) { return dtype == format::DType::i64 || dtype == format::DType::i32; }

size_t CountVariants(const format::SignatureT &signature) {
  for (const auto &operand : signature.operands)
    if (!operand->ranges.empty())
      return operand->ranges.size();
  return 1;
}

absl::Status VerifyIntegers(const format::ExecutableT &executable, const format::EntryT &entry) {
  IntegerVerifier verifier(executable, entry);
  return VerifyEachCommand(entry, [&](const format::CommandT &command) { return verifier.Verify(command); });
}

} // namespace cs336::runtime
