//===- ScheduleTunerTest.cpp - Schedules by measurement -------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Driver/Tune/ScheduleTuner.h"

#include "cs336/Driver/Compile/Registration.h"
#include "cs336/Target/CUDA/TunedSchedules.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "llvm/ADT/STLExtras.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

namespace cs336 {
namespace {

using cuda::findTunableKernels;
using cuda::TunableKernel;
using mlir::ModuleOp;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

constexpr char kArchitecture[] = "sm_80";

/// Returns microseconds by the schedule of the program, as the attribute of its kernel has it.
class FakeTimer : public CandidateTimer {
public:
  using Times = std::function<absl::StatusOr<double>(size_t call, const std::string &selection)>;
  struct Log {
    std::vector<std::string> timed;
  };

  FakeTimer(Identity identity, Times times, Log &log) : identity(std::move(identity)), times(times), log(log) {}

  absl::StatusOr<Identity> identify() override { return identity; }
  absl::StatusOr<double> time(ModuleOp program) override {
    std::string text;
    llvm::raw_string_ostream stream(text);
    for (auto kernel : program.getOps<exec::KernelOp>())
      stream << kernel->getAttr("exec.schedules");
    log.timed.push_back(text);
    return times(log.timed.size() - 1, text);
  }

private:
  Identity identity;
  Times times;
  Log &log;
};

std::string makeProgram(llvm::ArrayRef<int64_t> lengths) {
  std::string text;
  for (auto [number, length] : llvm::enumerate(lengths))
    absl::StrAppend(&text, "func.func @f", number, "(%q: tensor<2x", length, "x4x64xbf16>, %k: tensor<2x", length,
                    "x4x64xbf16>, %v: tensor<2x", length, "x4x64xbf16>) -> (tensor<2x", length, "x4x64xbf16>) {\n",
                    "  %o, %l = cs336.attention %q, %k, %v {scale = 0.", number + 1, " : f64, causal} : tensor<2x",
                    length, "x4x64xbf16>, tensor<2x", length, "x4x64xbf16> -> tensor<2x4x", length, "xf32>\n",
                    "  return %o : tensor<2x", length, "x4x64xbf16>\n}\n");
  return text;
}

class ScheduleTunerTest : public testing::Test {
protected:
  ScheduleTunerTest()
      : folder(testing::TempDir() + "/schedule-tuner-" +
               testing::UnitTest::GetInstance()->current_test_info()->name()) {
    std::filesystem::remove_all(folder);
    mlir::DialectRegistry registry;
    registerDialects(registry);
    registerPasses();
    context.appendDialectRegistry(registry);
    options.target = Target::CUDA;
    options.architectures = {kArchitecture};
    options.cacheFolder.clear();
  }
  ~ScheduleTunerTest() override { std::filesystem::remove_all(folder); }

  /// Tunes a program, and returns the options with which it is compiled.
  llvm::FailureOr<CompileOptions> tune(FakeTimer::Times times, llvm::ArrayRef<int64_t> lengths = {256}) {
    log.timed.clear();
    lines.clear();
    errors.clear();
    ScheduleTuner tuner(std::make_unique<FakeTimer>(identity, std::move(times), log), folder,
                        [&](llvm::StringRef line) { lines.push_back(line.str()); });
    mlir::ScopedDiagnosticHandler handler(&context, [&](mlir::Diagnostic &diagnostic) {
      errors += diagnostic.str();
      return mlir::success();
    });
    module = mlir::parseSourceString<ModuleOp>(makeProgram(lengths), mlir::ParserConfig(&context));
    options.autotuner = &tuner;
    llvm::FailureOr<CompileOptions> tuned = tuneSchedules(*module, options);
    options.autotuner = nullptr;
    return tuned;
  }

  /// Returns the schedules of the program's kernels after the pipeline.
  std::string selectSchedules(const CompileOptions &tuned) {
    EXPECT_TRUE(succeeded(runPipeline(*module, tuned)));
    std::string text;
    llvm::raw_string_ostream stream(text);
    for (auto kernel : module->getOps<exec::KernelOp>())
      stream << kernel->getAttr("exec.schedules") << "\n";
    return text;
  }

  std::string getPath() const { return folder + "/schedules-A-GPU-sm_80.json"; }
  void write(const std::string &text) {
    std::filesystem::create_directories(folder);
    std::filesystem::permissions(folder, std::filesystem::perms::owner_all);
    std::ofstream(getPath()) << text;
  }
  std::string read() const {
    std::stringstream text;
    text << std::ifstream(getPath()).rdbuf();
    return text.str();
  }

