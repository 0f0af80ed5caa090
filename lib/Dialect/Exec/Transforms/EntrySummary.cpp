//===- EntrySummary.cpp - Work and memory of an entry, by phase -----------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Dialect/Exec/Transforms/EntrySummary.h"

#include "cs336/Dialect/CS336/IR/CS336Interfaces.h"
#include "cs336/Dialect/Exec/IR/Buffers.h"
#include "cs336/Dialect/Exec/IR/CommandSource.h"
#include "cs336/Dialect/Exec/Transforms/Lifetimes.h"
#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace cs336;
using namespace cs336::exec;

void Work::operator+=(const Work &other) {
  launches += other.launches;
  gemms += other.gemms;
  others += other.others;
  flops += other.flops;
  bytes += other.bytes;
}

Work EntrySummary::getWork() const {
  Work sum;
  for (const PhaseSummary &phase : phases)
    sum += phase.work;
  return sum;
}

StringRef exec::getLayer(StringRef path) {
  for (size_t begin = 0; begin < path.size();) {
    size_t end = std::min(path.find('.', begin), path.size());
    StringRef component = path.slice(begin, end);
    if (!component.empty() && llvm::all_of(component, llvm::isDigit))
      return path.take_front(end);
    begin = end + 1;
  }
  return {};
}

/// Counts distinct elements: an axis of stride 0 repeats them.
static int64_t getBytes(Value buffer) {
  auto type = cast<MemRefType>(buffer.getType());
  BufferLayout layout(type);
  int64_t elements = 1;
  for (auto [size, stride] : llvm::zip_equal(layout.sizes, layout.strides))
    elements *= stride == 0 ? 1 : size;
  return elements * getElementBytes(type.getElementType());
}

/// Returns the workspace of the command, or null.
static Value getWorkspace(Operation *command) {
  if (auto launch = dyn_cast<LaunchOp>(command))
    return launch.getWorkspace();
  auto gemm = dyn_cast<GemmOp>(command);
  return gemm ? gemm.getWorkspace() : Value();
}

static bool isWorkspace(ArenaOpInterface storage) {
  return llvm::any_of(storage->getUsers(), [&](Operation *user) { return getWorkspace(user) == storage.getBuffer(); });
}

/// A multiply-add counts as two FLOPs.
static double getFlops(GemmOp gemm) {
  auto lhs = cast<MemRefType>(gemm.getLhs().getType()), output = cast<MemRefType>(gemm.getOutput().getType());
  return 2.0 * static_cast<double>(output.getNumElements()) * static_cast<double>(lhs.getShape().back());
}

static double getFlops(KernelOp kernel) {
  double flops = 0;
  for (auto op : kernel.getBody().getOps<CostOpInterface>())
    flops += static_cast<double>(op.getFlops());
  return flops;
}

namespace {
/// Sums the costs of an entry's commands in order.
class Summarizer {
public:
  Summarizer(EntryOp entry, const HappensBefore &order) : symbols(entry->getParentOp()), order(order) {}

  void addCommands();
  void addLifetimes(ArrayRef<Lifetime> lifetimes);
  EntrySummary take();

private:
  Work measure(CommandOpInterface command);
  PhaseSummary &getPhase(CommandPhase phase);

  SymbolTable symbols;
  const HappensBefore &order;
  EntrySummary summary;
  llvm::MapVector<StringRef, KernelSummary> kernels;
  llvm::DenseMap<Operation *, double> kernelFlops;
  llvm::StringSet<> layers;
};
} // namespace

PhaseSummary &Summarizer::getPhase(CommandPhase phase) {
  for (PhaseSummary &known : summary.phases)
    if (known.phase == phase)
      return known;
  PhaseSummary &added = summary.phases.emplace_back();
  added.phase = phase;
  return added;
}

