//===- EmitKernel.cpp - A planned kernel as loops over memory -------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "EmitKernel.h"

#include "LaneBuilder.h"
#include "VectorLoops.h"
#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace cs336::cpu;

/// Longer loops sum blocks of this length: the error of a sum grows with the number of terms that are added one after
/// the other.
static constexpr int64_t kBlock = 4096;

/// Reductions of at most this many vectors are unrolled, so that combining the first vector with the neutral element
/// costs nothing.
static constexpr int64_t kUnrolledIterations = 4;

namespace {
/// An output that combines iterations. Loops from depth `start` on reduce it in registers; around them it is in memory.
struct Accumulator {
  unsigned statement, output;
  unsigned start;
  Operation *combiner;
};

/// The state while the loops of a phase are built.
struct Nest {
  explicit Nest(const Phase &phase) : phase(phase) {}

  const Phase &phase;
  SmallVector<Accumulator> accumulators;
  /// The execution of the innermost loop.
  VectorLoop vectorLoop;
  /// Inputs that are in registers, by their address.
  std::vector<std::pair<Access, Value>> loads;
  /// Values that a statement of this phase has computed, by storage.
  DenseMap<unsigned, Value> computed;

  unsigned depth() const { return phase.loops.size(); }
};

class KernelEmitter {
public:
  KernelEmitter(const KernelPlan &plan, func::FuncOp kernel, int64_t vectorBits, OpBuilder &builder)
      : plan(plan), kernel(kernel), vectorBits(vectorBits), builder(builder), variables(plan.loopSizes.size()) {}

  LLVM::LLVMFuncOp emit(StringRef symbol);

private:
  void emitRow(Location loc);
  void emitPhase(unsigned index);
  Accumulator getAccumulator(const Phase &phase, unsigned statement, unsigned output) const;
  Location getLoc(const Nest &nest) const;
  SmallVector<Value> getNeutrals(const Nest &nest, ArrayRef<unsigned> accumulators);
  Value combine(Location loc, const Accumulator &accumulator, Value lhs, Value rhs);
  SmallVector<Value> emitLoops(Nest &nest, unsigned depth, ValueRange carried);
  SmallVector<Value> emitLoop(Nest &nest, unsigned depth, ArrayRef<unsigned> started);
  SmallVector<Value> emitRange(Nest &nest, unsigned depth, ArrayRef<unsigned> started, Value lower, Value upper);
  scf::ForOp buildLoop(Nest &nest, unsigned depth, Value lower, Value upper, int64_t lanes, ValueRange inits);
  SmallVector<Value> emitBody(Nest &nest, LaneBuilder &lanes, ValueRange carried);
  SmallVector<Value> emitStatement(Nest &nest, LaneBuilder &lanes, unsigned index, ValueRange inits);
  Value emitExtract(tensor::ExtractOp extract, LaneBuilder &lanes, const IRMapping &mapping);
  void loadInputs(Nest &nest, LaneBuilder &lanes, unsigned depth);
  bool isComputedInPhase(const Nest &nest, unsigned statement, unsigned storage) const;
  bool isNeededOutside(unsigned phase, unsigned storage) const;
  Value getIndex(Location loc, const Access &access);
  Value getIndex(Location loc, unsigned storage, ValueRange indices);
  int64_t getStride(const Nest &nest, const Access &access) const;
  Value loadAt(const Nest &nest, const Access &access);

  void emitScatter(scf::ForOp loop);
  void emitScatterOp(Operation &op, IRMapping &mapping);
  unsigned getStorage(Value tensor) const;

  const KernelPlan &plan;
  func::FuncOp kernel;
  int64_t vectorBits;
  OpBuilder &builder;
  std::optional<KernelMemory> memory;
  Value begin, end;
  /// The loops' current variables. For a loop on vectors, the variable of the first lane.
  SmallVector<Value> variables;
  /// Scalar constants of the kernel.
  IRMapping constants;
  /// Storages of the tensors inside of a scatter's loops.
  DenseMap<Value, unsigned> carriedStorage;
  unsigned currentPhase = 0;
};
} // namespace

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

