//===- VerifyCommands.cpp - Rules of an entry's commands ------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/runtime/Executable.h"
#include "cs336/runtime/format/Alignments.h"
#include "format/CollectiveParts.h"
#include "format/CommandVisitor.h"
#include "format/Layout.h"
#include "format/Verifier.h"
#include "status/StatusMacros.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace cs336::runtime {

namespace {

using absl::StrCat;

std::string Describe(const format::BufferT &buffer) { return StrCat("'", buffer.name, "' ", ToString(Layout(buffer))); }

/// Returns true if one of a matrix's last two strides is 1 and the other is at
/// least the size of that dimension, as every GEMM library requires.
bool IsMatrix(const format::BufferT &buffer) {
  size_t rank = buffer.shape.size();
  auto contiguous = [&](size_t dim, size_t other) {
    bool unit = buffer.shape[dim] == 1 || buffer.strides[dim] == 1;
    return unit && (buffer.shape[other] == 1 || buffer.strides[other] >= buffer.shape[dim]);
  };
  return contiguous(rank - 1, rank - 2) || contiguous(rank - 2, rank - 1);
}

/// Checks commands in order and records which events were recorded.
class CommandVerifier {
public:
  CommandVerifier(const format::ExecutableT &executable, const format::EntryT &entry)
      : executable_(executable), entry_(entry), recorded_(entry.events) {}

  absl::Status Verify(const format::CommandT &command) {
    if (command.body.type <= format::CommandBody::NONE || command.body.type > format::CommandBody::MAX ||
        !command.body.value)
      return Broken("unknown kind of command");
    if (command.stream >= entry_.streams)
      return Broken(StrCat("stream ", command.stream, " of ", entry_.streams));
    if (command.phase > format::Phase::MAX)
      return Broken("unknown phase");
    if (command.arithmetic > format::Arithmetic::MAX)
      return Broken("unknown arithmetic");
    for (double work : {command.flops, command.bytes})
      if (!std::isfinite(work) || work < 0)
        return Broken(StrCat("its FLOPs or bytes are ", work));
    CS336_RETURN_IF_ERROR(VisitBody(command.body, [&](const auto &body) { return VerifyBody(body); }));
    for (uint32_t written : WrittenBuffers(command)) {
      if (!HasDistinctElements(Layout(Buffer(written))))
        return Broken(StrCat("it writes ", Describe(Buffer(written)), ", whose elements share addresses"));
      if (Buffer(written).source == format::BufferSource::input)
        return Broken(StrCat("it writes ", Describe(Buffer(written)), ", an input, whose values were checked before"));
      if (int64_t distance = Buffer(written).part_distance;
          distance != 0 && ExtentBytes(Layout(Buffer(written))) > distance)
        return Broken(StrCat("it writes ", Describe(Buffer(written)), ", which shares bytes with the parts of others"));
    }
    return VerifyAliasing(executable_, entry_, command);
  }

private:
  const format::BufferT &Buffer(uint32_t index) const { return *entry_.buffers[index]; }

  absl::Status CheckBuffers(std::initializer_list<uint32_t> indices) const {
    for (uint32_t index : indices)
      if (index >= entry_.buffers.size())
        return Broken(StrCat("it names buffer ", index, " of ", entry_.buffers.size()));
    return absl::OkStatus();
  }

  absl::Status CheckWorkspace(flatbuffers::Optional<uint32_t> workspace) const {
    if (!workspace)
      return absl::OkStatus();
    CS336_RETURN_IF_ERROR(CheckBuffers({*workspace}));
    if (Buffer(*workspace).source != format::BufferSource::arena || !IsDense(Layout(Buffer(*workspace))))
      return Broken(StrCat("its workspace is ", Describe(Buffer(*workspace)), ", not dense or not in the arena"));
    return absl::OkStatus();
  }

  absl::Status VerifyBody(const format::LaunchT &launch) {
    if (launch.kernel >= executable_.kernels.size())
      return Broken(StrCat("it names kernel ", launch.kernel, " of ", executable_.kernels.size()));
    for (uint32_t operand : launch.operands)
      CS336_RETURN_IF_ERROR(CheckBuffers({operand}));
    if (launch.grain < 1)
      return Broken(StrCat("grain ", launch.grain, " is below 1"));
    CS336_RETURN_IF_ERROR(CheckWorkspace(launch.workspace));
    return VerifyLaunch(executable_, entry_, launch);
  }

