//===- ReduceByCopiesPass.cpp - Reductions over ranks by copies -----------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Dialect/CS336/IR/CS336Ops.h"
#include "cs336/Dialect/Exec/IR/Buffers.h"
#include "cs336/Dialect/Exec/IR/KernelNames.h"
#include "cs336/Dialect/Exec/Transforms/Passes.h"
#include "cs336/Statistics/PassCounter.h"
#include "cs336/Statistics/RemarkOptions.h"
#include "mlir/IR/SymbolTable.h"

#include <map>
#include <tuple>

namespace cs336::exec {
#define GEN_PASS_DEF_REDUCEBYCOPIESPASS
#include "cs336/Dialect/Exec/Transforms/Passes.h.inc"
} // namespace cs336::exec

using namespace mlir;
using namespace cs336;
using namespace cs336::exec;

static constexpr RemarkOptions remarkOptions("exec-reduce-by-copies");
/// The most ranks whose parts one kernel adds.
static constexpr int64_t kMostRanks = 8;

namespace {
/// An operand of a reduction over ranks, as one dimension.
struct Operand {
  Value source, target;
  Type elementType;
  int64_t numElements;
};

/// The kernel that reduces parts: by element type, elements of a part, ranks, and whether it computes the mean.
using KernelKey = std::tuple<const void *, int64_t, int64_t, bool>;

struct ReduceByCopiesPass : exec::impl::ReduceByCopiesPassBase<ReduceByCopiesPass>, CountingPass {
  using ReduceByCopiesPassBase::ReduceByCopiesPassBase;

  void runOnOperation() override;

private:
  bool isReplaced(exec::CollectiveOp collective, unsigned index) const;
  void replace(exec::CollectiveOp collective, SymbolTable &symbols);
  void reduceParts(OpBuilder &builder, exec::CollectiveOp collective, ArrayRef<Operand> operands,
                   ArrayRef<Value> received, ArrayRef<Value> parts, SymbolTable &symbols);
  KernelOp getOrCreateKernel(exec::CollectiveOp collective, MemRefType part, SymbolTable &symbols);

  std::map<KernelKey, KernelOp> kernels;
  PassCounter numCollectives{this, "num-collectives", "Number of reductions over ranks by copies"};
  PassCounter numKernels{this, "num-kernels", "Number of kernels created"};
};
} // namespace

/// Returns a view of the elements [begin, begin + count) of a dense buffer, in one dimension.
static Value createRange(OpBuilder &builder, Location loc, Value buffer, int64_t begin, int64_t count) {
  BufferLayout layout(bufferType(buffer));
  layout.offset += begin;
  layout.sizes = {count};
  layout.strides = {1};
  MemRefType type = layout.getType();
  return type == buffer.getType() ? buffer : createView(builder, loc, buffer, type);
}

static exec::CollectiveOp createCollective(OpBuilder &builder, exec::CollectiveOp like, CollectiveKind kind,
                                           ValueRange sources, ValueRange targets) {
  return exec::CollectiveOp::create(builder, like.getLoc(), kind, /*reduction=*/CollectiveReductionAttr(), sources,
                                    targets, like.getGroup(), /*root=*/IntegerAttr(), like.getStream());
}

bool ReduceByCopiesPass::isReplaced(exec::CollectiveOp collective, unsigned index) const {
  MemRefType type = bufferType(collective.getSources()[index]);
  Type elementType = type.getElementType();
  // A part is aligned like an allocation, so that kernels can use vectors.
  int64_t partBytes = getStorageBytes(type) / collective.getGroup();
  return (elementType.isF32() || elementType.isBF16() || elementType.isF16()) &&
         type.getNumElements() % collective.getGroup() == 0 && partBytes % static_cast<int64_t>(alignment) == 0 &&
         getStorageBytes(type) >= minBytes;
}

KernelOp ReduceByCopiesPass::getOrCreateKernel(exec::CollectiveOp collective, MemRefType part, SymbolTable &symbols) {
  bool isMean = collective.getReduction() == CollectiveReduction::Mean;
  int64_t ranks = collective.getGroup();
  KernelOp &kernel = kernels[{part.getElementType().getAsOpaquePointer(), part.getNumElements(), ranks, isMean}];
  if (kernel)
    return kernel;
  Location loc = collective.getLoc();
  OpBuilder builder(&getContext());
  SmallVector<Type> inputs(ranks, part);
  kernel = KernelOp::create(builder, loc, "reduction", builder.getFunctionType(inputs, part));
  Block &body = kernel.getBody().emplaceBlock();
  builder.setInsertionPointToStart(&body);
  auto stored = RankedTensorType::get(part.getShape(), part.getElementType());
  auto wide = stored.clone(builder.getF32Type());
  auto convert = [&](Value value, RankedTensorType type) -> Value {
    return value.getType() == type ? value : CastOp::create(builder, loc, type, value);
  };
  Value total;
  for (int64_t rank = 0; rank < ranks; ++rank) {
    Value value = convert(body.addArgument(stored, loc), wide);
    total = total ? AddOp::create(builder, loc, total, value) : value;
  }
  if (isMean)
    total = DivOp::create(builder, loc, total, ConstantOp::create(builder, loc, wide, static_cast<double>(ranks)));
  exec::YieldOp::create(builder, loc, convert(total, stored));
  nameByContents(kernel, isMean ? "mean_of_ranks" : "sum_of_ranks");
  // Kernels precede their launches.
  symbols.insert(kernel, Block::iterator(collective->getParentOfType<EntryOp>()));
  ++numKernels;
  return kernel;
}

