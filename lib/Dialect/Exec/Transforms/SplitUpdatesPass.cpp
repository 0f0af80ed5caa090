//===- SplitUpdatesPass.cpp - Update the rows of each rank apart ----------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RowsKernel.h"
#include "cs336/Dialect/Exec/Transforms/Lifetimes.h"
#include "cs336/Dialect/Exec/Transforms/Passes.h"
#include "cs336/Statistics/PassCounter.h"
#include "cs336/Statistics/RemarkOptions.h"
#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/SetVector.h"

namespace cs336::exec {
#define GEN_PASS_DEF_SPLITUPDATESPASS
#include "cs336/Dialect/Exec/Transforms/Passes.h.inc"
} // namespace cs336::exec

using namespace mlir;
using namespace cs336;
using namespace cs336::exec;

static constexpr RemarkOptions splitUpdatesRemarks("exec-split-updates");

namespace {
/// A launch that updates variables by what an all-gather brings.
struct Update {
  LaunchOp launch;
  /// The input of the launch that is the target of the all-gather.
  unsigned gathered;
  /// The operand of the all-gather: the own rows.
  Value own;
  int64_t ranks;
  /// The kernel of a rank's rows.
  KernelOp kernel;
};

/// Finds and splits the updates of a module.
class UpdateSplitter {
public:
  explicit UpdateSplitter(ModuleOp module) : module(module), symbols(module) {}

  /// Returns the number of updates.
  int64_t split(EntryOp entry);
  void eraseUnlaunched();

private:
  std::optional<Update> match(LaunchOp launch);
  bool canSplit(Value buffer, int64_t ranks) const;
  void split(const Update &update);
  KernelOp getRowsKernel(KernelOp kernel, int64_t rows);

  ModuleOp module;
  SymbolTable symbols;
  /// By storage of the present entry: the number of commands that read it, and the commands that write it.
  llvm::DenseMap<const void *, unsigned> numReaders;
  llvm::DenseMap<const void *, SmallVector<Operation *, 2>> writers;
  /// By kernel and its number of rows: the kernel of so many rows, or null.
  llvm::DenseMap<std::pair<Operation *, int64_t>, KernelOp> kernels;
};

struct SplitUpdatesPass : exec::impl::SplitUpdatesPassBase<SplitUpdatesPass>, CountingPass {
  using SplitUpdatesPassBase::SplitUpdatesPassBase;

  void runOnOperation() override {
    UpdateSplitter splitter(getOperation());
    for (auto entry : getOperation().getOps<EntryOp>())
      if (entry.getMode() == Mode::Train)
        numUpdates += splitter.split(entry);
    splitter.eraseUnlaunched();
  }

private:
  PassCounter numUpdates{this, "num-updates", "Number of updates that became one launch per rank"};
};
} // namespace

/// Returns whether the buffer is single, or storage of rows that all ranks store alike, which can be divided equally.
bool UpdateSplitter::canSplit(Value buffer, int64_t ranks) const {
  MemRefType type = bufferType(buffer);
  if (type.getRank() == 0)
    return true;
  if (!isa<FloatType>(type.getElementType()))
    return false;
  Operation *storage = buffer.getDefiningOp();
  auto get = dyn_cast_if_present<GetOp>(storage);
  if (!get && !isa_and_present<AllocOp>(storage))
    return false;
  if (get && symbols.lookup<VariableOp>(get.getVariable()).getNumShards() > 1)
    return false;
  return type.getDimSize(0) % ranks == 0 && getStorageBytes(type) / ranks % VariableOp::kPartAlignment == 0;
}

KernelOp UpdateSplitter::getRowsKernel(KernelOp kernel, int64_t rows) {
  auto [found, isNew] = kernels.try_emplace({kernel, rows}, KernelOp());
  if (!isNew)
    return found->second;
  KernelOp changed = createRowsKernel(kernel, rows);
  if (changed) {
    if (auto known = symbols.lookup<KernelOp>(changed.getSymName())) {
      changed.erase();
      changed = known;
    } else {
      symbols.insert(changed, Block::iterator(kernel));
    }
  }
  return found->second = changed;
}

