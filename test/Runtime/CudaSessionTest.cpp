//===- CudaSessionTest.cpp - Sessions on a fake GPU -----------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Tests what sessions do with a GPU, on the fake driver. The numerics tests
// cover the values that kernels compute on a real one.
//
//===----------------------------------------------------------------------===//

#include "CudaSessionFixture.h"
#include "cs336/runtime/CudaInfo.h"
#include "cs336/runtime/DeviceStart.h"
#include "cs336/runtime/PlanSummary.h"
#include "cs336/runtime/format/ReservedMemory.h"

#include <cmath>
#include <elf.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cs336::runtime {
namespace {

using testing::AddKernel;
using testing::CudaSampleProgram;
using ::testing::ElementsAre;
using testing::EntryBuilder;
using ::testing::HasSubstr;
using testing::MakeTensor;
using testing::MakeType;
using testing::OtherLibrary;
using testing::ProgramBuilder;

class CudaSessionTest : public testing::CudaSessionFixture {
protected:
  absl::Status Step(Session &session, float first, RunObserver *observer = nullptr) {
    Tensor x = MakeTensor<float>(DType::kF32, {3, 4}, {first, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11});
    return session.Run("train", {{"x", x}, {"tokens", tokens}}, observer);
  }

  Tensor tokens = MakeTensor<int32_t>(DType::kI32, {2, 3}, {0, 1, 2, 3, 4, 15});
};

TEST_F(CudaSessionTest, RunsEntriesAsGraphs) {
  auto session = Create(CudaSampleProgram());
  ASSERT_TRUE(session.ok()) << session.status();
  EXPECT_EQ((*session)->device(), (DeviceId{DeviceKind::kCuda, 0}));
  EXPECT_EQ(fake.kernels_run, 0); // Capturing does not run kernels.
  ASSERT_TRUE((*session)->InitializeVariables(7).ok());
  Tensor norm = MakeTensor<float>(DType::kF32, {4}, {1, 2, 3, 4});
  ASSERT_TRUE((*session)->SetVariable("norm.weight", norm).ok());
  ASSERT_TRUE((*session)->Prepare().ok());
  int launched = fake.graphs_launched, allocations = fake.allocations;
  for (int step = 1; step != 5; ++step) {
    ASSERT_TRUE(Step(**session, step).ok());
    EXPECT_EQ((*session)->GetVariable("step")->values<int64_t>()[0], step);
    EXPECT_THAT((*session)->Output("train", "y")->values<float>(),
                ElementsAre(step, 2, 6, 12, 4, 10, 18, 28, 8, 18, 30, 44));
    TensorView columns = *(*session)->Output("train", "columns");
    EXPECT_EQ(Tensor::CopyOf(columns)->values<float>()[1], 4);
    TensorView large = *(*session)->Output("train", "large");
    EXPECT_TRUE(std::isnan(large.values<float>()[0])); // It was not written.
    EXPECT_EQ(large.values<float>()[2047], 44);
    if (step > 1) {
      EXPECT_EQ((*session)->PreviousOutput("train", "y")->values<float>()[0], step - 1);
    }
    EXPECT_EQ(*(*session)->LastRunDuration("train"), absl::Milliseconds(1.25));
  }
  EXPECT_EQ(fake.graphs_launched, launched + 4);
  EXPECT_EQ(fake.kernels_run, 4 * 2);
  EXPECT_EQ(fake.allocations, allocations);
  EXPECT_TRUE((*session)->Synchronize().ok());

  // Another entry overwrites outputs, except those that each run copies.
  ASSERT_TRUE((*session)->Prepare().ok());
  EXPECT_EQ((*session)->Output("train", "large").status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ((*session)->OutputOnDevice("train", "y").status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ((*session)->Output("train", "y")->values<float>()[0], 4);
}

TEST_F(CudaSessionTest, PassesAStructureOfPointers) {
  ProgramBuilder program = CudaSampleProgram();
  program.executable().kernels[0]->implementations[0]->functions[0]->symbol = "scale_rows_structure";
  auto session = Create(program);
  ASSERT_TRUE(session.ok()) << session.status();
  ASSERT_TRUE((*session)->InitializeVariables(7).ok());
  ASSERT_TRUE((*session)->Prepare().ok());
  ASSERT_TRUE(Step(**session, 0).ok());
  EXPECT_EQ((*session)->Output("train", "y")->values<float>()[11], 11);
}

TEST_F(CudaSessionTest, RefusesWrongInputsWithoutEffect) {
  auto session = *Create(CudaSampleProgram());
  ASSERT_TRUE(session->InitializeVariables(0).ok());
  int launched = fake.graphs_launched;
  tokens.mutable_values<int32_t>()[4] = 16;
  absl::Status status = Step(*session, 0);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(Message(status), HasSubstr("'tokens' holds 16 at [1, 1]"));
  EXPECT_EQ(fake.graphs_launched, launched);
}

TEST_F(CudaSessionTest, TakesInputsFromTheDevice) {
  auto session = *Create(CudaSampleProgram()), other = *Create(OtherLibrary());
  ASSERT_TRUE(session->InitializeVariables(0).ok());
  auto on_device = [&](const char *name) {
    return NamedTensor{name, *other->VariableOnDevice(name), Placement::kDevice};
  };
  auto first_of_y = [&] { return session->Output("train", "y")->values<float>()[0]; };
  Tensor x = MakeTensor<float>(DType::kF32, {3, 4}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11});
  for (float step : {1, 2, 3}) { // More runs than the feed has slots.
    x.mutable_values<float>()[0] = step;
    // The copy is only done if the session waits for it.
    fake.default_stream_work = [&] { ASSERT_TRUE(other->SetVariable("x", x).ok()); };
    ASSERT_TRUE(session->Run("train", {{"tokens", tokens}, on_device("x")}).ok());
    // It was read before Run() returned.
    Tensor later = MakeTensor<float>(DType::kF32, {3, 4}, {});
    ASSERT_TRUE(other->SetVariable("x", later).ok());
    EXPECT_EQ(first_of_y(), step);
    EXPECT_EQ(session->Output("train", "y")->values<float>()[11], 11);
  }
  // Both inputs may come from host or device.
  ASSERT_TRUE(other->SetVariable("tokens", tokens).ok());
  ASSERT_TRUE(other->SetVariable("x", x).ok());
  ASSERT_TRUE(session->Run("train", {on_device("tokens"), on_device("x")}).ok());
  EXPECT_EQ(first_of_y(), 3);
  x.mutable_values<float>()[0] = 4;
  ASSERT_TRUE(session->Run("train", {{"x", x}, on_device("tokens")}).ok());
  EXPECT_EQ(first_of_y(), 4);
}

TEST_F(CudaSessionTest, PutsInputsOfBothSidesInTheirPlaces) {
  ProgramBuilder program;
  program.executable().target = format::Target::cuda;
  EntryBuilder entry = program.Entry("forward");
  for (const char *name : {"a", "b", "c", "d"})
    entry.Copy(entry.Input(name, MakeType(DType::kF32, {4})),
               entry.Output(std::string(name) + ".out", MakeType(DType::kF32, {4})));
  ProgramBuilder library = OtherLibrary();
  library.Variable("second", MakeType(DType::kF32, {4}));
  auto session = *Create(program), other = *Create(library);
  Tensor a = MakeTensor<float>(DType::kF32, {4}, {1, 2, 3, 4}), b = MakeTensor<float>(DType::kF32, {4}, {5, 6, 7, 8});
  Tensor c = MakeTensor<float>(DType::kF32, {4}, {9, 10, 11, 12}), d = MakeTensor<float>(DType::kF32, {4}, {13});
  ASSERT_TRUE(other->SetVariable("norm", b).ok());
  ASSERT_TRUE(other->SetVariable("second", d).ok());
  NamedTensor given_b{"b", *other->VariableOnDevice("norm"), Placement::kDevice};
  NamedTensor given_d{"d", *other->VariableOnDevice("second"), Placement::kDevice};
  auto output = [&](const char *name) { return session->Output("forward", name)->values<float>(); };
  ASSERT_TRUE(session->Run("forward", {given_d, {"c", c}, given_b, {"a", a}}).ok());
  EXPECT_THAT(output("a.out"), ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(output("b.out"), ElementsAre(5, 6, 7, 8));
  EXPECT_THAT(output("c.out"), ElementsAre(9, 10, 11, 12));
  EXPECT_THAT(output("d.out"), ElementsAre(13, 0, 0, 0));
  // The next run takes only its own inputs from the device.
  ASSERT_TRUE(session->Run("forward", {{"a", c}, {"b", a}, {"c", b}, given_d}).ok());
  EXPECT_THAT(output("b.out"), ElementsAre(1, 2, 3, 4));
}

TEST_F(CudaSessionTest, ChecksInputsFromTheDevice) {
  auto session = *Create(CudaSampleProgram()), other = *Create(OtherLibrary());
  ASSERT_TRUE(session->InitializeVariables(0).ok());
  NamedTensor x{"x", *other->VariableOnDevice("x"), Placement::kDevice};
  NamedTensor given{"tokens", *other->VariableOnDevice("tokens"), Placement::kDevice};
  int launched = fake.graphs_launched;
  auto run = [&](std::vector<NamedTensor> inputs) {
    absl::Status status = session->Run("train", inputs);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
    return Message(status);
  };
  tokens.mutable_values<int32_t>()[4] = 16;
  fake.default_stream_work = [&] { ASSERT_TRUE(other->SetVariable("tokens", tokens).ok()); };
  EXPECT_THAT(run({x, given}), HasSubstr("'tokens' holds 16 at [1, 1]"));
  EXPECT_THAT(run({{"x", given.value, Placement::kDevice}, given}),
              HasSubstr("is a f32[3, 4], but the value is a i32[2, 3]"));
  NamedTensor columns{"x", TensorView(x.value.type(), {1, 3}, x.value.data()), Placement::kDevice};
  EXPECT_THAT(run({columns, given}), HasSubstr("input 'x': the f32[3, 4] in the device's memory is not dense"));
  EXPECT_EQ(fake.graphs_launched, launched);
  EXPECT_EQ(session->GetVariable("step")->values<int64_t>()[0], 0);
}

TEST_F(CudaSessionTest, FaultsComeOutWhereSomebodyWaits) {
  ProgramBuilder program = CudaSampleProgram();
  EntryBuilder entry = program.Entry("bad");
  uint32_t y = entry.Output("y", MakeType(DType::kF32, {4}));
  entry.Launch(AddKernel(program, "fault"), {y}, {0}, 1);
  auto session = *Create(program);
  ASSERT_TRUE(session->InitializeVariables(0).ok());
  ASSERT_TRUE(session->Run("bad", {}).ok());
  absl::Status status = session->Synchronize();
  EXPECT_EQ(status.code(), absl::StatusCode::kInternal);
  EXPECT_THAT(Message(status), HasSubstr("enqueued on cuda:0 (Fake GPU) failed: cuStreamSynchronize: "
                                         "CUDA_ERROR_ILLEGAL_ADDRESS"));
  EXPECT_FALSE(session->Output("bad", "y").ok());
  EXPECT_FALSE(session->GetVariable("step").ok());
  fake.faulted = false; // Like another process.
  NanCheck check;       // Runs the commands one by one, so that the error can name one.
  EXPECT_THAT(Message(session->Run("bad", {}, &check)),
              HasSubstr("launch 'c0' of layers.0 at model.mlir:1: cuEventSynchronize"));
}

/// The device runs ahead, with 0 in place of bad integers. The next call that waits returns the error, and so does
/// the next run.
TEST_F(CudaSessionTest, IntegersOutsideOfTheirBoundComeOutWhereSomebodyWaits) {
  ProgramBuilder program = CudaSampleProgram();
  EntryBuilder entry = program.Entry("check");
  uint32_t ids = entry.Input("ids", MakeType(DType::kI64, {2, 2}));
  entry.CheckBound(ids, entry.Output("checked", MakeType(DType::kI64, {2, 2})), 5);
  auto session = *Create(program);
  ASSERT_TRUE(session->InitializeVariables(0).ok());
  Tensor good = MakeTensor<int64_t>(DType::kI64, {2, 2}, {0, 4, 2, 1}),
         bad = MakeTensor<int64_t>(DType::kI64, {2, 2}, {0, 4, -7, 5});
  ASSERT_TRUE(session->Run("check", {{"ids", good}}).ok());
  EXPECT_THAT(session->Output("check", "checked")->values<int64_t>(), ElementsAre(0, 4, 2, 1));

  ASSERT_TRUE(session->Run("check", {{"ids", bad}}).ok());
  const char *message = "entry 'check': check_bound 'c0' of layers.0 at model.mlir:1: its source holds -7 at [1, 0], "
                        "outside of [0, 5)";
  for (const absl::Status &status :
       {session->Synchronize(), session->Output("check", "checked").status(), session->GetVariable("step").status(),
        session->SaveVariables().status(), session->LastRunDuration("check").status(),
        session->Run("check", {{"ids", good}})}) {
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_EQ(Message(status), message);
  }
}

TEST_F(CudaSessionTest, ObserversSeeCopies) {
  class Recorder : public RunObserver {
  public:
    bool Reads(const CommandInfo &command, absl::string_view tensor) const override { return tensor == "scaled"; }
    absl::Status OnCommandDone(const CommandInfo &command, absl::Duration elapsed,
                               absl::Span<const WrittenTensor> written) override {
      ++commands;
      EXPECT_EQ(elapsed, absl::Milliseconds(1.5));
      for (const WrittenTensor &tensor : written)
        first = tensor.value.values<float>()[0];
      return absl::OkStatus();
    }
    int commands = 0;
    float first = 0;
  };
  auto session = *Create(CudaSampleProgram());
  ASSERT_TRUE(session->InitializeVariables(0).ok());
  int launched = fake.graphs_launched;
  Recorder recorder;
  ASSERT_TRUE(Step(*session, 42, &recorder).ok());
  EXPECT_EQ(recorder.commands, 7);
  EXPECT_EQ(recorder.first, 42);
  EXPECT_EQ(fake.graphs_launched, launched);
  NanCheck check;
  EXPECT_THAT(Message(Step(*session, NAN, &check)), HasSubstr("the first to write NaN at [0, 0] of 'scaled'"));
}

TEST_F(CudaSessionTest, AllocatesWhatItSays) {
  auto session = *Create(CudaSampleProgram());
  SessionMemory memory = *session->Memory();
  EXPECT_EQ(memory.allocated, fake.allocated_bytes);
  EXPECT_EQ(memory.allocated, format::ComputeReservedMemory(session->executable().description()).total());
  EXPECT_EQ(memory.used, fake.allocated_bytes);
  EXPECT_EQ(memory.available, fake.memory_bytes - fake.allocated_bytes);
  // This device adds nothing to allocations, and counts neither modules nor graphs.
  EXPECT_EQ(memory.kernels + memory.libraries + memory.graphs + memory.rounding, 0);
  EXPECT_EQ(memory.before, 0);
  SessionOptions options;
  options.memory_limit_bytes = memory.allocated;
  EXPECT_TRUE(CreateStatus(CudaSampleProgram(), options).ok());
  options.memory_limit_bytes -= 1;
  EXPECT_EQ(CreateStatus(CudaSampleProgram(), options).code(), absl::StatusCode::kResourceExhausted);
}

TEST_F(CudaSessionTest, NamesWhatTheDeviceCountsBeyondThePlan) {
  ProgramBuilder program = CudaSampleProgram();
  fake.driver_bytes = 1000; // The context has these.
  fake.module_bytes = 100;
  fake.graph_bytes = 10;
  fake.rounding_bytes = 1;
  auto session = *Create(program);
  SessionMemory memory = *session->Memory();
  EXPECT_EQ(memory.before, 1000);
  EXPECT_EQ(memory.kernels, 200); // One module has the program's kernels, another that of FillNodes.
  EXPECT_EQ(memory.graphs, 10 * static_cast<int64_t>(program.executable().entries.size()));
  EXPECT_GT(memory.rounding, 0);
  // Inputs are allocated while commands are prepared, and rounded up too.
  EXPECT_GE(memory.libraries, 0);
  EXPECT_EQ(memory.used, memory.allocated + memory.kernels + memory.libraries + memory.graphs + memory.rounding);
}

TEST_F(CudaSessionTest, TooLittleMemoryIsAnAnswer) {
  fake.memory_bytes = 1000;
  absl::Status status = CreateStatus(CudaSampleProgram());
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(Message(status), HasSubstr("of memory of cuda:0 (Fake GPU), but 1000 bytes are available: parameters"));
  SessionOptions options; // A limit above the device's memory has no effect.
  options.memory_limit_bytes = INT64_MAX;
  status = CreateStatus(CudaSampleProgram(), options);
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(Message(status), HasSubstr("cannot allocate"));
}

TEST_F(CudaSessionTest, HostMemoryThatCannotBePinnedIsAnAnswer) {
  fake.refuses_pinning = true;
  absl::Status status = CreateStatus(CudaSampleProgram());
  EXPECT_THAT(Message(status), HasSubstr("cannot pin"));
  EXPECT_THAT(Message(status), HasSubstr("of host memory"));
  fake.refuses_pinning = false;
  fake.pinned_offset = 4096;
  status = CreateStatus(CudaSampleProgram());
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(Message(status), HasSubstr("cuda:0 (Fake GPU) does not map the host's memory at the host's addresses"));
}

TEST_F(CudaSessionTest, RefusesKernelsOfOtherArchitectures) {
  absl::Status status = CreateStatus(CudaSampleProgram({"sm_80", "sm_100a"}));
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(Message(status), HasSubstr("its kernels are for sm_100a, sm_80, but cuda:0 (Fake GPU) has compute "
                                         "capability 9.0: compile it with --arch sm_90a"));
}

TEST_F(CudaSessionTest, RefusesBrokenKernels) {
  auto status_of = [](const std::function<void(format::ExecutableT &)> &change) {
    ProgramBuilder program = CudaSampleProgram();
    change(program.executable());
    return CreateStatus(program);
  };
  auto function = [](format::ExecutableT &executable) -> format::FunctionT & {
    return *executable.kernels[0]->implementations[0]->functions[0];
  };
  absl::Status status = status_of([](auto &executable) { executable.objects[1]->image.resize(10); });
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(Message(status), HasSubstr("kernel 'scale_rows': a code object is not a cubin"));
  status = status_of([](auto &executable) {
    auto *header = reinterpret_cast<Elf64_Ehdr *>(executable.objects[1]->image.data());
    header->e_shoff = 1;
    header->e_shnum = 1;
  });
  EXPECT_THAT(Message(status), HasSubstr("truncated"));
  status = status_of([&](auto &executable) { function(executable).symbol = "nothing"; });
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(Message(status), HasSubstr("no function 'nothing'"));
  status = status_of([&](auto &executable) { function(executable).symbol = "increment"; });
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(Message(status), HasSubstr("its kernel does not take the 3 operands that it gives"));
  status = status_of([&](auto &executable) {
    executable.kernels[1]->implementations[0]->functions[0]->symbol = "scale_rows_structure";
  });
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(Message(status), HasSubstr("its kernel does not take the 1 operands that it gives"));
  status = status_of([&](auto &executable) { function(executable).threads = 1024; });
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(Message(status), HasSubstr("blocks of 1024 threads"));
  status = status_of([&](auto &executable) { function(executable).shared_bytes = 1001; });
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(Message(status), HasSubstr("1001 bytes of dynamic shared memory"));
}

TEST_F(CudaSessionTest, NamesTheCommandThatTheDeviceLacks) {
  ProgramBuilder program = CudaSampleProgram();
  EntryBuilder entry = program.Entry("transpose");
  uint32_t x = entry.Input("x", MakeType(DType::kF32, {3, 2}));
  entry.Copy(entry.View(x, {2, 3}, {1, 2}), entry.Output("y", MakeType(DType::kF32, {2, 3})));
  absl::Status status = CreateStatus(program);
  EXPECT_EQ(status.code(), absl::StatusCode::kUnimplemented);
  EXPECT_THAT(Message(status), HasSubstr("entry 'transpose': copy 'c0' of layers.0 at model.mlir:1"));
  EXPECT_THAT(Message(status), HasSubstr("--exec-copies-to-kernels"));
}

TEST_F(CudaSessionTest, SaysThatItCannotCapture) {
  fake.refuses_capture = true;
  EXPECT_THAT(Message(CreateStatus(CudaSampleProgram())), HasSubstr("cannot capture its commands as a CUDA graph: cu"));
}

TEST_F(CudaSessionTest, TellsAboutDevices) {
  fake.devices = 2;
  CudaInfo info = *QueryCuda();
  EXPECT_EQ(info.driver_version, 13000);
  ASSERT_EQ(info.devices.size(), 2u);
  EXPECT_EQ(info.devices[1].ordinal, 1);
  EXPECT_EQ(info.devices[1].name, "Fake GPU");
  EXPECT_EQ(ToString(info.devices[1].compute_capability), "9.0");
  EXPECT_EQ(fake.objects, 0); // None has started.
  EXPECT_EQ(QueryCudaMemory(1)->free_bytes, int64_t{1} << 30);
}

TEST_F(CudaSessionTest, ADeviceThatDoesNotStartIsNoOthersConcern) {
  fake.devices = 2;
  fake.broken_device = 1;
  EXPECT_EQ(QueryCuda()->devices.size(), 2u);
  EXPECT_TRUE(QueryCudaMemory(0).ok());
  EXPECT_THAT(Message(QueryCudaMemory(1).status()), HasSubstr("cuda:1 (Fake GPU) does not start: cuDevicePrimaryCtxR"));
  EXPECT_TRUE(CreateStatus(CudaSampleProgram()).ok());
  SessionOptions options;
  options.device = "cuda:1";
  EXPECT_THAT(Message(Session::Create(*CudaSampleProgram().Build(), options).status()),
              HasSubstr("cuda:1 (Fake GPU) does not start: cu"));
}

TEST_F(CudaSessionTest, RunsOnADeviceThatStartsMeanwhile) {
  SessionOptions options;
  options.device = "cuda";
  DeviceStart first(options);
  DeviceStart moved = std::move(first);
  auto session = Session::Create(*CudaSampleProgram().Build(), std::move(moved));
  ASSERT_TRUE(session.ok()) << session.status();
  EXPECT_TRUE((*session)->InitializeVariables(0).ok());
  EXPECT_TRUE(Step(**session, 1).ok());
  EXPECT_TRUE((*session)->Synchronize().ok());
  // A device that no session takes, because there is no program, is released.
  DeviceStart unused(options);
}

TEST_F(CudaSessionTest, SaysOnlyWhenCreatedWhyADeviceDidNotStart) {
  SessionOptions options;
  options.device = "cuda:7";
  absl::Status status = Session::Create(*CudaSampleProgram().Build(), DeviceStart(options)).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(Message(status), HasSubstr("no device cuda:7"));
  // Errors of the program or the options come first, as without a start.
  options.device = "cpu";
  status = Session::Create(*CudaSampleProgram().Build(), DeviceStart(options)).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  options.device = "cuda";
  options.num_threads = -1;
  status = Session::Create(*CudaSampleProgram().Build(), DeviceStart(options)).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  options = {};
  options.device = "tpu";
  EXPECT_EQ(Session::Create(*CudaSampleProgram().Build(), DeviceStart(options)).status(),
            Session::Create(*CudaSampleProgram().Build(), options).status());
}

TEST_F(CudaSessionTest, SaysWhyThereIsNoDevice) {
  fake.devices = 0;
  EXPECT_EQ(QueryCuda().status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(Message(CreateStatus(CudaSampleProgram())), HasSubstr("does not start: cuInit"));
  fake.devices = 1;
  SessionOptions options;
  options.device = "cuda:1";
  absl::Status status = Session::Create(*CudaSampleProgram().Build(), options).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(Message(status), HasSubstr("no device cuda:1: the CUDA driver finds 1 device"));
  fake.driver_version = 12080;
  status = CreateStatus(CudaSampleProgram());
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(Message(status), HasSubstr("supports CUDA 12.8, but CUDA 13.0 is needed"));
}

} // namespace
} // namespace cs336::runtime
