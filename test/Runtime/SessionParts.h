//===- SessionParts.h - Sessions and inputs of tests ------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_TEST_RUNTIME_SESSIONPARTS_H
#define CS336_TEST_RUNTIME_SESSIONPARTS_H

#include "ProgramBuilder.h"
#include "cs336/runtime/Session.h"

#include <gtest/gtest.h>
#include <memory>
#include <string>
#include <vector>

namespace cs336::runtime::testing {

/// Creates a session of a program that loads.
inline std::unique_ptr<Session> MakeSession(const ProgramBuilder &program, const SessionOptions &options = {}) {
  auto session = Session::Create(*program.Build(), options);
  EXPECT_TRUE(session.ok()) << session.status();
  return *std::move(session);
}

inline SessionOptions WithThreads(int threads) {
  SessionOptions options;
  options.num_threads = threads;
  return options;
}

inline std::string Message(const absl::Status &status) { return std::string(status.message()); }

/// Returns the sample program's inputs, with x = 0, 1, 2, ...
struct SampleInputs {
  Tensor x = MakeTensor<float>(DType::kF32, {3, 4}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11});
  Tensor tokens = MakeTensor<int32_t>(DType::kI32, {2, 3}, {0, 1, 2, 3, 4, 15});
  std::vector<NamedTensor> named() const { return {{"x", x}, {"tokens", tokens}}; }
};

} // namespace cs336::runtime::testing

#endif // CS336_TEST_RUNTIME_SESSIONPARTS_H
