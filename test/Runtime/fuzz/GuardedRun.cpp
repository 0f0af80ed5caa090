//===- GuardedRun.cpp - Commands on operands with guard pages -------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fuzz/GuardedRun.h"

#include "device/cpu/CpuDevice.h"
#include "format/CommandVisitor.h"
#include "format/Layout.h"
#include "status/StatusMacros.h"

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <sys/mman.h>
#include <tuple>
#include <unistd.h>
#include <vector>

namespace cs336::runtime::testing {

namespace {

/// The side of a block's bytes that is next to a guard page.
enum class Side { kBefore, kBehind };

/// Bytes between two pages that cannot be accessed.
class GuardedBlock {
public:
  GuardedBlock(int64_t bytes, Side side) {
    int64_t page = sysconf(_SC_PAGESIZE);
    int64_t inside = (bytes + page - 1) / page * page;
    mapped_ = inside + 2 * page;
    void *memory = mmap(nullptr, mapped_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
      return;
    start_ = static_cast<char *>(memory);
    if (inside != 0 && mprotect(start_ + page, inside, PROT_READ | PROT_WRITE) != 0)
      return;
    data_ = start_ + page + (side == Side::kBefore ? 0 : inside - bytes);
  }
  GuardedBlock(const GuardedBlock &) = delete;
  GuardedBlock &operator=(const GuardedBlock &) = delete;
  ~GuardedBlock() {
    if (start_)
      munmap(start_, mapped_);
  }

  /// Returns null if there is not enough memory.
  char *data() const { return data_; }

private:
  char *start_ = nullptr, *data_ = nullptr;
  int64_t mapped_ = 0;
};

/// Buffers of one command with the same bytes share a block.
using PlaceKey = std::tuple<format::BufferSource, uint32_t, int64_t, int64_t>;

PlaceKey KeyOf(const format::BufferT &buffer) {
  uint32_t index = buffer.source == format::BufferSource::arena ? 0 : buffer.index;
  return {buffer.source, index, buffer.byte_offset, ExtentBytes(Layout(buffer))};
}

std::vector<uint32_t> BuffersOf(const format::CommandT &command) {
  std::vector<uint32_t> buffers = VisitBody(
      command.body, Overloaded{
                        [](const format::LaunchT &launch) { return launch.operands; },
                        [](const format::GemmT &gemm) {
                          std::vector<uint32_t> operands = {gemm.a, gemm.b, gemm.c};
                          for (auto optional : {gemm.addend, gemm.bias})
                            if (optional)
                              operands.push_back(*optional);
                          return operands;
                        },
                        [](const format::CopyT &copy) { return std::vector<uint32_t>{copy.src, copy.dst}; },
                        [](const format::CollectiveT &collective) {
                          std::vector<uint32_t> used = collective.sources;
                          used.insert(used.end(), collective.targets.begin(), collective.targets.end());
                          return used;
                        },
                        [](const format::CheckBoundT &check) { return std::vector<uint32_t>{check.src, check.dst}; },
                        [](const auto &) { return std::vector<uint32_t>(); },
                    });
  if (auto workspace = FindWorkspace(command))
    buffers.push_back(*workspace);
  return buffers;
}

std::string DescribeBody(const format::ExecutableT &executable, const format::CommandBodyUnion &body) {
  return VisitBody(
      body, Overloaded{
                [&](const format::LaunchT &launch) {
                  const format::KernelT &kernel = *executable.kernels[launch.kernel];
                  const format::ImplementationT &implementation = *kernel.implementations.front();
                  const std::vector<uint8_t> &image = executable.objects[implementation.objects.front()]->image;
                  size_t hash = absl::HashOf(image);
                  return absl::StrCat(hash, " ", implementation.functions.front()->symbol, " ", launch.rows, " ",
                                      launch.grain, " ", launch.thread_bytes, " ", absl::StrJoin(launch.writes, ","));
                },
                [](const format::GemmT &gemm) {
                  return absl::StrCat(static_cast<int>(gemm.precision), " ", gemm.relu, gemm.addend ? " add" : "",
                                      gemm.bias ? " bias" : "");
                },
                [](const format::CollectiveT &collective) {
                  return absl::StrCat(static_cast<int>(collective.kind), " ", static_cast<int>(collective.reduction));
                },
                [](const auto &) { return std::string(); },
            });
}

/// Returns everything that determines the bytes that a command accesses, except
/// the values of indices.
std::string Describe(const format::ExecutableT &executable, const format::EntryT &entry,
                     const format::CommandT &command) {
  std::string text = absl::StrCat(KindName(command.body.type), " ", DescribeBody(executable, command.body));
  std::map<PlaceKey, int> places;
  for (uint32_t index : BuffersOf(command)) {
    const format::BufferT &buffer = *entry.buffers[index];
    int place = places.try_emplace(KeyOf(buffer), places.size()).first->second;
    absl::StrAppend(&text, "; ", ToString(Layout(buffer)), " in ", place);
  }
  return text;
}

/// Finds the commands of an entry that determine the integers that kernels use
/// as indices, and those kernels.
class IntegerCommands {
public:
  explicit IntegerCommands(const format::EntryT &entry) : entry_(entry) {
    for (const auto &buffer : entry.buffers)
      if (HoldsIntegers(*buffer) && buffer->source == format::BufferSource::arena)
        in_arena_.push_back({buffer->byte_offset, EndOf(*buffer)});
  }

