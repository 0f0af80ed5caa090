//===- AllocationFaultsTest.cpp - Allocations of a session's life fail ----===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Fails each allocation of C++ code in the life of a session, one by one, and
// requires an error without a leak: memory that is lost, a file that is half
// written, or a session that gives other results afterwards. oneDNN and libgomp
// are exempt: neither can handle a failed allocation.
//
// This program replaces operator new, below which AddressSanitizer still sees
// malloc. LeakSanitizer finds lost memory only where it is part of the build.
//
//===----------------------------------------------------------------------===//

#include "SessionParts.h"
#include "cs336/runtime/Checkpoint.h"

#include "status/StatusMacros.h"

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <filesystem>
#include <functional>
#include <gtest/gtest.h>
#include <new>
#include <unistd.h>

/// Returns nonzero if memory that was allocated since the start cannot be reached; prints where it was allocated.
extern "C" __attribute__((weak)) int __lsan_do_recoverable_leak_check();

namespace {

/// Allocations until one fails; none fails if this is negative.
std::atomic<int64_t> remaining{-1};
/// True if all later allocations fail too.
std::atomic<bool> isPersistent{false};
std::atomic<bool> hasFailed{false};

bool isExempt(const void *caller) {
  Dl_info info;
  return dladdr(caller, &info) && info.dli_fname &&
         (std::strstr(info.dli_fname, "libdnnl") || std::strstr(info.dli_fname, "libgomp"));
}

bool Fails(const void *caller) {
  if (remaining < 0 || isExempt(caller))
    return false;
  if (remaining > 0) {
    --remaining;
    return false;
  }
  if (!isPersistent)
    remaining = -1;
  hasFailed = true;
  return true;
}

void *Allocate(size_t size, size_t alignment, const void *caller) {
  void *memory = nullptr;
  if (Fails(caller) || posix_memalign(&memory, alignment, size == 0 ? 1 : size) != 0)
    return nullptr;
  return memory;
}

void *Require(void *memory) {
  if (!memory)
    throw std::bad_alloc();
  return memory;
}

} // namespace

void *operator new(size_t size) { return Require(Allocate(size, sizeof(void *) * 2, __builtin_return_address(0))); }
void *operator new[](size_t size) { return Require(Allocate(size, sizeof(void *) * 2, __builtin_return_address(0))); }
void *operator new(size_t size, const std::nothrow_t &) noexcept {
  return Allocate(size, sizeof(void *) * 2, __builtin_return_address(0));
}
void *operator new[](size_t size, const std::nothrow_t &) noexcept {
  return Allocate(size, sizeof(void *) * 2, __builtin_return_address(0));
}
void *operator new(size_t size, std::align_val_t alignment) {
  return Require(Allocate(size, static_cast<size_t>(alignment), __builtin_return_address(0)));
}
void *operator new(size_t size, std::align_val_t alignment, const std::nothrow_t &) noexcept {
  return Allocate(size, static_cast<size_t>(alignment), __builtin_return_address(0));
}
// GCC warns where one of these is part of its caller and operator new is not.
[[gnu::noinline]] void operator delete(void *memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete[](void *memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void *memory, size_t) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete[](void *memory, size_t) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void *memory, std::align_val_t) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void *memory, size_t, std::align_val_t) noexcept { std::free(memory); }

namespace cs336::runtime {
namespace {

using testing::AsBytes;
using testing::SampleInputs;
using testing::SampleProgram;
using testing::WithThreads;

/// Runs the body while one allocation fails: the one after `count` others. An exception for lack of memory is an error
/// that callers of the runtime handle.
absl::Status RunWithFault(int64_t count, bool persistent, const std::function<absl::Status()> &body) {
  absl::Status status;
  isPersistent = persistent;
  hasFailed = false;
  remaining = count;
  try {
    status = body();
    remaining = -1;
  } catch (const std::bad_alloc &) {
    remaining = -1;
    status = absl::ResourceExhaustedError("out of memory");
  }
  return status;
}

/// Fails each allocation of the body in turn, until the body ends before the fault. Returns the number of faults.
int FailEach(bool persistent, const std::function<absl::Status()> &body, const std::function<void()> &check = [] {}) {
  constexpr int kMostFaults = 100000;
  for (int count = 0; count != kMostFaults; ++count) {
    absl::Status status = RunWithFault(count, persistent, body);
    if (!hasFailed) {
      EXPECT_TRUE(status.ok()) << status;
      return count;
    }
    // The process may go on without the memory, as where it was to hold a cache.
    EXPECT_TRUE(status.ok() || absl::IsResourceExhausted(status)) << "allocation " << count << ": " << status;
    check();
    if (::testing::Test::HasFailure())
      return count;
  }
  ADD_FAILURE() << "the body does not end";
  return kMostFaults;
}

void ExpectNoLeaks() {
  if (__lsan_do_recoverable_leak_check) {
    EXPECT_EQ(__lsan_do_recoverable_leak_check(), 0);
  }
}

class AllocationFaultsTest : public ::testing::TestWithParam<bool> {
protected:
  AllocationFaultsTest() {
    EXPECT_TRUE(UseOnce(path).ok()); // Libraries set themselves up in the first step.
    std::filesystem::remove(path);
  }
  ~AllocationFaultsTest() override { std::filesystem::remove_all(folder); }

