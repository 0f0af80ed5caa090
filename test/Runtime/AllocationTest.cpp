//===- AllocationTest.cpp - A running step allocates nothing --------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// This program replaces malloc and its relatives, so that every allocation of
// the process, by any library, is observed here. During an observation, each
// one is attributed to the module that contains its return address. oneDNN
// builds its map of arguments, and libgomp its teams, inside of calls of the
// runtime: frames of these two are skipped. All other allocations count,
// including those of the runtime, the kernels and the C++ library.
//
//===----------------------------------------------------------------------===//

#include "ProgramBuilder.h"
#include "cs336/runtime/Session.h"

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <gtest/gtest.h>

extern "C" void *__libc_malloc(size_t size);
extern "C" void *__libc_calloc(size_t count, size_t size);
extern "C" void *__libc_realloc(void *memory, size_t size);
extern "C" void *__libc_memalign(size_t alignment, size_t size);
extern "C" void __libc_free(void *memory);

namespace {

std::atomic<bool> observing{false};
std::atomic<int> counted{0}, let_pass{0};
std::atomic<const char *> culprit{nullptr};

/// The module's name is the dynamic linker's own copy, which stays valid.
void Note(const void *caller) {
  if (!observing)
    return;
  Dl_info info;
  const char *module = "unknown";
  if (dladdr(caller, &info) && info.dli_fname)
    module = info.dli_fname;
  if (std::strstr(module, "libdnnl") || std::strstr(module, "libgomp")) {
    ++let_pass;
    return;
  }
  ++counted;
  culprit = module;
}

} // namespace

extern "C" {
void *malloc(size_t size) {
  Note(__builtin_return_address(0));
  return __libc_malloc(size);
}
void *calloc(size_t count, size_t size) {
  Note(__builtin_return_address(0));
  return __libc_calloc(count, size);
}
void *realloc(void *memory, size_t size) {
  Note(__builtin_return_address(0));
  return __libc_realloc(memory, size);
}
void *memalign(size_t alignment, size_t size) {
  Note(__builtin_return_address(0));
  return __libc_memalign(alignment, size);
}
void *aligned_alloc(size_t alignment, size_t size) {
  Note(__builtin_return_address(0));
  return __libc_memalign(alignment, size);
}
int posix_memalign(void **memory, size_t alignment, size_t size) {
  Note(__builtin_return_address(0));
  *memory = __libc_memalign(alignment, size);
  return *memory ? 0 : ENOMEM;
}
}

// All forms are replaced, because those of libstdc++ forward to each other and
// would hide their callers.
void *operator new(size_t size) {
  Note(__builtin_return_address(0));
  if (void *memory = __libc_malloc(size ? size : 1))
    return memory;
  throw std::bad_alloc();
}
void *operator new[](size_t size) {
  Note(__builtin_return_address(0));
  if (void *memory = __libc_malloc(size ? size : 1))
    return memory;
  throw std::bad_alloc();
}
void *operator new(size_t size, const std::nothrow_t &) noexcept {
  Note(__builtin_return_address(0));
  return __libc_malloc(size ? size : 1);
}
void *operator new[](size_t size, const std::nothrow_t &) noexcept {
  Note(__builtin_return_address(0));
  return __libc_malloc(size ? size : 1);
}
void *operator new(size_t size, std::align_val_t alignment) {
  Note(__builtin_return_address(0));
  if (void *memory = __libc_memalign(static_cast<size_t>(alignment), size))
    return memory;
  throw std::bad_alloc();
}
void *operator new(size_t size, std::align_val_t alignment, const std::nothrow_t &) noexcept {
  Note(__builtin_return_address(0));
  return __libc_memalign(static_cast<size_t>(alignment), size);
}
void operator delete(void *memory) noexcept { __libc_free(memory); }
void operator delete[](void *memory) noexcept { __libc_free(memory); }
void operator delete[](void *memory, size_t) noexcept { __libc_free(memory); }
void operator delete(void *memory, size_t) noexcept { __libc_free(memory); }
void operator delete(void *memory, std::align_val_t) noexcept { __libc_free(memory); }
void operator delete(void *memory, size_t, std::align_val_t) noexcept { __libc_free(memory); }
void operator delete(void *memory, std::align_val_t, const std::nothrow_t &) noexcept { std::free(memory); }

