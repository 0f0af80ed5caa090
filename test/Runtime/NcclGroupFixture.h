//===- NcclGroupFixture.h - A rank of two on fake GPUs --------- -*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_TEST_RUNTIME_NCCLGROUPFIXTURE_H
#define CS336_TEST_RUNTIME_NCCLGROUPFIXTURE_H

#include "CudaSessionFixture.h"
#include "cs336/runtime/Communicator.h"
#include "fake_nccl/FakeNccl.h"

#include <functional>
#include <memory>
#include <utility>
#include <vector>

namespace cs336::runtime::testing {

/// Rank 0 of two, whose peer agrees with everything.
class AgreeingRanks : public Communicator {
public:
  int rank() const override { return 0; }
  int size() const override { return 2; }
  absl::Status AllReduce(const void *, void *, int64_t, DType, Reduction) override { return absl::OkStatus(); }
  absl::Status AllGather(const void *, void *, int64_t, DType) override { return absl::OkStatus(); }
  absl::Status ReduceScatter(const void *, void *, int64_t, DType, Reduction) override { return absl::OkStatus(); }
  absl::Status Broadcast(const void *, void *, int64_t, DType, int) override { return absl::OkStatus(); }
  absl::Status AllToAll(const void *, void *, int64_t, DType) override { return absl::OkStatus(); }
  absl::Status CompareProgram(uint64_t) override { return absl::OkStatus(); }
  absl::Duration timeout() const override { return limit; }
  void OnFailure(std::function<void(const absl::Status &)> called) override { handler = std::move(called); }
  void Fail(const absl::Status &failure) override {
    reported = failure;
    if (handler)
      handler(failure);
  }
  void NoteProgress(int64_t collectives) override { progress = collectives; }

  absl::Duration limit = absl::Seconds(30);
  std::function<void(const absl::Status &)> handler;
  absl::Status reported;
  int64_t progress = 0;
};

/// Computes total = mean over ranks of (x * norm), on another stream than the
/// kernel, and whole = the parts of all ranks, one after the other.
ProgramBuilder TwoRankProgram();

class NcclGroupTest : public CudaSessionFixture {
protected:
  void SetUp() override {
    CudaSessionFixture::SetUp();
    nccl = FakeNccl();
  }
  void TearDown() override {
    CudaSessionFixture::TearDown();
    EXPECT_EQ(nccl.comms, 0);
  }

  absl::StatusOr<std::unique_ptr<Session>> CreateRank(const ProgramBuilder &program, bool use_graphs = true) const {
    SessionOptions options;
    options.communicator = ranks;
    options.use_graphs = use_graphs;
    options.exchange = exchange;
    absl::StatusOr<std::unique_ptr<Session>> session = Create(program, options);
    if (session.ok()) {
      Tensor norm = *Tensor::Create({DType::kF32, {4}});
      for (int i = 0; i != 4; ++i)
        norm.mutable_values<float>()[i] = static_cast<float>(i);
      EXPECT_TRUE((*session)->SetVariable("norm", norm).ok());
    }
    return session;
  }

  static absl::Status Run(Session &session) {
    Tensor x = *Tensor::Create({DType::kF32, {3, 4}});
    for (int i = 0; i != 12; ++i)
      x.mutable_values<float>()[i] = 2;
    return session.Run("forward", {{"x", x}}, nullptr);
  }

  static std::vector<float> Row(const Session &session, const char *name, int64_t row) {
    absl::StatusOr<TensorView> value = session.Output("forward", name);
    EXPECT_TRUE(value.ok()) << value.status();
    const float *begin = value.ok() ? value->values<float>().data() + row * 4 : nullptr;
    return value.ok() ? std::vector<float>(begin, begin + 4) : std::vector<float>();
  }

  GpuExchange exchange = GpuExchange::kNccl;
  FakeNccl &nccl = TheFakeNccl();
  std::shared_ptr<AgreeingRanks> ranks = std::make_shared<AgreeingRanks>();
};

} // namespace cs336::runtime::testing

#endif // CS336_TEST_RUNTIME_NCCLGROUPFIXTURE_H
