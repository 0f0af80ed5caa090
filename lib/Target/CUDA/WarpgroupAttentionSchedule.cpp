//===- WarpgroupAttentionSchedule.cpp - Attention on sm_90a ---------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Accepts the same kernels as the schedule `attention`, if they are in bf16 or f16, on architectures with wgmma and
// tensor maps, where all operands can be copied by tensor maps and the sequences are long enough. The text is
// instances of the templates of runtime/kernels/warpgroup_attention_*.cuh and warpgroup_gradient_*.cuh.
//
// The parameters are tile sizes, and the number of passes of the gradient (WarpgroupPlan.h).
//
//===----------------------------------------------------------------------===//

#include "WarpgroupAttentionKernel.h"

using namespace mlir;
using namespace cs336;
using namespace cs336::cuda;

namespace {
class WarpgroupAttentionSchedule : public KernelSchedule {
public:
  explicit WarpgroupAttentionSchedule(const TargetDescription &target) : target(target) {}
  StringRef getName() const override { return "warpgroup_attention"; }
  std::unique_ptr<ScheduledKernel> schedule(const DeviceKernel &kernel, std::string &whyNot) const override;
  SmallVector<DictionaryAttr> listCandidates(const DeviceKernel &kernel) const override;

private:
  /// Reads a kernel that the schedule accepts with some parameters.
  FailureOr<AttentionProblem> read(const DeviceKernel &kernel, std::string &whyNot) const;

  const TargetDescription target;
};
} // namespace

/// Returns the reason why tensor maps cannot describe an operand of heads, or an empty string if they can.
static std::string whyNotMapped(const DeviceKernel &kernel, const AttentionProblem &problem) {
  for (const AttentionProblem::Role &role : problem.roles) {
    if (!role.operand || kernel.operands[*role.operand].getRank() != 4)
      continue;
    AttentionProblem::Layout layout = AttentionProblem::getLayout(kernel, *role.operand);
    if (layout.alignment != DeviceKernel::storageAlignment)
      return "reads or writes " + kernel.getOperandName(*role.operand) + ", whose rows are not aligned to 16 bytes";
    ArrayRef<int64_t> shape = kernel.operands[*role.operand].getShape();
    if ((shape[0] > 1 && layout.batch == 0) || (shape[1] > 1 && layout.position == 0) ||
        (shape[2] > 1 && layout.head == 0))
      return "reads " + kernel.getOperandName(*role.operand) + ", whose elements are repeated";
  }
  return "";
}

/// Shorter sequences are faster with the schedule `attention`, whose blocks are smaller.
static bool isLong(const AttentionProblem &problem) {
  constexpr int64_t forwardRows = 256, backwardRows = 512;
  return problem.sizes.queries >= (problem.isBackward ? backwardRows : forwardRows) &&
         problem.sizes.keys >= (problem.isBackward ? backwardRows : forwardRows);
}

/// Returns whether a sequence is long enough that skipped tiles can save more time than the launch of the function that
/// finds them takes.
static bool isWorthInspecting(const AttentionProblem &problem) {
  constexpr int64_t leastKeys = 1024;
  return problem.sizes.keys >= leastKeys;
}

FailureOr<AttentionProblem> WarpgroupAttentionSchedule::read(const DeviceKernel &kernel, std::string &whyNot) const {
  FailureOr<AttentionProblem> problem = AttentionProblem::read(kernel, whyNot);
  if (failed(problem))
    return failure();
  whyNot = WarpgroupTiles::whyNone(problem->sizes, problem->element);
  if (whyNot.empty())
    whyNot = whyNotMapped(kernel, *problem);
  if (whyNot.empty() && !isLong(*problem))
    whyNot = "has short sequences";
  if (!whyNot.empty())
    return failure();
  if (problem->score) {
    problem->score->inspectsTiles = isWorthInspecting(*problem) && problem->score->hidesTiles(kernel);
    // A gradient that also looks for hidden tiles has no registers for a bias.
    problem->score->addsBiasInSteps = problem->scale > 0 && !(problem->isBackward && problem->score->inspectsTiles);
    // Numerators of capped scores need the range of bf16.
    problem->score->capsWithExponentials = problem->element.isBF16() && !problem->isBackward;
    problem->score->onlyHidesPairs = problem->scale > 0 && problem->score->isInteriorOrHidden(kernel);
    // The parts of a step need the range of bf16.
    problem->score->multipliesBiasSteps = !problem->isBackward && problem->element.isBF16() &&
                                          problem->score->onlyHidesPairs && problem->score->hasBiasSteps(kernel);
  }
  return problem;
}

std::unique_ptr<ScheduledKernel> WarpgroupAttentionSchedule::schedule(const DeviceKernel &kernel,
                                                                      std::string &whyNot) const {
  FailureOr<AttentionProblem> problem = read(kernel, whyNot);
  if (failed(problem))
    return nullptr;
  FailureOr<WarpgroupPlan> plan = WarpgroupPlan::select(*problem, target, kernel.parameters, whyNot);
  if (failed(plan))
    return nullptr;
  return requireGrid(std::make_unique<WarpgroupAttentionKernel>(kernel, std::move(*problem), std::move(*plan), target),
                     whyNot);
}

SmallVector<DictionaryAttr> WarpgroupAttentionSchedule::listCandidates(const DeviceKernel &kernel) const {
  std::string whyNot;
  FailureOr<AttentionProblem> problem = read(kernel, whyNot);
  if (failed(problem))
    return {};
  FailureOr<WarpgroupPlan> plan = WarpgroupPlan::select(*problem, target, kernel.parameters, whyNot);
  if (failed(plan))
    return {};
  SmallVector<DictionaryAttr> candidates{plan->getParameters(problem->element.getContext())};
  llvm::append_range(candidates, plan->listVariants(*problem, target));
  return candidates;
}

std::unique_ptr<KernelSchedule> cs336::cuda::createWarpgroupAttentionSchedule(const TargetDescription &target) {
  return std::make_unique<WarpgroupAttentionSchedule>(target);
}
