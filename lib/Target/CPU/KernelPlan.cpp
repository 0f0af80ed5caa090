//===- KernelPlan.cpp - Rows, phases and memory of a kernel ----------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelPlan.h"

#include "KernelLoops.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace cs336::cpu;

/// Temporaries of up to this many bytes are on the stack of the thread that runs the kernel.
static constexpr int64_t kMaxStackBytes = 1 << 20;

bool Statement::isReduction(unsigned index) const {
  return llvm::any_of(reductions.set_bits(), [&](unsigned loop) { return outputs[index].coefficients[loop] == 0; });
}

namespace {
class Planner {
public:
  explicit Planner(func::FuncOp func) : func(func) {}

  FailureOr<KernelPlan> run(TypeRange operandTypes);

private:
  void chooseRows(const llvm::SmallBitVector &isIndependent);
  SmallVector<unsigned> orderLoops(const llvm::SmallBitVector &loops) const;
  double getTraffic(unsigned loop) const;
  SmallVector<Access *> collectAccesses(unsigned storage);
  void layOutTemporaries();
  void dropValuesInRegisters();
  void placeTemporaries();
  llvm::SmallBitVector getInnerLoops(const Statement &statement) const;
  unsigned earliestPhase(unsigned index, ArrayRef<unsigned> phaseOf) const;
  void formPhases();
  void chooseGrain();

  func::FuncOp func;
  KernelPlan plan;
};
} // namespace

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

static double countIterations(const KernelPlan &plan, const llvm::SmallBitVector &loops) {
  double iterations = 1;
  for (unsigned loop : loops.set_bits())
    iterations *= plan.loopSizes[loop];
  return iterations;
}

/// Returns the number of elements that the kernel accesses contiguously along `loop`.
double Planner::getTraffic(unsigned loop) const {
  double traffic = 0;
  auto add = [&](const Access &access) {
    if (access.coefficients[loop] != 1)
      return;
    double elements = 1;
    for (auto [coefficient, size] : llvm::zip_equal(access.coefficients, plan.loopSizes))
      if (coefficient != 0)
        elements *= size;
    traffic += elements;
  };
  for (const Statement &statement : plan.statements) {
    llvm::for_each(statement.inputs, add);
    llvm::for_each(statement.outputs, add);
  }
  return traffic;
}

/// Sorts loops from outermost to innermost. The loop with the most contiguous accesses is innermost; the others have
/// the output's order.
SmallVector<unsigned> Planner::orderLoops(const llvm::SmallBitVector &loops) const {
  SmallVector<unsigned> order(loops.set_bits());
  auto weight = [&](unsigned loop) {
    int64_t widest = 0;
    for (const Statement &statement : plan.statements)
      for (const Access &access : statement.outputs)
        widest = std::max(widest, access.coefficients[loop]);
    for (const Statement &statement : plan.statements)
      for (const Access &access : statement.inputs)
        widest = std::max(widest, access.coefficients[loop]);
    return widest;
  };
  llvm::stable_sort(order, [&](unsigned lhs, unsigned rhs) { return weight(lhs) > weight(rhs); });
  unsigned inner = 0;
  for (unsigned position = 1; position < order.size(); ++position)
    if (getTraffic(order[position]) >= getTraffic(order[inner]))
      inner = position;
  if (!order.empty())
    std::rotate(order.begin() + inner, order.begin() + inner + 1, order.end());
  return order;
}

void Planner::chooseRows(const llvm::SmallBitVector &isIndependent) {
  llvm::SmallBitVector all(plan.loopSizes.size());
  for (unsigned loop = 0; loop < plan.loopSizes.size(); ++loop)
    if (plan.loopSizes[loop] > 1)
      all.set(loop);
  SmallVector<unsigned> order = orderLoops(all);
  if (order.empty())
    return;
  unsigned inner = order.pop_back_val();
  for (unsigned loop : order) {
    if (!isIndependent.test(loop))
      continue;
    plan.rowLoops.push_back(loop);
    plan.rows *= plan.loopSizes[loop];
  }
  if (plan.rowLoops.empty() && isIndependent.test(inner)) {
    plan.rangeLoop = inner;
    plan.rows = plan.loopSizes[inner];
  }
}

//===----------------------------------------------------------------------===//
// Temporaries
//===----------------------------------------------------------------------===//

