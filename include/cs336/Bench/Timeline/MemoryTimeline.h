//===- MemoryTimeline.h - Memory of an entry over time ----------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_BENCH_TIMELINE_MEMORYTIMELINE_H
#define CS336_BENCH_TIMELINE_MEMORYTIMELINE_H

#include "cs336/Bench/Timeline/PredictedTime.h"

#include <array>
#include <string>
#include <vector>

namespace cs336::bench {

/// The use of an allocation. Variables and inputs live as long as a session, the others are in the
/// arena.
enum class MemoryKind : uint8_t {
  Parameter,
  /// Variables of the optimizer, with counters.
  State,
  /// Variables that `prepare` computes from others, such as parameters in a lower type.
  Derived,
  Input,
  /// Gradients of parameters: results of the backward pass that the optimizer or a collective reads, or that are
  /// outputs, and what reductions between ranks compute from them.
  Gradient,
  /// Results of the forward pass that the backward pass reads.
  Activation,
  Output,
  /// Buffers of collectives that are not gradients.
  Communication,
  /// Scratch memory of one command.
  Workspace,
  /// Everything else: results that live within one phase.
  Temporary
};

inline constexpr size_t kNumMemoryKinds = 10;

/// "parameter", "optimizer state", "activation".
llvm::StringRef stringifyMemoryKind(MemoryKind kind);

/// Returns whether memory of that kind lives as long as a session. The other kinds are in the arena.
bool livesAsLongAsSession(MemoryKind kind);

/// Bytes by kind.
class KindBytes {
public:
  int64_t &operator[](MemoryKind kind) { return bytes[static_cast<size_t>(kind)]; }
  int64_t operator[](MemoryKind kind) const { return bytes[static_cast<size_t>(kind)]; }
  int64_t getTotal() const;

private:
  std::array<int64_t, kNumMemoryKinds> bytes{};
};

/// All kinds, in their order.
std::array<MemoryKind, kNumMemoryKinds> getMemoryKinds();

struct Allocation {
  int64_t bytes = 0;
  /// The type, "4x25x512x512xf32", or "workspace". The source: the operation of the model that computes it,
  /// "layers.0.attn.scores", or the name of a variable or an input.
  std::string type, source;
  /// The phases of its first and its last command.
  exec::CommandPhase firstPhase = exec::CommandPhase::Forward, lastPhase = exec::CommandPhase::Forward;
  MemoryKind kind = MemoryKind::Temporary;
  /// The source location as text, with a file if the model comes from one.
  std::string location = {};
  /// Positions of the first and the last command that use it. It is live during both. 0 for variables and inputs.
  size_t first = 0, last = 0;
  /// Bytes from the start of the arena. 0 for variables and inputs.
  int64_t offset = 0;
  /// True for outputs, which the caller reads after the last command.
  bool outlivesCommands = false;
};

/// A command with its time, which is predicted or measured. Those that record or await an event are included, without
/// work.
struct TimedCommand {
  /// "gemm_q_proj" or the kernel's name; and the operation of the model that it comes from.
  std::string name, source;
  exec::CommandPhase phase = exec::CommandPhase::Forward;
  exec::Work work = {};
  /// Seconds from the start of the entry.
  double start = 0, end = 0;
  bool isCollective = false;
  /// The bytes that each rank sends in a collective.
  int64_t wireBytes = 0;
};

/// The commands of an entry with their times, and the memory that is live during each of them, in the order of the
/// entry.
struct MemoryTimeline {
  /// The name of the device model that predicted the times, or of the device that they were measured on.
  std::string device;
  bool isMeasured = false;
  /// In the order of the entry. Those of one stream are also in the order of their starts.
  std::vector<TimedCommand> commands;
  /// Allocations and outputs in the arena, in decreasing order of size, then in order of first use.
  std::vector<Allocation> allocations;
  /// Variables, the inputs of all entries of the program, and what a session reserves beside them, in order.
  std::vector<Allocation> residents;
  /// Bytes of variables that stay in the host's memory on a GPU, which `residents` does not contain.
  int64_t hostBytes = 0;
  /// The largest of the entries' arenas, which they share.
  int64_t arenaBytes = 0;

  /// Returns the seconds until the last command ends.
  double getSeconds() const;
  KindBytes getResidentBytes() const;
  /// Calls `function` with each command's position and the bytes in the arena that are live during it.
  void forEachCommand(llvm::function_ref<void(size_t position, const KindBytes &live)> function) const;
};

/// Computes the timeline of an entry of `program`, which may lack kernels (see `describeProgram`). A command starts
/// when the one before it on its stream has ended and the event that it awaits has occurred. The streams of a device do
/// not slow each other down.
MemoryTimeline computeTimeline(const format::ExecutableT &program, const format::EntryT &entry,
                               const DeviceModel &device);

/// Returns the entry for that mode, or null.
const format::EntryT *findEntry(const format::ExecutableT &program, Mode mode);

} // namespace cs336::bench

#endif // CS336_BENCH_TIMELINE_MEMORYTIMELINE_H