LLVM::LLVMFuncOp KernelEmitter::emit(StringRef symbol) {
  OpBuilder::InsertionGuard guard(builder);
  Location loc = kernel.getLoc();
  Type pointer = LLVM::LLVMPointerType::get(builder.getContext()), i64 = builder.getI64Type();
  auto type = LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(builder.getContext()), {pointer, i64, i64});
  auto function = LLVM::LLVMFuncOp::create(builder, loc, symbol, type);
  Block *entry = function.addEntryBlock(builder);
  builder.setInsertionPointToStart(entry);
  memory.emplace(plan, builder, loc, entry->getArgument(0));
  for (auto constant : kernel.getBody().getOps<arith::ConstantOp>())
    if (!isa<TensorType>(constant.getType()))
      builder.clone(*constant, constants);

  begin = arith::IndexCastOp::create(builder, loc, builder.getIndexType(), entry->getArgument(1));
  end = arith::IndexCastOp::create(builder, loc, builder.getIndexType(), entry->getArgument(2));
  if (plan.rangeLoop) {
    emitRow(loc);
  } else {
    scf::ForOp::create(builder, loc, begin, end, memory->constant(loc, 1), ValueRange(),
                       [&](OpBuilder &, Location, Value row, ValueRange) {
                         for (unsigned loop : llvm::reverse(plan.rowLoops)) {
                           if (loop == plan.rowLoops.front()) {
                             variables[loop] = row;
                             continue;
                           }
                           Value size = memory->constant(loc, plan.loopSizes[loop]);
                           variables[loop] = arith::RemUIOp::create(builder, loc, row, size);
                           row = arith::DivUIOp::create(builder, loc, row, size);
                         }
                         emitRow(loc);
                         scf::YieldOp::create(builder, loc);
                       });
  }
  LLVM::ReturnOp::create(builder, loc, ValueRange());
  return function;
}

void KernelEmitter::emitRow(Location loc) {
  for (unsigned phase = 0; phase < plan.phases.size(); ++phase)
    emitPhase(phase);
}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

Accumulator KernelEmitter::getAccumulator(const Phase &phase, unsigned statement, unsigned output) const {
  const Access &access = plan.statements[statement].outputs[output];
  unsigned start = phase.loops.size();
  while (start > 0 && access.coefficients[phase.loops[start - 1]] == 0)
    --start;
  SmallVector<Operation *> combiners;
  linalg::GenericOp generic = plan.statements[statement].getGeneric();
  Value combined = matchReduction(generic.getRegionOutputArgs(), output, combiners);
  // Without a neutral element the reduction stays in memory.
  bool hasNeutral = combined && combiners.size() == 1 && arith::getNeutralElement(combiners.front());
  if (!hasNeutral)
    return {statement, output, static_cast<unsigned>(phase.loops.size()), nullptr};
  return {statement, output, start, combiners.front()};
}

void KernelEmitter::emitPhase(unsigned index) {
  const Phase &phase = plan.phases[index];
  currentPhase = index;
  if (plan.statements[phase.statements.front()].isOpaque)
    return emitScatter(cast<scf::ForOp>(plan.statements[phase.statements.front()].op));

  Nest nest(phase);
  SmallVector<Operation *> combiners;
  for (unsigned statement : phase.statements) {
    for (unsigned output = 0; output < plan.statements[statement].outputs.size(); ++output) {
      if (!plan.statements[statement].isReduction(output))
        continue;
      nest.accumulators.push_back(getAccumulator(phase, statement, output));
      bool isInRegister = nest.accumulators.back().start < nest.depth();
      combiners.push_back(isInRegister ? nest.accumulators.back().combiner : nullptr);
    }
  }
  nest.vectorLoop = chooseVectorLoop(plan, phase, combiners, vectorBits);
  emitLoops(nest, 0, {});
}

Location KernelEmitter::getLoc(const Nest &nest) const {
  return plan.statements[nest.phase.statements.front()].op->getLoc();
}

SmallVector<Value> KernelEmitter::getNeutrals(const Nest &nest, ArrayRef<unsigned> accumulators) {
  return llvm::map_to_vector(accumulators, [&](unsigned index) -> Value {
    Operation *combiner = nest.accumulators[index].combiner;
    return arith::ConstantOp::create(builder, combiner->getLoc(), *arith::getNeutralElement(combiner));
  });
}

Value KernelEmitter::combine(Location loc, const Accumulator &accumulator, Value lhs, Value rhs) {
  Operation *combined = builder.clone(*accumulator.combiner);
  combined->setOperands({lhs, rhs});
  return combined->getResult(0);
}

