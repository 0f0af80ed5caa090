//===- NormErrorCommand.cpp - cs336-bench norm-error ----------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Bench/Numerics/NormErrorCommand.h"

#include "cs336/Bench/Command/BenchFlags.h"
#include "cs336/Driver/InputTensors.h"
#include "cs336/Driver/Program.h"
#include "cs336/Driver/ToolFlags.h"
#include "cs336/runtime/Session.h"
#include "llvm/Support/FormatVariadic.h"

#include "absl/strings/str_cat.h"

#include <cmath>

using namespace cs336;
using namespace cs336::bench;
namespace cl = llvm::cl;
namespace json = llvm::json;

static constexpr llvm::StringLiteral kDescription = "says how precise layer norm is in each type";

namespace {
/// One way to compute the norm: what x is rounded to, and what is computed in.
struct Way {
  llvm::StringLiteral input, arithmetic;
};
} // namespace

static constexpr Way kWays[] = {{"f32", "f32"}, {"f16", "f16"}, {"f16", "f32"}, {"bf16", "bf16"}, {"bf16", "f32"}};

NormErrorCommand::NormErrorCommand()
    : subcommand("norm-error", kDescription),
      rows("rows", cl::desc("Rows that are normalized (default 64)"), cl::value_desc("number"), cl::init(64),
           cl::cat(category), cl::sub(subcommand)),
      width("width", cl::desc("Elements of a row (default 1024)"), cl::value_desc("number"), cl::init(1024),
            cl::cat(category), cl::sub(subcommand)),
      means("mean", cl::desc("Means of the inputs, whose standard deviation is 1 (default 0,10,1000)"),
            cl::value_desc("number,..."), cl::CommaSeparated, cl::cat(category), cl::sub(subcommand)),
      seed("seed", cl::desc("Seed of the inputs (default 0)"), cl::value_desc("number"), cl::init(0), cl::cat(category),
           cl::sub(subcommand)),
      device(category, subcommand), format(category, subcommand), compile(category, subcommand) {}

void NormErrorCommand::hideOtherOptions() { hideOtherFlags({&category}, subcommand); }

/// The inputs are float64, so that every type rounds the same numbers.
static std::string makeProgram(int64_t rows, int64_t width) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  auto tensor = [&](llvm::StringRef element) {
    return llvm::formatv("tensor<{0}x{1}x{2}>", rows, width, element).str();
  };
  std::string wide = tensor("f64");
  stream << "func.func @forward(%x: " << wide << " {cs336.kind = \"input\", cs336.name = \"x\"}) -> (" << wide
         << " {cs336.kind = \"output\", cs336.name = \"reference\"}";
  for (size_t i = 0; i < std::size(kWays); ++i)
    stream << ", " << wide << " {cs336.kind = \"output\", cs336.name = \"way" << i << "\"}";
  stream << ") attributes {cs336.mode = #cs336.mode<forward>} {\n";
  auto norm = [&](const llvm::Twine &result, const llvm::Twine &x, llvm::StringRef element) {
    std::string type = tensor(element), vector = llvm::formatv("tensor<{0}x{1}>", width, element);
    std::string name = result.str();
    stream << "  %scale_" << name << " = cs336.constant dense<1.0> : " << vector << "\n  %shift_" << name
           << " = cs336.constant dense<0.0> : " << vector << "\n  %" << name << " = cs336.layer_norm %" << x.str()
           << ", %scale_" << name << ", %shift_" << name << " eps = 1.0e-05 : " << type << ", " << vector << "\n";
  };
  auto cast = [&](const llvm::Twine &result, const llvm::Twine &x, llvm::StringRef from, llvm::StringRef to) {
    stream << "  %" << result.str() << " = cs336.cast %" << x.str() << " : " << tensor(from) << " -> " << tensor(to)
           << "\n";
  };
  norm("reference", "x", "f64");
  for (auto [i, way] : llvm::enumerate(kWays)) {
    std::string suffix = std::to_string(i);
    cast("in" + suffix, "x", "f64", way.input);
    std::string given = "in" + suffix;
    if (way.arithmetic != way.input) {
      cast("wide" + suffix, given, way.input, way.arithmetic);
      given = "wide" + suffix;
    }
    norm("norm" + suffix, given, way.arithmetic);
    cast("way" + suffix, "norm" + suffix, way.arithmetic, "f64");
  }
  stream << "  return %reference";
  for (size_t i = 0; i < std::size(kWays); ++i)
    stream << ", %way" << i;
  stream << " : " << wide;
  for (size_t i = 0; i < std::size(kWays); ++i)
    stream << ", " << wide;
  stream << "\n}\n";
  return text;
}

absl::StatusOr<std::vector<double>> NormErrorCommand::measure(double mean, const CompileOptions &options) const {
  auto executable =
      compileProgram(llvm::MemoryBuffer::getMemBufferCopy(makeProgram(rows, width)), "layer norm", options);
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

/// JSON has no infinities and no NaN.
static Cell makeError(double error) {
  if (!std::isfinite(error))
    return {"not finite", nullptr};
  return {llvm::formatv("{0:e2}", error).str(), error};
}

absl::Status NormErrorCommand::run(llvm::StringRef commandLine) {
  if (absl::Status status = compile.check(device); !status.ok())
    return status;
  for (const cl::opt<int64_t> *size : {&rows, &width})
    if (*size < 1 || *size > (1 << 20))
      return absl::InvalidArgumentError(
          absl::StrCat("--", size->ArgStr.str(), " is ", size->getValue(), ", must lie between 1 and ", 1 << 20));
  std::vector<double> wanted(means.begin(), means.end());
  if (wanted.empty())
    wanted = {0, 10, 1000};
  Report report(
      {{"mean of x", "mean"}, {"x in", "input_dtype"}, {"computed in", "arithmetic_dtype"}, {"error", "error"}},
      json::Object{{"benchmark", "norm-error"},
                   {"command", commandLine},
                   {"device", describeDevice(device, 0)},
                   {"rows", rows.getValue()},
                   {"width", width.getValue()}});
  absl::Status status = compile.compile(device, [&](const CompileOptions &options) -> absl::Status {
    for (double mean : wanted) {
      absl::StatusOr<std::vector<double>> errors = measure(mean, options);
      if (!errors.ok())
        return errors.status();
      for (auto [way, error] : llvm::zip_equal(kWays, *errors))
        report.addRow({Cell::number(mean, 0), Cell(way.input.str()), Cell(way.arithmetic.str()), makeError(error)});
    }
    return absl::OkStatus();
  });
  if (!status.ok())
    return status;
  report.print(format, llvm::outs());
  return absl::OkStatus();
}
