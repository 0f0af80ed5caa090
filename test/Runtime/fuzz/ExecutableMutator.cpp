//===- ExecutableMutator.cpp - Changes of fields of programs --------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fuzz/ExecutableMutator.h"

#include "cs336/runtime/format/ExecutableFile.h"
#include "cs336/runtime/format/KernelSignature.h"
#include "format/CommandVisitor.h"

#include "absl/base/casts.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace cs336::runtime::testing {

namespace {

/// Returns true if the code of every kernel is bound to its signature.
bool HasBoundKernels(const format::ExecutableT &executable) {
  return std::all_of(executable.kernels.begin(), executable.kernels.end(), [](const auto &kernel) {
    std::string suffix = format::ToSymbolSuffix(*kernel->signature);
    const std::string &symbol = kernel->implementations.front()->functions.front()->symbol;
    return symbol.size() > suffix.size() &&
           symbol.compare(symbol.size() - suffix.size(), std::string::npos, suffix) == 0;
  });
}

} // namespace

//===----------------------------------------------------------------------===//
// Fields
//===----------------------------------------------------------------------===//

void ExecutableMutator::MutateNumber(int64_t &number) {
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max(), kLeast = std::numeric_limits<int64_t>::min();
  constexpr int64_t kSpecial[] = {0,         1,      -1,        2,         3,         64,        kMost,
                                  kMost - 1, kLeast, kMost / 4, kMost / 8, 1LL << 31, 1LL << 32, (1LL << 31) - 1,
                                  1LL << 40};
  switch (uint64_t value = number; Below(6)) {
  case 0:
    number = static_cast<int64_t>(value + 1);
    return;
  case 1:
    number = static_cast<int64_t>(value - 1);
    return;
  case 2:
    number = static_cast<int64_t>(value * 2);
    return;
  case 3:
    number /= 2;
    return;
  case 4:
    number = static_cast<int64_t>(value ^ uint64_t{1} << Below(64));
    return;
  default:
    number = kSpecial[Below(std::size(kSpecial))];
  }
}

void ExecutableMutator::MutateNumber(double &number) {
  auto bits = absl::bit_cast<int64_t>(number);
  MutateNumber(bits);
  number = absl::bit_cast<double>(bits);
}

/// Returns mostly indices that exist.
void ExecutableMutator::MutateIndex(uint32_t &index, size_t size) {
  index = size != 0 && Below(16) != 0 ? Below(size) : static_cast<uint32_t>(random_());
}

template <typename Enum>
void ExecutableMutator::MutateEnum(Enum &value) {
  value = static_cast<Enum>(Below(static_cast<size_t>(Enum::MAX) + 2));
}

void ExecutableMutator::MutateShape(std::vector<int64_t> &shape) {
  if (shape.empty() || Below(8) == 0) {
    shape.insert(shape.begin() + Below(shape.size() + 1), 1 + Below(4));
    return;
  }
  switch (Below(4)) {
  case 0:
    std::swap(Pick(shape), Pick(shape));
    return;
  case 1:
    shape.erase(shape.begin() + Below(shape.size()));
    return;
  default:
    MutateNumber(Pick(shape));
  }
}

void ExecutableMutator::MutateOptionalBuffer(const format::EntryT &entry, flatbuffers::Optional<uint32_t> &buffer) {
  uint32_t index = buffer.value_or(0);
  MutateIndex(index, entry.buffers.size());
  buffer = buffer && Below(4) == 0 ? flatbuffers::Optional<uint32_t>() : flatbuffers::Optional<uint32_t>(index);
}

//===----------------------------------------------------------------------===//
// Commands
//===----------------------------------------------------------------------===//

