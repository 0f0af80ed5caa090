//===- CudaSessionFixture.cpp - Sessions on the fake GPU ------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CudaSessionFixture.h"

#include <cstring>
#include <elf.h>
#include <gmock/gmock.h>
#include <utility>

/// cuBLASLt keeps some memory when it detects that the driver is not a real
/// one.
extern "C" const char *__lsan_default_suppressions() { return "leak:libcublasLt"; }

namespace cs336::runtime::testing {

namespace {

/// The header that marks a cubin, without contents.
std::vector<uint8_t> EmptyCubin() {
  Elf64_Ehdr header = {};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_machine = EM_CUDA;
  std::vector<uint8_t> image(sizeof(header));
  std::memcpy(image.data(), &header, sizeof(header));
  return image;
}

} // namespace

void AddObject(ProgramBuilder &program, const std::string &target) {
  auto object = std::make_unique<format::CodeObjectT>();
  object->target = target;
  object->image = EmptyCubin();
  program.executable().objects.push_back(std::move(object));
}

uint32_t AddKernel(ProgramBuilder &program, const std::string &symbol, int64_t shared_bytes) {
  auto kernel = std::make_unique<format::KernelT>();
  kernel->name = symbol;
  auto implementation = std::make_unique<format::ImplementationT>();
  for (size_t i = 0; i != program.executable().objects.size(); ++i)
    implementation->objects.push_back(i);
  auto function = std::make_unique<format::FunctionT>();
  function->symbol = symbol;
  function->blocks = 1;
  function->threads = 256;
  function->shared_bytes = shared_bytes;
  implementation->functions.push_back(std::move(function));
  kernel->implementations.push_back(std::move(implementation));
  kernel->signature = std::make_unique<format::SignatureT>();
  program.executable().kernels.push_back(std::move(kernel));
  return program.executable().kernels.size() - 1;
}

ProgramBuilder CudaSampleProgram(const std::vector<std::string> &targets) {
  using format::VariableKind;
  ProgramBuilder program;
  program.executable().target = format::Target::cuda;
  for (const std::string &target : targets)
    AddObject(program, target);
  format::VariableT &qkv = program.Variable("qkv.weight", MakeType(DType::kF32, {6, 5}));
  qkv.init->kind = format::InitKind::truncated_normal;
  qkv.init->std = 0.5;
  qkv.init->cut = 3;
  ProgramBuilder::AddViews(qkv, {{"q.weight", 2}, {"k.weight", 4}});
  program.Variable("norm.weight", MakeType(DType::kF32, {4})).init->kind = format::InitKind::ones;
  program.Variable("step", MakeType(DType::kI64, {}), VariableKind::state);
  program.Variable("norm.shadow", MakeType(DType::kF32, {4}), VariableKind::derived);
  uint32_t scale = AddKernel(program, "scale_rows"), increment = AddKernel(program, "increment");
  EntryBuilder prepare = program.Entry("prepare", format::Mode::prepare);
  prepare.Copy(prepare.Variable("norm.weight"), prepare.Variable("norm.shadow"));
  EntryBuilder train = program.Entry("train", format::Mode::train);
  train.entry().events = 1;
  uint32_t x = train.Input("x", MakeType(DType::kF32, {3, 4}));
  train.Input("tokens", MakeType(DType::kI32, {2, 3}), 16);
  uint32_t y = train.Output("y", MakeType(DType::kF32, {3, 4}));
  uint32_t large = train.Output("large", MakeType(DType::kF32, {2048}));
  train.Output("columns", MakeType(DType::kF32, {4, 3}));
  uint32_t scaled = train.Arena("scaled", MakeType(DType::kF32, {3, 4}));
  train.entry().outputs[2]->buffer = train.View(y, {4, 3}, {1, 4});
  train.Launch(scale, {x, train.Variable("norm.shadow"), scaled}, {2}, 1);
  train.Record(0);
  train.Wait(0);
  train.Copy(scaled, y);
  train.Copy(scaled, train.View(large, {3, 4}, {4, 1}, /*offset=*/2036 * 4));
  train.Collective(format::CollectiveKind::all_reduce, y, y, format::Reduction::mean);
  train.Launch(increment, {train.Variable("step")}, {0}, 1);
  return program;
}

ProgramBuilder OtherLibrary() {
  ProgramBuilder program;
  program.executable().target = format::Target::cuda;
  program.Entry("forward");
  program.Variable("x", MakeType(DType::kF32, {3, 4}));
  program.Variable("tokens", MakeType(DType::kI32, {2, 3}));
  program.Variable("norm", MakeType(DType::kF32, {4}));
  return program;
}

void CudaSessionFixture::TearDown() {
  EXPECT_EQ(fake.allocated_bytes, 0);
  EXPECT_THAT(fake.pinned, ::testing::IsEmpty());
  EXPECT_EQ(fake.objects, 0);
  EXPECT_EQ(fake.contexts_pushed, 0);
  EXPECT_EQ(fake.calls_from_host_functions, 0);
}

absl::StatusOr<std::unique_ptr<Session>> CudaSessionFixture::Create(const ProgramBuilder &program,
                                                                    SessionOptions options) {
  auto executable = program.Build();
  EXPECT_TRUE(executable.ok()) << executable.status();
  options.device = "cuda";
  return Session::Create(*executable, options);
}

} // namespace cs336::runtime::testing
