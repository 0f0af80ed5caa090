//===- UpdateSearch.cpp - Launches that update by GEMMs' results ----------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "UpdateSearch.h"

#include "GradientProblem.h"
#include "KernelEmitter.h"
#include "cs336/Dialect/CS336/IR/CS336Ops.h"
#include "cs336/Dialect/Exec/IR/KernelNames.h"
#include "cs336/Dialect/Exec/Transforms/Lifetimes.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace cs336;
using namespace cs336::cuda;
using namespace cs336::exec;

EntryCommands::EntryCommands(EntryOp entry) : commands(llvm::to_vector(entry.getBody().getOps<CommandOpInterface>())) {
  for (auto [position, each] : llvm::enumerate(commands)) {
    CommandOpInterface command = each;
    for (Value read : command.getReads())
      readers[getStorageIdentity(read)].push_back(position);
    for (Value write : command.getWrites())
      writers[getStorageIdentity(write)].push_back(position);
  }
}

bool EntryCommands::haveEvents() const {
  return llvm::any_of(
      commands, [](CommandOpInterface command) { return command.getRecordedEvent() || command.getAwaitedEvent(); });
}

ArrayRef<unsigned> EntryCommands::find(const Positions &positions, Value buffer) {
  auto found = positions.find(getStorageIdentity(buffer));
  return found == positions.end() ? ArrayRef<unsigned>() : ArrayRef<unsigned>(found->second);
}

void cs336::cuda::eraseUnused(Value buffer) {
  while (buffer && buffer.use_empty()) {
    auto op = buffer.getDefiningOp<BufferOpInterface>();
    buffer = op.getViewSource();
    op->erase();
  }
}

//===----------------------------------------------------------------------===//
// The place of an update
//===----------------------------------------------------------------------===//

/// Finds the all-gather of the gradient among the two commands that read it.
static bool findGather(const EntryCommands &commands, ArrayRef<unsigned> readers, Value gradient,
                       GradientUpdate &update) {
  unsigned other = readers.front() == update.launchPosition ? readers.back() : readers.front();
  auto gather = dyn_cast<exec::CollectiveOp>(commands[other].getOperation());
  bool isOperand = gather && gather.getKind() == CollectiveKind::AllGather && !gather.getOthers() &&
                   gradient.getDefiningOp<AllocOp>() && llvm::is_contained(gather.getSources(), gradient);
  if (!isOperand)
    return false;
  update.gather = gather;
  update.gatherPosition = other;
  update.gatherLimit = commands.get().size();
  // The update may write a part of a target, and the gather may move to later commands.
  for (Value target : gather.getTargets()) {
    ArrayRef<unsigned> itsReaders = commands.getReaders(target);
    if (commands.getWriters(target).size() != 1 || (!itsReaders.empty() && itsReaders.front() < other))
      return false;
    if (!itsReaders.empty())
      update.gatherLimit = std::min(update.gatherLimit, itsReaders.front());
  }
  for (Value source : gather.getSources())
    for (unsigned writer : commands.getWriters(source))
      if (writer > other)
        update.gatherLimit = std::min(update.gatherLimit, writer);
  return true;
}

/// Finds the input that a GEMM alone writes, and that the launch alone reads apart from an all-gather.
bool UpdateSearch::findGradient(const EntryCommands &commands, GradientUpdate &update) const {
  for (auto [number, input] : llvm::enumerate(update.launch.getInputs())) {
    auto storage = dyn_cast<AllocOp>(getStorage(input).getOperation());
    ArrayRef<unsigned> writers = commands.getWriters(input), readers = commands.getReaders(input);
    if (!storage || writers.size() != 1 || readers.empty() || readers.size() > 2)
      continue;
    update.gather = {};
    if (readers.size() == 2 && !findGather(commands, readers, input, update))
      continue;
    auto gemm = dyn_cast<GemmOp>(commands[writers.front()].getOperation());
    if (!gemm || gemm.getAddend() || gemm.getBias() || gemm.getRelu() || gemm.getWorkspace() ||
        gemm.getStream() != update.launch.getStream() || gemm.getOutput().getType() != input.getType())
      continue;
    update.gemm = gemm;
    update.gradient = number;
    update.gemmPosition = writers.front();
    return true;
  }
  return false;
}

/// Returns whether a command computes single elements only, so that it costs nothing to run it early.
static bool computesScalars(CommandOpInterface command) {
  auto launch = dyn_cast<LaunchOp>(command.getOperation());
  auto isScalar = [](Value buffer) { return bufferType(buffer).getNumElements() == 1; };
  return launch && !launch.getWorkspace() && llvm::all_of(command.getReads(), isScalar) &&
         llvm::all_of(command.getWrites(), isScalar);
}

