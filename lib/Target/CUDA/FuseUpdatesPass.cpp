//===- FuseUpdatesPass.cpp - Gradients that only update parameters --------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GradientProblem.h"
#include "KernelEmitter.h"
#include "KernelForms.h"
#include "MergedKernel.h"
#include "cs336/Cost/DeviceModel.h"
#include "cs336/Dialect/CS336/IR/CS336Ops.h"
#include "cs336/Dialect/CS336/IR/Phase.h"
#include "cs336/Dialect/Exec/IR/KernelNames.h"
#include "cs336/Dialect/Exec/Transforms/Lifetimes.h"
#include "cs336/Dialect/Exec/Transforms/LiveSets.h"
#include "cs336/Statistics/PassCounter.h"
#include "cs336/Statistics/RemarkOptions.h"
#include "cs336/Target/CUDA/Passes.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/StringSet.h"

#include <map>

namespace cs336 {
#define GEN_PASS_DEF_FUSEUPDATESPASS
#include "cs336/Target/CUDA/Passes.h.inc"
} // namespace cs336

using namespace mlir;
using namespace cs336;
using namespace cs336::exec;

static constexpr RemarkOptions fuseUpdatesRemarks("exec-fuse-updates");

namespace {

/// A GEMM whose result only the launch reads, to update a parameter.
struct Update {
  GemmOp gemm;
  LaunchOp launch;
  /// The input of the launch that is the GEMM's result.
  unsigned gradient;
  /// Positions among the entry's commands.
  unsigned gemmPosition, launchPosition;
  /// The update can be done after the command `first`, until the command `last`, which overwrites what the GEMM reads,
  /// exclusive.
  unsigned first, last;
  /// The kernel that does both, and its inputs.
  KernelOp kernel;
  SmallVector<Value> inputs;
  /// The tiles of the gradient.
  int64_t tiles = 0;
};

/// Updates that become one launch, after the command `position`.
struct UpdateGroup {
  SmallVector<Update> members;
  unsigned position = 0, last = ~0u;
  int64_t tiles = 0;
};

/// The commands of an entry, and which of them access a storage.
class Commands {
public:
  explicit Commands(EntryOp entry) : commands(llvm::to_vector(entry.getBody().getOps<CommandOpInterface>())) {
    for (auto [position, each] : llvm::enumerate(commands)) {
      CommandOpInterface command = each;
      for (Value read : command.getReads())
        readers[getStorageIdentity(read)].push_back(position);
      for (Value write : command.getWrites())
        writers[getStorageIdentity(write)].push_back(position);
    }
  }

  ArrayRef<CommandOpInterface> get() const { return commands; }
  CommandOpInterface operator[](unsigned position) const { return commands[position]; }
  ArrayRef<unsigned> getReaders(Value buffer) const { return find(readers, buffer); }
  ArrayRef<unsigned> getWriters(Value buffer) const { return find(writers, buffer); }
  bool haveEvents() const {
    return llvm::any_of(
        commands, [](CommandOpInterface command) { return command.getRecordedEvent() || command.getAwaitedEvent(); });
  }

private:
  using Positions = llvm::DenseMap<const void *, SmallVector<unsigned, 4>>;
  static ArrayRef<unsigned> find(const Positions &positions, Value buffer) {
    auto found = positions.find(getStorageIdentity(buffer));
    return found == positions.end() ? ArrayRef<unsigned>() : ArrayRef<unsigned>(found->second);
  }

  SmallVector<CommandOpInterface> commands;
  Positions readers, writers;
};

struct FuseUpdatesPass : cs336::impl::FuseUpdatesPassBase<FuseUpdatesPass>, CountingPass {
  using FuseUpdatesPassBase::FuseUpdatesPassBase;

