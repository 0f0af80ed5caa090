//===- NormErrorCommand.cpp - cs336-bench norm-error ----------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Bench/Numerics/NormErrorCommand.h"

#include "PipelineSweep.h"
#include "cs336/Bench/Command/BenchFlags.h"
#include "cs336/Bench/Program/FunctionBuilder.h"
#include "cs336/Bench/Program/ProgramIR.h"
#include "cs336/Driver/Run/InputTensors.h"
#include "cs336/Driver/Run/Program.h"
#include "cs336/Driver/Tool/ToolFlags.h"
#include "cs336/runtime/Session.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/FormatVariadic.h"

#include "absl/strings/str_cat.h"

#include <cmath>

using namespace mlir;
using namespace cs336;
using namespace cs336::bench;
namespace cl = llvm::cl;
namespace json = llvm::json;

static constexpr llvm::StringLiteral kNormErrorDescription = "prints the errors of layer norm in each type";

namespace {
/// One way to compute the norm: the type that x is rounded to, and the type of the arithmetic.
struct Way {
  llvm::StringLiteral input, arithmetic;
};
} // namespace

static constexpr Way kWays[] = {{"f32", "f32"}, {"f16", "f16"}, {"f16", "f32"}, {"bf16", "bf16"}, {"bf16", "f32"}};

NormErrorCommand::NormErrorCommand()
    : subcommand("norm-error", kNormErrorDescription),
      rows("rows", cl::desc("Rows that are normalized (default 64)"), cl::value_desc("number"), cl::init(64),
           cl::cat(category), cl::sub(subcommand)),
      width("width", cl::desc("Elements of a row (default 1024)"), cl::value_desc("number"), cl::init(1024),
            cl::cat(category), cl::sub(subcommand)),
      means("mean", cl::desc("Means of the inputs, whose standard deviation is 1 (default 0,10,1000)"),
            cl::value_desc("number,..."), cl::CommaSeparated, cl::cat(category), cl::sub(subcommand)),
      seed("seed", cl::desc("Seed of the inputs (default 0)"), cl::value_desc("number"), cl::init(0), cl::cat(category),
           cl::sub(subcommand)),
      device(category, subcommand), output(category, subcommand),
      compile(category, subcommand, CompileFlags::Sweep::Yes) {}

void NormErrorCommand::hideOtherOptions() { hideOtherFlags({&category}, subcommand); }

static Type getElement(Builder builder, llvm::StringRef name) {
  return llvm::StringSwitch<Type>(name)
      .Case("f16", builder.getF16Type())
      .Case("bf16", builder.getBF16Type())
      .Default(builder.getF32Type());
}

/// Builds @forward(x) for x of float64. It returns the norm in float64, then the norm for each of kWays in order, cast
/// to float64.
static void buildProgram(int64_t rows, int64_t width, ModuleOp module) {
  FunctionBuilder function(module, Mode::Forward);
  ImplicitLocOpBuilder &builder = function.getBuilder();
  auto wide = RankedTensorType::get({rows, width}, builder.getF64Type());
  auto cast = [&](Value value, Type element) -> Value { return CastOp::create(builder, wide.clone(element), value); };
  auto norm = [&](Value value) -> Value {
    auto type = llvm::cast<RankedTensorType>(value.getType());
    auto vector = RankedTensorType::get({width}, type.getElementType());
    Value scale = ConstantOp::create(builder, vector, 1.0), shift = ConstantOp::create(builder, vector, 0.0);
    return LayerNormOp::create(builder, type, value, scale, shift, builder.getF64FloatAttr(1e-5));
  };
  Value x = function.addInput("x", wide);
  std::vector<std::pair<std::string, Value>> outputs{{"reference", norm(x)}};
  for (auto [i, way] : llvm::enumerate(kWays)) {
    Value given = cast(x, getElement(builder, way.input));
    if (way.arithmetic != way.input)
      given = cast(given, getElement(builder, way.arithmetic));
    outputs.emplace_back("way" + std::to_string(i), cast(norm(given), wide.getElementType()));
  }
  function.finish(outputs);
}