/// Finds where the update can be done, and the commands that must be done before all updates. `hoisted` has those of
/// other updates already. Commands between the GEMM and the launch may use neither what the launch writes, nor write
/// what it reads.
static bool findRange(const EntryCommands &commands, GradientUpdate &update,
                      llvm::SmallSetVector<unsigned, 4> &hoisted) {
  update.first = update.gemmPosition;
  auto follow = [&](ArrayRef<unsigned> positions) {
    for (unsigned position : positions)
      if (position < update.launchPosition)
        update.first = std::max(update.first, position);
  };
  for (Value write : update.launch.getWrites()) {
    follow(commands.getReaders(write));
    follow(commands.getWriters(write));
  }
  SmallVector<unsigned> early;
  for (auto [number, input] : llvm::enumerate(update.launch.getInputs())) {
    if (number == update.gradient)
      continue;
    for (unsigned position : commands.getWriters(input))
      if (position > update.gemmPosition && position < update.launchPosition)
        early.push_back(position);
  }
  // Their operands must not depend on the GEMM or any other command that stays behind.
  for (unsigned position : early) {
    CommandOpInterface command = commands[position];
    if (!computesScalars(command))
      return false;
    for (Value buffer : command.getReads())
      if (llvm::any_of(commands.getWriters(buffer), [&](unsigned writer) { return writer < position; }))
        return false;
    for (Value buffer : command.getWrites()) {
      auto isBefore = [&](unsigned other) { return other < position; };
      if (llvm::any_of(commands.getReaders(buffer), isBefore) || llvm::any_of(commands.getWriters(buffer), isBefore))
        return false;
    }
  }
  update.last = update.launchPosition;
  if (update.gather)
    update.last = std::min(update.last, update.gatherLimit);
  for (Value operand : {update.gemm.getLhs(), update.gemm.getRhs()})
    for (unsigned writer : commands.getWriters(operand))
      if (writer > update.gemmPosition)
        update.last = std::min(update.last, writer);
  if (update.first >= update.last)
    return false;
  hoisted.insert_range(early);
  return true;
}

//===----------------------------------------------------------------------===//
// The kernel of an update
//===----------------------------------------------------------------------===//

/// Returns a kernel whose operand `gradient` is computed by a matmul of two operands in its place. With `stores`, the
/// gradient is the last result.
static KernelOp joinKernel(KernelOp kernel, GemmOp gemm, unsigned gradient, bool stores) {
  OpBuilder builder(kernel.getContext());
  SmallVector<Type> inputs = llvm::to_vector_of<Type>(kernel.getInTypes()),
                    outputs = llvm::to_vector_of<Type>(kernel.getOutTypes());
  if (stores)
    outputs.push_back(inputs[gradient]);
  Type left = dropOffset(bufferType(gemm.getLhs())), right = dropOffset(bufferType(gemm.getRhs()));
  inputs[gradient] = left;
  inputs.insert(inputs.begin() + gradient + 1, right);
  auto joined = KernelOp::create(builder, kernel.getLoc(), "update", builder.getFunctionType(inputs, outputs));
  Block &body = joined.getBody().emplaceBlock();
  IRMapping mapping;
  auto addArgument = [&](Type type, Location loc) {
    auto shaped = cast<MemRefType>(type);
    return body.addArgument(RankedTensorType::get(shaped.getShape(), shaped.getElementType()), loc);
  };
  builder.setInsertionPointToStart(&body);
  for (BlockArgument argument : kernel.getBody().getArguments()) {
    if (argument.getArgNumber() != gradient) {
      mapping.map(argument, addArgument(inputs[argument.getArgNumber() + (argument.getArgNumber() > gradient)],
                                        argument.getLoc()));
      continue;
    }
    Value lhs = addArgument(left, gemm.getLoc()), rhs = addArgument(right, gemm.getLoc());
    mapping.map(argument, MatmulOp::create(builder, gemm.getLoc(), lhs, rhs, /*transposeA=*/false,
                                           /*transposeB=*/false, gemm.getPrecision())
                              .getResult());
  }
  for (Operation &op : kernel.getBody().front())
    builder.clone(op, mapping);
  if (Operation *yield = body.getTerminator(); stores)
    yield->insertOperands(yield->getNumOperands(), mapping.lookup(kernel.getBody().getArgument(gradient)));
  auto operations = llvm::make_pointer_range(body.without_terminator());
  nameByContents(joined, describeOperations(llvm::to_vector(operations)));
  return joined;
}

