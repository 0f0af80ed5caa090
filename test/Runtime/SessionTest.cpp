//===- SessionTest.cpp - Running programs ---------------------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/runtime/Session.h"

#include "ProgramBuilder.h"
#include "SessionParts.h"
#include "cs336/runtime/TraceRecorder.h"

#include "absl/strings/str_cat.h"

#include <cstring>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <limits>

namespace cs336::runtime {
namespace {

using ::testing::ElementsAre;
using testing::EntryBuilder;
using ::testing::HasSubstr;
using testing::MakeSession;
using testing::MakeTensor;
using testing::MakeType;
using testing::Message;
using testing::ProgramBuilder;
using testing::SampleInputs;
using testing::SampleProgram;

TEST(SessionTest, RunsEveryKindOfCommand) {
  auto session = MakeSession(SampleProgram());
  ASSERT_TRUE(session->InitializeVariables(7).ok());
  Tensor norm = MakeTensor<float>(DType::kF32, {4}, {1, 2, 3, 4});
  ASSERT_TRUE(session->SetVariable("norm.weight", norm).ok());
  SampleInputs inputs;
  for (int64_t step = 1; step != 4; ++step) {
    ASSERT_TRUE(session->Run("train", inputs.named()).ok());
    EXPECT_EQ(session->GetVariable("step")->values<int64_t>()[0], step);
  }
  TensorView scaled = *session->Output("train", "x_scaled");
  EXPECT_THAT(scaled.values<float>(), ElementsAre(0, 2, 6, 12, 4, 10, 18, 28, 8, 18, 30, 44));
  Tensor qkv = *session->GetVariable("qkv.weight");
  TensorView y = *session->Output("train", "y");
  for (int row = 0; row != 3; ++row)
    for (int column = 0; column != 6; ++column) {
      float sum = 0;
      for (int k = 0; k != 4; ++k)
        sum += scaled.values<float>()[row * 4 + k] * qkv.values<float>()[column * 4 + k];
      EXPECT_NEAR(y.values<float>()[row * 6 + column], sum, 1e-4);
    }
}

TEST(SessionTest, PoisonShowsWhatARunLeavesUnwritten) {
  ProgramBuilder program;
  uint32_t kernel = program.Kernel("record_range");
  EntryBuilder entry = program.Entry("forward");
  uint32_t ranges = entry.Output("ranges", MakeType(DType::kI64, {10, 2}));
  entry.Launch(kernel, {ranges}, {0}, /*rows=*/5, /*grain=*/5);
  for (bool poison : {false, true}) {
    SessionOptions options;
    options.poison_memory = poison;
    auto session = *Session::Create(*program.Build(), options);
    for (int run = 0; run != 2; ++run) {
      ASSERT_TRUE(session->Run("forward", {}).ok());
      TensorView found = *session->OutputOnDevice("forward", "ranges");
      EXPECT_EQ(found.values<int64_t>()[8], 0);
      EXPECT_EQ(found.values<int64_t>()[19], run == 0 || poison ? -1 : 0) << "run " << run;
      std::memset(const_cast<void *>(found.data()), 0, found.num_bytes());
    }
  }
}

TEST(SessionTest, KernelsMayUseLibm) {
  ProgramBuilder program;
  uint32_t kernel = program.Kernel("logarithm");
  EntryBuilder entry = program.Entry("forward");
  uint32_t x = entry.Input("x", MakeType(DType::kF32, {3}));
  uint32_t y = entry.Output("y", MakeType(DType::kF32, {3}));
  entry.Launch(kernel, {x, y}, {1}, 3);
  auto session = MakeSession(program);
  Tensor value = MakeTensor<float>(DType::kF32, {3}, {1, 2, 3});
  ASSERT_TRUE(session->Run("forward", {{"x", value}}).ok());
  EXPECT_FLOAT_EQ(session->Output("forward", "y")->values<float>()[2], std::log(3.0f));
}

TEST(SessionTest, StridedCopies) {
  ProgramBuilder program;
  EntryBuilder entry = program.Entry("forward");
  uint32_t x = entry.Input("x", MakeType(DType::kF32, {2, 3}));
  uint32_t y = entry.Output("y", MakeType(DType::kF32, {3, 2}));
  uint32_t wide = entry.Output("wide", MakeType(DType::kF32, {3, 2}));
  entry.Copy(entry.View(x, {3, 2}, {1, 3}), y);
  entry.Copy(entry.View(x, {3, 2}, {0, 1}, /*offset=*/4), wide);
  auto session = MakeSession(program);
  Tensor value = MakeTensor<float>(DType::kF32, {2, 3}, {0, 1, 2, 3, 4, 5});
  ASSERT_TRUE(session->Run("forward", {{"x", value}}).ok());
  EXPECT_THAT(session->Output("forward", "y")->values<float>(), ElementsAre(0, 3, 1, 4, 2, 5));
  EXPECT_THAT(session->Output("forward", "wide")->values<float>(), ElementsAre(1, 2, 1, 2, 1, 2));
}

TEST(SessionTest, InputsMayBeStridedViews) {
  auto session = MakeSession(SampleProgram());
  ASSERT_TRUE(session->InitializeVariables(0).ok());
  SampleInputs inputs;
  Tensor columns = MakeTensor<float>(DType::kF32, {4, 3}, {0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11});
  TensorView x({DType::kF32, {3, 4}}, {1, 3}, columns.data());
  ASSERT_TRUE(session->Run("train", {{"tokens", inputs.tokens}, {"x", x}}).ok());
  EXPECT_THAT(session->Output("train", "x_scaled")->values<float>(), ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11));
}

TEST(SessionTest, AnyByteOtherThanZeroIsTrue) {
  ProgramBuilder program;
  program.Variable("v", MakeType(DType::kI1, {4}));
  EntryBuilder entry = program.Entry("forward");
  entry.Copy(entry.Input("x", MakeType(DType::kI1, {4})), entry.Output("y", MakeType(DType::kI1, {4})));
  auto session = MakeSession(program);
  // NumPy also reads other bytes than 0 and 1 as bool.
  Tensor given = MakeTensor<uint8_t>(DType::kI1, {4}, {0, 1, 2, 255});
  ASSERT_TRUE(session->SetVariable("v", given).ok());
  EXPECT_THAT(session->GetVariable("v")->values<uint8_t>(), ElementsAre(0, 1, 1, 1));
  ASSERT_TRUE(session->Run("forward", {{"x", given}}).ok());
  EXPECT_THAT(session->Output("forward", "y")->values<uint8_t>(), ElementsAre(0, 1, 1, 1));
}

TEST(SessionTest, OutputsMayBeVariablesAndHaveViews) {
  ProgramBuilder program;
  ProgramBuilder::AddViews(program.Variable("w", MakeType(DType::kF32, {3, 2})), {{"a", 1}, {"b", 2}});
  EntryBuilder entry = program.Entry("train");
  uint32_t x = entry.Input("x", MakeType(DType::kF32, {3, 2}));
  uint32_t w = entry.Variable("w");
  entry.Copy(x, w);
  entry.Output("w.new", MakeType(DType::kF32, {3, 2}));
  entry.entry().outputs[0]->buffer = w;
  auto &views = entry.entry().outputs[0]->views;
  views.push_back(std::make_unique<format::ViewT>());
  views.back()->name = "a.new";
  views.back()->rows = 1;
  views.push_back(std::make_unique<format::ViewT>());
  views.back()->name = "b.new";
  views.back()->row_offset = 1;
  views.back()->rows = 2;
  auto session = MakeSession(program);
  ASSERT_TRUE(session->InitializeVariables(0).ok());
  Tensor value = MakeTensor<float>(DType::kF32, {3, 2}, {0, 1, 2, 3, 4, 5});
  ASSERT_TRUE(session->Run("train", {{"x", value}}).ok());
  EXPECT_THAT(session->Output("train", "b.new")->values<float>(), ElementsAre(2, 3, 4, 5));
  EXPECT_THAT(session->GetVariable("a")->values<float>(), ElementsAre(0, 1));
}

TEST(SessionTest, RefusesWrongInputs) {
  auto session = MakeSession(SampleProgram());
  ASSERT_TRUE(session->InitializeVariables(0).ok());
  SampleInputs inputs;
  auto run = [&](std::vector<NamedTensor> named) {
    absl::Status status = session->Run("train", named);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
    return Message(status);
  };
  EXPECT_THAT(run({{"x", inputs.x}}), HasSubstr("'tokens', a i32[2, 3]"));
  EXPECT_THAT(run({{"x", inputs.x}, {"y", inputs.x}}), HasSubstr("no input 'y'; the inputs are: x, tokens"));
  EXPECT_THAT(run({{"x", inputs.x}, {"x", inputs.x}}), HasSubstr("twice"));
  EXPECT_THAT(run({{"x", inputs.tokens}, {"tokens", inputs.tokens}}),
              HasSubstr("'x' is a f32[3, 4], but the value is a i32[2, 3]"));
  Tensor flat = MakeTensor<float>(DType::kF32, {12}, {});
  EXPECT_THAT(run({{"x", flat}, {"tokens", inputs.tokens}}), HasSubstr("f32[12]"));
  inputs.tokens.mutable_values<int32_t>()[4] = 16;
  EXPECT_THAT(run(inputs.named()), HasSubstr("'tokens' holds 16 at [1, 1], outside of [0, 16)"));
  inputs.tokens.mutable_values<int32_t>()[4] = -1;
  EXPECT_THAT(run(inputs.named()), HasSubstr("holds -1 at [1, 1]"));
  EXPECT_EQ(session->GetVariable("step")->values<int64_t>()[0], 0);
  absl::Status status = session->Run("loss", inputs.named());
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(Message(status), HasSubstr("it has: prepare, train"));
  EXPECT_EQ(session->Output("train", "z").status().code(), absl::StatusCode::kNotFound);
}

TEST(SessionTest, TheMemoryOfTheDeviceIsTheHosts) {
  auto session = MakeSession(SampleProgram());
  ASSERT_TRUE(session->InitializeVariables(3).ok());
  Tensor norm = MakeTensor<float>(DType::kF32, {4}, {1, 2, 3, 4});
  ASSERT_TRUE(session->SetVariable("norm.weight", norm, Placement::kDevice).ok());
  SampleInputs inputs;
  std::vector<NamedTensor> named = inputs.named();
  for (NamedTensor &input : named)
    input.placement = Placement::kDevice;
  ASSERT_TRUE(session->Run("train", named).ok());
  EXPECT_THAT(session->Output("train", "x_scaled")->values<float>(),
              ElementsAre(0, 2, 6, 12, 4, 10, 18, 28, 8, 18, 30, 44));
  inputs.tokens.mutable_values<int32_t>()[4] = 16;
  EXPECT_THAT(Message(session->Run("train", named)), HasSubstr("'tokens' holds 16 at [1, 1]"));
}

TEST(SessionTest, PrepareFillsDerivedVariables) {
  auto session = MakeSession(SampleProgram());
  auto shadow = [&] { return *session->GetVariable("qkv.shadow"); };
  auto weight = [&] { return *session->GetVariable("qkv.weight"); };
  ASSERT_TRUE(session->InitializeVariables(3).ok());
  EXPECT_EQ(shadow().values<float>(), weight().values<float>());
  Tensor q = MakeTensor<float>(DType::kF32, {2, 4}, {1, 2, 3, 4, 5, 6, 7, 8});
  ASSERT_TRUE(session->SetVariable("q.weight", q).ok());
  EXPECT_NE(shadow().values<float>(), weight().values<float>());
  ASSERT_TRUE(session->Prepare().ok());
  EXPECT_EQ(shadow().values<float>(), weight().values<float>());
  EXPECT_EQ(session->GetVariable("q.weight")->values<float>(), q.values<float>());
}

TEST(SessionTest, RunsPrepareAgainOnceVariablesAreSet) {
  auto session = MakeSession(SampleProgram());
  auto shadow = [&] { return session->GetVariable("qkv.shadow")->values<float>()[0]; };
  SampleInputs inputs;
  auto set = [&](float value) {
    Tensor q = MakeTensor<float>(DType::kF32, {2, 4}, std::vector<float>(8, value));
    ASSERT_TRUE(session->SetVariable("q.weight", q).ok());
  };
  ASSERT_TRUE(session->InitializeVariables(0).ok());
  set(3);
  ASSERT_TRUE(session->Run("train", inputs.named()).ok());
  EXPECT_EQ(shadow(), 3);
  set(5);
  set(7);
  EXPECT_EQ(shadow(), 3);
  ASSERT_TRUE(session->Run("train", inputs.named()).ok());
  EXPECT_EQ(shadow(), 7);
  // No variable has been set since.
  ASSERT_TRUE(session->SetVariable("qkv.weight", *session->GetVariable("qkv.weight")).ok());
  ASSERT_TRUE(session->Prepare().ok());
  session->VariableOnDevice("qkv.weight")->mutable_data_as<float>()[0] = 9;
  ASSERT_TRUE(session->Run("train", inputs.named()).ok());
  EXPECT_EQ(shadow(), 7);
  ASSERT_TRUE(session->Prepare().ok());
  EXPECT_EQ(shadow(), 9);
}

TEST(SessionTest, CheckpointsUseTheNamesOfViews) {
  auto session = MakeSession(SampleProgram());
  ASSERT_TRUE(session->InitializeVariables(3).ok());
  TensorMap saved = *session->SaveVariables();
  std::vector<std::string> names;
  for (const auto &[name, tensor] : saved)
    names.push_back(name);
  EXPECT_THAT(names, ElementsAre("k.weight", "norm.weight", "q.weight", "step", "v.weight"));
  EXPECT_EQ(session->SaveVariables(VariableSet::kParameters)->size(), 4u);

  auto other = MakeSession(SampleProgram());
  ASSERT_TRUE(other->LoadVariables(saved).ok());
  for (const char *name : {"qkv.weight", "qkv.shadow"})
    EXPECT_EQ(other->GetVariable(name)->values<float>(), session->GetVariable(name)->values<float>());
}

TEST(SessionTest, ListsWhatACheckpointGetsWrong) {
  auto session = MakeSession(SampleProgram());
  ASSERT_TRUE(session->InitializeVariables(3).ok());
  TensorMap tensors = *session->SaveVariables();
  Tensor before = *session->GetVariable("q.weight");
  tensors.erase("k.weight");
  tensors.erase("step");
  tensors.insert_or_assign("q.weight", MakeTensor<float>(DType::kF32, {2, 4}, {9, 9}));
  tensors.insert_or_assign("norm.weight", MakeTensor<double>(DType::kF64, {4}, {}));
  tensors.insert_or_assign("bias", MakeTensor<float>(DType::kF32, {4}, {}));
  absl::Status status = session->LoadVariables(tensors);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(Message(status), HasSubstr("missing (2): k.weight, step"));
  EXPECT_THAT(Message(status), HasSubstr("norm.weight is a f64[4], not f32[4]"));
  EXPECT_THAT(Message(status), HasSubstr("that no variable has (1): bias"));
  EXPECT_EQ(session->GetVariable("q.weight")->values<float>(), before.values<float>());

  TensorMap parameters = *session->SaveVariables(VariableSet::kParameters);
  EXPECT_FALSE(session->LoadVariables(parameters).ok());
  EXPECT_TRUE(session->LoadVariables(parameters, {VariableSet::kParameters}).ok());
  parameters.insert_or_assign("bias", MakeTensor<float>(DType::kF32, {4}, {}));
  EXPECT_FALSE(session->LoadVariables(parameters, {VariableSet::kParameters}).ok());
  EXPECT_TRUE(session->LoadVariables(parameters, {VariableSet::kParameters, true}).ok());
}

TEST(SessionTest, RefusesCountersThatCannotCount) {
  auto session = MakeSession(SampleProgram());
  ASSERT_TRUE(session->InitializeVariables(3).ok());
  TensorMap tensors = *session->SaveVariables();
  for (int64_t step : {int64_t{-5}, INT64_MIN, INT64_MAX}) {
    Tensor value = MakeTensor<int64_t>(DType::kI64, {}, {step});
    tensors.insert_or_assign("step", *Tensor::CopyOf(value));
    for (const absl::Status &status : {session->SetVariable("step", value), session->LoadVariables(tensors),
                                       session->InitializeVariables(3, tensors)}) {
      EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
      EXPECT_THAT(Message(status), HasSubstr(absl::StrCat("variable 'step' counts, and cannot be ", step)));
    }
    EXPECT_EQ(session->GetVariable("step")->values<int64_t>()[0], 0);
  }
  EXPECT_TRUE(session->SetVariable("step", MakeTensor<int64_t>(DType::kI64, {}, {7})).ok());
}

TEST(SessionTest, RefusesWrongInitialValues) {
  auto session = MakeSession(SampleProgram());
  ASSERT_TRUE(session->InitializeVariables(3).ok());
  Tensor before = *session->GetVariable("qkv.weight");
  auto refuse = [&](const char *name, const Tensor &value, const char *error) {
    TensorMap given;
    given.emplace("norm.weight", MakeTensor<float>(DType::kF32, {4}, {9, 9, 9, 9}));
    given.insert_or_assign(name, *Tensor::CopyOf(value));
    absl::Status status = session->InitializeVariables(4, given);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(Message(status), HasSubstr(error));
    EXPECT_EQ(session->GetVariable("qkv.weight")->values<float>(), before.values<float>());
    EXPECT_NE(session->GetVariable("norm.weight")->values<float>()[0], 9);
  };
  Tensor value = MakeTensor<float>(DType::kF32, {4}, {});
  refuse("q.weight", value, "of another type (1): q.weight is a f32[4], not f32[2, 4]");
  refuse("norm.wght", value, "that no variable has (1): norm.wght");
  refuse("qkv.shadow", value, "that no variable has (1): qkv.shadow");
}

TEST(SessionTest, RefusesWrongVariables) {
  auto session = MakeSession(SampleProgram());
  Tensor value = MakeTensor<float>(DType::kF32, {4}, {});
  EXPECT_EQ(session->SetVariable("missing", value).code(), absl::StatusCode::kNotFound);
  absl::Status status = session->SetVariable("q.weight", value);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(Message(status), HasSubstr("is a f32[2, 4], but the value is a f32[4]"));
  EXPECT_EQ(session->GetVariable("missing").status().code(), absl::StatusCode::kNotFound);
}

TEST(SessionTest, DevicesHaveNames) {
  EXPECT_EQ(ToString(*ParseDevice("cpu")), "cpu");
  EXPECT_EQ(ToString(*ParseDevice("cuda")), "cuda:0");
  EXPECT_EQ(ToString(*ParseDevice("cuda:12")), "cuda:12");
  EXPECT_EQ(MakeSession(SampleProgram())->device(), DeviceId());
}

TEST(SessionTest, SmallOutputsOfTheRunBeforeTheLast) {
  ProgramBuilder program;
  EntryBuilder entry = program.Entry("forward");
  uint32_t x = entry.Input("x", MakeType(DType::kF32, {2}));
  entry.Copy(x, entry.Output("y", MakeType(DType::kF32, {2})));
  entry.Copy(entry.View(x, {1025}, {0}), entry.Output("wide", MakeType(DType::kF32, {1025})));
  auto session = MakeSession(program);
  EXPECT_EQ(session->LastRunDuration("forward").status().code(), absl::StatusCode::kFailedPrecondition);
  for (float run = 0; run != 4; ++run) {
    EXPECT_EQ(session->PreviousOutput("forward", "y").ok(), run >= 2);
    Tensor value = MakeTensor<float>(DType::kF32, {2}, {run, 10 * run});
    ASSERT_TRUE(session->Run("forward", {{"x", value}}).ok());
    EXPECT_THAT(session->Output("forward", "y")->values<float>(), ElementsAre(run, 10 * run));
    if (run > 0) {
      EXPECT_THAT(session->PreviousOutput("forward", "y")->values<float>(), ElementsAre(run - 1, 10 * (run - 1)));
    }
  }
  EXPECT_TRUE(session->Synchronize().ok());
  EXPECT_GE(*session->LastRunDuration("forward"), absl::ZeroDuration());
  absl::Status status = session->PreviousOutput("forward", "wide").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(Message(status), HasSubstr("'wide' of the run before the last: it has 4100 bytes"));
}

TEST(SessionTest, AllocatesWhatItSays) {
  auto session = MakeSession(SampleProgram());
  SessionMemory memory = *session->Memory();
  EXPECT_EQ(memory.allocated, session->allocated_bytes());
  EXPECT_GE(memory.used, memory.allocated);
  EXPECT_GT(memory.available, 0);
  EXPECT_EQ(session->VariableOnDevice("q.weight")->shape(), (Dims{2, 4}));
}

/// Builds entries "a" and "b": y = x twice, once small, and once too large to be copied by
/// each run.
ProgramBuilder TwoEntries() {
  ProgramBuilder program;
  for (const char *name : {"a", "b"}) {
    EntryBuilder entry = program.Entry(name);
    uint32_t x = entry.Input("x", MakeType(DType::kF32, {2}));
    entry.Copy(x, entry.Output("small", MakeType(DType::kF32, {2})));
    entry.Copy(entry.View(x, {2000}, {0}), entry.Output("large", MakeType(DType::kF32, {2000})));
  }
  return program;
}

TEST(SessionTest, EntriesShareTheMemoryOfOutputs) {
  auto session = MakeSession(TwoEntries());
  EXPECT_LT(session->allocated_bytes(), 2 * 8000);
  absl::Status status = session->Output("a", "large").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(Message(status), HasSubstr("output 'large' of entry 'a'"));
  EXPECT_THAT(Message(status), HasSubstr("the entry has not run"));
  EXPECT_EQ(session->Output("a", "small").status().code(), absl::StatusCode::kFailedPrecondition);

  Tensor three = MakeTensor<float>(DType::kF32, {2}, {3, 4}), five = MakeTensor<float>(DType::kF32, {2}, {5, 6});
  ASSERT_TRUE(session->Run("a", {{"x", three}}).ok());
  EXPECT_EQ(session->Output("a", "large")->values<float>()[1999], 3);
  EXPECT_EQ(session->OutputOnDevice("a", "large")->data(), session->Output("a", "large")->data());
  EXPECT_EQ(session->OutputOnDevice("a", "small")->values<float>()[1], 4);

  // Another entry overwrites the arena; the outputs that each run copies stay.
  ASSERT_TRUE(session->Run("b", {{"x", five}}).ok());
  EXPECT_EQ(session->Output("b", "large")->values<float>()[1999], 5);
  EXPECT_THAT(session->Output("a", "small")->values<float>(), ElementsAre(3, 4));
  for (const absl::Status &gone :
       {session->Output("a", "large").status(), session->OutputOnDevice("a", "large").status(),
        session->OutputOnDevice("a", "small").status()}) {
    EXPECT_EQ(gone.code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_THAT(Message(gone), HasSubstr("entry 'b' has run since"));
  }

  // A rejected run has no effect.
  ASSERT_FALSE(session->Run("a", {}).ok());
  EXPECT_EQ(session->Output("b", "large")->values<float>()[0], 5);
  ASSERT_TRUE(session->Run("a", {{"x", five}}).ok());
  EXPECT_EQ(session->Output("a", "large")->values<float>()[0], 5);
}

TEST(SessionTest, ObserversSeeEveryCommandAndWhatItWrote) {
  class Recorder : public RunObserver {
  public:
    absl::Status OnCommandDone(const CommandInfo &command, absl::Duration elapsed,
                               absl::Span<const WrittenTensor> written) override {
      EXPECT_GE(elapsed, absl::ZeroDuration());
      std::string line(command.kind);
      for (const WrittenTensor &tensor : written)
        absl::StrAppend(&line, " ", tensor.name);
      lines.push_back(line);
      if (command.index == 0) {
        EXPECT_EQ(written[0].value.values<float>()[5], 5);
        EXPECT_EQ(command.entry, "train");
        EXPECT_EQ(command.source, "layers.0.op");
        EXPECT_EQ(command.layer, "layers.0");
        EXPECT_EQ(command.phase, "forward");
        EXPECT_EQ(command.location, "model.mlir:1");
      }
      return absl::OkStatus();
    }
    std::vector<std::string> lines;
  };
  auto session = MakeSession(SampleProgram());
  ASSERT_TRUE(session->InitializeVariables(0).ok());
  Recorder recorder;
  ASSERT_TRUE(session->Run("train", SampleInputs().named(), &recorder).ok());
  EXPECT_THAT(recorder.lines,
              ElementsAre("launch scaled", "record", "wait", "gemm y", "copy x_scaled", "collective y", "launch step"));
}

TEST(SessionTest, NanCheckNamesTheFirstCommand) {
  auto session = MakeSession(SampleProgram());
  ASSERT_TRUE(session->InitializeVariables(0).ok());
  SampleInputs inputs;
  NanCheck check, strict(/*reject_infinities=*/true);
  EXPECT_TRUE(session->Run("train", inputs.named(), &check).ok());
  inputs.x.mutable_values<float>()[6] = std::numeric_limits<float>::infinity();
  EXPECT_THAT(Message(session->Run("train", inputs.named(), &strict)),
              HasSubstr("an infinity at [1, 2] of 'scaled' f32[3, 4]"));
  inputs.x.mutable_values<float>()[6] = NAN;
  absl::Status status = session->Run("train", inputs.named(), &check);
  EXPECT_EQ(status.code(), absl::StatusCode::kOutOfRange);
  EXPECT_THAT(Message(status), HasSubstr("launch 'c0' of layers.0 at model.mlir:1 is the first "
                                         "to write NaN at [1, 2] of 'scaled'"));
}

TEST(SessionTest, ARunThatFailsHasNoOutputs) {
  for (bool poison : {false, true}) {
    SessionOptions options;
    options.poison_memory = poison;
    auto session = *Session::Create(*TwoEntries().Build(), options);
    Tensor three = MakeTensor<float>(DType::kF32, {2}, {3, 4}), nan = MakeTensor<float>(DType::kF32, {2}, {NAN, 4});
    ASSERT_TRUE(session->Run("a", {{"x", three}}).ok());
    // A rejected run has no effect, also if memory is poisoned.
    ASSERT_FALSE(session->Run("a", {}).ok());
    EXPECT_EQ(session->Output("a", "large")->values<float>()[1999], 3);

    NanCheck check;
    ASSERT_FALSE(session->Run("a", {{"x", nan}}, &check).ok());
    for (const absl::Status &gone :
         {session->Output("a", "large").status(), session->Output("a", "small").status(),
          session->PreviousOutput("a", "small").status(), session->OutputOnDevice("a", "large").status(),
          session->LastRunDuration("a").status()}) {
      EXPECT_EQ(gone.code(), absl::StatusCode::kFailedPrecondition);
      EXPECT_THAT(Message(gone), HasSubstr("the last run of entry 'a' failed"));
    }
    ASSERT_TRUE(session->Run("b", {{"x", three}}).ok());
    ASSERT_FALSE(session->Run("a", {{"x", nan}}, &check).ok());
    EXPECT_THAT(Message(session->Output("b", "large").status()), HasSubstr("another run has failed since"));
    ASSERT_TRUE(session->Run("a", {{"x", three}}).ok());
    EXPECT_THAT(session->Output("a", "small")->values<float>(), ElementsAre(3, 4));
  }
}

TEST(SessionTest, ReadsOfUnwrittenArenaShowAsNan) {
  ProgramBuilder program;
  EntryBuilder entry = program.Entry("forward");
  uint32_t y = entry.Output("y", MakeType(DType::kF32, {2}));
  entry.Copy(entry.Arena("never written", MakeType(DType::kF32, {2})), y);
  auto session = MakeSession(program);
  NanCheck check;
  EXPECT_FALSE(session->Run("forward", {}, &check).ok());
}

TEST(SessionTest, ATraceHasASpanPerCommand) {
  auto session = MakeSession(SampleProgram());
  ASSERT_TRUE(session->InitializeVariables(0).ok());
  TraceRecorder recorder;
  for (int i = 0; i != 3; ++i)
    ASSERT_TRUE(session->Run("train", SampleInputs().named(), &recorder).ok());
  Trace trace = recorder.Take();
  ASSERT_EQ(trace.commands.size(), 7u);
  EXPECT_EQ(trace.commands[3].kind, "gemm");
  EXPECT_EQ(trace.commands[3].source, "layers.0.op");
  EXPECT_EQ(trace.commands[3].entry, "train");
  ASSERT_EQ(trace.spans.size(), 21u);
  for (size_t i = 0; i != trace.spans.size(); ++i) {
    EXPECT_EQ(trace.spans[i].command, static_cast<int32_t>(i % 7));
    EXPECT_EQ(trace.names[trace.spans[i].name], trace.commands[i % 7].name);
    if (i != 0) {
      EXPECT_GE(trace.spans[i].start_ns, trace.spans[i - 1].start_ns);
    }
  }
  ASSERT_TRUE(session->Run("prepare", {}, &recorder).ok());
  Trace next = recorder.Take();
  ASSERT_FALSE(next.spans.empty());
  EXPECT_EQ(next.FindCommand(next.spans[0])->entry, "prepare");
}

} // namespace
} // namespace cs336::runtime