/// Builds the loops from `depth` on. `carried` are the running values of the accumulators that started at an outer
/// depth; returns their new values.
SmallVector<Value> KernelEmitter::emitLoops(Nest &nest, unsigned depth, ValueRange carried) {
  LaneBuilder scalar(builder, *memory, 1);
  if (depth == nest.depth())
    return emitBody(nest, scalar, carried);
  loadInputs(nest, scalar, depth);

  SmallVector<unsigned> started;
  for (auto [index, accumulator] : llvm::enumerate(nest.accumulators))
    if (accumulator.start <= depth)
      started.push_back(index);
  SmallVector<Value> totals = emitLoop(nest, depth, started);

  SmallVector<Value> results;
  for (auto [index, total] : llvm::zip_equal(started, totals)) {
    const Accumulator &accumulator = nest.accumulators[index];
    Location loc = accumulator.combiner->getLoc();
    if (accumulator.start < depth) {
      results.push_back(combine(loc, accumulator, carried[results.size()], total));
      continue;
    }
    const Access &access = plan.statements[accumulator.statement].outputs[accumulator.output];
    Value place = getIndex(loc, access);
    Value old = memory->load(loc, access.storage, place);
    memory->store(loc, combine(loc, accumulator, old, total), access.storage, place);
  }
  return results;
}

/// Builds one loop, which computes the totals of the accumulators `started` from their neutral elements.
SmallVector<Value> KernelEmitter::emitLoop(Nest &nest, unsigned depth, ArrayRef<unsigned> started) {
  Location loc = getLoc(nest);
  unsigned loop = nest.phase.loops[depth];
  bool isInnermost = depth + 1 == nest.depth(), isRange = plan.rangeLoop == loop;
  Value lower = isRange ? begin : memory->constant(loc, 0);
  Value upper = isRange ? end : memory->constant(loc, plan.loopSizes[loop]);

  bool isLongSum = isInnermost && !isRange && !started.empty() && plan.loopSizes[loop] > 2 * kBlock;
  if (!isLongSum)
    return emitRange(nest, depth, started, lower, upper);
  auto blocks = scf::ForOp::create(
      builder, loc, lower, upper, memory->constant(loc, kBlock), getNeutrals(nest, started),
      [&](OpBuilder &, Location, Value from, ValueRange carried) {
        Value to = arith::MinSIOp::create(builder, loc, memory->add(loc, from, memory->constant(loc, kBlock)), upper);
        SmallVector<Value> totals = emitRange(nest, depth, started, from, to), sums;
        for (auto [index, sum, total] : llvm::zip_equal(started, carried, totals))
          sums.push_back(combine(loc, nest.accumulators[index], sum, total));
        scf::YieldOp::create(builder, loc, sums);
      });
  return SmallVector<Value>(blocks.getResults());
}

/// Marks the loop for LLVM as vectorized, and as one to unroll if `unrolls` is true.
static void annotate(scf::ForOp loop, bool unrolls) {
  MLIRContext *context = loop.getContext();
  auto yes = BoolAttr::get(context, true), no = BoolAttr::get(context, false);
  auto unroll = LLVM::LoopUnrollAttr::get(context, /*disable=*/no, {}, {}, /*full=*/yes, {}, {}, {});
  auto annotation = LLVM::LoopAnnotationAttr::get(context, {}, {}, {}, unrolls ? unroll : nullptr, {}, {}, {}, {}, {},
                                                  {}, {}, /*isVectorized=*/yes, {}, {}, {});
  loop->setAttr("loop_annotation", annotation);
}

