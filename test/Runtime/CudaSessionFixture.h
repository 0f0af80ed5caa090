//===- CudaSessionFixture.h - Sessions on the fake GPU -------- -*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_TEST_RUNTIME_CUDASESSIONFIXTURE_H
#define CS336_TEST_RUNTIME_CUDASESSIONFIXTURE_H

#include "ProgramBuilder.h"
#include "cs336/runtime/Session.h"
#include "fake_cuda/FakeCuda.h"

#include <gtest/gtest.h>
#include <memory>
#include <string>
#include <vector>

namespace cs336::runtime::testing {

/// Returns code for a target, without contents.
void AddObject(ProgramBuilder &program, const std::string &target);
/// Adds a kernel of the fake driver to all objects. Returns its index.
uint32_t AddKernel(ProgramBuilder &program, const std::string &symbol, int64_t shared_bytes = 0);

/// Builds a program: scaled = x * norm, copied to the output; counts its steps.
ProgramBuilder CudaSampleProgram(const std::vector<std::string> &targets = {"sm_80", "sm_90a"});
/// Values of another library: variables of a session without other work.
ProgramBuilder OtherLibrary();

class CudaSessionFixture : public ::testing::Test {
protected:
  void SetUp() override { fake = FakeCuda(); }
  /// Checks that every session has released everything.
  void TearDown() override;

  static absl::StatusOr<std::unique_ptr<Session>> Create(const ProgramBuilder &program, SessionOptions options = {});
  static absl::Status CreateStatus(const ProgramBuilder &program, const SessionOptions &options = {}) {
    return Create(program, options).status();
  }
  static std::string Message(const absl::Status &status) { return std::string(status.message()); }

  FakeCuda &fake = TheFakeCuda();
};

} // namespace cs336::runtime::testing

#endif // CS336_TEST_RUNTIME_CUDASESSIONFIXTURE_H
