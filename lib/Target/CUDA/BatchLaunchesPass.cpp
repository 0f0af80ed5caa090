//===- BatchLaunchesPass.cpp - One launch for many buffers ----------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelForms.h"
#include "MergedKernel.h"
#include "cs336/Dialect/CS336/IR/Phase.h"
#include "cs336/Dialect/Exec/Transforms/CollectiveOrder.h"
#include "cs336/Dialect/Exec/Transforms/Lifetimes.h"
#include "cs336/Dialect/Exec/Transforms/LiveSets.h"
#include "cs336/Statistics/PassCounter.h"
#include "cs336/Statistics/RemarkOptions.h"
#include "cs336/Target/CUDA/Passes.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

#include <map>

namespace cs336 {
#define GEN_PASS_DEF_BATCHLAUNCHESPASS
#include "cs336/Target/CUDA/Passes.h.inc"
} // namespace cs336

using namespace mlir;
using namespace cs336;
using namespace cs336::exec;
using cs336::cuda::KernelForm;
using cs336::cuda::KernelForms;

static constexpr RemarkOptions batchLaunchesRemarks("exec-batch-launches");

/// Late members have at most one of this many parts of a batch's bytes. While their collectives run, the device then
/// has the rest to do.
static constexpr int64_t lateFraction = 8;

/// Returns the bytes of the buffers that the launch reads and writes.
static int64_t getAccessedBytes(LaunchOp launch) {
  int64_t bytes = 0;
  for (OperandRange buffers : {launch.getInputs(), launch.getOutputs()})
    for (Value buffer : buffers)
      bytes += getStorageBytes(bufferType(buffer));
  return bytes;
}

namespace {

/// Launches that become one launch, at the position of the last.
struct LaunchBatch {
  void add(LaunchOp member, unsigned position) {
    members.push_back(member);
    positions.push_back(position);
    bytes += getAccessedBytes(member);
  }
  /// Adds the members of another batch, which may come before those of this one until they are sorted.
  void append(const LaunchBatch &other);
  /// Sorts the members by position.
  void sort();

  SmallVector<LaunchOp> members;
  /// Their positions among the entry's commands.
  SmallVector<unsigned> positions;
  /// Bytes of what they read and write.
  int64_t bytes = 0;
  llvm::SmallDenseSet<const void *> reads, writes;
};

struct BatchLaunchesPass : cs336::impl::BatchLaunchesPassBase<BatchLaunchesPass>, CountingPass {
  using BatchLaunchesPassBase::BatchLaunchesPassBase;

  void runOnOperation() override {
    if (failed(batchLaunches()))
      signalPassFailure();
  }

private:
  using MergedKernels = std::map<std::vector<const void *>, KernelOp>;

  LogicalResult batchLaunches();
  FailureOr<SmallVector<LaunchBatch>> findBatches(ArrayRef<CommandOpInterface> commands, KernelForms &forms);
  SmallVector<LaunchBatch> splitLateMembers(const LaunchBatch &batch, ArrayRef<unsigned> latestCollectives,
                                            unsigned finished);
  void merge(const LaunchBatch &batch, KernelForms &forms, MergedKernels &merged);

  PassCounter numLaunches{this, "num-launches", "Number of launches that became part of another"};
  PassCounter numBatches{this, "num-batches", "Number of launches that they became"};
  PassCounter numKernels{this, "num-kernels", "Number of kernels created"};
  PassCounter numLate{this, "num-late", "Number of launches kept out of a batch that would wait for their collectives"};
};

} // namespace

void LaunchBatch::append(const LaunchBatch &other) {
  llvm::append_range(members, other.members);
  llvm::append_range(positions, other.positions);
  bytes += other.bytes;
}

void LaunchBatch::sort() {
  SmallVector<std::pair<unsigned, LaunchOp>> sorted;
  for (auto [position, member] : llvm::zip_equal(positions, members))
    sorted.emplace_back(position, member);
  llvm::sort(sorted, llvm::less_first());
  for (auto [number, each] : llvm::enumerate(sorted))
    std::tie(positions[number], members[number]) = each;
}

//===----------------------------------------------------------------------===//
// Commands that may move
//===----------------------------------------------------------------------===//

