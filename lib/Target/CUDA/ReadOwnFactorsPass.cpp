//===- ReadOwnFactorsPass.cpp - Own factors where they are ----------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelForms.h"
#include "OwnFactors.h"
#include "cs336/Dialect/CS336/IR/CS336Ops.h"
#include "cs336/Dialect/Exec/IR/KernelNames.h"
#include "cs336/Dialect/Exec/Transforms/LiveSets.h"
#include "cs336/Statistics/PassCounter.h"
#include "cs336/Statistics/RemarkOptions.h"
#include "cs336/Target/CUDA/Passes.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SetVector.h"

namespace cs336 {
#define GEN_PASS_DEF_READOWNFACTORSPASS
#include "cs336/Target/CUDA/Passes.h.inc"
} // namespace cs336

using namespace mlir;
using namespace cs336;
using namespace cs336::cuda;
using namespace cs336::exec;

static constexpr RemarkOptions readOwnFactorsRemarks("exec-read-own-factors");

namespace {

struct ReadOwnFactorsPass : cs336::impl::ReadOwnFactorsPassBase<ReadOwnFactorsPass>, CountingPass {
  using ReadOwnFactorsPassBase::ReadOwnFactorsPassBase;

  void runOnOperation() override;

private:
  PassCounter numCollectives{this, "num-collectives", "Number of collectives that no longer copy own factors"};
  PassCounter numLaunches{this, "num-launches", "Number of launches that read own factors where they are"};
};

} // namespace

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

/// Returns a kernel that reads each factor in two parts, this rank's and then those of the others. The former is an
/// input before the latter. `inputs` are those of its launch.
static KernelOp splitFactors(KernelOp kernel, const FactorReader &reader, ValueRange inputs) {
  OpBuilder builder(kernel.getContext());
  SmallVector<Type> types;
  for (Value input : inputs)
    types.push_back(dropOffset(bufferType(input)));
  auto split = KernelOp::create(builder, kernel.getLoc(), "split",
                                builder.getFunctionType(types, llvm::to_vector_of<Type>(kernel.getOutTypes())));
  Block &body = split.getBody().emplaceBlock();
  IRMapping mapping;
  builder.setInsertionPointToStart(&body);
  auto addArgument = [&](Location loc) {
    auto type = cast<MemRefType>(types[body.getNumArguments()]);
    return body.addArgument(RankedTensorType::get(type.getShape(), type.getElementType()), loc);
  };
  for (BlockArgument argument : kernel.getBody().getArguments()) {
    Value value = addArgument(argument.getLoc());
    if (const auto *factor = reader.factors.find(argument.getArgNumber()); factor != reader.factors.end()) {
      Value others = addArgument(argument.getLoc());
      value = ConcatOp::create(builder, argument.getLoc(), argument.getType(), factor->second.isTransposed ? 1 : 0,
                               ValueRange{value, others});
    }
    mapping.map(argument, value);
  }
  for (Operation &op : kernel.getBody().front())
    builder.clone(op, mapping);
  // The operations on the result are the same, so the name has the same beginning.
  nameByContents(split, kernel.getSymName().rsplit('_').first);
  return split;
}

//===----------------------------------------------------------------------===//
// Entries
//===----------------------------------------------------------------------===//

/// Creates a collective of some operands of `collective`, after it.
static exec::CollectiveOp createPart(exec::CollectiveOp collective, ValueRange sources, ValueRange targets,
                                     bool others) {
  OpBuilder builder(collective.getContext());
  builder.setInsertionPointAfter(collective);
  return exec::CollectiveOp::create(builder, collective.getLoc(), collective.getKindAttr(), CollectiveReductionAttr(),
                                    sources, targets, collective.getGroupAttr(), IntegerAttr(),
                                    others ? builder.getUnitAttr() : UnitAttr(), collective.getStreamAttr());
}

/// Creates a collective that gathers the parts of other ranks of some operands of `collective`, and one for the rest,
/// if any. Returns the storage that the former writes, by the operands' positions in `collective`.
static SmallVector<Value> gatherOthers(exec::CollectiveOp collective, const llvm::SmallSet<unsigned, 4> &operands) {
  OpBuilder builder(collective);
  int64_t ranks = static_cast<int64_t>(collective.getGroup());
  SmallVector<Value> storage(collective.getTargets().size()), sources, targets, otherSources, otherTargets;
  for (auto [position, source, target] : llvm::enumerate(collective.getSources(), collective.getTargets())) {
    if (!operands.contains(position)) {
      sources.push_back(source);
      targets.push_back(target);
      continue;
    }
    SmallVector<int64_t> shape(bufferType(target).getShape());
    shape.front() = shape.front() / ranks * (ranks - 1);
    auto type = MemRefType::get(shape, bufferType(target).getElementType());
    storage[position] = AllocOp::create(builder, target.getLoc(), type, IntegerAttr());
    otherSources.push_back(source);
    otherTargets.push_back(storage[position]);
  }
  createPart(collective, otherSources, otherTargets, /*others=*/true);
  if (!sources.empty())
    createPart(collective, sources, targets, /*others=*/false);
  return storage;
}