  absl::Status VerifyBody(const format::GemmT &gemm) {
    CS336_RETURN_IF_ERROR(CheckBuffers({gemm.a, gemm.b, gemm.c}));
    const format::BufferT &a = Buffer(gemm.a), &b = Buffer(gemm.b), &c = Buffer(gemm.c);
    auto fits = [&] {
      size_t rank = a.shape.size();
      return rank >= 2 && b.shape.size() == rank && c.shape.size() == rank &&
             std::equal(a.shape.begin(), a.shape.end() - 2, b.shape.begin()) &&
             std::equal(a.shape.begin(), a.shape.end() - 1, c.shape.begin()) &&
             a.shape[rank - 1] == b.shape[rank - 2] && b.shape[rank - 1] == c.shape[rank - 1];
    };
    if (!fits() || a.dtype != b.dtype)
      return Broken(
          StrCat("GEMM shapes do not agree: A is ", Describe(a), ", B is ", Describe(b), ", C is ", Describe(c)));
    for (uint32_t index : {gemm.a, gemm.b, gemm.c})
      if (!IsMatrix(Buffer(index)))
        return Broken(StrCat(Describe(Buffer(index)),
                             ": one of the last two strides of a GEMM's operand must be 1, and "
                             "the other no less than the size that it passes over"));
    if (gemm.precision > format::Precision::MAX)
      return Broken("unknown precision");
    CS336_RETURN_IF_ERROR(VerifyAddend(gemm));
    CS336_RETURN_IF_ERROR(VerifyBias(gemm));
    CS336_RETURN_IF_ERROR(CheckWorkspace(gemm.workspace));
    if (executable_.target != format::Target::cuda || !gemm.workspace)
      return absl::OkStatus();
    if (int64_t offset = Buffer(*gemm.workspace).byte_offset; offset % format::kGemmWorkspaceAlignment != 0)
      return Broken(StrCat("its workspace starts at byte ", offset, ", but cuBLASLt requires a multiple of ",
                           format::kGemmWorkspaceAlignment));
    return absl::OkStatus();
  }

  absl::Status VerifyAddend(const format::GemmT &gemm) const {
    if (!gemm.addend)
      return absl::OkStatus();
    CS336_RETURN_IF_ERROR(CheckBuffers({*gemm.addend}));
    const format::BufferT &c = Buffer(gemm.c), &addend = Buffer(*gemm.addend);
    if (addend.dtype != c.dtype || addend.shape != c.shape || addend.strides != c.strides)
      return Broken(StrCat("it adds ", Describe(addend), ", which does not lie as ", Describe(c), " does"));
    return absl::OkStatus();
  }

  absl::Status VerifyBias(const format::GemmT &gemm) const {
    if (!gemm.bias)
      return absl::OkStatus();
    CS336_RETURN_IF_ERROR(CheckBuffers({*gemm.bias}));
    const format::BufferT &c = Buffer(gemm.c), &bias = Buffer(*gemm.bias);
    int64_t columns = c.shape.back();
    bool dense = bias.shape.size() == 1 && (bias.shape[0] == 1 || bias.strides[0] == 1);
    if (!dense || bias.shape[0] != columns || bias.dtype != c.dtype)
      return Broken(StrCat("its bias ", Describe(bias), " is not a dense row of ", Describe(c)));
    if (columns != 1 && c.strides.back() != 1)
      return Broken(StrCat("it adds a bias to rows of ", Describe(c), " that are not contiguous"));
    return absl::OkStatus();
  }

  absl::Status VerifyBody(const format::CopyT &copy) {
    CS336_RETURN_IF_ERROR(CheckBuffers({copy.src, copy.dst}));
    const format::BufferT &src = Buffer(copy.src), &dst = Buffer(copy.dst);
    if (src.dtype != dst.dtype || src.shape != dst.shape)
      return Broken(StrCat("it copies ", Describe(src), " to ", Describe(dst)));
    return absl::OkStatus();
  }

