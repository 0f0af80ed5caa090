//===- AccumulateCommand.cpp - cs336-bench accumulate ---------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Bench/Numerics/AccumulateCommand.h"

#include "cs336/Bench/Command/BenchFlags.h"
#include "cs336/Driver/Program.h"
#include "cs336/Driver/ToolFlags.h"
#include "cs336/runtime/Session.h"
#include "llvm/Support/FormatVariadic.h"

#include "absl/strings/str_cat.h"

using namespace cs336;
using namespace cs336::bench;
namespace cl = llvm::cl;
namespace json = llvm::json;

static constexpr llvm::StringLiteral kDescription = "adds a small number many times, in several types";

namespace {
/// A sum, in the order of the program's outputs.
struct Sum {
  /// Of the output, and the types of the sum and of what is added.
  llvm::StringLiteral name, sumType, addendType;
  llvm::StringLiteral how;
};
} // namespace

static constexpr Sum kSums[] = {{"wide", "float32", "float32", "s += x"},
                                {"low", "float16", "float16", "s += x"},
                                {"mixed", "float32", "float16", "s += x, widened once"},
                                {"cast", "float32", "float16", "s += x.float(), widened each time"}};

AccumulateCommand::AccumulateCommand()
    : subcommand("accumulate", kDescription),
      value("value", cl::desc("What is added (default 0.01)"), cl::value_desc("number"), cl::init(0.01),
            cl::cat(category), cl::sub(subcommand)),
      count("count", cl::desc("How often (default 1000)"), cl::value_desc("number"), cl::init(1000), cl::cat(category),
            cl::sub(subcommand)),
      printProgram("print-program", cl::desc("Print the program, and run nothing"), cl::cat(category),
                   cl::sub(subcommand)),
      device(category, subcommand), format(category, subcommand),
      compile(category, subcommand, CompileFlags::Sweep::Yes) {}

void AccumulateCommand::hideOtherOptions() { hideOtherFlags({&category}, subcommand); }

/// One addition after the other: nothing but the order and the types that a loop in a script has. Zero and the number
/// are inputs, so that nothing can be computed beforehand.
static std::string makeProgram(int64_t count) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  stream << "!f32 = tensor<f32>\n!f16 = tensor<f16>\n"
            "func.func @forward(%zero: !f32 {cs336.kind = \"input\", cs336.name = \"zero\"}, %x: !f32 {cs336.kind = "
            "\"input\", cs336.name = \"x\"}) -> (";
  llvm::interleaveComma(kSums, stream, [&](const Sum &sum) {
    stream << (sum.sumType == "float16" ? "!f16" : "!f32") << " {cs336.kind = \"output\", cs336.name = \"" << sum.name
           << "\"}";
  });
  stream << ") attributes {cs336.mode = #cs336.mode<forward>} {\n"
            "  %x16 = cs336.cast %x : !f32 -> !f16\n  %low0 = cs336.cast %zero : !f32 -> !f16\n"
            "  %widened = cs336.cast %x16 : !f16 -> !f32\n";
  auto last = [](llvm::StringRef name, int64_t step) {
    return step == 0 && name != "low" ? std::string("%zero") : llvm::formatv("%{0}{1}", name, step).str();
  };
  for (int64_t step = 0; step < count; ++step) {
    stream << llvm::formatv("  %wide{0} = cs336.add {1}, %x : !f32\n", step + 1, last("wide", step))
           << llvm::formatv("  %low{0} = cs336.add {1}, %x16 : !f16\n", step + 1, last("low", step))
           << llvm::formatv("  %mixed{0} = cs336.add {1}, %widened : !f32\n", step + 1, last("mixed", step))
           << llvm::formatv("  %c{0} = cs336.cast %x16 : !f16 -> !f32\n", step + 1)
           << llvm::formatv("  %cast{0} = cs336.add {1}, %c{0} : !f32\n", step + 1, last("cast", step));
  }
  stream << "  return ";
  llvm::interleaveComma(kSums, stream, [&](const Sum &sum) { stream << last(sum.name, count); });
  stream << " : ";
  llvm::interleaveComma(kSums, stream, [&](const Sum &sum) { stream << (sum.sumType == "float16" ? "!f16" : "!f32"); });
  stream << "\n}\n";
  return text;
}

static absl::StatusOr<runtime::Tensor> makeScalar(float value) {
  absl::StatusOr<runtime::Tensor> tensor = runtime::Tensor::Create({runtime::DType::kF32, {}});
  if (tensor.ok())
    tensor->mutable_values<float>()[0] = value;
  return tensor;
}

absl::StatusOr<std::vector<double>> AccumulateCommand::accumulate(const CompileOptions &options) const {
  auto executable = compileProgram(llvm::MemoryBuffer::getMemBufferCopy(makeProgram(count)), "accumulation", options);
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

absl::Status AccumulateCommand::run(llvm::StringRef commandLine) {
  if (absl::Status status = compile.check(device); !status.ok())
    return status;
  constexpr int64_t kMost = 100000;
  if (count < 1 || count > kMost)
    return absl::InvalidArgumentError(
        absl::StrCat("--count is ", count.getValue(), ", must lie between 1 and ", kMost));
  if (printProgram) {
    llvm::outs() << makeProgram(count);
    return absl::OkStatus();
  }
  Report report({{"sum", "sum_dtype"},
                 {"addend", "addend_dtype"},
                 {"addition", "addition"},
                 {"times", "count"},
                 {"device", "device"},
                 {"fusion", "fusion"},
                 {"result", "result"},
                 {"exact", "exact"}},
                json::Object{{"benchmark", "accumulate"},
                             {"command", commandLine},
                             {"device", describeDevice(device, 0)},
                             {"value", value.getValue()}});
  absl::Status status = compile.compile(device, [&](const CompileOptions &options) -> absl::Status {
    for (const PipelineVariant &variant : compile.getPipelines()) {
      CompileOptions own = options;
      own.pipeline = variant.options;
      PipelineOptions pipeline;
      if (absl::Status read = readPipeline(variant.options, pipeline); !read.ok())
        return read;
      absl::StatusOr<std::vector<double>> sums = accumulate(own);
      if (!sums.ok())
        return sums.status();
      for (auto [sum, result] : llvm::zip_equal(kSums, *sums))
        report.addRow({Cell(sum.sumType.str()), Cell(sum.addendType.str()), Cell(sum.how.str()), Cell::integer(count),
                       Cell(runtime::ToString(device)), Cell(stringifyFusion(pipeline.fusion).str()),
                       Cell::number(result, 8), Cell::number(value * static_cast<double>(count), 8)});
    }
    return absl::OkStatus();
  });
  if (!status.ok())
    return status;
  report.print(format, llvm::outs());
  return absl::OkStatus();
}
