//===- PtxInterpreter.cpp - Runs kernels in PTX on the host ---------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fake_cuda/PtxInterpreter.h"

#include "absl/strings/str_cat.h"

namespace cs336::runtime::testing {

namespace {

/// More steps than a thread of any test needs.
constexpr int64_t kMostSteps = 20'000'000;

void Run(const PtxProgram &program, PtxThread &thread) {
  for (int64_t count = 0; !thread.has_ended(); ++count) {
    uint64_t number = thread.Advance();
    if (number == program.steps.size())
      return thread.Return();
    if (count == kMostSteps)
      return thread.Fail("the thread does not end");
    const PtxProgram::Step &step = program.steps[number];
    if (step.guard == PtxProgram::Step::kAlways || thread.Get<bool>(step.guard) != step.is_negated)
      step.run(thread, step.operands);
  }
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
    for (uint32_t number = 0; number != launch.threads; ++number) {
      registers[program.thread] = number;
      PtxThread thread(static_cast<int>(number), registers, global, shared);
      Run(program, thread);
      if (!thread.fault().empty())
        return absl::OutOfRangeError(
            absl::StrCat(program.name, ", block ", block, ", thread ", number, ": ", thread.fault()));
    }
  }
  return absl::OkStatus();
}

} // namespace cs336::runtime::testing