  absl::Status VerifyBody(const format::CheckBoundT &check) {
    CS336_RETURN_IF_ERROR(CheckBuffers({check.src, check.dst}));
    const format::BufferT &src = Buffer(check.src), &dst = Buffer(check.dst);
    if (!IsIndexType(src.dtype) || src.dtype != dst.dtype || src.shape != dst.shape || !IsDense(Layout(src)) ||
        !IsDense(Layout(dst)))
      return Broken(StrCat("it checks integers from ", Describe(src), " to ", Describe(dst)));
    if (check.bound < 1)
      return Broken(StrCat("it checks integers against bound ", check.bound));
    return absl::OkStatus();
  }

  absl::Status VerifyBody(const format::CollectiveT &collective) {
    if (collective.kind > format::CollectiveKind::MAX || collective.reduction > format::Reduction::MAX)
      return Broken("unknown kind of collective or reduction");
    if (collective.sources.empty() || collective.sources.size() != collective.targets.size())
      return Broken(StrCat("a collective from ", collective.sources.size(), " buffers to ", collective.targets.size()));
    if (collective.others && (!WritesParts(collective.kind) || executable_.world_size < 2))
      return Broken(StrCat(format::EnumNameCollectiveKind(collective.kind), " between ", executable_.world_size,
                           " ranks cannot have only the parts of other ranks"));
    if (collective.kind == format::CollectiveKind::broadcast && collective.root >= executable_.world_size)
      return Broken(StrCat("its root is rank ", collective.root, ", but the program is for ", executable_.world_size));
    for (size_t i = 0; i != collective.sources.size(); ++i) {
      CS336_RETURN_IF_ERROR(CheckBuffers({collective.sources[i], collective.targets[i]}));
      const format::BufferT &src = Buffer(collective.sources[i]), &dst = Buffer(collective.targets[i]);
      bool has_columns = collective.kind == format::CollectiveKind::all_to_all && HasPartsOfColumns(src);
      if (src.dtype != dst.dtype || !(has_columns || IsDense(Layout(src))) || !IsDense(Layout(dst)) ||
          !SizesAgree(collective, NumElements(Layout(src)), NumElements(Layout(dst))))
        return Broken(StrCat("a collective from ", Describe(src), " to ", Describe(dst)));
    }
    return absl::OkStatus();
  }

  /// Returns true if the parts are columns of a dense matrix.
  bool HasPartsOfColumns(const format::BufferT &buffer) const {
    if (buffer.shape.size() != 3 || buffer.shape[0] != executable_.world_size)
      return false;
    int64_t columns = buffer.shape[2];
    return buffer.strides == std::vector<int64_t>{columns, buffer.shape[0] * columns, 1};
  }

  /// Returns true if the collective makes `to` elements of `from`.
  bool SizesAgree(const format::CollectiveT &collective, int64_t from, int64_t to) const {
    int64_t ranks = executable_.world_size, parts = collective.others ? ranks - 1 : ranks;
    switch (collective.kind) {
    case format::CollectiveKind::all_gather:
      return to % parts == 0 && to / parts == from;
    case format::CollectiveKind::reduce_scatter:
      return from % ranks == 0 && from / ranks == to;
    case format::CollectiveKind::all_to_all:
      return from % ranks == 0 && to % parts == 0 && from / ranks == to / parts;
    case format::CollectiveKind::all_reduce:
    case format::CollectiveKind::broadcast:
      break;
    }
    return from == to;
  }

  absl::Status VerifyBody(const format::RecordT &record) {
    if (record.event >= recorded_.size())
      return Broken(StrCat("event ", record.event, " of ", recorded_.size()));
    if (recorded_[record.event])
      return Broken(StrCat("event ", record.event, " is recorded twice"));
    recorded_[record.event] = true;
    return absl::OkStatus();
  }

  absl::Status VerifyBody(const format::WaitT &wait) {
    if (wait.event >= recorded_.size() || !recorded_[wait.event])
      return Broken(StrCat("it waits for event ", wait.event, ", which no earlier command records"));
    return absl::OkStatus();
  }

  const format::ExecutableT &executable_;
  const format::EntryT &entry_;
  std::vector<bool> recorded_;
};

} // namespace

absl::Status VerifyCommands(const format::ExecutableT &executable, const format::EntryT &entry) {
  // A malicious count must not cause a large allocation.
  if (entry.events > entry.commands.size())
    return Broken(StrCat(entry.events, " events for ", entry.commands.size(), " commands"));
  CommandVerifier verifier(executable, entry);
  return VerifyEachCommand(entry, [&](const format::CommandT &command) { return verifier.Verify(command); });
}

} // namespace cs336::runtime
