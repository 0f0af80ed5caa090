//===- AttentionSchedule.cpp - Attention without scores in memory ---------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Accepts kernels that are one `cs336.attention` or `cs336.attention_backward`. It reads the operation and not the
// kernel's linalg form, which has no tiles. The text is a structure with sizes and strides, which are constants, and
// instances of templates of runtime/kernels: tensor cores for bf16 and f16, and for float32 if its precision is tf32;
// otherwise fused multiply-adds. Every architecture from 8.0 on has these instructions. A schedule for the instructions
// of one architecture would precede this one and accept the same kernels.
//
//===----------------------------------------------------------------------===//

#include "AttentionProblem.h"
#include "ExpressionPrinter.h"
#include "ScalarEmitter.h"

using namespace mlir;
using namespace cs336;
using namespace cs336::cuda;

namespace {

/// A function of the kernel: the template that it instantiates, and the arguments that it passes on.
struct PlannedFunction {
  KernelFunction launch;
  std::string instance, description;
  std::string arguments;
};

class AttentionKernel : public ScheduledKernel {
public:
  /// `tiles` are those of the forward pass, or of queries and of keys in the backward pass.
  AttentionKernel(const DeviceKernel &kernel, AttentionProblem attention, SmallVector<AttentionTiles, 2> tiles);

  SmallVector<KernelFunction> getFunctions() const override;
  int64_t getWorkspaceBytes() const override;
  void collectDeviceSources(DeviceSources &sources) const override;
  std::string describe() const override;
  DictionaryAttr getParameters() const override;
  void emit(raw_ostream &os) const override;

private:
  /// Returns the name of the structure that describes the problem to the templates.
  std::string getProblemName() const { return kernel.name + "_problem"; }
  std::string getArguments(ArrayRef<StringRef> roles, StringRef last = "") const {
    return problem.getArguments(kernel, roles, last);
  }
  void addForward();
  void addBackward();

  const DeviceKernel kernel;
  const AttentionProblem problem;
  const SmallVector<AttentionTiles, 2> tiles;
  SmallVector<PlannedFunction> functions;
};

class AttentionSchedule : public KernelSchedule {
public:
  explicit AttentionSchedule(const TargetDescription &target) : target(target) {}
  StringRef getName() const override { return "attention"; }
  std::unique_ptr<ScheduledKernel> schedule(const DeviceKernel &kernel, std::string &whyNot) const override;
  SmallVector<DictionaryAttr> listCandidates(const DeviceKernel &kernel) const override;

private:
  /// Only selected tiles may need more than the limits of all architectures.
  const TargetDescription target;
};

} // namespace

std::unique_ptr<KernelSchedule> cs336::cuda::createAttentionSchedule(const TargetDescription &target) {
  return std::make_unique<AttentionSchedule>(target);
}

static ArrayRef<AttentionStage> getStages(const AttentionProblem &problem) {
  static constexpr AttentionStage forward[] = {AttentionStage::Forward};
  static constexpr AttentionStage backward[] = {AttentionStage::BackwardQueries, AttentionStage::BackwardKeys};
  return problem.isBackward ? ArrayRef(backward) : ArrayRef(forward);
}

/// Returns the parameters that select tiles, one per function.
static DictionaryAttr makeParameters(const AttentionProblem &problem, ArrayRef<AttentionTiles> tiles) {
  NamedAttrList parameters;
  for (auto [stage, each] : llvm::zip_equal(getStages(problem), tiles))
    parameters.set(AttentionTiles::getStageName(stage), each.getParameters());
  return parameters.getDictionary(problem.element.getContext());
}

/// Returns the tiles of each function: those that the kernel's parameters select, or else the fastest known ones.
static FailureOr<SmallVector<AttentionTiles, 2>> chooseTiles(const DeviceKernel &kernel,
                                                             const AttentionProblem &problem,
                                                             const TargetDescription &target, std::string &whyNot) {
  SmallVector<AttentionTiles, 2> tiles;
  for (AttentionStage stage : getStages(problem)) {
    if (!kernel.parameters) {
      tiles.push_back(AttentionTiles::choose(stage, problem.sizes, problem.element, problem.arithmetic));
      continue;
    }
    Attribute parameters = kernel.parameters.get(AttentionTiles::getStageName(stage));
    FailureOr<AttentionTiles> selected =
        AttentionTiles::select(stage, problem.sizes, problem.element, problem.arithmetic, target, parameters, whyNot);
    if (failed(selected))
      return failure();
    tiles.push_back(*selected);
  }
  return tiles;
}

std::unique_ptr<ScheduledKernel> AttentionSchedule::schedule(const DeviceKernel &kernel, std::string &whyNot) const {
  FailureOr<AttentionProblem> problem = AttentionProblem::read(kernel, whyNot);
  if (failed(problem))
    return nullptr;
  whyNot = AttentionTiles::whyNone(problem->sizes, problem->element);
  if (!whyNot.empty())
    return nullptr;
  FailureOr<SmallVector<AttentionTiles, 2>> tiles = chooseTiles(kernel, *problem, target, whyNot);
  if (failed(tiles))
    return nullptr;
  return requireGrid(std::make_unique<AttentionKernel>(kernel, std::move(*problem), std::move(*tiles)), whyNot);
}