namespace cs336::runtime {
namespace {

using testing::EntryBuilder;
using testing::MakeTensor;
using testing::MakeType;
using testing::ProgramBuilder;

struct Counts {
  int counted;
  int let_pass;
};

template <typename Body>
Counts Observe(const Body &body) {
  counted = 0;
  let_pass = 0;
  culprit = nullptr;
  observing = true;
  body();
  observing = false;
  return {counted, let_pass};
}

TEST(AllocationTest, TheInterposerSees) {
  EXPECT_EQ(Observe([] { delete new volatile int(1); }).counted, 1);
  EXPECT_EQ(Observe([] {
              void *volatile memory = std::malloc(100);
              std::free(memory);
            }).counted,
            1);
  // An allocation inside of the runtime's library.
  EXPECT_GT(Observe([] { EXPECT_TRUE(Tensor::Create({DType::kF32, {64}}).ok()); }).counted, 0);
}

/// A program with every kind of command, with f32 and f64 GEMMs that are large
/// enough to be parallel, and with batches that oneDNN computes in one call and
/// in several.
ProgramBuilder LargeProgram() {
  ProgramBuilder program = testing::SampleProgram();
  EntryBuilder entry = program.Entry("large");
  for (DType dtype : {DType::kF32, DType::kF64}) {
    std::string suffix(Name(dtype));
    uint32_t x = entry.Input("x." + suffix, MakeType(dtype, {4, 160, 300}));
    uint32_t y = entry.Output("y." + suffix, MakeType(dtype, {4, 160, 160}));
    uint32_t t = entry.View(x, {4, 300, 160}, {160 * 300, 1, 300});
    entry.Gemm(x, t, y);
    entry.Gemm(x, t, y).addend = y;
    uint32_t wide = entry.Arena("wide." + suffix, MakeType(dtype, {4, 160, 3 * 160}));
    uint32_t part = entry.View(wide, {160, 4, 160}, {3 * 160, 160 * 3 * 160, 1});
    entry.Copy(entry.View(y, {160, 4, 160}, {160, 160 * 160, 1}), part);
    entry.Gemm(entry.View(x, {4, 160, 300}, {0, 300, 1}), entry.View(x, {4, 300, 160}, {160 * 300, 1, 300}),
               entry.View(wide, {4, 160, 160}, {160 * 3 * 160, 3 * 160, 1}));
    entry.Collective(format::CollectiveKind::all_gather, y, y);
  }
  return program;
}

TEST(AllocationTest, NothingIsAllocatedWhileAStepRuns) {
  auto executable = LargeProgram().Build();
  ASSERT_TRUE(executable.ok()) << executable.status();
  SessionOptions options;
  options.num_threads = 2;
  auto session = *Session::Create(*executable, options);
  ASSERT_TRUE(session->InitializeVariables(1).ok());
  Tensor x = *Tensor::Create({DType::kF32, {3, 4}});
  Tensor tokens = *Tensor::Create({DType::kI32, {2, 3}});
  Tensor f32 = *Tensor::Create({DType::kF32, {4, 160, 300}});
  Tensor f64 = *Tensor::Create({DType::kF64, {4, 160, 300}});
  std::vector<NamedTensor> train = {{"x", x}, {"tokens", tokens}};
  std::vector<NamedTensor> large = {{"x.f32", f32}, {"x.f64", f64}};
  auto step = [&] {
    EXPECT_TRUE(session->Run("train", train).ok());
    EXPECT_TRUE(session->Run("large", large).ok());
  };
  step(); // oneDNN and OpenMP initialize themselves in the first step.
  for (int i = 0; i != 3; ++i) {
    Counts counts = Observe(step);
    EXPECT_EQ(counts.counted, 0) << "the last from " << culprit.load();
    // Otherwise the attribution would prove nothing.
    EXPECT_GT(counts.let_pass, 0);
  }
}

} // namespace
} // namespace cs336::runtime
