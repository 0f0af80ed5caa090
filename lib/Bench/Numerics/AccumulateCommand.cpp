//===- AccumulateCommand.cpp - cs336-bench accumulate ---------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Bench/Numerics/AccumulateCommand.h"

#include "PipelineSweep.h"
#include "cs336/Bench/Command/BenchFlags.h"
#include "cs336/Bench/Program/FunctionBuilder.h"
#include "cs336/Bench/Program/ProgramIR.h"
#include "cs336/Driver/Run/Program.h"
#include "cs336/Driver/Tool/ToolFlags.h"
#include "cs336/runtime/Session.h"

#include "absl/strings/str_cat.h"

using namespace mlir;
using namespace cs336;
using namespace cs336::bench;
namespace cl = llvm::cl;
namespace json = llvm::json;

static constexpr llvm::StringLiteral kAccumulateDescription = "adds a small number many times, in several types";

namespace {
/// A sum, in the order of the program's outputs.
struct Sum {
  /// The name of the output, and the types of the sum and of the addends.
  llvm::StringLiteral name, sumType, addendType;
  llvm::StringLiteral how;
};
} // namespace

static constexpr Sum kSums[] = {{"wide", "float32", "float32", "s += x"},
                                {"low", "float16", "float16", "s += x"},
                                {"mixed", "float32", "float16", "s += x, widened once"},
                                {"cast", "float32", "float16", "s += x.float(), widened each time"}};

AccumulateCommand::AccumulateCommand()
    : subcommand("accumulate", kAccumulateDescription),
      value("value", cl::desc("Addend (default: 0.01)"), cl::value_desc("number"), cl::init(0.01), cl::cat(category),
            cl::sub(subcommand)),
      count("count", cl::desc("Number of additions (default 1000)"), cl::value_desc("number"), cl::init(1000),
            cl::cat(category), cl::sub(subcommand)),
      printProgram("print-program", cl::desc("Print the program and do not run it"), cl::cat(category),
                   cl::sub(subcommand)),
      device(category, subcommand), output(category, subcommand), published(category, subcommand),
      compile(category, subcommand, CompileFlags::Sweep::Yes) {}

void AccumulateCommand::hideOtherOptions() { hideOtherFlags({&category}, subcommand); }

/// Builds one addition after the other, in the order and types of a loop in a script. Zero and the addend are inputs,
/// so that nothing can be computed at compile time.
static void buildProgram(int64_t count, ModuleOp module) {
  FunctionBuilder function(module, Mode::Forward);
  ImplicitLocOpBuilder &builder = function.getBuilder();
  auto wideType = RankedTensorType::get({}, builder.getF32Type()), lowType = wideType.clone(builder.getF16Type());
  Value zero = function.addInput("zero", wideType), x = function.addInput("x", wideType);
  Value low = CastOp::create(builder, lowType, x), lowZero = CastOp::create(builder, lowType, zero);
  Value widened = CastOp::create(builder, wideType, low);
  Value wideSum = zero, lowSum = lowZero, mixedSum = zero, castSum = zero;
  for (int64_t step = 0; step < count; ++step) {
    wideSum = AddOp::create(builder, wideType, wideSum, x);
    lowSum = AddOp::create(builder, lowType, lowSum, low);
    mixedSum = AddOp::create(builder, wideType, mixedSum, widened);
    castSum = AddOp::create(builder, wideType, castSum, CastOp::create(builder, wideType, low));
  }
  Value sums[] = {wideSum, lowSum, mixedSum, castSum};
  std::vector<std::pair<std::string, Value>> outputs;
  for (auto [sum, value] : llvm::zip_equal(kSums, sums))
    outputs.emplace_back(sum.name.str(), value);
  function.finish(outputs);
}

static absl::StatusOr<runtime::Tensor> makeScalar(float value) {
  absl::StatusOr<runtime::Tensor> tensor = runtime::Tensor::Create({runtime::DType::kF32, {}});
  if (tensor.ok())
    tensor->mutable_values<float>()[0] = value;
  return tensor;
}

