//===- ScaleLossPass.cpp - Dynamic loss scaling ---------------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Dialect/CS336/IR/Ports.h"
#include "cs336/Dialect/CS336/Transforms/Passes.h"
#include "cs336/Statistics/PassCounter.h"
#include "cs336/Statistics/RemarkOptions.h"
#include <functional>

namespace cs336 {
#define GEN_PASS_DEF_SCALELOSSPASS
#include "cs336/Dialect/CS336/Transforms/Passes.h.inc"
} // namespace cs336

using namespace mlir;
using namespace cs336;

static constexpr RemarkOptions scaleLossRemarks("cs336-scale-loss");

namespace {
class ScaleLossPass : public cs336::impl::ScaleLossPassBase<ScaleLossPass>, public CountingPass {
public:
  using ScaleLossPassBase::ScaleLossPassBase;

private:
  void runOnOperation() override;
  LogicalResult scaleLoss(func::FuncOp function);

  PassCounter numScaled{this, "num-scaled", "Number of functions whose loss is scaled"};
};
} // namespace

/// Returns the function's attribute, with its fields replaced by the options that were given.
LogicalResult ScaleLossPass::scaleLoss(func::FuncOp function) {
  auto attribute = function->getAttrOfType<LossScalingAttr>(CS336Dialect::kLossScalingAttr);
  auto choose = [&](auto &option, auto getField) {
    using Field = decltype(getField(attribute));
    return option.hasValue() || !attribute ? Field(option.getValue()) : getField(attribute);
  };
  auto emitError = [&] { return function.emitOpError("has an impossible loss scaling: "); };
  auto scaling =
      LossScalingAttr::getChecked(emitError, &getContext(), choose(init, std::mem_fn(&LossScalingAttr::getInit)),
                                  choose(growth, std::mem_fn(&LossScalingAttr::getGrowth)),
                                  choose(backoff, std::mem_fn(&LossScalingAttr::getBackoff)),
                                  choose(interval, std::mem_fn(&LossScalingAttr::getInterval)));
  if (!scaling)
    return failure();
  auto type = RankedTensorType::get({}, Float32Type::get(&getContext()));
  auto initial = InitAttr::get(&getContext(), InitKind::Constant, 0.0, 0.0, scaling.getInit());
  DictionaryAttr port = makePort(&getContext(), port::kState, state::kLossScale, nullptr, initial);
  Location loc = NameLoc::get(StringAttr::get(&getContext(), state::kLossScale));
  if (failed(function.insertArgument(function.getNumArguments(), type, port, loc)))
    return failure();
  function->setAttr(CS336Dialect::kLossScalingAttr, scaling);
  ++numScaled;
  remark::passed(function.getLoc(), scaleLossRemarks("Scaled")) << remark::add(
      "@{0}: the loss is multiplied by '{1}', {2} at first; times {3} after {4} finite steps, times {5} after another",
      function.getName(), state::kLossScale, scaling.getInit(), scaling.getGrowth(), scaling.getInterval(),
      scaling.getBackoff());
  return success();
}

void ScaleLossPass::runOnOperation() {
  func::FuncOp function = getOperation();
  if (function.isExternal() || getMode(function) != Mode::Train ||
      findArgument(function, port::kState, state::kLossScale))
    return;
  if (hasResultOfKind(function, port::kGradient) || hasResultOfKind(function, port::kParameter)) {
    function.emitOpError() << "returns gradients or updated parameters already; the loss must be scaled before "
                              "--cs336-differentiate";
    return signalPassFailure();
  }
  if (failed(scaleLoss(function)))
    signalPassFailure();
}