  /// Returns true if a command uses integers, or bytes of the arena that
  /// contain some.
  bool Contains(const format::CommandT &command) const {
    return absl::c_any_of(BuffersOf(command), [&](uint32_t index) {
      const format::BufferT &buffer = *entry_.buffers[index];
      return HoldsIntegers(buffer) || (buffer.source == format::BufferSource::arena && LiesOnIntegers(buffer));
    });
  }

private:
  static bool HoldsIntegers(const format::BufferT &buffer) {
    return buffer.dtype == format::DType::i32 || buffer.dtype == format::DType::i64;
  }
  static int64_t EndOf(const format::BufferT &buffer) { return buffer.byte_offset + ExtentBytes(Layout(buffer)); }
  bool LiesOnIntegers(const format::BufferT &buffer) const {
    return absl::c_any_of(
        in_arena_, [&](const auto &place) { return buffer.byte_offset < place.second && place.first < EndOf(buffer); });
  }

  const format::EntryT &entry_;
  std::vector<std::pair<int64_t, int64_t>> in_arena_;
};

template <typename T>
void FillWith(T value, std::vector<char> &bytes) {
  for (size_t i = 0; i != bytes.size(); i += sizeof(T))
    std::memcpy(bytes.data() + i, &value, sizeof(T));
}

/// Values for finite numbers, and for integers that are not indices.
constexpr char kFarByte = 0x7f;

/// The values of a program between commands. The arena contains no valid index.
/// If `far`, neither do variables and inputs without a bound.
class Memory {
public:
  Memory(const Executable &executable, const format::EntryT &entry, bool far) : arena_(entry.arena_bytes, kFarByte) {
    for (const auto &variable : executable.variables())
      variables_.emplace_back(BytesOf(ReservedType(*variable)), far ? kFarByte : 0);
    for (const auto &input : entry.inputs) {
      inputs_.emplace_back(BytesOf(ToTensorType(*input->type)), far && input->bound == 0 ? kFarByte : 0);
      if (input->bound != 0 && input->type->dtype == format::DType::i64)
        FillWith(input->bound - 1, inputs_.back());
      else if (input->bound != 0)
        FillWith(static_cast<int32_t>(std::min<int64_t>(input->bound - 1, INT32_MAX)), inputs_.back());
    }
  }

  /// Returns INT64_MAX if the bytes do not fit into an int64.
  static int64_t CountBytes(const Executable &executable, const format::EntryT &entry) {
    int64_t bytes = entry.arena_bytes;
    for (const auto &variable : executable.variables())
      bytes = AddBytes(bytes, BytesOf(ReservedType(*variable)));
    for (const auto &input : entry.inputs)
      bytes = AddBytes(bytes, BytesOf(ToTensorType(*input->type)));
    return bytes;
  }

  char *Find(const format::BufferT &buffer) {
    std::vector<char> &storage = buffer.source == format::BufferSource::arena ? arena_
                                 : IsOfVariable(buffer)                       ? variables_[buffer.index]
                                                                              : inputs_[buffer.index];
    return storage.data() + buffer.byte_offset;
  }

private:
  static int64_t BytesOf(const TensorType &type) { return TensorView(type, nullptr).num_bytes(); }