  CandidateTimer::Identity identity{"A GPU", kArchitecture, "a compiler"};
  std::string folder;
  mlir::MLIRContext context;
  mlir::OwningOpRef<ModuleOp> module;
  CompileOptions options;
  FakeTimer::Log log;
  std::vector<std::string> lines;
  std::string errors;
};

/// The candidate of this number takes half the time of all others.
FakeTimer::Times fastest(size_t number) {
  return [=](size_t call, const std::string &) { return call == number ? 10 : 20; };
}

TEST_F(ScheduleTunerTest, TheFastestCandidateIsSelectedAndRemembered) {
  llvm::FailureOr<CompileOptions> tuned = tune(fastest(2));
  ASSERT_TRUE(succeeded(tuned));
  ASSERT_THAT(log.timed, SizeIs(testing::Gt(2)));
  EXPECT_EQ(tuned->autotuner, nullptr);
  EXPECT_THAT(tuned->pipeline, HasSubstr("tuned-schedules='" + getPath() + "'"));
  EXPECT_THAT(lines.front(), HasSubstr("attention bf16 by tensor cores, causal, batches 2, queries 256"));
  EXPECT_THAT(lines.back(), HasSubstr("10.0 us; 20.0 us without tuning"));
  std::string selected = log.timed[2];
  EXPECT_THAT(selectSchedules(*tuned), HasSubstr(selected));

  tuned = tune(fastest(0));
  ASSERT_TRUE(succeeded(tuned));
  EXPECT_THAT(log.timed, IsEmpty());
  EXPECT_THAT(lines, IsEmpty());
  EXPECT_THAT(selectSchedules(*tuned), HasSubstr(selected));
}

TEST_F(ScheduleTunerTest, CandidatesAreDistinctAndTheFirstIsTheDefault) {
  ASSERT_TRUE(succeeded(tune(fastest(0))));
  std::vector<std::string> distinct = log.timed;
  llvm::sort(distinct);
  distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
  EXPECT_EQ(distinct.size(), log.timed.size());
  CompileOptions untuned = options;
  untuned.pipeline = "extra-after-lowering=cuda-select-schedules";
  EXPECT_THAT(selectSchedules(untuned), HasSubstr(log.timed.front()));
}

TEST_F(ScheduleTunerTest, WarpgroupsHaveCandidatesOfOtherSizes) {
  identity.architecture = "sm_90a";
  options.architectures = {"sm_90a"};
  llvm::FailureOr<CompileOptions> tuned = tune(fastest(2), {8192});
  ASSERT_TRUE(succeeded(tuned));
  ASSERT_THAT(log.timed, SizeIs(testing::Gt(3)));
  auto forward = [](int rows, int tile) {
    return HasSubstr(absl::StrCat("[{forward = {heads = 8 : i64, rows = ", rows, " : i64, stages = 2 : i64, tile = ",
                                  tile, " : i64}, schedule = \"warpgroup_attention\"}]"));
  };
  EXPECT_THAT(log.timed[0], forward(192, 128));
  EXPECT_THAT(log.timed[1], forward(128, 128));
  EXPECT_THAT(log.timed[2], forward(128, 64));
  EXPECT_THAT(log.timed[3], HasSubstr("schedule = \"attention\""));
  EXPECT_THAT(selectSchedules(*tuned), HasSubstr(log.timed[2]));
}

TEST_F(ScheduleTunerTest, SmallGainsAndTiesKeepTheDefault) {
  ASSERT_TRUE(succeeded(tune([](size_t call, const std::string &) { return call == 0 ? 100 : 98.5; })));
  std::string byDefault = log.timed.front();
  EXPECT_THAT(lines.back(), HasSubstr("as without tuning"));
  std::filesystem::remove_all(folder);
  llvm::FailureOr<CompileOptions> tuned = tune([](size_t, const std::string &) { return 100; });
  ASSERT_TRUE(succeeded(tuned));
  EXPECT_THAT(selectSchedules(*tuned), HasSubstr(byDefault));
  std::filesystem::remove_all(folder);
  tuned = tune([](size_t call, const std::string &) { return call == 0 ? 100 : 97; });
  ASSERT_TRUE(succeeded(tuned));
  // If two times are equal, the candidate that is expected to be faster is chosen.
  EXPECT_THAT(selectSchedules(*tuned), HasSubstr(log.timed[1]));
}

TEST_F(ScheduleTunerTest, CandidatesThatFailAreLeftOut) {
  llvm::FailureOr<CompileOptions> tuned = tune([](size_t call, const std::string &) -> absl::StatusOr<double> {
    if (call == 0)
      return absl::ResourceExhaustedError("no memory for the arena");
    return call == 1 ? 20 : 30;
  });
  ASSERT_TRUE(succeeded(tuned));
  EXPECT_THAT(lines[1], HasSubstr("left out: no memory for the arena"));
  EXPECT_THAT(lines.back(), HasSubstr("20.0 us; the selection without tuning did not run"));
  EXPECT_THAT(selectSchedules(*tuned), HasSubstr(log.timed[1]));

  std::filesystem::remove_all(folder);
  tuned = tune([](size_t, const std::string &) { return absl::InternalError("a fault"); });
  ASSERT_TRUE(succeeded(tuned));
  EXPECT_THAT(lines.back(), HasSubstr("no candidate ran: the schedule is selected without timing"));
  EXPECT_EQ(tuned->pipeline, "");
  EXPECT_FALSE(std::filesystem::exists(getPath()));
}

TEST_F(ScheduleTunerTest, AnInterruptedRunKeepsTheProblemsBefore) {
  ASSERT_TRUE(succeeded(tune(fastest(0), {256})));
  size_t ofFirst = log.timed.size();
  std::filesystem::remove_all(folder);
  EXPECT_TRUE(failed(tune(
      [&](size_t call, const std::string &) -> absl::StatusOr<double> {
        return call == ofFirst + 1 ? absl::StatusOr<double>(absl::CancelledError("interrupted")) : 20;
      },
      {256, 128})));
  EXPECT_THAT(errors, HasSubstr("autotune: interrupted"));
  EXPECT_THAT(log.timed, SizeIs(ofFirst + 2));
  ASSERT_TRUE(succeeded(tune(fastest(0), {256, 128})));
  EXPECT_THAT(lines.front(), HasSubstr("queries 128"));
  EXPECT_THAT(absl::StrJoin(lines, "\n"), Not(HasSubstr("queries 256")));
}

TEST_F(ScheduleTunerTest, EqualProblemsAreTimedOnce) {
  ASSERT_TRUE(succeeded(tune(fastest(0), {256})));
  size_t once = log.timed.size();
  std::filesystem::remove_all(folder);
  // Two kernels, which differ in their scale.
  llvm::FailureOr<CompileOptions> tuned = tune(fastest(1), {256, 256});
  ASSERT_TRUE(succeeded(tuned));
  EXPECT_THAT(log.timed, SizeIs(once));
  EXPECT_EQ(selectSchedules(*tuned), log.timed[1] + "\n" + log.timed[1] + "\n");
}

TEST_F(ScheduleTunerTest, AnotherCompilerTimesAgain) {
  ASSERT_TRUE(succeeded(tune(fastest(0))));
  size_t first = log.timed.size();
  identity.compiler = "another compiler";
  ASSERT_TRUE(succeeded(tune(fastest(0))));
  EXPECT_THAT(log.timed, SizeIs(first));
}

TEST_F(ScheduleTunerTest, FilesThatAreDamagedOrOfAnotherGpuAreReplacedWithAWarning) {
  ASSERT_TRUE(succeeded(tune(fastest(1))));
  std::string good = read(), other = good;
  other.replace(other.find("A GPU"), 5, "B GPU");
  for (const std::string &text : {good.substr(0, good.size() / 2), other, std::string("[]"), std::string()}) {
    write(text);
    ASSERT_TRUE(succeeded(tune(fastest(1)))) << text;
    EXPECT_THAT(lines.front(), HasSubstr("warning: autotune: all problems are timed again: " + getPath())) << text;
    EXPECT_THAT(log.timed, Not(IsEmpty())) << text;
    EXPECT_EQ(read(), good);
  }
}

TEST_F(ScheduleTunerTest, AStoredSelectionThatIsNoCandidateIsTimedAgain) {
  ASSERT_TRUE(succeeded(tune(fastest(1))));
  std::string good = read(), edited = good;
  size_t stages = edited.find("\"warps\": ");
  ASSERT_NE(stages, std::string::npos);
  edited.replace(stages, 10, "\"warps\": 9");
  write(edited);
  ASSERT_TRUE(succeeded(tune(fastest(1))));
  EXPECT_THAT(log.timed, Not(IsEmpty()));
}

TEST_F(ScheduleTunerTest, ProgramsWithoutAttentionAreNotTuned) {
  log.timed.clear();
  llvm::FailureOr<CompileOptions> tuned = tune(fastest(0), {});
  ASSERT_TRUE(succeeded(tuned));
  EXPECT_EQ(tuned->pipeline, "");
  EXPECT_FALSE(std::filesystem::exists(folder));
}

TEST_F(ScheduleTunerTest, PlannedProgramsAndTunedOptionsAreReported) {
  options.pipeline = "tuned-schedules=file.json";
  EXPECT_TRUE(failed(tune(fastest(0))));
  EXPECT_THAT(errors, HasSubstr("--autotune conflicts with 'tuned-schedules=file.json'"));
  options.pipeline.clear();
  ScheduleTuner tuner(std::make_unique<FakeTimer>(identity, fastest(0), log), folder, [](llvm::StringRef) {});
  ASSERT_TRUE(succeeded(runPipeline(*module, options)));
  options.autotuner = &tuner;
  mlir::ScopedDiagnosticHandler handler(&context, [&](mlir::Diagnostic &diagnostic) {
    errors = diagnostic.str();
    return mlir::success();
  });
  ASSERT_TRUE(succeeded(tuneSchedules(*module, options)));
  EXPECT_THAT(errors, HasSubstr("--autotune has no effect: the memory of this program is planned"));
  EXPECT_THAT(log.timed, IsEmpty());
}

} // namespace
} // namespace cs336