/// Builds iterations [lower, upper) of a loop: an innermost loop on vectors if possible, and its remaining iterations
/// one by one.
SmallVector<Value> KernelEmitter::emitRange(Nest &nest, unsigned depth, ArrayRef<unsigned> started, Value lower,
                                            Value upper) {
  Location loc = getLoc(nest);
  unsigned loop = nest.phase.loops[depth];
  SmallVector<Value> totals = getNeutrals(nest, started);
  bool isInnermost = depth + 1 == nest.depth();
  int64_t lanes = isInnermost ? nest.vectorLoop.lanes : 1;
  if (lanes > 1) {
    LaneBuilder vectors(builder, *memory, lanes);
    bool isWhole = plan.rangeLoop != loop && plan.loopSizes[loop] % lanes == 0;
    Value middle = upper;
    if (!isWhole) {
      Value count = builder.createOrFold<arith::SubIOp>(loc, upper, lower);
      Value rest = builder.createOrFold<arith::RemUIOp>(loc, count, memory->constant(loc, lanes));
      middle = builder.createOrFold<arith::SubIOp>(loc, upper, rest);
    }
    SmallVector<Value> inits = llvm::map_to_vector(totals, [&](Value neutral) { return vectors.widen(loc, neutral); });
    scf::ForOp main = buildLoop(nest, depth, lower, middle, lanes, inits);
    for (auto [index, total, partial] : llvm::zip_equal(started, totals, main.getResults()))
      total = vectors.reduce(nest.accumulators[index].combiner, partial);
    int64_t iterations = plan.loopSizes[loop] / lanes;
    annotate(main, !started.empty() && iterations <= kUnrolledIterations);
    if (isWhole)
      return totals;
    lower = middle;
  }
  scf::ForOp rest = buildLoop(nest, depth, lower, upper, 1, totals);
  if (lanes > 1)
    annotate(rest, /*unrolls=*/false);
  else if (isInnermost)
    rest->setAttr("scalar_because", builder.getStringAttr(nest.vectorLoop.scalarBecause));
  return SmallVector<Value>(rest.getResults());
}

/// Builds a loop that does `lanes` iterations at once; more than one if it is an innermost loop.
scf::ForOp KernelEmitter::buildLoop(Nest &nest, unsigned depth, Value lower, Value upper, int64_t lanes,
                                    ValueRange inits) {
  Location loc = getLoc(nest);
  size_t outerLoads = nest.loads.size();
  auto built = scf::ForOp::create(builder, loc, lower, upper, memory->constant(loc, lanes), inits,
                                  [&](OpBuilder &, Location, Value variable, ValueRange carried) {
                                    variables[nest.phase.loops[depth]] = variable;
                                    LaneBuilder body(builder, *memory, lanes);
                                    scf::YieldOp::create(builder, loc,
                                                         lanes == 1 ? emitLoops(nest, depth + 1, carried)
                                                                    : emitBody(nest, body, carried));
                                  });
  // Values that the loop loads are not available after it.
  nest.loads.erase(nest.loads.begin() + outerLoads, nest.loads.end());
  return built;
}

//===----------------------------------------------------------------------===//
// Bodies
//===----------------------------------------------------------------------===//

Value KernelEmitter::getIndex(Location loc, const Access &access) {
  Value index;
  auto add = [&](Value term) { index = index ? memory->add(loc, index, term) : term; };
  for (auto [loop, coefficient] : llvm::enumerate(access.coefficients))
    if (coefficient != 0)
      add(memory->mul(loc, variables[loop], coefficient));
  if (access.offset != 0 || !index)
    add(memory->constant(loc, access.offset));
  return index;
}

/// Returns the index of a computed tensor element.
Value KernelEmitter::getIndex(Location loc, unsigned storage, ValueRange indices) {
  Value index;
  for (auto [axis, stride] : llvm::zip_equal(indices, plan.storages[storage].strides)) {
    Value term = memory->mul(loc, axis, stride);
    index = index ? memory->add(loc, index, term) : term;
  }
  return index ? index : memory->constant(loc, 0);
}

unsigned KernelEmitter::getStorage(Value tensor) const {
  auto carried = carriedStorage.find(tensor);
  return carried != carriedStorage.end() ? carried->second : plan.storageOf.lookup(tensor);
}

bool KernelEmitter::isComputedInPhase(const Nest &nest, unsigned statement, unsigned storage) const {
  for (unsigned earlier : nest.phase.statements) {
    if (earlier == statement)
      return false;
    for (const Access &output : plan.statements[earlier].outputs)
      if (output.storage == storage)
        return true;
  }
  return false;
}