SmallVector<DictionaryAttr> AttentionSchedule::listCandidates(const DeviceKernel &kernel) const {
  std::string whyNot;
  FailureOr<AttentionProblem> problem = AttentionProblem::read(kernel, whyNot);
  if (failed(problem) || !AttentionTiles::whyNone(problem->sizes, problem->element).empty())
    return {};
  SmallVector<std::vector<AttentionTiles>, 2> tiles;
  for (AttentionStage stage : getStages(*problem))
    tiles.push_back(AttentionTiles::listCandidates(stage, problem->sizes, problem->element, problem->arithmetic,
                                                   problem->isCausal, target));
  SmallVector<DictionaryAttr> candidates;
  if (!problem->isBackward) {
    constexpr size_t most = 6;
    for (const AttentionTiles &forward : ArrayRef(tiles.front()).take_front(most))
      candidates.push_back(makeParameters(*problem, {forward}));
    return candidates;
  }
  // Both functions are timed together. Sums of the positions in both lists limit the number of pairs.
  constexpr size_t mostSum = 2;
  for (size_t sum = 0; sum <= mostSum; ++sum)
    for (size_t first = 0; first <= sum; ++first)
      if (first < tiles[0].size() && sum - first < tiles[1].size())
        candidates.push_back(makeParameters(*problem, {tiles[0][first], tiles[1][sum - first]}));
  return candidates;
}

AttentionKernel::AttentionKernel(const DeviceKernel &kernel, AttentionProblem attention,
                                 SmallVector<AttentionTiles, 2> tiles)
    : kernel(kernel), problem(std::move(attention)), tiles(std::move(tiles)) {
  if (problem.isBackward)
    addBackward();
  else
    addForward();
}

void AttentionKernel::addForward() {
  const AttentionTiles &forward = tiles.front();
  functions.push_back({{kernel.name, forward.getBlocks(), forward.getThreads(), forward.getSharedBytes()},
                       forward.getTemplate(getProblemName()),
                       forward.describe(),
                       getArguments({"Query", "Key", "Value", "Output", "LogSumExp"})});
}

void AttentionKernel::addBackward() {
  const AttentionTiles &queries = tiles[0], &keys = tiles[1];
  functions.push_back({{kernel.name + "_queries", queries.getBlocks(), queries.getThreads(), queries.getSharedBytes()},
                       queries.getTemplate(getProblemName()),
                       queries.describe(),
                       getArguments({"Query", "Key", "Value", "Output", "LogSumExp", "OutputGradient", "QueryGradient"},
                                    "reinterpret_cast<float *>(workspace)")});
  functions.push_back(
      {{kernel.name + "_keys", keys.getBlocks(), keys.getThreads(), keys.getSharedBytes()},
       keys.getTemplate(getProblemName()),
       keys.describe(),
       getArguments({"Query", "Key", "Value", "LogSumExp", "OutputGradient", "KeyGradient", "ValueGradient"},
                    "reinterpret_cast<const float *>(workspace)")});
}

SmallVector<KernelFunction> AttentionKernel::getFunctions() const {
  return llvm::map_to_vector(functions, [](const PlannedFunction &function) { return function.launch; });
}

int64_t AttentionKernel::getWorkspaceBytes() const {
  const AttentionSizes &sizes = problem.sizes;
  return problem.isBackward ? sizes.batches * sizes.queryHeads * sizes.queries * sizeof(float) : 0;
}

void AttentionKernel::collectDeviceSources(DeviceSources &sources) const {
  for (StringRef source : {"scalar.cuh", "vector.cuh", "reduce.cuh", "async_copy.cuh", "mma.cuh", "shared_tile.cuh",
                           "head_layout.cuh", "attention.cuh"})
    sources.insert(source);
  problem.collectTypeSources(kernel, sources);
  if (problem.isBackward)
    for (StringRef source : {"attention_backward.cuh", "mean_of_keys.cuh", "attention_backward_queries.cuh",
                             "attention_backward_keys.cuh"})
      sources.insert(source);
  else
    sources.insert("attention_forward.cuh");
  if (problem.arithmetic == AttentionArithmetic::FusedMultiplyAdds) {
    sources.insert("fma_rows.cuh");
    return;
  }
  sources.insert("tensor_core_rows.cuh");
  if (problem.arithmetic == AttentionArithmetic::TensorFloats) {
    sources.insert("mma_tf32.cuh");
    sources.insert("tensor_float_rows.cuh");
    return;
  }
  sources.insert(problem.element.isBF16() ? "mma_bf16.cuh" : "mma_f16.cuh");
}

std::string AttentionKernel::describe() const {
  std::string text;
  for (const PlannedFunction &function : functions)
    text += (text.empty() ? "" : "; then ") + function.description;
  return text;
}

DictionaryAttr AttentionKernel::getParameters() const { return makeParameters(problem, tiles); }

void AttentionKernel::emit(raw_ostream &os) const {
  problem.emit(os, kernel, getProblemName());
  for (auto [number, function] : llvm::enumerate(functions)) {
    os << (number == 0 ? "" : "\n");
    emitSignature(os, kernel, function.launch.symbol, function.launch.threads, /*hasWorkspace=*/problem.isBackward);
    os << "  using Attention = " << function.instance << ";\n"
       << "  static_assert(Attention::blocks == " << function.launch.blocks
       << " && Attention::sharedBytes == " << function.launch.sharedBytes << ");\n"
       << "  Attention::run(" << function.arguments << ");\n}\n";
  }
}