/// Returns the tiles that the kernel computes, or none if no schedule accepts it.
static std::optional<int64_t> countTiles(KernelOp kernel, ValueRange inputs) {
  OwningOpRef<ModuleOp> linalg = ModuleOp::create(kernel.getLoc());
  OpBuilder builder = OpBuilder::atBlockEnd(linalg->getBody());
  FailureOr<DeviceKernel> form = DeviceKernel::read(kernel, builder);
  if (failed(form))
    return std::nullopt;
  for (auto [alignment, input] : llvm::zip(form->alignments, inputs))
    alignment = getAlignment(bufferType(input));
  std::string whyNot;
  FailureOr<GradientProblem> problem = GradientProblem::read(*form, whyNot);
  if (failed(problem))
    return std::nullopt;
  return problem->countTiles();
}

/// Creates the kernel for an update, unless it exists. Returns false if no schedule would accept it.
bool UpdateSearch::joinKernels(GradientUpdate &update) {
  KernelOp kernel = forms.getKernel(update.launch);
  update.inputs.assign(update.launch.getInputs().begin(), update.launch.getInputs().end());
  update.inputs[update.gradient] = update.gemm.getLhs();
  update.inputs.insert(update.inputs.begin() + update.gradient + 1, update.gemm.getRhs());

  std::vector<const void *> key{kernel.getAsOpaquePointer(), reinterpret_cast<const void *>(uintptr_t(update.gradient)),
                                reinterpret_cast<const void *>(uintptr_t(static_cast<bool>(update.gather)))};
  for (Value input : update.inputs)
    key.push_back(input.getType().getAsOpaquePointer());
  auto [entry, isNew] = joined.try_emplace(std::move(key));
  if (isNew) {
    KernelOp both = joinKernel(kernel, update.gemm, update.gradient, static_cast<bool>(update.gather));
    if (std::optional<int64_t> tiles = countTiles(both, update.inputs))
      entry->second = {forms.insert(both), *tiles};
    else
      both.erase();
  }
  std::tie(update.kernel, update.tiles) = entry->second;
  return static_cast<bool>(update.kernel);
}

/// GEMMs move down and updates move up. Keeps updates whose GEMM reads what an update writes before the first place of
/// the latter, and erases those that have no place then, such as the update of what its own GEMM reads.
static void keepBeforeUpdates(std::vector<GradientUpdate> &updates) {
  llvm::DenseMap<const void *, unsigned> firstWrites;
  for (GradientUpdate &update : updates)
    for (Value write : update.launch.getWrites()) {
      auto [first, isNew] = firstWrites.try_emplace(getStorageIdentity(write), update.first);
      first->second = std::min(first->second, update.first);
    }
  llvm::erase_if(updates, [&](GradientUpdate &update) {
    for (Value operand : {update.gemm.getLhs(), update.gemm.getRhs()})
      if (auto write = firstWrites.find(getStorageIdentity(operand)); write != firstWrites.end())
        update.last = std::min(update.last, write->second);
    if (update.first < update.last)
      return false;
    remark::missed(update.launch.getLoc(), fuseUpdatesRemarks("Apart"))
        << remark::add("{0} stays apart from the GEMM that computes its gradient: the GEMM reads what an update writes",
                       update.launch.getKernel());
    return true;
  });
}

FailureOr<std::vector<GradientUpdate>> UpdateSearch::find(const EntryCommands &commands,
                                                          llvm::SmallSetVector<unsigned, 4> &hoisted) {
  auto isLarge = [&](GradientUpdate &update) {
    return llvm::all_of(bufferType(update.gemm.getOutput()).getShape(),
                        [&](int64_t size) { return size >= leastSize; });
  };
  std::vector<GradientUpdate> updates;
  for (auto [position, each] : llvm::enumerate(commands.get())) {
    CommandOpInterface command = each;
    auto launch = dyn_cast<LaunchOp>(command.getOperation());
    if (!launch || launch.getWorkspace())
      continue;
    GradientUpdate update;
    update.launch = launch;
    update.launchPosition = position;
    if (!findGradient(commands, update) || !isLarge(update))
      continue;
    FailureOr<const KernelForm *> form = forms.find(launch);
    if (failed(form))
      return failure();
    if (!*form || !joinKernels(update))
      continue;
    if (!findRange(commands, update, hoisted)) {
      remark::missed(launch.getLoc(), fuseUpdatesRemarks("Apart"))
          << remark::add("{0} stays apart from the GEMM that computes its gradient: the update has to wait for other "
                         "commands",
                         launch.getKernel());
      continue;
    }
    updates.push_back(std::move(update));
  }
  keepBeforeUpdates(updates);
  llvm::stable_sort(updates,
                    [](const GradientUpdate &a, const GradientUpdate &b) { return a.gemmPosition < b.gemmPosition; });
  return updates;
}