Work Summarizer::measure(CommandOpInterface command) {
  Work work;
  Value workspace = getWorkspace(command);
  for (ArrayRef<Value> buffers : {command.getReads(), command.getWrites()})
    for (Value buffer : buffers)
      work.bytes += buffer == workspace ? 0 : static_cast<double>(getBytes(buffer));
  if (auto launch = dyn_cast<LaunchOp>(command.getOperation())) {
    auto kernel = symbols.lookup<KernelOp>(launch.getKernel());
    auto [flops, isNew] = kernelFlops.try_emplace(kernel, 0.0);
    if (isNew)
      flops->second = getFlops(kernel);
    work.flops = flops->second;
    work.launches = 1;
  } else if (auto gemm = dyn_cast<GemmOp>(command.getOperation())) {
    work.flops = getFlops(gemm);
    work.gemms = 1;
  } else {
    work.others = 1;
  }
  return work;
}

void Summarizer::addCommands() {
  for (CommandOpInterface command : order.getCommands()) {
    if (command.getRecordedEvent() || command.getAwaitedEvent())
      continue;
    Work work = measure(command);
    StringRef layer = exec::getLayer(getSourcePath(command->getLoc()));
    PhaseSummary &phase = getPhase(command.getPhase());
    phase.work += work;
    if (!layer.empty()) {
      phase.inLayers += work;
      layers.insert(layer);
    }
    if (auto launch = dyn_cast<LaunchOp>(command.getOperation())) {
      KernelSummary &kernel = kernels[launch.getKernel()];
      kernel.name = launch.getKernel();
      kernel.work += work;
      kernel.runsInLayers += !layer.empty();
    }
  }
}

void Summarizer::addLifetimes(ArrayRef<Lifetime> lifetimes) {
  auto phaseAt = [&](unsigned position) {
    CommandOpInterface command = order.getCommands()[position];
    return command.getPhase();
  };
  // The bytes that become live and that die at each command: an allocation is live from its first to its last command,
  // inclusive.
  std::vector<int64_t> started(order.getCommands().size()), ended(order.getCommands().size());
  for (const Lifetime &lifetime : lifetimes) {
    started[lifetime.first] += lifetime.bytes;
    ended[lifetime.last] += lifetime.bytes;
    summary.allocations.push_back({lifetime.storage, lifetime.bytes, phaseAt(lifetime.first), phaseAt(lifetime.last),
                                   isWorkspace(lifetime.storage)});
  }
  int64_t live = 0;
  llvm::SmallDenseSet<unsigned, 4> begun;
  for (unsigned position = 0; position < order.getCommands().size(); ++position) {
    PhaseSummary &phase = getPhase(phaseAt(position));
    if (begun.insert(static_cast<unsigned>(phase.phase)).second)
      phase.heldBytes = live;
    live += started[position];
    phase.liveBytes = std::max(phase.liveBytes, live);
    live -= ended[position];
  }
}

EntrySummary Summarizer::take() {
  for (auto &[name, kernel] : kernels)
    summary.kernels.push_back(kernel);
  llvm::stable_sort(summary.kernels, [](const auto &a, const auto &b) { return a.work.bytes > b.work.bytes; });
  llvm::stable_sort(summary.allocations, [](const auto &a, const auto &b) { return a.bytes > b.bytes; });
  summary.layers = static_cast<int64_t>(layers.size());
  return std::move(summary);
}

FailureOr<EntrySummary> exec::summarizeEntry(EntryOp entry) {
  HappensBefore order(entry);
  FailureOr<std::vector<Lifetime>> lifetimes = computeLifetimes(entry, order);
  if (failed(lifetimes))
    return failure();
  Summarizer summarizer(entry, order);
  summarizer.addCommands();
  summarizer.addLifetimes(*lifetimes);
  EntrySummary summary = summarizer.take();
  for (auto input : entry.getBody().getOps<InputOp>())
    summary.inputBytes += getStorageBytes(input.getType());
  return summary;
}