  std::vector<char> arena_;
  std::vector<std::vector<char>> variables_, inputs_;
};

/// A command on blocks of its own.
class GuardedCommand {
public:
  static absl::StatusOr<std::unique_ptr<GuardedCommand>> Prepare(Device &device, const format::EntryT &entry,
                                                                 const format::CommandT &command, Side side) {
    std::unique_ptr<GuardedCommand> guarded(new GuardedCommand(entry, command));
    std::vector<MutableTensorView> views(entry.buffers.size());
    for (uint32_t index : BuffersOf(command)) {
      const format::BufferT &buffer = *entry.buffers[index];
      std::unique_ptr<GuardedBlock> &block = guarded->blocks_[KeyOf(buffer)];
      if (!block)
        block = std::make_unique<GuardedBlock>(ExtentBytes(Layout(buffer)), side);
      if (!block->data())
        return absl::ResourceExhaustedError("no memory for an operand");
      views[index] = {{ToDType(buffer.dtype), Dims(buffer.shape.begin(), buffer.shape.end())},
                      Dims(buffer.strides.begin(), buffer.strides.end()),
                      block->data()};
    }
    CS336_ASSIGN_OR_RETURN(guarded->prepared_, runtime::Prepare(device, {command, views}));
    return guarded;
  }

  absl::Status Execute(Memory &memory) {
    std::vector<uint32_t> buffers = BuffersOf(command_);
    for (uint32_t index : buffers)
      std::memcpy(BlockOf(index), memory.Find(*entry_.buffers[index]), BytesOf(index));
    CS336_RETURN_IF_ERROR(prepared_->Execute());
    for (uint32_t index : WrittenBuffers(command_))
      std::memcpy(memory.Find(*entry_.buffers[index]), BlockOf(index), BytesOf(index));
    return absl::OkStatus();
  }

private:
  GuardedCommand(const format::EntryT &entry, const format::CommandT &command) : entry_(entry), command_(command) {}

  char *BlockOf(uint32_t index) const { return blocks_.at(KeyOf(*entry_.buffers[index]))->data(); }
  int64_t BytesOf(uint32_t index) const { return ExtentBytes(Layout(*entry_.buffers[index])); }

  const format::EntryT &entry_;
  const format::CommandT &command_;
  std::map<PlaceKey, std::unique_ptr<GuardedBlock>> blocks_;
  std::unique_ptr<PreparedCommand> prepared_;
};

} // namespace

absl::Status GuardedRunner::RunEntry(const Executable &executable, const format::EntryT &entry) {
  if (Memory::CountBytes(executable, entry) > kMostBytes)
    return absl::ResourceExhaustedError("it needs too much memory");
  IntegerCommands integers(entry);
  bool has_integers = false;
  std::vector<std::pair<const format::CommandT *, std::string>> commands;
  for (const auto &command : entry.commands) {
    bool is_repeated = integers.Contains(*command);
    has_integers |= is_repeated;
    if (std::string text = Describe(executable.description(), entry, *command); is_repeated || !known_.contains(text))
      commands.emplace_back(command.get(), std::move(text));
  }
  if (commands.empty())
    return absl::OkStatus();
  for (Side side : {Side::kBefore, Side::kBehind}) {
    CpuDevice device(nullptr);
    CS336_RETURN_IF_ERROR(device.LoadKernels(executable));
    std::vector<std::unique_ptr<GuardedCommand>> guarded;
    CS336_RETURN_IF_ERROR(device.BeginRun());
    absl::Status status;
    for (auto &[command, text] : commands) {
      auto prepared = GuardedCommand::Prepare(device, entry, *command, side);
      status.Update(prepared.status());
      if (prepared.ok())
        guarded.push_back(*std::move(prepared));
    }
    // Kernels rely on this alignment.
    constexpr int64_t kLine = 64;
    int64_t bytes = (device.workspace_bytes() + kLine - 1) / kLine * kLine;
    GuardedBlock workspace(std::min(bytes, kMostBytes), side);
    if (bytes > kMostBytes || !workspace.data())
      status.Update(absl::ResourceExhaustedError("it needs too much memory"));
    device.SetWorkspace(workspace.data());
    auto run = [&](bool far) {
      Memory memory(executable, entry, far);
      absl::Status outcome;
      for (auto command = guarded.begin(); outcome.ok() && command != guarded.end(); ++command)
        outcome = (*command)->Execute(memory);
      return outcome;
    };
    if (status.ok())
      status = run(/*far=*/false);
    // A check that finds a bad integer ends the run, as it should.
    if (status.ok() && has_integers)
      run(/*far=*/true).IgnoreError();
    device.EndRun();
    CS336_RETURN_IF_ERROR(status);
  }
  commands_run_ += commands.size();
  for (auto &[command, text] : commands)
    known_.insert(std::move(text));
  return absl::OkStatus();
}

absl::Status GuardedRunner::Run(const Executable &executable) {
  for (const auto &entry : executable.entries())
    CS336_RETURN_IF_ERROR(RunEntry(executable, *entry));
  return absl::OkStatus();
}

} // namespace cs336::runtime::testing