  void runOnOperation() override {
    if (failed(fuseUpdates()))
      signalPassFailure();
  }

private:
  LogicalResult fuseUpdates();
  LogicalResult fuseUpdates(EntryOp entry, KernelForms &forms);
  FailureOr<std::vector<Update>> findUpdates(const Commands &commands, KernelForms &forms,
                                             llvm::SmallSetVector<unsigned, 4> &hoisted);
  bool findGradient(const Commands &commands, Update &update);
  bool findRange(const Commands &commands, Update &update, llvm::SmallSetVector<unsigned, 4> &hoisted);
  bool joinKernels(Update &update, KernelForms &forms);
  bool isFaster(const UpdateGroup &group) const;
  std::vector<UpdateGroup> groupUpdates(ArrayRef<Update> updates, KernelForms &forms, int64_t leastTiles);
  void replace(const UpdateGroup &group, const Commands &commands, KernelForms &forms);
  KernelOp insert(KernelOp kernel, KernelForms &forms);

  /// The kernels that do a GEMM and a launch, by the launch's kernel, the gradient, and the GEMM's operands.
  std::map<std::vector<const void *>, std::pair<KernelOp, int64_t>> joined;
  /// The multiprocessors of the module's largest GPU.
  int64_t multiprocessors = 0;

  PassCounter numUpdates{this, "num-updates", "Number of GEMMs that became part of the update by their result"};
  PassCounter numLaunches{this, "num-launches", "Number of launches that do both"};
};

} // namespace

//===----------------------------------------------------------------------===//
// Finding updates
//===----------------------------------------------------------------------===//