void ExecutableMutator::MutateBody(const format::ExecutableT &executable, const format::EntryT &entry,
                                   format::LaunchT &launch) {
  switch (Below(10)) {
  case 0:
    return MutateIndex(launch.kernel, executable.kernels.size());
  case 1:
    if (!launch.operands.empty())
      std::swap(Pick(launch.operands), Pick(launch.operands));
    return;
  case 2:
    if (!launch.operands.empty())
      launch.operands.erase(launch.operands.begin() + Below(launch.operands.size()));
    return;
  case 3:
    launch.writes.assign(Below(3), Below(launch.operands.size() + 1));
    return;
  case 4:
    return MutateNumber(launch.rows);
  case 5:
    return MutateNumber(launch.grain);
  case 6:
    return MutateNumber(launch.thread_bytes);
  case 7:
    return MutateOptionalBuffer(entry, launch.workspace);
  case 8:
    return MutateIndex(launch.variant, 2);
  default:
    if (!launch.operands.empty())
      MutateIndex(Pick(launch.operands), entry.buffers.size());
  }
}

void ExecutableMutator::MutateBody(const format::ExecutableT &, const format::EntryT &entry, format::GemmT &gemm) {
  switch (Below(8)) {
  case 0:
    return MutateIndex(gemm.a, entry.buffers.size());
  case 1:
    return MutateIndex(gemm.b, entry.buffers.size());
  case 2:
    return MutateIndex(gemm.c, entry.buffers.size());
  case 3:
    return MutateOptionalBuffer(entry, gemm.addend);
  case 4:
    return MutateOptionalBuffer(entry, gemm.bias);
  case 5:
    return MutateOptionalBuffer(entry, gemm.workspace);
  case 6:
    return MutateEnum(gemm.precision);
  default:
    gemm.relu = !gemm.relu;
  }
}

void ExecutableMutator::MutateBody(const format::ExecutableT &, const format::EntryT &entry, format::CopyT &copy) {
  MutateIndex(Below(2) ? copy.src : copy.dst, entry.buffers.size());
}

void ExecutableMutator::MutateBody(const format::ExecutableT &, const format::EntryT &entry,
                                   format::CollectiveT &collective) {
  switch (Below(4)) {
  case 0:
    return MutateEnum(collective.kind);
  case 1:
    return MutateEnum(collective.reduction);
  case 2:
    return MutateIndex(collective.root, 2);
  default:
    std::vector<uint32_t> &operands = Below(2) ? collective.sources : collective.targets;
    if (!operands.empty())
      MutateIndex(operands[Below(operands.size())], entry.buffers.size());
  }
}

void ExecutableMutator::MutateBody(const format::ExecutableT &, const format::EntryT &entry, format::RecordT &record) {
  MutateIndex(record.event, entry.events);
}

void ExecutableMutator::MutateBody(const format::ExecutableT &, const format::EntryT &entry, format::WaitT &wait) {
  MutateIndex(wait.event, entry.events);
}

void ExecutableMutator::MutateBody(const format::ExecutableT &, const format::EntryT &entry,
                                   format::CheckBoundT &check) {
  switch (Below(3)) {
  case 0:
    return MutateIndex(check.src, entry.buffers.size());
  case 1:
    return MutateIndex(check.dst, entry.buffers.size());
  default:
    return MutateNumber(check.bound);
  }
}

void ExecutableMutator::MutateCommand(const format::ExecutableT &executable, format::EntryT &entry) {
  if (entry.commands.empty())
    return;
  format::CommandT &command = *Pick(entry.commands);
  switch (Below(64)) {
  case 0:
    return MutateIndex(command.stream, entry.streams);
  case 1:
    return MutateEnum(command.phase);
  case 2:
    return MutateEnum(command.arithmetic);
  case 3:
    return MutateNumber(Below(2) ? command.flops : command.bytes);
  }
  VisitBody(command.body, [&](const auto &body) {
    using Body = std::remove_cvref_t<decltype(body)>;
    MutateBody(executable, entry, const_cast<Body &>(body));
  });
}

/// Changes a check to fewer integers, or to another bound.
void ExecutableMutator::MutateBounds(format::EntryT &entry) {
  std::vector<size_t> checks;
  for (size_t i = 0; i != entry.commands.size(); ++i)
    if (entry.commands[i]->body.type == format::CommandBody::CheckBound)
      checks.push_back(i);
  if (checks.empty() || Below(3) == 0) {
    if (!entry.inputs.empty())
      MutateNumber(Pick(entry.inputs)->bound);
    return;
  }
  auto check = entry.commands.begin() + Pick(checks);
  switch (Below(3)) {
  case 0:
    entry.commands.erase(check);
    return;
  case 1:
    return MutateNumber((*check)->body.AsCheckBound()->bound);
  default:
    std::swap(*check, Pick(entry.commands));
  }
}