/// Returns whether a value of this phase must be in memory.
bool KernelEmitter::isNeededOutside(unsigned phase, unsigned storage) const {
  if (plan.storages[storage].kind == Storage::Kind::Operand)
    return true;
  auto isOfStorage = [&](const Access &access) { return access.storage == storage; };
  for (auto [index, other] : llvm::enumerate(plan.phases)) {
    if (index == phase)
      continue;
    for (unsigned number : other.statements) {
      const Statement &statement = plan.statements[number];
      if (statement.isOpaque || llvm::any_of(statement.inputs, isOfStorage) ||
          llvm::any_of(statement.outputs, isOfStorage))
        return true;
      WalkResult extracts = statement.op->walk([&](tensor::ExtractOp extract) {
        return getStorage(extract.getTensor()) == storage ? WalkResult::interrupt() : WalkResult::advance();
      });
      if (extracts.wasInterrupted())
        return true;
    }
  }
  return false;
}

/// Loads the elements that depend on the loop before `depth`, but not on the loops from `depth` on.
void KernelEmitter::loadInputs(Nest &nest, LaneBuilder &lanes, unsigned depth) {
  for (unsigned index : nest.phase.statements) {
    const Statement &statement = plan.statements[index];
    for (auto [number, access] : llvm::enumerate(statement.inputs)) {
      unsigned lastLoop = nest.depth();
      while (lastLoop > 0 && access.coefficients[nest.phase.loops[lastLoop - 1]] == 0)
        --lastLoop;
      bool isUsed = !statement.getGeneric().getBody()->getArgument(number).use_empty();
      bool isLoaded = llvm::any_of(nest.loads, [&](const auto &load) { return load.first == access; });
      if (lastLoop != depth || !isUsed || isLoaded || isComputedInPhase(nest, index, access.storage))
        continue;
      Location loc = statement.op->getLoc();
      Value value = lanes.load(loc, access.storage, getIndex(loc, access), getStride(nest, access));
      nest.loads.push_back({access, value});
    }
  }
}

/// Returns the stride with which the innermost loop accesses memory.
int64_t KernelEmitter::getStride(const Nest &nest, const Access &access) const {
  return nest.depth() == 0 ? 0 : access.coefficients[nest.phase.loops.back()];
}

Value KernelEmitter::loadAt(const Nest &nest, const Access &access) {
  return llvm::find_if(nest.loads, [&](const auto &load) { return load.first == access; })->second;
}

/// Computes one element of every statement in every lane. All loads precede all stores, because an output may be an
/// input's buffer.
SmallVector<Value> KernelEmitter::emitBody(Nest &nest, LaneBuilder &lanes, ValueRange carried) {
  loadInputs(nest, lanes, nest.depth());
  SmallVector<Value> results;
  std::vector<std::pair<Access, Value>> stores;
  unsigned nextAccumulator = 0;
  for (unsigned index : nest.phase.statements) {
    const Statement &statement = plan.statements[index];
    Location loc = statement.op->getLoc();
    SmallVector<Value> inits;
    SmallVector<bool> isCarried;
    for (auto [output, access] : llvm::enumerate(statement.outputs)) {
      bool isReduction = statement.isReduction(output);
      isCarried.push_back(isReduction && nest.accumulators[nextAccumulator++].start < nest.depth());
      bool isRead = !statement.getGeneric().getRegionOutputArgs()[output].use_empty();
      if (isCarried.back())
        inits.push_back(carried[results.size() + llvm::count(isCarried, true) - 1]);
      else
        inits.push_back(isRead ? lanes.load(loc, access.storage, getIndex(loc, access), getStride(nest, access))
                               : Value());
    }
    SmallVector<Value> values = emitStatement(nest, lanes, index, inits);
    for (auto [access, value, isInRegister] : llvm::zip_equal(statement.outputs, values, isCarried)) {
      if (isInRegister) {
        results.push_back(lanes.widen(loc, value));
        continue;
      }
      nest.computed[access.storage] = value;
      if (isNeededOutside(currentPhase, access.storage))
        stores.push_back({access, value});
    }
  }
  for (auto [access, value] : stores)
    lanes.store(value.getLoc(), value, access.storage, getIndex(value.getLoc(), access));
  return results;
}

