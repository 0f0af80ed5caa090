//===- StreamForkTest.cpp - Work in several streams at a time -------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "device/cuda/StreamFork.h"
#include "CudaSessionFixture.h"

#include <cuda.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <utility>

namespace cs336::runtime::testing::stream_fork_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class StreamForkTest : public CudaSessionFixture {
protected:
  void SetUp() override {
    CudaSessionFixture::SetUp();
    context = *CudaContext::Create(0);
    current = std::make_unique<CurrentContext>(*context);
    std::vector<CUstream> sides;
    for (int side = 0; side != 2; ++side)
      sides.push_back(*context->AddStream());
    fork = *StreamFork::Create(*context, sides);
  }

  void TearDown() override {
    fork.reset();
    current.reset();
    context.reset();
    CudaSessionFixture::TearDown();
  }

  /// Enqueues a letter, which `done` gets when the work runs.
  void Enqueue(CUstream stream, char letter) {
    EXPECT_EQ(EnqueueWork(stream, [this, letter] { done += letter; }), CUDA_SUCCESS);
  }

  /// Captures what `run` enqueues, and discards the graph. Returns the result of the end of the capture.
  absl::Status Capture(const std::function<void()> &run) const {
    EXPECT_TRUE(context->driver().StreamBeginCapture(context->stream(), CU_STREAM_CAPTURE_MODE_THREAD_LOCAL).ok());
    run();
    CUgraph graph = nullptr;
    absl::Status ended = context->driver().StreamEndCapture(context->stream(), &graph);
    if (graph)
      context->driver().GraphDestroy(graph).IgnoreError();
    return ended;
  }

  std::unique_ptr<CudaContext> context;
  std::unique_ptr<CurrentContext> current;
  absl::optional<StreamFork> fork;
  std::string done;
};

TEST_F(StreamForkTest, SidesRunBetweenTheWorkBeforeAndAfter) {
  fake.delays_work = true;
  std::set<std::string> orders;
  for (int run = 0; run != 100; ++run) {
    done.clear();
    Enqueue(context->stream(), 'a');
    ASSERT_TRUE(fork->Run(2,
                          [&] {
                            Enqueue(context->stream(), 'b');
                            Enqueue(fork->side(0), 'c');
                            Enqueue(fork->side(1), 'd');
                            return absl::OkStatus();
                          })
                    .ok());
    Enqueue(context->stream(), 'e');
    ASSERT_TRUE(context->WaitForStream().ok());
    orders.insert(done);
  }
  EXPECT_THAT(orders, ElementsAre("abcde", "abdce", "acbde", "acdbe", "adbce", "adcbe"));
}

TEST_F(StreamForkTest, ContinuedSidesDoNotWaitForTheCurrentStream) {
  fake.delays_work = true;
  std::set<std::string> orders;
  for (int run = 0; run != 200; ++run) {
    done.clear();
    auto enqueue = [&](char letter) {
      Enqueue(fork->side(0), letter);
      return absl::OkStatus();
    };
    ASSERT_TRUE(fork->Run(1, [&] { return enqueue('a'); }).ok());
    Enqueue(context->stream(), 'x');
    ASSERT_TRUE(fork->Continue(1, [&] { return enqueue('b'); }).ok());
    Enqueue(context->stream(), 'y');
    ASSERT_TRUE(context->WaitForStream().ok());
    orders.insert(done);
  }
  EXPECT_THAT(orders, ElementsAre("abxy", "axby"));
}

TEST_F(StreamForkTest, ContinuedSidesStayInTheCapture) {
  absl::Status ended = Capture([&] {
    auto enqueue = [&] {
      Enqueue(fork->side(0), 'a');
      return absl::OkStatus();
    };
    EXPECT_TRUE(fork->Run(1, enqueue).ok());
    EXPECT_TRUE(fork->Continue(1, enqueue).ok());
  });
  EXPECT_TRUE(ended.ok()) << ended;
  EXPECT_THAT(done, IsEmpty());
}

TEST_F(StreamForkTest, OnlyTheFirstSidesAreCaptured) {
  absl::Status ended = Capture([&] {
    EXPECT_TRUE(fork->Run(1,
                          [&] {
                            Enqueue(fork->side(0), 'a');
                            Enqueue(fork->side(1), 'b');
                            return absl::OkStatus();
                          })
                    .ok());
  });
  EXPECT_TRUE(ended.ok()) << ended;
  EXPECT_EQ(done, "b") << "captured work does not run";
}

TEST_F(StreamForkTest, ACaptureEndsAfterAnError) {
  absl::Status ended = Capture([&] {
    absl::Status status = fork->Run(2, [&] {
      Enqueue(fork->side(0), 'a');
      return absl::InternalError("no more");
    });
    EXPECT_EQ(status, absl::InternalError("no more"));
  });
  EXPECT_TRUE(ended.ok()) << ended;
  EXPECT_THAT(done, IsEmpty());
}

TEST_F(StreamForkTest, ADriverErrorIsReturnedAndTheOtherSideIsJoined) {
  int errors = 0;
  for (int number = 1; number == 1 || !fake.failed.empty(); ++number) {
    absl::Status status;
    bool has_begun = false;
    absl::Status ended = Capture([&] {
      fake.calls = 0;
      fake.failed.clear();
      fake.failing_call = number;
      status = fork->Run(2, [&] {
        has_begun = true;
        return absl::OkStatus();
      });
      fake.failing_call = 0;
    });
    if (fake.failed.empty()) {
      EXPECT_TRUE(status.ok() && ended.ok()) << status << ended;
      continue;
    }
    SCOPED_TRACE(fake.failed);
    if (fake.failed != "cuCtxPopCurrent") {
      EXPECT_THAT(Message(status), HasSubstr(fake.failed));
      ++errors;
    }
    // Only an error of a join itself leaves its side behind.
    EXPECT_TRUE(has_begun || ended.ok()) << ended;
  }
  EXPECT_EQ(errors, 14) << "one record, two waits, two records and two waits, each in its context";
}

} // namespace
} // namespace cs336::runtime::testing::stream_fork_test