/// Launches the kernel on the parts of all ranks, which are one after the other in `received`.
void ReduceByCopiesPass::reduceParts(OpBuilder &builder, exec::CollectiveOp collective, ArrayRef<Operand> operands,
                                     ArrayRef<Value> received, ArrayRef<Value> parts, SymbolTable &symbols) {
  Location loc = collective.getLoc();
  int64_t ranks = collective.getGroup();
  for (auto [operand, all, part] : llvm::zip_equal(operands, received, parts)) {
    int64_t count = operand.numElements / ranks;
    SmallVector<Value> ofRanks;
    for (int64_t rank = 0; rank < ranks; ++rank)
      ofRanks.push_back(createRange(builder, loc, all, rank * count, count));
    KernelOp kernel = getOrCreateKernel(collective, MemRefType::get({count}, operand.elementType), symbols);
    LaunchOp::create(builder, loc, FlatSymbolRefAttr::get(kernel.getSymNameAttr()), ofRanks, part);
  }
}

void ReduceByCopiesPass::replace(exec::CollectiveOp collective, SymbolTable &symbols) {
  SmallVector<Operand> operands;
  SmallVector<Value> keptSources, keptTargets;
  for (auto [index, source, target] : llvm::enumerate(collective.getSources(), collective.getTargets())) {
    if (!isReplaced(collective, index)) {
      keptSources.push_back(source);
      keptTargets.push_back(target);
      continue;
    }
    MemRefType type = bufferType(source);
    operands.push_back({source, target, type.getElementType(), type.getNumElements()});
  }
  if (operands.empty())
    return;
  Location loc = collective.getLoc();
  OpBuilder builder(collective);
  int64_t ranks = collective.getGroup();
  bool isScattered = collective.getKind() == CollectiveKind::ReduceScatter;
  SmallVector<Value> sent, received, parts, gathered;
  for (const Operand &operand : operands) {
    sent.push_back(createRange(builder, loc, operand.source, 0, operand.numElements));
    received.push_back(
        AllocOp::create(builder, loc, MemRefType::get({operand.numElements}, operand.elementType), IntegerAttr()));
  }
  createCollective(builder, collective, CollectiveKind::AllToAll, sent, received);
  for (auto [operand, whole] : llvm::zip_equal(operands, sent)) {
    int64_t count = operand.numElements / ranks;
    if (isScattered) {
      parts.push_back(createRange(builder, loc, operand.target, 0, count));
      continue;
    }
    parts.push_back(AllocOp::create(builder, loc, MemRefType::get({count}, operand.elementType), IntegerAttr()));
    bool isInPlace = operand.target == operand.source;
    gathered.push_back(isInPlace ? whole : createRange(builder, loc, operand.target, 0, operand.numElements));
  }
  reduceParts(builder, collective, operands, received, parts, symbols);
  if (!isScattered)
    createCollective(builder, collective, CollectiveKind::AllGather, parts, gathered);
  ++numCollectives;
  remark::passed(loc, remarkOptions("ByCopies"))
      << remark::add("{0}: {1} of {2} operands are reduced by copies and a kernel", collective.getCommandName(),
                     operands.size(), collective.getSources().size());
  if (keptSources.empty()) {
    collective.erase();
    return;
  }
  collective.getSourcesMutable().assign(keptSources);
  collective.getTargetsMutable().assign(keptTargets);
}

void ReduceByCopiesPass::runOnOperation() {
  if (minBytes < 1) {
    getOperation().emitError() << "min-bytes must be at least 1, is " << minBytes.getValue();
    return signalPassFailure();
  }
  kernels.clear();
  SymbolTable symbols(getOperation());
  SmallVector<exec::CollectiveOp> collectives;
  getOperation().walk([&](exec::CollectiveOp collective) {
    bool reduces =
        collective.getKind() == CollectiveKind::AllReduce || collective.getKind() == CollectiveKind::ReduceScatter;
    if (reduces && collective.getReduction() != CollectiveReduction::Max && collective.getGroup() > 1 &&
        collective.getGroup() <= kMostRanks)
      collectives.push_back(collective);
  });
  for (exec::CollectiveOp collective : collectives)
    replace(collective, symbols);
}
