//===- VerifyAliasing.cpp - Written buffers do not overlap ----------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Kernels and libraries read and write their operands in any order, on many
// threads. A buffer that a command writes may share bytes with another of its
// buffers only if the command is known to access them in a suitable order, and
// then both must be the same bytes.
//
//===----------------------------------------------------------------------===//

#include "cs336/runtime/Executable.h"
#include "format/CommandVisitor.h"
#include "format/Layout.h"
#include "format/StorageRange.h"
#include "format/Verifier.h"
#include "status/StatusMacros.h"

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"

#include <algorithm>
#include <optional>
#include <tuple>
#include <vector>

namespace cs336::runtime {

namespace {

/// An element of the list of buffers that a command uses.
struct Use {
  uint32_t buffer;
  bool is_written = false;
  /// Positions in the list of the buffers that it may overwrite.
  std::vector<uint32_t> over = {};
};

/// Lists the buffers that a command uses.
class UseCollector {
public:
  explicit UseCollector(const format::ExecutableT &executable) : executable_(executable) {}

  std::vector<Use> operator()(const format::LaunchT &launch) const {
    const format::SignatureT &signature = *executable_.kernels[launch.kernel]->signature;
    std::vector<Use> uses;
    for (size_t i = 0; i != launch.operands.size(); ++i)
      uses.push_back({launch.operands[i], signature.operands[i]->is_written, signature.operands[i]->written_over});
    return WithWorkspace(std::move(uses), launch.workspace);
  }

  std::vector<Use> operator()(const format::GemmT &gemm) const {
    std::vector<Use> uses = {{gemm.a}, {gemm.b}};
    if (gemm.bias)
      uses.push_back({*gemm.bias});
    Use c{gemm.c, /*is_written=*/true};
    if (gemm.addend) {
      c.over.push_back(uses.size());
      uses.push_back({*gemm.addend});
    }
    uses.push_back(std::move(c));
    return WithWorkspace(std::move(uses), gemm.workspace);
  }

  // These commands may run in place.
  std::vector<Use> operator()(const format::CopyT &copy) const {
    return {{copy.src}, {copy.dst, /*is_written=*/true, {0}}};
  }
  std::vector<Use> operator()(const format::CheckBoundT &check) const {
    return {{check.src}, {check.dst, /*is_written=*/true, {0}}};
  }
  std::vector<Use> operator()(const format::CollectiveT &collective) const {
    std::vector<Use> uses;
    for (uint32_t source : collective.sources)
      uses.push_back({source});
    // Ranks read parts of each other's sources.
    bool keeps_places = collective.kind != format::CollectiveKind::all_to_all;
    for (uint32_t i = 0; i != collective.targets.size(); ++i)
      uses.push_back({collective.targets[i], /*is_written=*/true,
                      keeps_places ? std::vector<uint32_t>{i} : std::vector<uint32_t>()});
    return uses;
  }

  std::vector<Use> operator()(const format::RecordT &) const { return {}; }
  std::vector<Use> operator()(const format::WaitT &) const { return {}; }

private:
  static std::vector<Use> WithWorkspace(std::vector<Use> uses, flatbuffers::Optional<uint32_t> workspace) {
    if (workspace)
      uses.push_back({*workspace, /*is_written=*/true});
    return uses;
  }

  const format::ExecutableT &executable_;
};

/// Bytes of one piece of storage.
struct Place : StorageRange {
  Place(const format::ExecutableT &executable, const format::BufferT &buffer, uint32_t position)
      : StorageRange(RangeOf(executable, buffer)), position(position) {}

  bool Overlaps(const Place &other) const { return storage == other.storage && begin < other.end && other.begin < end; }
  /// Orders by storage, then by first byte.
  friend bool operator<(const Place &a, const Place &b) {
    return std::tie(a.storage, a.begin) < std::tie(b.storage, b.begin);
  }

  uint32_t position;
};

/// Returns true if a gather of `part` may write `whole`: they are this rank's part, and the parts of all ranks. Part
/// and whole have suitable sizes, which has been verified.
bool IsOwnPart(const format::ExecutableT &executable, const format::BufferT &part, const format::BufferT &whole) {
  if (part.part_distance != 0)
    return part.part_shift == 0 && whole.part_distance == 0 && part.source == whole.source &&
           part.byte_offset == whole.byte_offset && IsDense(Layout(part)) &&
           ExtentBytes(Layout(part)) == part.part_distance;
  return part.source == format::BufferSource::variable && whole.source == format::BufferSource::gathered &&
         part.index == whole.index && part.byte_offset == 0 &&
         ExtentBytes(Layout(whole)) == RangeOf(executable, whole).end;
}

absl::Status Overlap(const format::BufferT &written, const format::BufferT &other) {
  return absl::InvalidArgumentError(absl::StrCat("it writes '", written.name, "' ", ToString(Layout(written)),
                                                 " over bytes of '", other.name, "' ", ToString(Layout(other)),
                                                 ", which it uses as well"));
}

} // namespace

absl::Status VerifyAliasing(const format::ExecutableT &executable, const format::EntryT &entry,
                            const format::CommandT &command) {
  std::vector<Use> uses = VisitBody(command.body, UseCollector(executable));
  auto buffer = [&](const Place &place) -> const format::BufferT & {
    return *entry.buffers[uses[place.position].buffer];
  };
  std::vector<Place> written, read;
  for (uint32_t i = 0; i != uses.size(); ++i)
    (uses[i].is_written ? written : read).emplace_back(executable, *entry.buffers[uses[i].buffer], i);
  const auto *collective = command.body.AsCollective();
  bool gathers = collective && collective->kind == format::CollectiveKind::all_gather && !collective->others;

  absl::c_sort(written);
  for (size_t i = 1; i < written.size(); ++i)
    if (written[i].Overlaps(written[i - 1]))
      return Overlap(buffer(written[i]), buffer(written[i - 1]));
  // Written ranges are disjoint, so those that a read range overlaps are
  // adjacent.
  for (const Place &place : read) {
    auto next = absl::c_upper_bound(written, place);
    if (next != written.begin() && std::prev(next)->Overlaps(place))
      --next;
    for (; next != written.end() && next->Overlaps(place); ++next) {
      bool is_same =
          buffer(*next).source == buffer(place).source && buffer(*next).byte_offset == buffer(place).byte_offset &&
          buffer(*next).part_distance == buffer(place).part_distance &&
          buffer(*next).part_shift == buffer(place).part_shift && Layout(buffer(*next)) == Layout(buffer(place));
      bool is_in_place = is_same || (gathers && IsOwnPart(executable, buffer(place), buffer(*next)));
      if (!is_in_place || !absl::c_linear_search(uses[next->position].over, place.position))
        return Overlap(buffer(*next), buffer(place));
    }
  }
  return absl::OkStatus();
}

} // namespace cs336::runtime