void ExecutableMutator::MutateOrder(format::EntryT &entry) {
  if (entry.commands.empty())
    return;
  size_t place = Below(entry.commands.size());
  switch (Below(3)) {
  case 0:
    entry.commands.erase(entry.commands.begin() + place);
    return;
  case 1:
    entry.commands.insert(entry.commands.begin() + place, std::make_unique<format::CommandT>(*Pick(entry.commands)));
    return;
  default:
    std::swap(entry.commands[place], Pick(entry.commands));
  }
}

//===----------------------------------------------------------------------===//
// Entries
//===----------------------------------------------------------------------===//

void ExecutableMutator::MutateBuffer(format::EntryT &entry) {
  if (entry.buffers.empty())
    return;
  format::BufferT &buffer = *Pick(entry.buffers), &other = *Pick(entry.buffers);
  // Most new places are outside of an allocation of the buffer's own size.
  if (buffer.source == format::BufferSource::arena && buffer.index < entry.allocations.size() && Below(4)) {
    entry.allocations[buffer.index]->byte_offset = 0;
    entry.allocations[buffer.index]->byte_size = entry.arena_bytes;
  }
  switch (Below(11)) {
  case 0:
    return MutateNumber(buffer.byte_offset);
  case 1:
    return MutateNumber(buffer.byte_size);
  case 2:
    return MutateShape(buffer.shape);
  case 3:
    return MutateShape(buffer.strides);
  case 4:
    return MutateEnum(buffer.dtype);
  case 5:
    return MutateEnum(buffer.source);
  case 6:
    return MutateIndex(buffer.index, 4);
  case 7:
    std::swap(buffer, other);
    return;
  case 8:
    buffer.byte_offset = other.byte_offset;
    return;
  case 9:
    // A smaller part, further on, which may wrap after other mutations.
    buffer.byte_offset = static_cast<int64_t>(static_cast<uint64_t>(buffer.byte_offset) + buffer.byte_size / 2);
    buffer.byte_size -= buffer.byte_size / 2;
    return;
  default:
    buffer.shape = other.shape;
    buffer.strides = other.strides;
    buffer.byte_size = other.byte_size;
  }
}

void ExecutableMutator::MutateAllocation(format::EntryT &entry) {
  if (entry.allocations.empty())
    return;
  format::AllocationT &allocation = *Pick(entry.allocations), &other = *Pick(entry.allocations);
  switch (Below(5)) {
  case 0:
    return MutateNumber(allocation.byte_offset);
  case 1:
    return MutateNumber(allocation.byte_size);
  case 2:
    return MutateShape(allocation.type->shape);
  case 3:
    return MutateEnum(allocation.type->dtype);
  default:
    std::swap(allocation, other);
  }
}

void ExecutableMutator::MutatePorts(format::EntryT &entry) {
  if (!entry.inputs.empty() && Below(2)) {
    format::InputPortT &input = *Pick(entry.inputs);
    return Below(2) ? MutateNumber(input.bound) : MutateShape(input.type->shape);
  }
  if (entry.outputs.empty())
    return;
  format::OutputPortT &output = *Pick(entry.outputs);
  if (!output.views.empty() && Below(2))
    return MutateNumber(Below(2) ? Pick(output.views)->rows : Pick(output.views)->row_offset);
  return Below(2) ? MutateIndex(output.buffer, entry.buffers.size()) : MutateShape(output.type->shape);
}

void ExecutableMutator::MutateEntry(format::EntryT &entry) {
  int64_t count = Below(2) ? entry.events : entry.streams;
  switch (Below(6)) {
  case 0:
    return MutateNumber(entry.arena_bytes);
  case 1:
    return MutateNumber(entry.alignment);
  case 2:
    return MutateEnum(entry.mode);
  case 3:
    entry.name = Below(2) ? "prepare" : "train";
    return;
  case 4:
    MutateNumber(count);
    entry.events = static_cast<uint32_t>(count);
    return;
  default:
    MutateNumber(count);
    entry.streams = static_cast<uint32_t>(count);
  }
}