SmallVector<Value> KernelEmitter::emitStatement(Nest &nest, LaneBuilder &lanes, unsigned index, ValueRange inits) {
  const Statement &statement = plan.statements[index];
  linalg::GenericOp generic = statement.getGeneric();
  IRMapping mapping = constants;
  for (auto [argument, access] : llvm::zip_equal(generic.getRegionInputArgs(), statement.inputs)) {
    if (argument.use_empty())
      continue;
    bool isComputed = isComputedInPhase(nest, index, access.storage);
    mapping.map(argument, isComputed ? nest.computed.lookup(access.storage) : loadAt(nest, access));
  }
  for (auto [argument, init] : llvm::zip_equal(generic.getRegionOutputArgs(), inits))
    if (init)
      mapping.map(argument, init);

  for (Operation &op : generic.getBody()->without_terminator()) {
    Location loc = op.getLoc();
    if (auto indexOp = dyn_cast<linalg::IndexOp>(op)) {
      std::optional<unsigned> loop = statement.loopOfDim[indexOp.getDim()];
      Value number = loop ? variables[*loop] : memory->constant(loc, 0);
      bool isInnermost = loop && loop == nest.phase.loops.back();
      mapping.map(indexOp.getResult(), isInnermost ? lanes.count(loc, number) : number);
    } else if (auto extract = dyn_cast<tensor::ExtractOp>(op)) {
      mapping.map(extract.getResult(), emitExtract(extract, lanes, mapping));
    } else {
      lanes.clone(op, mapping);
    }
  }
  SmallVector<Value> values;
  for (Value value : generic.getBody()->getTerminator()->getOperands())
    values.push_back(mapping.lookup(value));
  return values;
}

/// Reads a tensor at a computed index.
Value KernelEmitter::emitExtract(tensor::ExtractOp extract, LaneBuilder &lanes, const IRMapping &mapping) {
  Location loc = extract.getLoc();
  unsigned storage = getStorage(extract.getTensor());
  auto indices = llvm::map_to_vector(extract.getIndices(), [&](Value index) { return mapping.lookup(index); });
  if (llvm::none_of(indices, LaneBuilder::isVector))
    return memory->load(loc, storage, getIndex(loc, storage, indices));
  // Loops that run on vectors read one element after the other, from the first lane's on.
  indices.back() = lanes.first(loc, indices.back());
  return lanes.load(loc, storage, getIndex(loc, storage, indices), 1);
}

//===----------------------------------------------------------------------===//
// Scatters
//===----------------------------------------------------------------------===//

/// Emits loops that carry a tensor. They update its storage.
void KernelEmitter::emitScatter(scf::ForOp loop) {
  IRMapping mapping = constants;
  emitScatterOp(*loop, mapping);
}

void KernelEmitter::emitScatterOp(Operation &op, IRMapping &mapping) {
  Location loc = op.getLoc();
  auto mapAll = [&](ValueRange values) {
    return llvm::map_to_vector(values, [&](Value value) { return mapping.lookup(value); });
  };
  if (auto loop = dyn_cast<scf::ForOp>(op)) {
    for (auto [init, argument, result] :
         llvm::zip_equal(loop.getInitArgs(), loop.getRegionIterArgs(), loop.getResults()))
      carriedStorage[argument] = carriedStorage[result] = getStorage(init);
    SmallVector<Value> bounds = mapAll({loop.getLowerBound(), loop.getUpperBound(), loop.getStep()});
    scf::ForOp::create(builder, loc, bounds[0], bounds[1], bounds[2], ValueRange(),
                       [&](OpBuilder &, Location, Value variable, ValueRange) {
                         mapping.map(loop.getInductionVar(), variable);
                         for (Operation &nested : loop.getBody()->without_terminator())
                           emitScatterOp(nested, mapping);
                         scf::YieldOp::create(builder, loc);
                       });
  } else if (auto extract = dyn_cast<tensor::ExtractOp>(op)) {
    unsigned storage = getStorage(extract.getTensor());
    Value place = getIndex(loc, storage, mapAll(extract.getIndices()));
    mapping.map(extract.getResult(), memory->load(loc, storage, place));
  } else if (auto insert = dyn_cast<tensor::InsertOp>(op)) {
    unsigned storage = carriedStorage[insert.getResult()] = getStorage(insert.getDest());
    Value place = getIndex(loc, storage, mapAll(insert.getIndices()));
    memory->store(loc, mapping.lookup(insert.getScalar()), storage, place);
  } else {
    builder.clone(op, mapping);
  }
}

LLVM::LLVMFuncOp cs336::cpu::emitKernel(const KernelPlan &plan, func::FuncOp kernel, StringRef symbol,
                                        int64_t vectorBits, OpBuilder &builder) {
  return KernelEmitter(plan, kernel, vectorBits, builder).emit(symbol);
}
