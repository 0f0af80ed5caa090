//===- FuseUpdatesPass.cpp - Gradients that only update parameters --------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GradientProblem.h"
#include "MergedKernel.h"
#include "UpdateGroups.h"
#include "cs336/Dialect/CS336/IR/Phase.h"
#include "cs336/Dialect/Exec/Transforms/LiveSets.h"
#include "cs336/Statistics/PassCounter.h"
#include "cs336/Target/CUDA/Passes.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace cs336 {
#define GEN_PASS_DEF_FUSEUPDATESPASS
#include "cs336/Target/CUDA/Passes.h.inc"
} // namespace cs336

using namespace mlir;
using namespace cs336;
using namespace cs336::cuda;
using namespace cs336::exec;

namespace {

struct FuseUpdatesPass : cs336::impl::FuseUpdatesPassBase<FuseUpdatesPass>, CountingPass {
  using FuseUpdatesPassBase::FuseUpdatesPassBase;

  void runOnOperation() override {
    if (failed(fuseUpdates()))
      signalPassFailure();
  }

private:
  LogicalResult fuseUpdates();
  LogicalResult fuseUpdates(EntryOp entry, KernelForms &forms, UpdateSearch &search);
  void replace(const UpdateGroup &group, const EntryCommands &commands, KernelForms &forms);

  /// The multiprocessors of the module's largest GPU.
  int64_t multiprocessors = 0;

  PassCounter numUpdates{this, "num-updates", "Number of GEMMs that became part of the update by their result"};
  PassCounter numLaunches{this, "num-launches", "Number of launches that do both"};
};

} // namespace

/// Moves the storage of a buffer, and the views of it that lead to the buffer, before a command, unless they are.
static void moveBefore(Value buffer, Operation *command) {
  SmallVector<Operation *> later;
  while (Operation *op = buffer.getDefiningOp()) {
    if (op->isBeforeInBlock(command))
      break;
    later.push_back(op);
    buffer = cast<BufferOpInterface>(op).getViewSource();
    if (!buffer)
      break;
  }
  for (Operation *op : llvm::reverse(later))
    op->moveBefore(command);
}

/// Returns a buffer for the gradient in place of the operand of its all-gather: its place among the rows of all ranks
/// if they are aligned, so that only the rows of the others are copied.
static Value storeForGather(GradientUpdate update) {
  CollectiveOp gather = update.gather;
  Value gradient = update.launch.getInputs()[update.gradient];
  for (auto [number, source] : llvm::enumerate(gather.getSources())) {
    Value target = gather.getTargets()[number];
    auto whole = target.getDefiningOp<AllocOp>();
    if (source != gradient || !whole || getStorageBytes(bufferType(gradient)) % VariableOp::kPartAlignment != 0)
      continue;
    OpBuilder builder(whole->getContext());
    builder.setInsertionPointAfter(whole);
    Value part = createRows(builder, gradient.getLoc(), target, static_cast<int64_t>(gather.getGroup()), /*shift=*/0);
    gather.getSourcesMutable()[number].set(part);
    return part;
  }
  return gradient;
}

void FuseUpdatesPass::replace(const UpdateGroup &group, const EntryCommands &commands, KernelForms &forms) {
  auto kernels = llvm::map_to_vector(group.members, [](const GradientUpdate &update) { return update.kernel; });
  KernelOp kernel = kernels.front();
  const GradientUpdate &first = group.members.front();
  SmallVector<bool> isShared = (*forms.find(first.launch))->isScalar;
  isShared.insert(isShared.begin() + first.gradient + 1, false);
  auto getInputs = [&](unsigned member) { return ArrayRef(group.members[member].inputs); };
  if (kernels.size() > 1) {
    auto locations = llvm::map_to_vector(group.members, [](GradientUpdate update) { return update.launch.getLoc(); });
    kernel = forms.insert(mergeKernels(kernels, isShared, FusedLoc::get(&getContext(), locations)));
  }
  SmallVector<Value> inputs =
      kernels.size() == 1 ? first.inputs : collectInputs<Value>(kernels.size(), isShared, getInputs);
  SmallVector<Value> outputs;
  for (GradientUpdate update : group.members) {
    llvm::append_range(outputs, update.launch.getOutputs());
    if (update.gather)
      outputs.push_back(storeForGather(update));
  }

  // The location of one member does not describe the group, so only the phase is kept.
  LaunchOp launch = first.launch;
  Location loc =
      kernels.size() == 1 ? launch.getLoc() : inPhase(getPhase(launch.getLoc()), UnknownLoc::get(&getContext()));
  OpBuilder builder(&getContext());
  builder.setInsertionPointAfter(commands[group.position]);
  auto fused =
      LaunchOp::create(builder, loc, kernel.getSymName(), inputs, outputs, /*workspace=*/Value(), launch.getStream());
  for (Value buffer : fused->getOperands())
    moveBefore(buffer, fused);
  // Gathers that precede the launch follow it, in the same order.
  llvm::SmallSetVector<Operation *, 2> gathers;
  for (GradientUpdate update : group.members)
    if (update.gather && update.gather->isBeforeInBlock(fused))
      gathers.insert(update.gather);
  auto early = gathers.takeVector();
  llvm::sort(early, [](Operation *a, Operation *b) { return b->isBeforeInBlock(a); });
  for (Operation *gather : early)
    gather->moveAfter(fused);
  remark::passed(launch.getLoc(), fuseUpdatesRemarks("Fused")) << remark::add(
      "{0} updates with the GEMMs of their gradients in one launch of {1} tiles", kernels.size(), group.tiles);
  numUpdates += kernels.size();
  ++numLaunches;
}