//===----------------------------------------------------------------------===//
// Executables
//===----------------------------------------------------------------------===//

void ExecutableMutator::MutateVariable(format::ExecutableT &executable) {
  if (executable.variables.empty())
    return;
  format::VariableT &variable = *Pick(executable.variables);
  switch (Below(6)) {
  case 0:
    return MutateShape(variable.type->shape);
  case 1:
    return MutateEnum(variable.type->dtype);
  case 2:
    return MutateEnum(variable.kind);
  case 3:
    return MutateEnum(variable.init->kind);
  case 4:
    return MutateNumber(variable.shards);
  default:
    std::swap(*variable.type, *Pick(executable.variables)->type);
  }
}

void ExecutableMutator::MutateRanges(format::OperandSignatureT &operand) {
  if (operand.ranges.empty() || Below(2)) {
    operand.ranges.assign(Below(3), format::AnyInteger());
    return;
  }
  format::IntegerRange &range = Pick(operand.ranges);
  int64_t least = range.least(), most = range.most();
  MutateNumber(Below(2) ? least : most);
  range = {least, most};
}

void ExecutableMutator::MutateKernel(format::ExecutableT &executable) {
  if (executable.kernels.empty() || !HasBoundKernels(executable))
    return;
  format::KernelT &kernel = *Pick(executable.kernels), &other = *Pick(executable.kernels);
  if (kernel.signature->operands.empty())
    return;
  format::OperandSignatureT &operand = *Pick(kernel.signature->operands);
  switch (Below(11)) {
  case 0:
    return MutateNumber(kernel.signature->rows);
  case 1:
    return MutateNumber(kernel.signature->thread_bytes);
  case 2:
    return MutateShape(operand.shape);
  case 3:
    return MutateShape(operand.strides);
  case 4:
    return MutateEnum(operand.dtype);
  case 5:
    operand.is_written = !operand.is_written;
    return;
  case 6:
    operand.written_over.assign(Below(2), Below(kernel.signature->operands.size()));
    return;
  case 7:
    std::swap(kernel.signature, other.signature);
    return;
  case 8:
    std::swap(kernel.implementations, other.implementations);
    return;
  case 9:
    return MutateRanges(operand);
  default:
    std::swap(kernel.signature->operands.front(), Pick(kernel.signature->operands));
  }
}

void ExecutableMutator::Mutate(format::ExecutableT &executable) {
  if (executable.entries.empty())
    return;
  format::EntryT &entry = *Pick(executable.entries);
  switch (Below(18)) {
  case 0:
    return MutateVariable(executable);
  case 1:
    return MutateKernel(executable);
  case 2:
    return MutateEntry(entry);
  case 3:
    return MutatePorts(entry);
  case 4:
    return MutateOrder(entry);
  case 5:
  case 6:
  case 7:
  case 8:
  case 9:
    return MutateBuffer(entry);
  case 10:
    return MutateBounds(entry);
  case 11:
    return MutateAllocation(entry);
  default:
    return MutateCommand(executable, entry);
  }
}

std::unique_ptr<format::ExecutableT> Unpack(const uint8_t *bytes, size_t size) {
  format::Frame frame;
  if (size < format::kFrameSize || !format::ReadFrame(bytes, frame) || frame.table_size != size - format::kFrameSize)
    return nullptr;
  std::vector<uint64_t> aligned(size / sizeof(uint64_t) + 1);
  auto *table = reinterpret_cast<uint8_t *>(aligned.data());
  std::copy_n(bytes + format::kFrameSize, frame.table_size, table);
  flatbuffers::Verifier verifier(table, frame.table_size);
  if (frame.checksum != format::Checksum(frame.version, table, frame.table_size) ||
      !format::VerifyExecutableBuffer(verifier))
    return nullptr;
  return std::unique_ptr<format::ExecutableT>(format::GetExecutable(table)->UnPack());
}

} // namespace cs336::runtime::testing