/// Removes a loop from the addresses of a storage. Returns false if this is not possible: all addresses must move by
/// the same number of elements per iteration, with no other loop's elements between two iterations.
static bool dropLoop(ArrayRef<Access *> accesses, unsigned loop, ArrayRef<int64_t> loopSizes) {
  int64_t step = accesses.front()->coefficients[loop], span = step * loopSizes[loop];
  if (step == 0)
    return llvm::all_of(accesses, [&](Access *access) { return access->coefficients[loop] == 0; });
  for (Access *access : accesses) {
    int64_t largest = access->offset % span;
    for (auto [other, coefficient] : llvm::enumerate(access->coefficients))
      if (other != loop && coefficient % span != 0)
        largest += coefficient * (loopSizes[other] - 1);
    if (access->coefficients[loop] != step || largest >= step)
      return false;
  }
  for (Access *access : accesses) {
    access->coefficients[loop] = 0;
    access->offset = access->offset / span * step + access->offset % span;
    for (int64_t &coefficient : access->coefficients)
      if (coefficient % span == 0)
        coefficient = coefficient / span * step;
  }
  return true;
}

SmallVector<Access *> Planner::collectAccesses(unsigned storage) {
  SmallVector<Access *> accesses;
  for (Statement &statement : plan.statements) {
    for (Access &access : statement.inputs)
      if (access.storage == storage)
        accesses.push_back(&access);
    for (Access &access : statement.outputs)
      if (access.storage == storage)
        accesses.push_back(&access);
  }
  return accesses;
}

/// Sets the addresses of temporaries. A temporary contains one row at a time, so its addresses do not depend on loops
/// over rows. If it is read with the indices with which it is written, its elements are packed; otherwise they keep
/// their offsets.
void Planner::layOutTemporaries() {
  for (auto [index, storage] : llvm::enumerate(plan.storages)) {
    if (storage.kind != Storage::Kind::Temporary || storage.isScattered)
      continue;
    SmallVector<Access *> accesses = collectAccesses(index);
    if (llvm::any_of(accesses, [&](Access *access) { return *access != *accesses.front() || access->offset != 0; })) {
      for (unsigned loop : plan.rowLoops)
        if (accesses.front()->coefficients[loop] != 0 && dropLoop(accesses, loop, plan.loopSizes))
          storage.elements /= plan.loopSizes[loop];
      continue;
    }

    SmallVector<unsigned> walking;
    for (auto [loop, coefficient] : llvm::enumerate(accesses.front()->coefficients))
      if (coefficient != 0 && !llvm::is_contained(plan.rowLoops, loop))
        walking.push_back(loop);
    llvm::sort(walking, [&](unsigned lhs, unsigned rhs) {
      return accesses.front()->coefficients[lhs] < accesses.front()->coefficients[rhs];
    });
    SmallVector<int64_t> coefficients(plan.loopSizes.size(), 0);
    storage.elements = 1;
    for (unsigned loop : walking) {
      coefficients[loop] = storage.elements;
      storage.elements *= plan.loopSizes[loop];
    }
    for (Access *access : accesses)
      access->coefficients = coefficients;
  }
}

/// Drops temporaries whose elements one phase writes and reads in the same iteration: they stay in registers.
void Planner::dropValuesInRegisters() {
  for (auto [index, storage] : llvm::enumerate(plan.storages)) {
    if (storage.kind != Storage::Kind::Temporary || storage.isScattered)
      continue;
    auto accesses = [&](unsigned number) {
      const Statement &statement = plan.statements[number];
      auto isOfStorage = [&](const Access &access) { return access.storage == index; };
      return llvm::any_of(statement.inputs, isOfStorage) || llvm::any_of(statement.outputs, isOfStorage);
    };
    auto isUsed = [&](const Phase &phase) { return llvm::any_of(phase.statements, accesses); };
    if (llvm::count_if(plan.phases, isUsed) <= 1)
      storage.elements = 0;
  }
}

void Planner::placeTemporaries() {
  int64_t bytes = 0;
  for (Storage &storage : plan.storages) {
    if (storage.kind != Storage::Kind::Temporary)
      continue;
    storage.offset = llvm::alignTo(bytes, kStorageAlignment);
    bytes = storage.offset + storage.elements * llvm::divideCeil(storage.element.getIntOrFloatBitWidth(), 8);
  }
  if (bytes > kMaxStackBytes)
    plan.threadBytes = llvm::alignTo(bytes, kStorageAlignment);
}

//===----------------------------------------------------------------------===//
// Phases
//===----------------------------------------------------------------------===//

llvm::SmallBitVector Planner::getInnerLoops(const Statement &statement) const {
  llvm::SmallBitVector loops = statement.loops;
  for (unsigned loop : plan.rowLoops)
    loops.reset(loop);
  return loops;
}