/// Erases a GEMM and the launch that reads its result, and the storage of the result.
static void erase(const GradientUpdate &update) {
  GemmOp gemm = update.gemm;
  LaunchOp launch = update.launch;
  // They may be one value.
  llvm::SmallSetVector<Value, 2> buffers;
  buffers.insert_range(ArrayRef<Value>{gemm.getOutput(), launch.getInputs()[update.gradient]});
  launch.erase();
  gemm.erase();
  llvm::for_each(buffers, eraseUnused);
}

LogicalResult FuseUpdatesPass::fuseUpdates(EntryOp entry, KernelForms &forms, UpdateSearch &search) {
  EntryCommands commands(entry);
  if (commands.haveEvents())
    return success();
  llvm::SmallSetVector<unsigned, 4> hoisted;
  FailureOr<std::vector<GradientUpdate>> updates = search.find(commands, hoisted);
  if (failed(updates))
    return failure();
  if (updates->empty())
    return success();

  // Large groups keep all multiprocessors busy longer, but the operands of their GEMMs live longer.
  std::vector<UpdateGroup> groups;
  LiveSets liveSets(commands.get());
  int64_t bytes = liveSets.getLargest();
  for (auto variable : getOperation().getOps<VariableOp>())
    bytes += getStorageBytes(variable.getReservedType());
  for (int64_t leastTiles = rounds * multiprocessors; leastTiles > 0; leastTiles /= 2) {
    groups = groupUpdates(*updates, forms, leastTiles, mostMembers);
    llvm::erase_if(groups, [&](const UpdateGroup &group) { return !always && !isFaster(group, multiprocessors); });
    if (liveSets.tryMove(getPlaces(groups, hoisted.getArrayRef(), commands.get().size()), bytes * growthPercent / 100))
      break;
    groups.clear();
  }
  if (groups.empty())
    return success();

  // Positions are those of the original commands, so the first group's launch is inserted before any is erased.
  Operation *firstPlace = nullptr;
  unsigned firstPosition = ~0u;
  for (const UpdateGroup &group : groups)
    if (group.position < firstPosition) {
      firstPosition = group.position;
      firstPlace = commands[group.position];
    }
  for (unsigned position : hoisted) {
    CommandOpInterface command = commands[position];
    // Its own storage is allocated there, too.
    for (Value buffer : llvm::concat<Value>(command.getReads(), command.getWrites()))
      if (Operation *storage = getStorage(buffer); isa<AllocOp>(storage) && firstPlace->isBeforeInBlock(storage))
        storage->moveBefore(firstPlace);
    command->moveBefore(firstPlace);
  }
  for (const UpdateGroup &group : groups)
    replace(group, commands, forms);
  for (const UpdateGroup &group : groups)
    for (const GradientUpdate &update : group.members)
      erase(update);
  return success();
}

LogicalResult FuseUpdatesPass::fuseUpdates() {
  ModuleOp module = getOperation();
  if (rounds < 1)
    return module.emitError() << "rounds must be at least 1, is " << rounds.getValue();
  if (mostMembers < 1)
    return module.emitError() << "most-members must be at least 1, is " << mostMembers.getValue();
  FailureOr<std::vector<std::string>> architectures = getArchitectures(module);
  if (failed(architectures))
    return failure();
  for (const std::string &architecture : *architectures) {
    const TargetDescription &target = getTarget(architecture);
    if (!target.hasWgmma || !target.hasTensorMaps)
      return success();
    multiprocessors = std::max(multiprocessors, target.multiprocessors);
  }
  if (architectures->empty())
    return success();

  KernelForms forms(module);
  // Smaller gradients would not fill tiles of the kernel.
  UpdateSearch search(forms, /*leastSize=*/always ? 0 : GradientProblem::columnsPerTile);
  for (auto entry : module.getOps<EntryOp>())
    if (failed(fuseUpdates(entry, forms, search)))
      return failure();

  forms.eraseUnlaunched(llvm::to_vector(module.getOps<KernelOp>()));
  return success();
}
