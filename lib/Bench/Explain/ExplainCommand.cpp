//===- ExplainCommand.cpp - cs336-bench explain ---------------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Bench/Explain/ExplainCommand.h"

#include "cs336/Bench/Command/BenchFlags.h"
#include "cs336/Bench/Command/ModelColumns.h"
#include "cs336/Bench/Explain/ExecutableKernels.h"
#include "cs336/Bench/Explain/ExplainReport.h"
#include "cs336/Bench/Explain/KernelNames.h"
#include "cs336/Bench/Explain/ModuleKernels.h"
#include "cs336/Bench/Explain/RecordedTimes.h"
#include "cs336/Bench/Program/ProgramIR.h"
#include "cs336/Driver/Flags/GivenFlags.h"
#include "cs336/Driver/Tool/ToolFlags.h"
#include "cs336/Support/Nesting.h"
#include "cs336/Support/ReadInput.h"
#include "cs336/runtime/format/ExecutableFile.h"
#include "llvm/Support/WithColor.h"

#include "absl/strings/str_cat.h"

using namespace cs336;
using namespace cs336::bench;
namespace cl = llvm::cl;
namespace json = llvm::json;

static constexpr llvm::StringLiteral kDescription =
    "shows what a kernel or a GEMM is compiled from and to, and what bounds its time";

ExplainCommand::ExplainCommand(const Command &model)
    : model(model), subcommand("explain", kDescription),
      kernel(cl::Positional, cl::desc("[kernel]"), cl::value_desc("kernel"), cl::cat(category), cl::sub(subcommand)),
      program("program", cl::desc("IR in any phase, or an executable, instead of the model that flags describe"),
              cl::value_desc("file"), cl::cat(category), cl::sub(subcommand)),
      profile(
          "profile-json",
          cl::desc("Results of cs336-bench model --profile --format json, whose times are shown beside the expected "
                   "ones"),
          cl::value_desc("file"), cl::cat(category), cl::sub(subcommand)),
      compilationTime(
          "compile-time",
          cl::desc("Compile all kernels, and print the time of each phase, pass and kernel, and cache hits"),
          cl::cat(category), cl::sub(subcommand)),
      predictOn(category, subcommand), output(category, subcommand), modelFlags(modelCategory, subcommand),
      device(compileCategory, subcommand), compile(compileCategory, subcommand) {
  device.setDescription("Target: cpu (default) or cuda, which requires no GPU");
}

void ExplainCommand::hideOtherOptions() { hideOtherFlags({&category, &modelCategory, &compileCategory}, subcommand); }

std::vector<ColumnHead> ExplainCommand::getColumns() const {
  auto columns = getExplainColumns();
  return {columns.begin(), columns.end()};
}

absl::Status ExplainCommand::check() {
  absl::Status status = compile.check(device);
  status.Update(predictOn.check());
  status.Update(output.check(getExplainColumns()));
  status.Update(compile.checkOutputs({output.getPath()}));
  if (program.getNumOccurrences() > 0)
    status.Update(refuseFlags(modelCategory, subcommand, "--program names the program, which has its sizes"));
  return status;
}

absl::StatusOr<std::vector<std::string>> ExplainCommand::select(llvm::ArrayRef<llvm::StringRef> names) const {
  std::vector<std::string> known;
  for (llvm::StringRef name : names)
    if (llvm::is_contained(recordedCommands, name))
      known.push_back(name.str());
  return known.empty() ? findKernels(kernel, names) : known;
}

const DeviceModel &ExplainCommand::getDevice(Target target) const {
  const DeviceModel *named = predictOn.getDevice();
  return named ? *named : getDefaultDeviceModel(target == Target::CUDA);
}

absl::StatusOr<ExplainCommand::Subject> ExplainCommand::explainIR(
    const CompileOptions &options,
    llvm::function_ref<absl::Status(llvm::function_ref<llvm::LogicalResult(mlir::ModuleOp)>)> withIR) const {
  bool printsTiming = options.timing && *options.timing;
  if (compilationTime && printsTiming)
    return absl::InvalidArgumentError("--compile-time conflicts with --timing: both measure the compilation");
  Subject subject;
  subject.device = &getDevice(options.target);
  std::vector<CachedKernel> compiled;
  CompileProfile recorder;
  absl::Status selection;
  absl::Status status = withIR([&](mlir::ModuleOp module) {
    mlir::TimingScope root = compilationTime ? recorder.getRootScope() : mlir::TimingScope();
    ModuleOptions own{options, subject.device, compilationTime};
    if (compilationTime)
      own.compile.timing = &root;
    return explainModule(
        module, own, [&](llvm::ArrayRef<llvm::StringRef> names) { return select(names); }, subject.program, compiled,
        selection);
  });
  status.Update(selection);
  if (!status.ok())
    return status;
  if (compilationTime)
    subject.compilationTime = summarizeCompilation(recorder.getPhases(), compiled);
  return subject;
}

namespace {
/// The settings of a model as rows of results have them.
struct ModelSettings {
  ModelDescription description;
  ComputeType computeType;
  Fusion fusion;
  PipelineVariant pipeline;
};
} // namespace