absl::StatusOr<std::vector<double>> NormErrorCommand::measure(double mean, const CompileOptions &options) const {
  auto executable = compileProgram([&](ModuleOp module) { buildProgram(rows, width, module); }, options);
  if (!executable.ok())
    return executable.status();
  absl::StatusOr<runtime::TensorMap> inputs = makeRandomInputs(*(*executable)->FindEntry("forward"), seed);
  if (!inputs.ok())
    return inputs.status();
  for (double &value : inputs->at("x").mutable_values<double>())
    value += mean;
  runtime::SessionOptions sessionOptions;
  sessionOptions.device = runtime::ToString(device);
  auto session = runtime::Session::Create(*std::move(executable), sessionOptions);
  if (!session.ok())
    return session.status();
  if (absl::Status status = (*session)->Run("forward", asArguments(*inputs)); !status.ok())
    return status;
  auto read = [&](const std::string &name) -> absl::StatusOr<runtime::Tensor> {
    absl::StatusOr<runtime::TensorView> output = (*session)->Output("forward", name);
    return output.ok() ? runtime::Tensor::CopyOf(*output) : output.status();
  };
  absl::StatusOr<runtime::Tensor> reference = read("reference");
  if (!reference.ok())
    return reference.status();
  std::vector<double> errors;
  for (size_t i = 0; i < std::size(kWays); ++i) {
    absl::StatusOr<runtime::Tensor> value = read("way" + std::to_string(i));
    if (!value.ok())
      return value.status();
    double difference = 0, norm = 0;
    for (auto [ours, exact] : llvm::zip_equal(value->values<double>(), reference->values<double>())) {
      difference += (ours - exact) * (ours - exact);
      norm += exact * exact;
    }
    errors.push_back(std::sqrt(difference / norm));
  }
  return errors;
}

/// Returns a cell with text for infinities and NaN, which JSON numbers lack.
static Cell makeError(double error) {
  if (!std::isfinite(error))
    return {"not finite", nullptr};
  return {llvm::formatv("{0:e2}", error).str(), error};
}

namespace {
/// The error of layer norm for inputs with one mean.
struct ErrorRow {
  double mean;
  const Way *way;
  ComputeType computeType;
  Fusion fusion;
  double error;
};
} // namespace

static std::vector<Column<ErrorRow>> getColumns() {
  using Row = ErrorRow;
  return {{"mean of x", "mean", [](const Row &row) { return Cell::number(row.mean, 0); }, Show::Result, Role::Setting},
          {"x in", "input_dtype", [](const Row &row) { return Cell(row.way->input); }, Show::Result, Role::Setting},
          {"computed in", "arithmetic_dtype", [](const Row &row) { return Cell(row.way->arithmetic); }, Show::Result,
           Role::Setting},
          {"dtype", "dtype", [](const Row &row) { return Cell(stringifyComputeType(row.computeType)); }, Show::Setting},
          {"fusion", "fusion", [](const Row &row) { return Cell(stringifyFusion(row.fusion)); }, Show::Setting},
          {"error", "error", [](const Row &row) { return makeError(row.error); }}};
}

std::vector<ColumnHead> NormErrorCommand::getColumns() const {
  auto columns = ::getColumns();
  return {columns.begin(), columns.end()};
}

absl::Status NormErrorCommand::run(llvm::StringRef commandLine) {
  if (absl::Status status = compile.check(device); !status.ok())
    return status;
  if (absl::Status status = compile.refuseCheckpoint("a norm has no layers"); !status.ok())
    return status;
  for (const cl::opt<int64_t> *size : {&rows, &width})
    if (*size < 1 || *size > (1 << 20))
      return absl::InvalidArgumentError(
          absl::StrCat("--", size->ArgStr.str(), " is ", size->getValue(), ", must lie between 1 and ", 1 << 20));
  std::vector<double> wanted(means.begin(), means.end());
  if (wanted.empty())
    wanted = {0, 10, 1000};
  std::vector<Column<ErrorRow>> columns = ::getColumns();
  if (absl::Status status = output.check(columns); !status.ok())
    return status;
  if (absl::Status status = compile.checkOutputs({output.getPath()}); !status.ok())
    return status;
  std::vector<ErrorRow> results;
  absl::Status status = sweepPipelines(
      compile, device, [&](const CompileOptions &options, const PipelineOptions &pipeline) -> absl::Status {
        for (double mean : wanted) {
          absl::StatusOr<std::vector<double>> errors = measure(mean, options);
          if (!errors.ok())
            return errors.status();
          for (auto [way, error] : llvm::zip_equal(kWays, *errors))
            results.push_back({mean, &way, pipeline.dtype, pipeline.fusion, error});
        }
        return absl::OkStatus();
      });
  if (!status.ok())
    return status;
  json::Object context{{"benchmark", "norm-error"},
                       {"command", commandLine},
                       {"device", describeDevice(device, 0)},
                       {"rows", rows.getValue()},
                       {"width", width.getValue()}};
  return output.write({std::move(context), {{"norm-error", "", columns, llvm::ArrayRef(results)}}, {}});
}