/// Finds the input that a GEMM alone writes and the launch alone reads.
bool FuseUpdatesPass::findGradient(const Commands &commands, Update &update) {
  for (auto [number, input] : llvm::enumerate(update.launch.getInputs())) {
    auto storage = dyn_cast<AllocOp>(getStorage(input).getOperation());
    ArrayRef<unsigned> writers = commands.getWriters(input), readers = commands.getReaders(input);
    if (!storage || writers.size() != 1 || readers.size() != 1)
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
bool FuseUpdatesPass::findRange(const Commands &commands, Update &update, llvm::SmallSetVector<unsigned, 4> &hoisted) {
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
  for (Value operand : {update.gemm.getLhs(), update.gemm.getRhs()})
    for (unsigned writer : commands.getWriters(operand))
      if (writer > update.gemmPosition)
        update.last = std::min(update.last, writer);
  if (update.first >= update.last)
    return false;
  hoisted.insert_range(early);
  return true;
}

/// Returns a kernel whose operand `gradient` is computed by a matmul of two operands in its place.
static KernelOp joinKernel(KernelOp kernel, GemmOp gemm, unsigned gradient) {
  OpBuilder builder(kernel.getContext());
  SmallVector<Type> inputs = llvm::to_vector_of<Type>(kernel.getInTypes());
  Type left = dropOffset(bufferType(gemm.getLhs())), right = dropOffset(bufferType(gemm.getRhs()));
  inputs[gradient] = left;
  inputs.insert(inputs.begin() + gradient + 1, right);
  auto joined = KernelOp::create(builder, kernel.getLoc(), "update",
                                 builder.getFunctionType(inputs, llvm::to_vector_of<Type>(kernel.getOutTypes())));
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
  auto operations = llvm::make_pointer_range(body.without_terminator());
  nameByContents(joined, describeOperations(llvm::to_vector(operations)));
  return joined;
}

KernelOp FuseUpdatesPass::insert(KernelOp kernel, KernelForms &forms) {
  if (auto known = forms.getSymbols().lookup<KernelOp>(kernel.getSymName())) {
    kernel.erase();
    return known;
  }
  // Kernels precede their launches.
  forms.getSymbols().insert(kernel, Block::iterator(*getOperation().getOps<EntryOp>().begin()));
  return kernel;
}

/// Returns the tiles that the kernel computes, or none if no schedule accepts it.
static std::optional<int64_t> countTiles(KernelOp kernel, ValueRange inputs) {
  OwningOpRef<ModuleOp> linalg = ModuleOp::create(kernel.getLoc());
  OpBuilder builder = OpBuilder::atBlockEnd(linalg->getBody());
  FailureOr<cuda::DeviceKernel> form = cuda::DeviceKernel::read(kernel, builder);
  if (failed(form))
    return std::nullopt;
  for (auto [alignment, input] : llvm::zip(form->alignments, inputs))
    alignment = cuda::getAlignment(bufferType(input));
  std::string whyNot;
  FailureOr<cuda::GradientProblem> problem = cuda::GradientProblem::read(*form, whyNot);
  if (failed(problem))
    return std::nullopt;
  return problem->countTiles();
}

/// Creates the kernel for an update, unless it exists. Returns false if no schedule would accept it.
bool FuseUpdatesPass::joinKernels(Update &update, KernelForms &forms) {
  KernelOp kernel = forms.getKernel(update.launch);
  update.inputs.assign(update.launch.getInputs().begin(), update.launch.getInputs().end());
  update.inputs[update.gradient] = update.gemm.getLhs();
  update.inputs.insert(update.inputs.begin() + update.gradient + 1, update.gemm.getRhs());

  std::vector<const void *> key{kernel.getAsOpaquePointer(),
                                reinterpret_cast<const void *>(uintptr_t(update.gradient))};
  for (Value input : update.inputs)
    key.push_back(input.getType().getAsOpaquePointer());
  auto [entry, isNew] = joined.try_emplace(std::move(key));
  if (isNew) {
    KernelOp both = joinKernel(kernel, update.gemm, update.gradient);
    if (std::optional<int64_t> tiles = countTiles(both, update.inputs))
      entry->second = {insert(both, forms), *tiles};
    else
      both.erase();
  }
  std::tie(update.kernel, update.tiles) = entry->second;
  return static_cast<bool>(update.kernel);
}

/// Returns whether the update is large enough for tiles of the kernel.
static bool isLarge(GemmOp gemm) {
  constexpr int64_t least = 256;
  return llvm::all_of(bufferType(gemm.getOutput()).getShape(), [&](int64_t size) { return size >= least; });
}

FailureOr<std::vector<Update>> FuseUpdatesPass::findUpdates(const Commands &commands, KernelForms &forms,
                                                            llvm::SmallSetVector<unsigned, 4> &hoisted) {
  std::vector<Update> updates;
  for (auto [position, each] : llvm::enumerate(commands.get())) {
    CommandOpInterface command = each;
    auto launch = dyn_cast<LaunchOp>(command.getOperation());
    if (!launch || launch.getWorkspace())
      continue;
    Update update{.launch = launch, .launchPosition = static_cast<unsigned>(position)};
    if (!findGradient(commands, update) || !(always || isLarge(update.gemm)))
      continue;
    FailureOr<const cuda::KernelForm *> form = forms.find(launch);
    if (failed(form))
      return failure();
    if (!*form || !joinKernels(update, forms))
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
  llvm::stable_sort(updates, [](const Update &a, const Update &b) { return a.gemmPosition < b.gemmPosition; });
  return updates;
}

//===----------------------------------------------------------------------===//
// Groups
//===----------------------------------------------------------------------===//

/// Groups updates until a group has `leastTiles` tiles.
std::vector<UpdateGroup> FuseUpdatesPass::groupUpdates(ArrayRef<Update> updates, KernelForms &forms,
                                                       int64_t leastTiles) {
  // Updates of one key do the same computation with the same scalars.
  std::map<std::vector<const void *>, UpdateGroup> open;
  std::vector<UpdateGroup> groups;
  auto close = [&](UpdateGroup &group) {
    if (!group.members.empty())
      groups.push_back(std::move(group));
    group = UpdateGroup();
  };
  for (const Update &update : updates) {
    LaunchOp launch = update.launch;
    const cuda::KernelForm &form = **forms.find(launch);
    std::vector<const void *> key{reinterpret_cast<const void *>(uintptr_t(form.number)),
                                  reinterpret_cast<const void *>(uintptr_t(update.gradient)),
                                  reinterpret_cast<const void *>(launch.getStream())};
    for (auto [isScalar, input] : llvm::zip_equal(form.isScalar, launch.getInputs()))
      if (isScalar)
        key.push_back(input.getAsOpaquePointer());
    UpdateGroup &group = open[key];
    unsigned position = std::max(group.position, update.first), last = std::min(group.last, update.last);
    if (position >= last || group.members.size() == mostMembers) {
      close(group);
      position = update.first;
      last = update.last;
    }
    group.members.push_back(update);
    group.position = position;
    group.last = last;
    group.tiles += update.tiles;
    if (group.tiles >= leastTiles)
      close(group);
  }
  for (auto &[key, group] : open)
    close(group);
  return groups;
}

/// Returns the bytes of what an update reads and writes besides its gradient.
static int64_t getUpdateBytes(LaunchOp launch, unsigned gradient) {
  int64_t bytes = 0;
  for (auto [number, input] : llvm::enumerate(launch.getInputs()))
    bytes += number == gradient ? 0 : getStorageBytes(bufferType(input));
  for (Value output : launch.getOutputs())
    bytes += getStorageBytes(bufferType(output));
  return bytes;
}

/// Compares predicted times. Blocks multiply one tile per round while they update the tile before, so the first matmul
/// and the last update have no counterpart, and all blocks wait for those that have the most tiles.
bool FuseUpdatesPass::isFaster(const UpdateGroup &group) const {
  const DeviceModel &device = getDefaultDeviceModel(/*isForGPU=*/true);
  // Measured on an H200: 3.3 of 4.24 TB/s.
  constexpr double shareOfMemory = 0.78;
  double apart = 0, updateBytes = 0, longestMatmul = 0;
  for (const Update &update : group.members) {
    GemmOp gemm = update.gemm;
    auto gradient = bufferType(gemm.getOutput());
    double tokens = bufferType(gemm.getLhs()).getDimSize(1), bytes = getUpdateBytes(update.launch, update.gradient);
    double rate = device.getFlops(gradient.getElementType(), gemm.getPrecision());
    apart += 2 * tokens * gradient.getNumElements() / rate + device.commandSeconds +
             (bytes + 2 * getStorageBytes(gradient)) / device.memoryBytes;
    updateBytes += bytes;
    longestMatmul = std::max(longestMatmul, 2 * tokens * cuda::GradientProblem::rowsPerTile *
                                                cuda::GradientProblem::columnsPerTile * multiprocessors / rate);
  }
  double rounds = llvm::divideCeilSigned(group.tiles, multiprocessors);
  double updates = updateBytes / (shareOfMemory * device.memoryBytes);
  double lastUpdate = updates * multiprocessors / group.tiles;
  return std::max(rounds * longestMatmul, updates) + longestMatmul + lastUpdate < apart;
}

/// Returns the position of each command if the groups' commands move to the group's position, and the hoisted ones
/// before the first of them.
static SmallVector<unsigned> getPlaces(ArrayRef<UpdateGroup> groups, ArrayRef<unsigned> hoisted, size_t count) {
  SmallVector<unsigned> places = llvm::to_vector(llvm::seq<unsigned>(0, count));
  unsigned first = count;
  for (const UpdateGroup &group : groups) {
    first = std::min(first, group.position);
    for (const Update &update : group.members)
      places[update.gemmPosition] = places[update.launchPosition] = group.position;
  }
  for (unsigned position : hoisted)
    places[position] = first;
  return places;
}

//===----------------------------------------------------------------------===//
// Rewriting
//===----------------------------------------------------------------------===//

void FuseUpdatesPass::replace(const UpdateGroup &group, const Commands &commands, KernelForms &forms) {
  auto kernels = llvm::map_to_vector(group.members, [](const Update &update) { return update.kernel; });
  KernelOp kernel = kernels.front();
  const Update &first = group.members.front();
  SmallVector<bool> isShared = (*forms.find(first.launch))->isScalar;
  isShared.insert(isShared.begin() + first.gradient + 1, false);
  auto getInputs = [&](unsigned member) { return ArrayRef(group.members[member].inputs); };
  if (kernels.size() > 1) {
    auto locations = llvm::map_to_vector(group.members, [](Update update) { return update.launch.getLoc(); });
    kernel = insert(cuda::mergeKernels(kernels, isShared, FusedLoc::get(&getContext(), locations)), forms);
  }
  SmallVector<Value> inputs =
      kernels.size() == 1 ? first.inputs : cuda::collectInputs<Value>(kernels.size(), isShared, getInputs);
  SmallVector<Value> outputs;
  for (Update update : group.members)
    llvm::append_range(outputs, update.launch.getOutputs());

  // The location of one member does not describe the group, so only the phase is kept.
  LaunchOp launch = first.launch;
  Location loc =
      kernels.size() == 1 ? launch.getLoc() : inPhase(getPhase(launch.getLoc()), UnknownLoc::get(&getContext()));
  OpBuilder builder(&getContext());
  builder.setInsertionPointAfter(commands[group.position]);
  LaunchOp::create(builder, loc, kernel.getSymName(), inputs, outputs, /*workspace=*/Value(), launch.getStream());
  remark::passed(launch.getLoc(), fuseUpdatesRemarks("Fused")) << remark::add(
      "{0} updates with the GEMMs of their gradients in one launch of {1} tiles", kernels.size(), group.tiles);
  numUpdates += kernels.size();
  ++numLaunches;
}

/// Erases a GEMM and the launch that reads its result, and the storage of the result.
static void erase(const Update &update) {
  GemmOp gemm = update.gemm;
  LaunchOp launch = update.launch;
  Value output = gemm.getOutput(), gradient = launch.getInputs()[update.gradient];
  launch.erase();
  gemm.erase();
  for (Value buffer : {output, gradient})
    while (buffer && buffer.use_empty()) {
      auto op = buffer.getDefiningOp<BufferOpInterface>();
      buffer = op.getViewSource();
      op->erase();
    }
}

LogicalResult FuseUpdatesPass::fuseUpdates(EntryOp entry, KernelForms &forms) {
  Commands commands(entry);
  if (commands.haveEvents())
    return success();
  llvm::SmallSetVector<unsigned, 4> hoisted;
  FailureOr<std::vector<Update>> updates = findUpdates(commands, forms, hoisted);
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
  for (int64_t leastTiles = rounds * multiprocessors;; leastTiles /= 2) {
    groups = groupUpdates(*updates, forms, leastTiles);
    llvm::erase_if(groups, [&](const UpdateGroup &group) { return !always && !isFaster(group); });
    if (leastTiles == 0 ||
        liveSets.tryMove(getPlaces(groups, hoisted.getArrayRef(), commands.get().size()), bytes * growthPercent / 100))
      break;
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
    for (const Update &update : group.members)
      erase(update);
  return success();
}

LogicalResult FuseUpdatesPass::fuseUpdates() {
  ModuleOp module = getOperation();
  FailureOr<std::vector<std::string>> architectures = cuda::getArchitectures(module);
  if (failed(architectures))
    return failure();
  for (const std::string &architecture : *architectures) {
    const cuda::TargetDescription &target = cuda::getTarget(architecture);
    if (!target.hasWgmma || !target.hasTensorMaps)
      return success();
    multiprocessors = std::max(multiprocessors, target.multiprocessors);
  }
  if (architectures->empty())
    return success();

  KernelForms forms(module);
  for (auto entry : module.getOps<EntryOp>())
    if (failed(fuseUpdates(entry, forms)))
      return failure();

  llvm::StringSet<> launched;
  module.walk([&](LaunchOp launch) { launched.insert(launch.getKernel()); });
  for (KernelOp kernel : llvm::make_early_inc_range(module.getOps<KernelOp>()))
    if (!launched.contains(kernel.getSymName()))
      kernel.erase();
  return success();
}
