//===- SingleProcess.cpp - A communicator of one rank ---------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "comm/Reduce.h"
#include "comm/SingleRank.h"
#include "cs336/runtime/Communicator.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

#include <cstring>
#include <utility>

namespace cs336::runtime {

namespace {

using CopyFunction = std::function<absl::Status(void *dst, const void *src, int64_t bytes)>;

/// Runs collectives of one rank: each is a copy or nothing.
class SingleRankCommunicator : public Communicator {
public:
  explicit SingleRankCommunicator(CopyFunction copy) : copy_(std::move(copy)) {}

  int rank() const override { return 0; }
  int size() const override { return 1; }

  absl::Status AllReduce(const void *src, void *dst, int64_t count, DType dtype, Reduction reduction) override {
    if (absl::Status status = CheckReducible(dtype); !status.ok())
      return status;
    return Copy(src, dst, count, dtype);
  }
  absl::Status AllGather(const void *src, void *dst, int64_t count, DType dtype) override {
    return Copy(src, dst, count, dtype);
  }
  absl::Status ReduceScatter(const void *src, void *dst, int64_t count, DType dtype, Reduction reduction) override {
    return AllReduce(src, dst, count, dtype, reduction);
  }
  absl::Status Broadcast(const void *src, void *dst, int64_t count, DType dtype, int root) override {
    if (root != 0)
      return absl::InvalidArgumentError(absl::StrCat("the root is rank ", root, " of 1"));
    return Copy(src, dst, count, dtype);
  }
  absl::Status AllToAll(const void *src, void *dst, int64_t count, DType dtype) override {
    return Copy(src, dst, count, dtype);
  }
  absl::Status CompareProgram(uint64_t hash) override { return absl::OkStatus(); }
  absl::Duration timeout() const override { return absl::InfiniteDuration(); }
  void OnFailure(std::function<void(const absl::Status &)>) override {}
  void Fail(const absl::Status &) override {}
  void NoteProgress(int64_t) override {}

private:
  absl::Status Copy(const void *src, void *dst, int64_t count, DType dtype) {
    if (src == dst || count == 0)
      return absl::OkStatus();
    return copy_(dst, src, count * ByteSize(dtype));
  }

  CopyFunction copy_;
};

} // namespace

Communicator::~Communicator() = default;

std::unique_ptr<Communicator> CreateSingleRankCommunicator(CopyFunction copy) {
  return std::make_unique<SingleRankCommunicator>(std::move(copy));
}

std::unique_ptr<Communicator> CreateSingleProcessCommunicator() {
  return CreateSingleRankCommunicator([](void *dst, const void *src, int64_t bytes) {
    std::memcpy(dst, src, bytes);
    return absl::OkStatus();
  });
}

} // namespace cs336::runtime