std::optional<Update> UpdateSplitter::match(LaunchOp launch) {
  bool updates = !launch.getWorkspace() &&
                 llvm::any_of(launch.getOutputs(), [](Value output) { return output.getDefiningOp<GetOp>(); });
  if (!updates)
    return std::nullopt;
  for (auto [number, input] : llvm::enumerate(launch.getInputs())) {
    const void *storage = getStorageIdentity(input);
    ArrayRef<Operation *> itsWriters = writers[storage];
    auto gather = itsWriters.size() == 1 ? dyn_cast<CollectiveOp>(itsWriters.front()) : CollectiveOp();
    if (!input.getDefiningOp<AllocOp>() || !gather || gather.getKind() != CollectiveKind::AllGather ||
        gather.getOthers() || numReaders[storage] != 1)
      continue;
    // The launch reads the allocation itself, and the gather may write a view of it.
    auto targets = llvm::to_vector(gather.getTargets());
    size_t operand = std::distance(targets.begin(), llvm::find(targets, input));
    if (operand == targets.size())
      continue;
    Update update{launch, static_cast<unsigned>(number), gather.getSources()[operand],
                  static_cast<int64_t>(gather.getGroup()), KernelOp()};
    // The own rows must still have the values that the gather has read.
    bool isChanged = llvm::any_of(writers[getStorageIdentity(update.own)], [&](Operation *writer) {
      return gather->isBeforeInBlock(writer) && writer->isBeforeInBlock(launch);
    });
    bool canSplitAll =
        llvm::all_of(launch->getOperands(), [&](Value buffer) { return canSplit(buffer, update.ranks); });
    if (!canSplitAll || isChanged || !dropOffset(bufferType(update.own)).getLayout().isIdentity())
      continue;
    update.kernel = getRowsKernel(symbols.lookup<KernelOp>(launch.getKernel()),
                                  bufferType(launch.getOutputs().front()).getDimSize(0) / update.ranks);
    if (update.kernel)
      return update;
  }
  return std::nullopt;
}

void UpdateSplitter::split(const Update &update) {
  LaunchOp launch = update.launch;
  OpBuilder builder(launch);
  KernelOp kernel = update.kernel;
  for (int64_t shift = 0; shift < update.ranks; ++shift) {
    // A launch that updates in place reads and writes one buffer.
    llvm::DenseMap<Value, Value> parts;
    auto getPart = [&](Value buffer) -> Value {
      MemRefType type = bufferType(buffer);
      if (type.getRank() == 0)
        return buffer;
      Value &part = parts[buffer];
      if (!part)
        part = createRows(builder, buffer.getLoc(), buffer, update.ranks, shift);
      return part;
    };
    SmallVector<Value> inputs, outputs = llvm::map_to_vector(launch.getOutputs(), getPart);
    for (auto [number, input] : llvm::enumerate(launch.getInputs()))
      inputs.push_back(shift == 0 && number == update.gathered ? update.own : getPart(input));
    LaunchOp::create(builder, launch.getLoc(), kernel.getSymName(), inputs, outputs, /*workspace=*/Value(),
                     launch.getStream());
  }
  remark::passed(launch.getLoc(), splitUpdatesRemarks("Split"))
      << remark::add("{0} became {1} launches, for the rows of each rank: the own rows are updated without waiting for "
                     "the others",
                     launch.getKernel(), update.ranks);
  launch.erase();
}

int64_t UpdateSplitter::split(EntryOp entry) {
  numReaders.clear();
  writers.clear();
  for (auto command : entry.getBody().getOps<CommandOpInterface>()) {
    for (Value read : command.getReads())
      ++numReaders[getStorageIdentity(read)];
    for (Value write : command.getWrites())
      writers[getStorageIdentity(write)].push_back(command);
  }
  // Launches are only erased when all have been matched, because `writers` has them.
  SmallVector<Update> updates;
  for (auto launch : entry.getBody().getOps<LaunchOp>())
    if (std::optional<Update> update = match(launch))
      updates.push_back(*update);
  for (const Update &update : updates)
    split(update);
  return updates.size();
}

void UpdateSplitter::eraseUnlaunched() {
  llvm::SmallSetVector<Operation *, 4> replaced;
  for (auto &[kernelAndRows, rowsKernel] : kernels)
    if (rowsKernel)
      replaced.insert(kernelAndRows.first);
  for (Operation *kernel : replaced)
    if (SymbolTable::symbolKnownUseEmpty(kernel, module))
      kernel->erase();
}