/// Returns whether a batch cannot move past the command and the command cannot join a batch.
static bool conflicts(const LaunchBatch &batch, CommandOpInterface command) {
  if (command.getRecordedEvent() || command.getAwaitedEvent())
    return true;
  return llvm::any_of(command.getReads(),
                      [&](Value read) { return batch.writes.contains(getStorageIdentity(read)); }) ||
         llvm::any_of(command.getWrites(), [&](Value write) {
           const void *owner = getStorageIdentity(write);
           return batch.writes.contains(owner) || batch.reads.contains(owner);
         });
}

//===----------------------------------------------------------------------===//
// Finding batches
//===----------------------------------------------------------------------===//

/// Returns the number of collectives before the last command of the forward and backward pass. Later ones may still run
/// when the optimizer begins.
static unsigned countFinishedCollectives(ArrayRef<CommandOpInterface> commands) {
  unsigned count = 0, finished = 0;
  for (CommandOpInterface command : commands) {
    CommandPhase phase = command.getPhase();
    if (communicates(command))
      ++count;
    else if (phase == CommandPhase::Forward || phase == CommandPhase::Backward)
      finished = count;
  }
  return finished;
}

/// Splits off the members that depend on the last collectives, because the others would wait for them. They are a small
/// part of the batch, and may be fewer than a batch. As long as members depend on collectives that may still run when
/// the optimizer begins, further parts follow, from the last one on.
SmallVector<LaunchBatch> BatchLaunchesPass::splitLateMembers(const LaunchBatch &batch,
                                                             ArrayRef<unsigned> latestCollectives, unsigned finished) {
  std::map<unsigned, LaunchBatch, std::greater<>> byCollective;
  for (auto [member, position] : llvm::zip_equal(batch.members, batch.positions))
    byCollective[latestCollectives[position]].add(member, position);
  SmallVector<LaunchBatch> parts;
  auto next = byCollective.begin(), end = byCollective.end();
  auto take = [&] { parts.back().append(next++->second); };
  while (next != end && (parts.empty() || next->first > finished)) {
    parts.emplace_back();
    if (next->first > finished)
      take();
    while (next != end && (parts.back().bytes + next->second.bytes) * lateFraction <= batch.bytes)
      take();
    if (parts.back().members.empty()) {
      parts.pop_back();
      break;
    }
  }
  LaunchBatch early;
  for (; next != end; ++next)
    early.append(next->second);
  if (early.members.size() >= minMembers || parts.empty())
    parts.push_back(std::move(early));
  else
    parts.back().append(early);
  size_t numEarlier = batch.members.size();
  for (const LaunchBatch &late : ArrayRef(parts).drop_back()) {
    numLate += late.members.size();
    numEarlier -= late.members.size();
    remark::passed(LaunchOp(late.members.front()).getLoc(), batchLaunchesRemarks("LateApart")) << remark::add(
        "{0} launches like this one stay apart from {1} others, which do not wait for the last collectives",
        late.members.size(), numEarlier);
  }
  for (LaunchBatch &part : parts)
    part.sort();
  return parts;
}

FailureOr<SmallVector<LaunchBatch>> BatchLaunchesPass::findBatches(ArrayRef<CommandOpInterface> commands,
                                                                   KernelForms &forms) {
  using Key = std::tuple<unsigned, uint64_t, CommandPhase>;
  std::map<Key, LaunchBatch> open;
  SmallVector<LaunchBatch> batches;
  SmallVector<unsigned> latestCollectives = findLatestCollectives(commands);
  unsigned finished = countFinishedCollectives(commands);
  auto close = [&](LaunchBatch &batch) {
    if (batch.members.size() >= minMembers)
      for (LaunchBatch &part : splitLateMembers(batch, latestCollectives, finished))
        if (part.members.size() > 1)
          batches.push_back(std::move(part));
    batch = LaunchBatch();
  };

  for (auto [position, each] : llvm::enumerate(commands)) {
    CommandOpInterface command = each;
    // A launch that moves past the command must not depend on it, even if it is a member of another batch.
    for (auto &[key, batch] : open)
      if (conflicts(batch, command))
        close(batch);
    auto launch = dyn_cast<LaunchOp>(command.getOperation());
    if (!launch || launch.getWorkspace())
      continue;
    FailureOr<const KernelForm *> form = forms.find(launch);
    if (failed(form))
      return failure();
    if (!*form)
      continue;
    LaunchBatch &batch = open[{(*form)->number, command.getStream(), command.getPhase()}];
    size_t bytes =
        (batch.members.size() + 1) * (launch.getInputs().size() + launch.getOutputs().size()) * sizeof(void *);
    // A batch of reductions also has a workspace.
    if (bytes + sizeof(void *) > cuda::maxParameterBytes)
      close(batch);
    batch.add(launch, position);
    for (Value read : command.getReads())
      batch.reads.insert(getStorageIdentity(read));
    for (Value write : command.getWrites())
      batch.writes.insert(getStorageIdentity(write));
  }
  for (auto &[key, batch] : open)
    close(batch);
  llvm::sort(batches, [](const LaunchBatch &lhs, const LaunchBatch &rhs) {
    return lhs.positions.back() < rhs.positions.back();
  });
  return batches;
}