/// Replaces the launch by one of a kernel that reads each factor in two parts. `storage` has the parts of other ranks,
/// by collective and operand.
static void rewrite(const FactorReader &reader, const llvm::DenseMap<Operation *, SmallVector<Value>> &storage,
                    KernelForms &forms) {
  LaunchOp launch = reader.launch;
  OpBuilder builder(launch);
  SmallVector<Value> inputs;
  for (auto [number, input] : llvm::enumerate(launch.getInputs())) {
    auto found = reader.factors.find(number);
    if (found == reader.factors.end()) {
      inputs.push_back(input);
      continue;
    }
    const GatheredFactor &factor = found->second;
    inputs.push_back(factor.createOwn(builder));
    inputs.push_back(factor.createOthers(builder, storage.at(factor.collective)[factor.operand]));
  }
  KernelOp kernel = forms.insert(splitFactors(forms.getKernel(launch), reader, inputs));
  LaunchOp::create(builder, launch.getLoc(), kernel.getSymName(), inputs, launch.getOutputs(), /*workspace=*/Value(),
                   launch.getStream());
  // Several factors may be the same view.
  llvm::SetVector<Value> views;
  for (const auto &[input, factor] : reader.factors)
    if (Value view = launch.getInputs()[input]; view.getDefiningOp<ViewOp>())
      views.insert(view);
  launch.erase();
  llvm::for_each(views, eraseUnused);
}

/// Replaces the launches and the collectives.
static void replace(const OwnFactors &found, KernelForms &forms) {
  llvm::DenseMap<Operation *, SmallVector<Value>> storage;
  for (const auto &[collective, operands] : found.operands)
    storage[collective] = gatherOthers(cast<exec::CollectiveOp>(collective), operands);
  for (const FactorReader &reader : found.readers)
    rewrite(reader, storage, forms);
  for (const auto &[operation, operands] : found.operands) {
    auto collective = cast<exec::CollectiveOp>(operation);
    SmallVector<Value> targets(collective.getTargets());
    collective.erase();
    for (unsigned operand : operands)
      eraseUnused(targets[operand]);
  }
}

void ReadOwnFactorsPass::runOnOperation() {
  ModuleOp module = getOperation();
  int64_t variableBytes = 0;
  for (auto variable : module.getOps<VariableOp>())
    variableBytes += getStorageBytes(variable.getReservedType());
  KernelForms forms(module);
  bool areKernelsNew = false;
  for (EntryOp entry : llvm::to_vector(module.getOps<EntryOp>())) {
    EntryCommands commands(entry);
    if (commands.haveEvents() || findOwnFactors(commands, forms.getSymbols()).readers.empty())
      continue;
    areKernelsNew = true;
    // The lifetimes of sources become longer and the targets smaller, so the result is compared with the original.
    OpBuilder builder(entry);
    auto copy = cast<EntryOp>(builder.clone(*entry));
    OwnFactors found = findOwnFactors(EntryCommands(copy), forms.getSymbols());
    size_t launches = found.readers.size(), collectives = found.operands.size();
    replace(found, forms);
    int64_t before = LiveSets(commands.get()).getLargest(), after = LiveSets(EntryCommands(copy).get()).getLargest();
    if (after - before > (variableBytes + before) * growthPercent / 100) {
      remark::missed(entry.getLoc(), readOwnFactorsRemarks("Copied")) << remark::add(
          "{0} launches read copies of own factors: the largest live set would grow from {1} to {2} bytes", launches,
          before, after);
      copy.erase();
      continue;
    }
    remark::passed(entry.getLoc(), readOwnFactorsRemarks("Read"))
        << remark::add("{0} launches read own factors where they are, so that {1} collectives do not copy them",
                       launches, collectives);
    numLaunches += launches;
    numCollectives += collectives;
    entry.erase();
  }
  if (areKernelsNew)
    forms.eraseUnlaunched(llvm::to_vector(module.getOps<KernelOp>()));
}
