//===- Execute.cpp - Programs compiled and run in this process ------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Execute.h"

#include "FuzzContext.h"
#include "cs336/Driver/Compile/CompileModule.h"
#include "cs336/Driver/Compile/Registration.h"
#include "cs336/runtime/Session.h"
#include "mlir/Parser/Parser.h"

#include "absl/strings/str_cat.h"

#include <algorithm>

namespace cs336::fuzz {
namespace {

using runtime::Executable;
using runtime::Session;
using runtime::Tensor;
using runtime::TensorView;

absl::StatusOr<std::shared_ptr<const Executable>> compile(const std::string &text, const std::string &pipeline,
                                                          const std::string &cpu) {
  FuzzContext &context = FuzzContext::renew(registerDialects);
  auto module = mlir::parseSourceString<mlir::ModuleOp>(text, context.get());
  if (!module)
    return absl::InternalError(absl::StrCat("the text is not valid IR: ", context.getError()));
  CompileOptions options;
  options.pipeline = pipeline;
  options.cpu = cpu;
  options.cacheFolder.clear();
  auto bytes = compileModule(*module, options);
  if (mlir::failed(bytes))
    return absl::InvalidArgumentError(absl::StrCat("compiling failed: ", context.getError()));
  return Executable::FromBytes(*bytes);
}

absl::StatusOr<Tensor> toTensor(const Node &node) {
  absl::StatusOr<Tensor> wide = Tensor::Create({DType::kF64, node.type.shape});
  if (!wide.ok())
    return wide.status();
  std::transform(node.values.begin(), node.values.end(), wide->mutable_values<double>().begin(),
                 [](const Number &number) { return number.value; });
  return runtime::Cast(*wide, node.type.dtype);
}

absl::StatusOr<std::vector<double>> toElements(const absl::StatusOr<TensorView> &view) {
  if (!view.ok())
    return view.status();
  absl::StatusOr<Tensor> wide = runtime::Cast(*view, DType::kF64);
  if (!wide.ok())
    return wide.status();
  absl::Span<const double> values = std::as_const(*wide).values<double>();
  return std::vector<double>(values.begin(), values.end());
}

absl::StatusOr<Results> run(const Graph &graph, std::shared_ptr<const Executable> executable) {
  runtime::SessionOptions options;
  options.num_threads = 1;
  options.poison_memory = true;
  absl::StatusOr<std::unique_ptr<Session>> session = Session::Create(std::move(executable), options);
  if (!session.ok())
    return session.status();
  runtime::TensorMap variables, inputs;
  for (int i = 0, end = static_cast<int>(graph.nodes.size()); i != end; ++i) {
    Op op = graph.nodes[i].op;
    if (op != Op::kParameter && op != Op::kInput)
      continue;
    absl::StatusOr<Tensor> tensor = toTensor(graph.nodes[i]);
    if (!tensor.ok())
      return tensor.status();
    (op == Op::kParameter ? variables : inputs)[nameOf(graph, i)] = *std::move(tensor);
  }
  if (absl::Status status = (*session)->InitializeVariables(/*seed=*/0, variables); !status.ok())
    return status;
  std::vector<runtime::NamedTensor> named;
  for (const auto &[name, tensor] : inputs)
    named.push_back({name, tensor});
  if (absl::Status status = (*session)->Run("f", named); !status.ok())
    return status;

  std::vector<std::string> names;
  for (const Output &output : graph.outputs)
    names.push_back(output.name);
  if (graph.hasGradients)
    for (const auto &[name, tensor] : variables)
      names.push_back(name);
  Results results;
  for (const std::string &name : names) {
    absl::StatusOr<std::vector<double>> elements = toElements((*session)->Output("f", name));
    if (!elements.ok())
      return elements.status();
    results[name] = *std::move(elements);
  }
  return results;
}

} // namespace

absl::StatusOr<Results> compileAndRun(const Graph &graph, const std::string &text, const std::string &pipeline,
                                      const std::string &cpu) {
  absl::StatusOr<std::shared_ptr<const Executable>> executable = compile(text, pipeline, cpu);
  return executable.ok() ? run(graph, *std::move(executable)) : executable.status();
}

} // namespace cs336::fuzz