static absl::StatusOr<json::Object> describeSettings(const ModelDescription &description,
                                                     const CompileOptions &options) {
  PipelineOptions pipeline;
  if (absl::Status status = readPipeline(options.pipeline, pipeline); !status.ok())
    return status;
  if (absl::Status status = checkTypes(description, pipeline.dtype); !status.ok())
    return status;
  ModelSettings row{description, pipeline.dtype, pipeline.fusion, {options.pipeline, "", ""}};
  json::Object settings;
  for (const auto &columns : {getModelSettings<ModelSettings>(), getModelShape<ModelSettings>()})
    for (const Column<ModelSettings> &column : columns)
      settings[column.key] = column.extract(row).value;
  return settings;
}

static void warn(llvm::StringRef text) { llvm::WithColor::warning(llvm::errs(), "cs336-bench") << text << "\n"; }

absl::StatusOr<ExplainCommand::Subject> ExplainCommand::explainModel(const CompileOptions &options) const {
  llvm::Expected<ModelDescription> description = modelFlags.applyOne(ModelDescription());
  if (!description)
    return absl::InvalidArgumentError(llvm::toString(description.takeError()));
  if (llvm::Error error = description->transformer.verify())
    return absl::InvalidArgumentError(llvm::toString(std::move(error)));
  if (absl::Status status = checkCheckpoint(compile, {*description}); !status.ok())
    return status;
  absl::StatusOr<json::Object> settings = describeSettings(*description, options);
  if (!settings.ok())
    return settings.status();
  absl::StatusOr<Subject> subject = explainIR(options, [&](auto use) { return withModelIR(*description, warn, use); });
  if (subject.ok())
    subject->settings = *std::move(settings);
  return subject;
}

absl::StatusOr<ExplainCommand::Subject> ExplainCommand::explainFile(const CompileOptions &options) {
  llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>> file = readInput(program);
  if (!file)
    return absl::InvalidArgumentError(llvm::toString(file.takeError()));
  llvm::StringRef text = (*file)->getBuffer();
  if (!text.starts_with(llvm::StringRef(format::kMagic, format::kMagicSize).take_front(6)) &&
      !llvm::StringRef(program).ends_with(".cs336x")) {
    if (llvm::Error error = checkIsReadableIR((*file)->getMemBufferRef()))
      return absl::InvalidArgumentError(llvm::toString(std::move(error)));
    absl::StatusOr<Subject> subject = explainIR(options, [&](auto use) { return withIR(text, warn, use, program); });
    if (!subject.ok())
      return absl::Status(subject.status().code(), absl::StrCat(program.getValue(), ": ", subject.status().message()));
    return subject;
  }
  absl::Status status = refuseFlags(compileCategory, subcommand, "--program names an executable, which is compiled");
  status.Update(refuseFlag(compilationTime, "--program names an executable, which is compiled"));
  if (!status.ok())
    return status;
  absl::StatusOr<std::shared_ptr<const runtime::Executable>> executable =
      runtime::Executable::FromBytes({reinterpret_cast<const uint8_t *>(text.data()), text.size()});
  if (!executable.ok())
    return absl::Status(executable.status().code(),
                        absl::StrCat(program.getValue(), ": ", executable.status().message()));
  Subject subject;
  subject.device = &getDevice(bench::getTarget(**executable));
  absl::StatusOr<ExplainedProgram> explained = explainExecutable(
      **executable, *subject.device, [&](llvm::ArrayRef<llvm::StringRef> names) { return select(names); });
  if (!explained.ok())
    return explained.status();
  subject.program = *std::move(explained);
  return subject;
}

absl::Status ExplainCommand::run(llvm::StringRef commandLine) {
  if (absl::Status status = check(); !status.ok())
    return status;
  auto findColumns = [&](llvm::StringRef benchmark) {
    return benchmark == "model" ? model.getColumns() : std::vector<ColumnHead>();
  };
  if (profile.getNumOccurrences() > 0 && !kernel.empty()) {
    absl::StatusOr<std::vector<std::string>> names = RecordedTimes::findCommands(profile, kernel, findColumns);
    if (!names.ok())
      return names.status();
    recordedCommands = *std::move(names);
  }
  absl::StatusOr<Subject> subject = compile.compile(device, [&](const CompileOptions &options) {
    return program.getNumOccurrences() > 0 ? explainFile(options) : explainModel(options);
  });
  if (!subject.ok())
    return subject.status();
  if (profile.getNumOccurrences() > 0) {
    absl::StatusOr<RecordedTimes> times =
        RecordedTimes::read(profile, subject->program.target, subject->settings, findColumns);
    absl::Status status = times.ok() ? times->addTo(subject->program) : times.status();
    if (!status.ok())
      return status;
  }
  json::Object context{{"benchmark", "explain"},
                       {"command", commandLine},
                       {"target", subject->program.target == Target::CUDA ? "cuda" : "cpu"},
                       {"predicted_on", subject->device->name}};
  absl::Status status = output.write(
      makeExplainReport(subject->program, std::move(context), subject->device->name, subject->compilationTime));
  if (!status.ok())
    return status;
  if (profile.getNumOccurrences() == 0)
    llvm::errs() << "next: --profile-json adds the times that cs336-bench model --profile --format json measured\n";
  return absl::OkStatus();
}
