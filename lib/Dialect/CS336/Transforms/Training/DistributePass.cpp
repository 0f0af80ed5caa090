//===- DistributePass.cpp - Means of gradients over ranks -----------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Distributor.h"
#include "ShardParameters.h"
#include "cs336/Dialect/CS336/IR/CS336Ops.h"
#include "cs336/Dialect/CS336/Transforms/Passes.h"
#include "cs336/Statistics/PassCounter.h"
#include "cs336/Support/UnknownValue.h"
#include "llvm/ADT/SmallVectorExtras.h"
#include "llvm/Support/FormatVariadic.h"

#include <limits>

namespace cs336 {
#define GEN_PASS_DEF_DISTRIBUTEPASS
#include "cs336/Dialect/CS336/Transforms/Passes.h.inc"
} // namespace cs336

using namespace mlir;
using namespace cs336;

/// The value of the option that stands for one layer in mode fsdp, and for all layers in mode zero1.
static constexpr int64_t kAutomaticPrefetch = -1;
/// More layers than a model has: all gathers are at the start.
static constexpr int64_t kAllLayers = std::numeric_limits<int64_t>::max();

namespace {
class DistributePass : public cs336::impl::DistributePassBase<DistributePass>, public CountingPass {
public:
  using DistributePassBase::DistributePassBase;

private:
  void runOnOperation() override;
  LogicalResult checkOptions(func::FuncOp function);
  bool shardsParameters() const { return mode == DistributeMode::Zero1 || mode == DistributeMode::FSDP; }
  FailureOr<ShardedParameters> shard(func::FuncOp function, bool exchanges);
  void exchange(func::FuncOp function, llvm::StringSet<> scattered);

  PassCounter numCollectives{this, "num-collectives", "Number of collectives added"};
  PassCounter numExchanged{this, "num-exchanged", "Number of gradients and losses exchanged"};
  PassCounter numSharded{this, "num-sharded", "Number of parameters sharded"};
};
} // namespace

LogicalResult DistributePass::checkOptions(func::FuncOp function) {
  if (worldSize < 1)
    return function.emitOpError() << "cannot be distributed: world-size is " << worldSize.getValue()
                                  << ", must be at least 1";
  if (prefetch < kAutomaticPrefetch)
    return function.emitOpError() << "cannot be distributed: prefetch is " << prefetch.getValue()
                                  << ", must not be negative, except -1, which chooses it by the mode";
  if (gatherLayers < 1)
    return function.emitOpError() << "cannot be distributed: gather-layers is " << gatherLayers.getValue()
                                  << ", must be at least 1";
  if (bucketMiB.mib < 0)
    return function.emitOpError() << "cannot be distributed: bucket-mib is "
                                  << llvm::formatv("{0:f}", bucketMiB.mib).str()
                                  << ", must be above 0, or 0 for a size by the gradients";
  if (factors < 0)
    return function.emitOpError() << "cannot be distributed: factors is "
                                  << llvm::formatv("{0:f}", factors.getValue()).str() << ", must not be negative";
  if (!findDeviceModel(predictOn)) {
    auto names =
        llvm::map_to_vector(getDeviceModels(), [](const DeviceModel &device) -> StringRef { return device.name; });
    return function.emitOpError() << "cannot be distributed: " << describeUnknown("predict-on", predictOn, names);
  }
  return success();
}

FailureOr<ShardedParameters> DistributePass::shard(func::FuncOp function, bool exchanges) {
  bool gatherAgain = mode == DistributeMode::FSDP;
  // Values that are gathered once live until the backward pass: memory does not depend on when the forward pass
  // gathers.
  int64_t layersAhead = prefetch != kAutomaticPrefetch ? prefetch.getValue()
                        : gatherAgain || !exchanges    ? 1
                                                       : kAllLayers;
  // Values that a gather brings for several layers need their memory earlier, unless all gathers are at the start.
  int64_t layersPerGather = layersAhead == kAllLayers ? gatherLayers.getValue() : 1;
  FailureOr<ShardedParameters> sharded =
      shardParameters(function, {worldSize, gatherAgain, layersAhead, layersPerGather});
  if (failed(sharded))
    return failure();
  numSharded += sharded->names.size();
  numCollectives += sharded->numGathers;
  remark::passed(function.getLoc(), distributeRemarks("Sharded")) << remark::add(
      "@{0}: {1} parameters are sharded over {2} ranks, {3} replicated ({4} vectors, scalars or integers, {5} with "
      "rows that {2} does not divide); {6} collectives gather {7}",
      function.getName(), sharded->names.size(), worldSize.getValue(), sharded->numSmall + sharded->numIndivisible,
      sharded->numSmall, sharded->numIndivisible, sharded->numGathers, formatMiB(sharded->gatheredBytes));
  return sharded;
}

void DistributePass::exchange(func::FuncOp function, llvm::StringSet<> scattered) {
  Distribution distribution{worldSize, mode, bucketMiB, *findDeviceModel(predictOn), factors, std::move(scattered)};
  Distributor distributor(function, distribution);
  distributor.run();
  numCollectives += distributor.numCollectives;
  numExchanged += distributor.numExchanged();
  if (distributor.numScatters > 0)
    remark::passed(function.getLoc(), distributeRemarks("Scattered"))
        << remark::add("@{0}: {1} collectives scatter {2} of gradients", function.getName(), distributor.numScatters,
                       formatMiB(distributor.scatteredBytes));
  remark::passed(function.getLoc(), distributeRemarks("Distributed"))
      << remark::add("@{0}: {1} values become means over {2} ranks, in {3} collectives", function.getName(),
                     distributor.numExchanged(), worldSize.getValue(), distributor.numCollectives);
}

void DistributePass::runOnOperation() {
  func::FuncOp function = getOperation();
  if (failed(checkOptions(function)))
    return signalPassFailure();
  std::optional<Mode> functionMode = getMode(function);
  bool exchanges = functionMode == Mode::Train || functionMode == Mode::ForwardBackward;
  if (function.isExternal() || worldSize == 1 || !functionMode || !(exchanges || shardsParameters()))
    return;
  if (function.walk([](CollectiveOp) { return WalkResult::interrupt(); }).wasInterrupted()) {
    remark::missed(function.getLoc(), distributeRemarks("HasCollectives"))
        << remark::add("@{0} contains collectives and is not changed", function.getName());
    return;
  }
  if (functionMode == Mode::Train && !hasResultOfKind(function, port::kGradient)) {
    function.emitOpError() << "returns no gradients to average over ranks; run --cs336-distribute after "
                              "--cs336-differentiate and before --cs336-optimizer";
    return signalPassFailure();
  }
  if (!function.getBody().hasOneBlock()) {
    function.emitOpError() << "has several blocks; only straight-line functions are distributed";
    return signalPassFailure();
  }
  llvm::StringSet<> scattered;
  if (shardsParameters()) {
    FailureOr<ShardedParameters> sharded = shard(function, exchanges);
    if (failed(sharded))
      return signalPassFailure();
    // A caller gets whole gradients. Only an optimizer uses parts of them.
    if (functionMode == Mode::Train)
      scattered = std::move(sharded->names);
  }
  if (exchanges)
    exchange(function, std::move(scattered));
}