  /// The life of a session: load, create, initialize, train, read, save and load again.
  absl::Status UseOnce(const std::string &file) const {
    CS336_ASSIGN_OR_RETURN(auto executable, Executable::FromBytes(AsBytes(bytes)));
    CS336_ASSIGN_OR_RETURN(auto session, Session::Create(executable, WithThreads(2)));
    CS336_RETURN_IF_ERROR(session->InitializeVariables(1));
    CS336_RETURN_IF_ERROR(session->Run("train", inputs.named()));
    CS336_RETURN_IF_ERROR(session->Output("train", "y").status());
    CS336_RETURN_IF_ERROR(SaveCheckpoint(*session, file));
    CS336_ASSIGN_OR_RETURN(TensorMap tensors, ReadTensors(file));
    return session->LoadVariables(tensors);
  }

  const std::string folder =
      (std::filesystem::path(::testing::TempDir()) / ("faults." + std::to_string(getpid()))).string();
  const bool made = std::filesystem::create_directory(folder);
  const std::string path = folder + "/state.safetensors";
  const std::string bytes = SampleProgram().Bytes();
  const SampleInputs inputs;
};

/// All elements of all tensors.
std::string Contents(const TensorMap &tensors) {
  std::string text;
  for (const auto &[name, tensor] : tensors) {
    text += name;
    text.append(reinterpret_cast<const char *>(tensor.data()), tensor.num_bytes());
  }
  return text;
}

TEST_P(AllocationFaultsTest, ALifeOfASession) {
  int faults = FailEach(GetParam(), [this] { return UseOnce(path); });
  EXPECT_GT(faults, 100);
  ExpectNoLeaks();
}

TEST_P(AllocationFaultsTest, ASavedFileIsTheOldOneOrTheNewOne) {
  ASSERT_TRUE(UseOnce(path).ok());
  const std::string saved = Contents(*ReadTensors(path));
  auto executable = *Executable::FromBytes(AsBytes(bytes));
  auto session = *Session::Create(executable, WithThreads(2));
  ASSERT_TRUE(session->InitializeVariables(2).ok());
  const std::string other = Contents(*session->SaveVariables());
  ASSERT_NE(saved, other);
  int written = 0;
  FailEach(
      GetParam(), [&] { return SaveCheckpoint(*session, path); },
      [&] {
        auto tensors = ReadTensors(path);
        ASSERT_TRUE(tensors.ok()) << tensors.status();
        std::string contents = Contents(*tensors);
        written += contents == other;
        EXPECT_TRUE(contents == saved || contents == other);
      });
  EXPECT_EQ(Contents(*ReadTensors(path)), other);
  ExpectNoLeaks();
}

TEST_P(AllocationFaultsTest, ASessionGivesTheSameResultsAfterwards) {
  auto executable = *Executable::FromBytes(AsBytes(bytes));
  auto session = *Session::Create(executable, WithThreads(2));
  ASSERT_TRUE(session->InitializeVariables(1).ok());
  const TensorMap start = *session->SaveVariables();
  auto train = [&] {
    EXPECT_TRUE(session->LoadVariables(start).ok());
    EXPECT_TRUE(session->Run("train", inputs.named()).ok());
    return Contents(*session->SaveVariables());
  };
  const std::string expected = train();
  auto body = [&]() -> absl::Status {
    CS336_RETURN_IF_ERROR(session->LoadVariables(start));
    CS336_RETURN_IF_ERROR(session->Run("train", inputs.named()));
    CS336_RETURN_IF_ERROR(session->GetVariable("norm.weight").status());
    return session->SetVariable("norm.weight", start.at("norm.weight"));
  };
  FailEach(GetParam(), body, [&] { EXPECT_EQ(train(), expected); });
  ExpectNoLeaks();
}

INSTANTIATE_TEST_SUITE_P(Faults, AllocationFaultsTest, ::testing::Bool(),
                         [](const auto &info) { return info.param ? "OneAndAllThatFollow" : "One"; });

TEST(LeakCheckTest, FindsLostMemory) {
  if (!__lsan_do_recoverable_leak_check)
    GTEST_SKIP() << "this build has no LeakSanitizer; the preset asan has";
  // A number that changes hides the address from a search for pointers.
  static volatile uintptr_t hidden = ~reinterpret_cast<uintptr_t>(std::malloc(16));
  EXPECT_NE(__lsan_do_recoverable_leak_check(), 0);
  std::free(reinterpret_cast<void *>(~hidden));
}

} // namespace
} // namespace cs336::runtime