//===----------------------------------------------------------------------===//
// Merging
//===----------------------------------------------------------------------===//

void BatchLaunchesPass::merge(const LaunchBatch &batch, KernelForms &forms, MergedKernels &merged) {
  SmallVector<LaunchOp> members(batch.members);
  auto kernels = llvm::map_to_vector(members, [&](LaunchOp member) { return forms.getKernel(member); });
  SmallVector<bool> isShared = (*forms.find(members.front()))->isScalar;
  for (auto [input, shared] : llvm::enumerate(isShared))
    shared &= llvm::all_equal(
        llvm::map_range(members, [input = input](LaunchOp member) { return Value(member.getInputs()[input]); }));

  std::vector<const void *> key;
  for (KernelOp kernel : kernels)
    key.push_back(kernel.getAsOpaquePointer());
  for (bool shared : isShared)
    key.push_back(shared ? this : nullptr);
  KernelOp &kernel = merged[key];
  if (!kernel) {
    auto locations = llvm::map_to_vector(members, [](LaunchOp member) { return member.getLoc(); });
    kernel = cuda::mergeKernels(kernels, isShared, FusedLoc::get(&getContext(), locations));
    ++numKernels;
    kernel = forms.insert(kernel);
  }

  auto getInputs = [&](unsigned member) { return members[member].getInputs(); };
  SmallVector<Value> outputs;
  for (LaunchOp member : members)
    llvm::append_range(outputs, member.getOutputs());
  LaunchOp last = members.back();
  // The location of one member does not describe the batch, so only the common phase is kept.
  Location loc = inPhase(getPhase(last.getLoc()), UnknownLoc::get(&getContext()));
  OpBuilder builder(last);
  LaunchOp::create(builder, loc, kernel.getSymName(), cuda::collectInputs<Value>(members.size(), isShared, getInputs),
                   outputs,
                   /*workspace=*/Value(), last.getStream());
  for (LaunchOp member : members)
    member.erase();
  numLaunches += members.size();
  ++numBatches;
}

LogicalResult BatchLaunchesPass::batchLaunches() {
  ModuleOp module = getOperation();
  if (minMembers < 2)
    return module.emitError() << "min-members must be at least 2, is " << minMembers.getValue();

  KernelForms forms(module);
  MergedKernels merged;
  llvm::SmallSetVector<KernelOp, 8> replaced;
  for (auto entry : module.getOps<EntryOp>()) {
    auto commands = llvm::to_vector(entry.getBody().getOps<CommandOpInterface>());
    FailureOr<SmallVector<LaunchBatch>> batches = findBatches(commands, forms);
    if (failed(batches))
      return failure();
    LiveSets liveSets(commands);
    for (const LaunchBatch &batch : *batches) {
      LaunchOp first = batch.members.front();
      if (!liveSets.tryMoveToLast(batch.positions)) {
        remark::missed(first.getLoc(), batchLaunchesRemarks("KeptApart"))
            << remark::add("{0} launches like this one stay apart: as one they would raise the largest live set",
                           batch.members.size());
        continue;
      }
      for (LaunchOp member : batch.members)
        replaced.insert(forms.getKernel(member));
      merge(batch, forms, merged);
    }
  }

  forms.eraseUnlaunched(replaced.getArrayRef());
  return success();
}
