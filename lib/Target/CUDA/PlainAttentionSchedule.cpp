//===- PlainAttentionSchedule.cpp - Attention of any sizes ----------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Accepts attention for which AttentionSchedule.cpp has no tiles: float64, and any head_dim. A warp computes one row
// and reads the rows of the other side one by one. Warps share no data and read every operand from memory many times,
// so this is correct but slow.
//
//===----------------------------------------------------------------------===//

#include "AttentionProblem.h"
#include "ExpressionPrinter.h"
#include "ScalarEmitter.h"
#include "llvm/Support/MathExtras.h"

#include <limits>

using namespace mlir;
using namespace cs336;
using namespace cs336::cuda;

namespace {

/// The number of warps per block.
constexpr int64_t warps = 4;

/// A function of the kernel: the template that it instantiates, and the arguments that it passes on.
struct PlainFunction {
  KernelFunction launch;
  StringRef instance;
  std::string arguments;
};

class PlainAttentionKernel : public ScheduledKernel {
public:
  PlainAttentionKernel(const DeviceKernel &kernel, AttentionProblem attention);

  SmallVector<KernelFunction> getFunctions() const override {
    return llvm::map_to_vector(functions, [](const PlainFunction &function) { return function.launch; });
  }
  void collectDeviceSources(DeviceSources &sources) const override;
  std::string describe() const override;
  void emit(raw_ostream &os) const override;

private:
  void add(StringRef suffix, int64_t rows, StringRef instance, ArrayRef<StringRef> roles);
  StringRef getComputeType() const { return ExpressionPrinter::getComputeType(problem.element); }
  void emitElements(raw_ostream &os) const;

  const DeviceKernel kernel;
  const AttentionProblem problem;
  SmallVector<PlainFunction> functions;
};

class PlainAttentionSchedule : public KernelSchedule {
public:
  StringRef getName() const override { return "plain_attention"; }
  std::unique_ptr<ScheduledKernel> schedule(const DeviceKernel &kernel, std::string &whyNot) const override;
};

} // namespace

std::unique_ptr<KernelSchedule> cs336::cuda::createPlainAttentionSchedule() {
  return std::make_unique<PlainAttentionSchedule>();
}

std::unique_ptr<ScheduledKernel> PlainAttentionSchedule::schedule(const DeviceKernel &kernel,
                                                                  std::string &whyNot) const {
  FailureOr<AttentionProblem> problem = AttentionProblem::read(kernel, whyNot);
  if (failed(problem))
    return nullptr;
  // The kernels' row numbers have the type int.
  const AttentionSizes &sizes = problem->sizes;
  int64_t heads = sizes.batches * std::max(sizes.queryHeads, sizes.keyHeads);
  if (heads * std::max(sizes.queries, sizes.keys) > std::numeric_limits<int32_t>::max() - warps) {
    whyNot = "has more rows than 32-bit integers number";
    return nullptr;
  }
  return std::make_unique<PlainAttentionKernel>(kernel, std::move(*problem));
}

PlainAttentionKernel::PlainAttentionKernel(const DeviceKernel &kernel, AttentionProblem attention)
    : kernel(kernel), problem(std::move(attention)) {
  const AttentionSizes &sizes = problem.sizes;
  int64_t ofQueries = sizes.batches * sizes.queryHeads * sizes.queries;
  int64_t ofKeys = sizes.batches * sizes.keyHeads * sizes.keys;
  if (!problem.isBackward) {
    add("", ofQueries, "PlainAttentionForward", {"Query", "Key", "Value", "Output", "LogSumExp"});
    return;
  }
  add("_queries", ofQueries, "PlainAttentionBackwardQueries",
      {"Query", "Key", "Value", "Output", "LogSumExp", "OutputGradient", "QueryGradient"});
  add("_keys", ofKeys, "PlainAttentionBackwardKeys",
      {"Query", "Key", "Value", "Output", "LogSumExp", "OutputGradient", "KeyGradient", "ValueGradient"});
}

void PlainAttentionKernel::add(StringRef suffix, int64_t rows, StringRef instance, ArrayRef<StringRef> roles) {
  functions.push_back({{kernel.name + suffix.str(), llvm::divideCeilSigned(rows, warps), 32 * warps, 0},
                       instance,
                       problem.getArguments(kernel, roles)});
}

void PlainAttentionKernel::collectDeviceSources(DeviceSources &sources) const {
  for (StringRef source :
       {"scalar.cuh", "vector.cuh", "reduce.cuh", "head_layout.cuh", "attention.cuh", "plain_attention.cuh"})
    sources.insert(source);
  problem.collectTypeSources(kernel, sources);
}

std::string PlainAttentionKernel::describe() const {
  std::string compute = ", in " + getComputeType().str();
  if (!problem.isBackward)
    return "one query per warp, its keys one by one" + compute;
  return "one query per warp, its keys one by one; then one key per warp, its queries one by one" + compute;
}

void PlainAttentionKernel::emitElements(raw_ostream &os) const {
  StringRef type = ExpressionPrinter::getStorageType(problem.element), compute = getComputeType();
  os << "struct " << kernel.name << "_elements {\n"
     << "  using Type = " << type << ";\n"
     << "  using Compute = " << compute << ";\n"
     << "  __device__ static Compute load(Type x) { return "
     << ExpressionPrinter::printLoaded(problem.element, {"x"}).text << "; }\n"
     << "  __device__ static Type store(Compute x) { return "
     << ExpressionPrinter::printStored(problem.element, {"x"}).text << "; }\n"
     << "};\n\n";
}

void PlainAttentionKernel::emit(raw_ostream &os) const {
  std::string name = kernel.name + "_problem";
  problem.emit(os, kernel, name);
  emitElements(os);
  for (auto [number, function] : llvm::enumerate(functions)) {
    os << (number == 0 ? "" : "\n");
    emitSignature(os, kernel, function.launch.symbol, function.launch.threads);
    os << "  using Attention = " << function.instance << "<" << name << ", " << kernel.name << "_elements, " << warps
       << ">;\n"
       << "  static_assert(Attention::blocks == " << function.launch.blocks << ");\n"
       << "  Attention::run(" << function.arguments << ");\n}\n";
  }
}
