//===- FillNodesTest.cpp - Fills of memory in CUDA graphs -----------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "device/cuda/FillNodes.h"
#include "CudaSessionFixture.h"

#include <cstring>
#include <cuda.h>
#include <functional>
#include <gtest/gtest.h>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace cs336::runtime::testing::fill_nodes_test {
namespace {

using Step = std::function<void()>;

class FillNodesTest : public CudaSessionFixture {
protected:
  void SetUp() override {
    CudaSessionFixture::SetUp();
    context = *CudaContext::Create(0);
    current = std::make_unique<CurrentContext>(*context);
    kernel = *LoadFillKernel(*context);
    ASSERT_TRUE(driver().MemAlloc(&memory, kBytes).ok());
    Clear();
  }

  void TearDown() override {
    Release();
    EXPECT_TRUE(driver().MemFree(memory).ok());
    kernel.reset();
    current.reset();
    context.reset();
    CudaSessionFixture::TearDown();
  }

  const DriverApi &driver() const { return context->driver(); }
  char *Host() const { return ToHostAddress(reinterpret_cast<void *>(memory)); }
  void Clear() const { std::memset(Host(), 0, kBytes); }

  /// A command that fills bytes of the memory.
  Step Fill(size_t offset, size_t bytes, unsigned char byte) {
    return [=, this] {
      absl::Status status = driver().MemsetD8Async(memory + offset, byte, bytes, context->stream());
      EXPECT_TRUE(status.ok() || fake.failed == "cuMemsetD8Async") << status;
    };
  }
  /// A command that adds a letter and the first byte of the memory to `seen`.
  Step Look(char letter) {
    return [=, this] {
      EXPECT_EQ(EnqueueWork(context->stream(),
                            [=, this] { seen += letter + std::to_string(static_cast<unsigned char>(*Host())); }),
                CUDA_SUCCESS);
    };
  }
  static Step Both(const Step &first, const Step &second) {
    return [=] {
      first();
      second();
    };
  }

  /// Captures commands as a session does, and makes a graph of them that can run.
  absl::Status Capture(const std::vector<Step> &commands) {
    FillNodes fills(*context, *kernel);
    absl::Status status = driver().StreamBeginCapture(context->stream(), CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
    for (const Step &command : commands) {
      command();
      status.Update(fills.Replace());
    }
    status.Update(driver().StreamEndCapture(context->stream(), &graph));
    if (status.ok())
      status = fills.Remove();
    return status.ok() ? driver().GraphInstantiate(&executable, graph, 0) : status;
  }

  void Release() {
    if (executable)
      driver().GraphExecDestroy(std::exchange(executable, nullptr)).IgnoreError();
    if (graph)
      driver().GraphDestroy(std::exchange(graph, nullptr)).IgnoreError();
  }

  absl::Status Launch() {
    seen.clear();
    absl::Status status = driver().GraphLaunch(executable, context->stream());
    status.Update(context->WaitForStream());
    return status;
  }

  static constexpr size_t kBytes = 20000;

  std::unique_ptr<CudaContext> context;
  std::unique_ptr<CurrentContext> current;
  std::unique_ptr<PtxKernel> kernel;
  CUdeviceptr memory = 0;
  CUgraph graph = nullptr;
  CUgraphExec executable = nullptr;
  std::string seen;
};

TEST_F(FillNodesTest, KernelsFillTheSameBytes) {
  // One thread, several blocks, and a size that no number of threads divides.
  for (size_t bytes : {4, 4096, 8196, 16004}) {
    Clear();
    fake.kernels_run = 0;
    ASSERT_TRUE(Capture({Fill(8, bytes, 0xA5)}).ok());
    ASSERT_TRUE(Launch().ok());
    EXPECT_EQ(fake.kernels_run, 1);
    std::string expected(kBytes, '\0');
    std::memset(expected.data() + 8, 0xA5, bytes);
    EXPECT_EQ(std::string(Host(), kBytes), expected) << bytes;
    Release();
  }
}

/// Fills at the beginning and the end of a command, between its parts, alone, and next to each other.
TEST_F(FillNodesTest, TheOrderOfWorkIsKept) {
  fake.delays_work = true;
  ASSERT_TRUE(
      Capture({Both(Fill(0, 64, 1), Look('a')), Look('b'), Fill(0, 64, 2), Both(Look('c'), Fill(0, 64, 3)),
               Both(Look('d'), Both(Fill(0, 64, 4), Look('e'))), Both(Fill(0, 64, 5), Fill(0, 64, 6)), Look('f')})
          .ok());
  for (int run = 0; run != 100; ++run) {
    fake.kernels_run = 0;
    ASSERT_TRUE(Launch().ok());
    EXPECT_EQ(seen, "a1b1c2d3e4f6");
    EXPECT_EQ(fake.kernels_run, 6);
  }
}

TEST_F(FillNodesTest, FillsOfSingleBytesStay) {
  for (auto [offset, bytes] : {std::pair<size_t, size_t>(1, 4), {0, 3}}) {
    fake.kernels_run = 0;
    ASSERT_TRUE(Capture({Both(Fill(offset, bytes, 7), Look('a'))}).ok());
    ASSERT_TRUE(Launch().ok());
    EXPECT_EQ(fake.kernels_run, 0);
    EXPECT_EQ(Host()[offset + bytes - 1], 7);
    Release();
  }
}

TEST_F(FillNodesTest, EachFailingCallIsReported) {
  int failures = 0;
  for (int call = 1; call != 200; ++call) {
    fake.calls = 0;
    fake.failing_call = call;
    fake.failed.clear();
    absl::Status status = Capture({Both(Fill(0, 64, 1), Look('a'))});
    fake.failing_call = 0;
    Release();
    if (fake.failed.empty())
      break;
    if (fake.failed == "cuMemsetD8Async" || fake.failed == "cuCtxPopCurrent")
      continue; // Calls of the command itself, and of a scope that ends.
    EXPECT_FALSE(status.ok()) << fake.failed;
    ++failures;
  }
  EXPECT_GE(failures, 15);
}

} // namespace
} // namespace cs336::runtime::testing::fill_nodes_test