/// Returns the first phase in which the operands of statement `index` are available, and the values that it overwrites
/// are not needed any more.
unsigned Planner::earliestPhase(unsigned index, ArrayRef<unsigned> phaseOf) const {
  const Statement &statement = plan.statements[index];
  unsigned earliest = 0;
  for (unsigned earlier = 0; earlier < index; ++earlier) {
    const Statement &other = plan.statements[earlier];
    if (statement.isOpaque || other.isOpaque) {
      earliest = std::max(earliest, phaseOf[earlier] + 1);
      continue;
    }
    bool isSameNest = getInnerLoops(statement) == getInnerLoops(other);
    for (auto [number, written] : llvm::enumerate(other.outputs)) {
      auto isAtOnce = [&](const Access &access) {
        return isSameNest && access == written && !other.isReduction(number) &&
               !plan.storages[written.storage].isScattered;
      };
      for (const Access &access : statement.inputs)
        if (access.storage == written.storage)
          earliest = std::max(earliest, phaseOf[earlier] + !isAtOnce(access));
      for (const Access &access : statement.outputs)
        if (access.storage == written.storage)
          earliest = std::max(earliest, phaseOf[earlier] + 1);
      if (plan.storages[written.storage].isScattered)
        earliest = std::max(earliest, phaseOf[earlier] + 1);
    }
    // An output may share an input's buffer if their layouts are equal.
    for (const Access &access : statement.outputs)
      for (const Access &read : other.inputs)
        if (plan.storages[access.storage].kind == Storage::Kind::Operand &&
            plan.storages[access.storage].strides == plan.storages[read.storage].strides)
          earliest = std::max(earliest, phaseOf[earlier]);
  }
  return earliest;
}

void Planner::formPhases() {
  SmallVector<unsigned> phaseOf;
  for (auto [index, statement] : llvm::enumerate(plan.statements)) {
    llvm::SmallBitVector loops = getInnerLoops(statement);
    unsigned phase = earliestPhase(index, phaseOf);
    auto canJoin = [&](const Phase &candidate) {
      const Statement &first = plan.statements[candidate.statements.front()];
      return !statement.isOpaque && !first.isOpaque && getInnerLoops(first) == loops;
    };
    while (phase < plan.phases.size() && !canJoin(plan.phases[phase]))
      ++phase;
    if (phase == plan.phases.size())
      plan.phases.push_back({{}, orderLoops(loops)});
    plan.phases[phase].statements.push_back(index);
    phaseOf.push_back(phase);
  }
}

//===----------------------------------------------------------------------===//
// Cost
//===----------------------------------------------------------------------===//

/// Estimates the nanoseconds of one iteration from memory accesses and math functions.
static double estimateIteration(const Statement &statement) {
  constexpr double kElement = 0.25, kOperation = 0.05, kFunction = 1.0, kDoubleFunction = 10.0;
  double time = kElement * (statement.inputs.size() + statement.outputs.size());
  statement.op->walk([&](Operation *op) {
    if (!isa_and_present<math::MathDialect>(op->getDialect()) || isa<math::SqrtOp>(op))
      time += kOperation;
    else
      time += op->getResult(0).getType().isF64() ? kDoubleFunction : kFunction;
  });
  return time;
}

void Planner::chooseGrain() {
  // A thread's share should take much longer than its distribution, which takes a few microseconds.
  constexpr double kShare = 20000.0;
  constexpr int64_t kCacheLine = 64;
  double time = 0;
  for (const Statement &statement : plan.statements)
    time += estimateIteration(statement) * countIterations(plan, statement.loops);
  double rows = std::clamp(std::ceil(kShare * plan.rows / std::max(time, 1.0)), 1.0, static_cast<double>(plan.rows));
  plan.grain = static_cast<int64_t>(rows);
  // Threads must not alternate in writing to one cache line.
  if (plan.rangeLoop)
    plan.grain = llvm::alignTo(plan.grain, kCacheLine);
}

FailureOr<KernelPlan> Planner::run(TypeRange operandTypes) {
  FailureOr<llvm::SmallBitVector> isIndependent = findLoops(func, operandTypes, plan);
  if (failed(isIndependent))
    return failure();
  chooseRows(*isIndependent);
  layOutTemporaries();
  formPhases();
  dropValuesInRegisters();
  placeTemporaries();
  plan.threadMemory = operandTypes.size();
  chooseGrain();
  return std::move(plan);
}

FailureOr<KernelPlan> cs336::cpu::planKernel(func::FuncOp func, TypeRange operandTypes) {
  return Planner(func).run(operandTypes);
}
