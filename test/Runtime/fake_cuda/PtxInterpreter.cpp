//===- PtxInterpreter.cpp - Runs kernels in PTX on the host ---------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fake_cuda/PtxInterpreter.h"

#include "absl/strings/str_cat.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace cs336::runtime::testing {

namespace {

/// More steps than a thread of any test needs.
constexpr int64_t kMostSteps = 20'000'000;

/// The decisions of the threads of a block at uniform steps. All threads must decide the same, also those of other
/// warps.
class UniformPath {
public:
  /// Begins with the next thread.
  void Begin() { position_ = 0; }
  /// Adds a decision of the thread. Returns false if the first thread has decided otherwise.
  bool Add(uint64_t step, bool is_done) {
    uint64_t decision = 2 * step + (is_done ? 1 : 0);
    if (is_first_)
      decisions_.push_back(decision);
    return position_ != decisions_.size() && decisions_[position_++] == decision;
  }
  /// Ends the thread. Returns false if the first thread has decided more.
  bool End() {
    is_first_ = false;
    return position_ == decisions_.size();
  }

private:
  std::vector<uint64_t> decisions_; // The first thread's.
  size_t position_ = 0;
  bool is_first_ = true;
};

constexpr char kParted[] = "threads part at a uniform step";

void Run(const PtxProgram &program, UniformPath &path, PtxThread &thread) {
  path.Begin();
  for (int64_t count = 0; !thread.has_ended(); ++count) {
    uint64_t number = thread.Advance();
    if (number == program.steps.size()) {
      thread.Return();
      continue;
    }
    if (count == kMostSteps)
      return thread.Fail("the thread does not end");
    const PtxProgram::Step &step = program.steps[number];
    bool is_done = step.guard == PtxProgram::Step::kAlways || thread.Get<bool>(step.guard) != step.is_negated;
    if (step.is_uniform && !path.Add(number, is_done))
      return thread.Fail(kParted);
    if (is_done)
      step.run(thread, step.operands);
  }
  if (thread.fault().empty() && !path.End())
    thread.Fail(kParted);
}

} // namespace

absl::Status RunPtx(const PtxProgram &program, const PtxLaunch &launch, const GlobalMemory &global) {
  if (launch.parameters.size() != program.parameters.size())
    return absl::InvalidArgumentError("number of parameters");
  std::vector<uint64_t> registers = program.registers;
  for (size_t i = 0; i != launch.parameters.size(); ++i)
    registers[program.parameters[i]] = launch.parameters[i];
  registers[program.threads] = launch.threads;
  registers[program.blocks] = launch.blocks;
  for (uint32_t block = 0; block != launch.blocks; ++block) {
    registers[program.block] = block;
    SharedMemory shared(launch.shared_bytes);
    UniformPath path;
    for (uint32_t number = 0; number != launch.threads; ++number) {
      registers[program.thread] = number;
      PtxThread thread(static_cast<int>(number), registers, global, shared);
      Run(program, path, thread);
      if (!thread.fault().empty())
        return absl::OutOfRangeError(
            absl::StrCat(program.name, ", block ", block, ", thread ", number, ": ", thread.fault()));
    }
  }
  return absl::OkStatus();
}

} // namespace cs336::runtime::testing