absl::StatusOr<std::vector<double>> AccumulateCommand::accumulate(const CompileOptions &options) const {
  auto executable = compileProgram([&](ModuleOp module) { buildProgram(count, module); }, options);
  if (!executable.ok())
    return executable.status();
  runtime::SessionOptions sessionOptions;
  sessionOptions.device = runtime::ToString(device);
  auto session = runtime::Session::Create(*std::move(executable), sessionOptions);
  if (!session.ok())
    return session.status();
  absl::StatusOr<runtime::Tensor> zero = makeScalar(0), x = makeScalar(static_cast<float>(value));
  if (!zero.ok() || !x.ok())
    return zero.ok() ? x.status() : zero.status();
  runtime::NamedTensor inputs[] = {{"zero", *zero}, {"x", *x}};
  if (absl::Status status = (*session)->Run("forward", inputs); !status.ok())
    return status;
  std::vector<double> sums;
  for (const Sum &sum : kSums) {
    absl::StatusOr<runtime::TensorView> output = (*session)->Output("forward", sum.name.str());
    absl::StatusOr<runtime::Tensor> wide =
        output.ok() ? runtime::Cast(*output, runtime::DType::kF64) : absl::StatusOr<runtime::Tensor>(output.status());
    if (!wide.ok())
      return wide.status();
    sums.push_back(wide->values<double>().front());
  }
  return sums;
}

namespace {
/// A computed sum.
struct SumRow {
  const Sum *sum;
  ComputeType computeType;
  Fusion fusion;
  double result;
};
} // namespace

static std::vector<Column<SumRow>> getColumns(double value, int64_t count, const std::string &device) {
  using Row = SumRow;
  return {
      {"sum", "sum_dtype", [](const Row &row) { return Cell(row.sum->sumType); }, Show::Result, Role::Setting},
      {"addend", "addend_dtype", [](const Row &row) { return Cell(row.sum->addendType); }, Show::Result, Role::Setting},
      {"addition", "addition", [](const Row &row) { return Cell(row.sum->how); }, Show::Result, Role::Setting},
      {"times", "count", [count](const Row &) { return Cell::integer(count); }, Show::Setting},
      {"device", "device", [device](const Row &) { return Cell(device); }, Show::Setting},
      {"dtype", "dtype", [](const Row &row) { return Cell(stringifyComputeType(row.computeType)); }, Show::Setting},
      {"fusion", "fusion", [](const Row &row) { return Cell(stringifyFusion(row.fusion)); }, Show::Setting},
      {"result", "result", [](const Row &row) { return Cell::number(row.result, 8); }},
      {"exact", "exact", [=](const Row &) { return Cell::number(value * static_cast<double>(count), 8); }}};
}

std::vector<ColumnHead> AccumulateCommand::getColumns() const {
  auto columns = ::getColumns(value, count, runtime::ToString(device));
  return {columns.begin(), columns.end()};
}

absl::Status AccumulateCommand::run(llvm::StringRef commandLine) {
  if (absl::Status status = compile.check(device); !status.ok())
    return status;
  if (absl::Status status = compile.refuseCheckpoint("a sum has no layers"); !status.ok())
    return status;
  constexpr int64_t kMost = 100000;
  if (count < 1 || count > kMost)
    return absl::InvalidArgumentError(
        absl::StrCat("--count is ", count.getValue(), ", must lie between 1 and ", kMost));
  std::vector<Column<SumRow>> columns = ::getColumns(value, count, runtime::ToString(device));
  if (absl::Status status = published.check(); !status.ok())
    return status;
  if (absl::Status status = output.check(columns); !status.ok())
    return status;
  if (absl::Status status = compile.checkOutputs({output.getPath()}); !status.ok())
    return status;
  if (printProgram)
    return withProgram([&](ModuleOp module) { buildProgram(count, module); }, [](llvm::StringRef) {},
                       [](ModuleOp module) {
                         module.print(llvm::outs());
                         return success();
                       });
  std::vector<SumRow> rows;
  absl::Status status = sweepPipelines(
      compile, device, [&](const CompileOptions &options, const PipelineOptions &pipeline) -> absl::Status {
        absl::StatusOr<std::vector<double>> sums = accumulate(options);
        if (!sums.ok())
          return sums.status();
        for (auto [sum, result] : llvm::zip_equal(kSums, *sums))
          rows.push_back({&sum, pipeline.dtype, pipeline.fusion, result});
        return absl::OkStatus();
      });
  if (!status.ok())
    return status;
  json::Object context{{"benchmark", "accumulate"},
                       {"command", commandLine},
                       {"device", describeDevice(device, 0)},
                       {"value", value.getValue()}};
  return output.write(published.addTo({std::move(context), {{"accumulate", "", columns, llvm::ArrayRef(rows)}}, {}}));
}
