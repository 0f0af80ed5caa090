//===- AttentionKernel.cpp - Attention by blocks --------------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The lanes of vectors are a block of positions of one side. Rows are positions of the other side, one after the other.
// GEMMs read one operand from memory, number by number, and the other from a panel. Softmax and its gradient work lane
// by lane.
//
//===----------------------------------------------------------------------===//

#include "AttentionKernel.h"

#include "BlockBuilder.h"
#include "ScoreLanes.h"
#include "cs336/Codegen/ScoreToScalars.h"
#include "cs336/Dialect/CS336/IR/CS336Ops.h"
#include "cs336/Dialect/CS336/IR/ScoreDistances.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/ScopeExit.h"

using namespace mlir;
using namespace cs336;
using namespace cs336::cpu;

/// Positions of the other side that a block handles at once: their scores stay in the first-level cache.
static constexpr int64_t kMetPositions = 64;

/// Registers of one row of a panel.
static constexpr int64_t kRowRegisters = 2;

/// The largest size of the panels, which are on the stack of the thread that runs the kernel.
static constexpr int64_t kMaxPanelBytes = 1 << 20;

namespace {
/// Properties that both operations share.
struct AttentionSizes {
  int64_t batch, queries, keys, heads, keyHeads, group, headDim;
  double scale;
  bool isCausal;
  /// The score function as scalar code; null without one, in which case the range has no meaning.
  func::FuncOp function;
  DistanceRange visible;
};

class AttentionEmitter {
public:
  AttentionEmitter(exec::KernelOp kernel, const AttentionSizes &sizes, ValueRange operands, ValueRange tables,
                   int64_t vectorBits, OpBuilder &builder);

  /// Returns whether the operands have the layout in which blocks are read, and panels fit on the stack.
  bool isSupported();
  LLVM::LLVMFuncOp emitForward(StringRef symbol);
  LLVM::LLVMFuncOp emitBackward(StringRef symbol);

  /// Returns the number of blocks of queries of all heads, or of blocks of keys of all key heads.
  int64_t getQueryRows() const { return sizes.batch * sizes.heads * llvm::divideCeil(sizes.queries, lanes); }
  int64_t getKeyRows() const { return sizes.batch * sizes.keyHeads * llvm::divideCeil(sizes.keys, lanes); }

private:
  /// One block of positions of one head: a row of the kernel.
  struct Place {
    Value batch, head, first, count;
  };
  LLVM::LLVMFuncOp emit(StringRef symbol, function_ref<void(Value)> row);
  unsigned addPanel(int64_t rows);
  Place getPlace(Value row, int64_t heads, int64_t positions);
  Matrix getHead(unsigned storage, Value batch, Value head);
  Value getSumIndex(unsigned storage, Value batch, Value head, Value query);
  void forEachMet(Value from, Value to, function_ref<void(Value, Value)> body);
  Value hideBefore(bool lanesAreQueries, Value lanesFirst, Value met, Value value, double hidden);
  SmallVector<Value> applyFunction(const Place &place, Value head, bool lanesAreQueries, Value met, Value score);
  std::pair<Value, Value> getVisibleKeys(const Place &place);
  std::pair<Value, Value> getVisibleQueries(const Place &place);
  /// Returns `number`, or 0 in place of −∞: with a score function, this is the maximum and the log-sum-exp of a row
  /// without visible keys.
  Value shiftBy(Value number);

  void emitQueries(const Place &place);
  void emitQueryGradient(const Place &place);
  void emitKeyGradients(const Place &place);
  Value emitDelta(const Place &place, const Matrix &key, const Matrix &value, Value begin, Value end, Value logSumExp);
  void emitScoreGradients(Value count, function_ref<Value(Value)> logSumExp, function_ref<Value(Value)> delta,
                          function_ref<Value(Value, Value)> hide, function_ref<SmallVector<Value>(Value, Value)> apply);

  exec::KernelOp kernel;
  AttentionSizes sizes;
  int64_t vectorBits;
  OpBuilder &builder;
  Location loc;
  FloatType compute;
  /// True if the output has fewer digits than the values from which it was computed.
  bool outputIsRounded;
  int64_t lanes;
  /// The kernel's storages, and the positions of the operation's operands and results among them.
  KernelPlan plan;
  SmallVector<unsigned> operands, tables;
  unsigned firstResult;
  std::optional<KernelMemory> memory;
  std::optional<BlockBuilder> blocks;
  /// Panels: the operands in lanes (queries, or keys and values), scores, sums, and values per lane.
  unsigned left = 0, right = 0, scores = 0, slopes = 0, sums = 0, otherSums = 0, numbers = 0;
};
} // namespace

//===----------------------------------------------------------------------===//
// Storage
//===----------------------------------------------------------------------===//

AttentionEmitter::AttentionEmitter(exec::KernelOp kernel, const AttentionSizes &sizes, ValueRange values,
                                   ValueRange tableValues, int64_t vectorBits, OpBuilder &builder)
    : kernel(kernel), sizes(sizes), vectorBits(vectorBits), builder(builder), loc(kernel.getLoc()) {
  Type element = getElementTypeOrSelf(values.front().getType());
  compute = element.isF64() ? FloatType(builder.getF64Type()) : FloatType(builder.getF32Type());
  outputIsRounded = element != compute;
  lanes = kRowRegisters * std::max<int64_t>(vectorBits / compute.getWidth(), 1);
  for (Type type : llvm::concat<const Type>(kernel.getInTypes(), kernel.getOutTypes())) {
    auto memref = cast<MemRefType>(type);
    Storage storage(Storage::Kind::Operand, memref);
    storage.operand = plan.storages.size();
    storage.strides = memref.getStridesAndOffset().first;
    plan.storages.push_back(std::move(storage));
  }
  for (Value value : values)
    operands.push_back(cast<BlockArgument>(value).getArgNumber());
  for (Value table : tableValues)
    tables.push_back(cast<BlockArgument>(table).getArgNumber());
  firstResult = kernel.getInTypes().size();
}

unsigned AttentionEmitter::addPanel(int64_t rows) {
  plan.storages.emplace_back(Storage::Kind::Temporary, RankedTensorType::get({rows * lanes}, compute));
  return plan.storages.size() - 1;
}

bool AttentionEmitter::isSupported() {
  int64_t panelRows = 4 * sizes.headDim + 2 * kMetPositions + 2;
  if (panelRows * lanes * compute.getWidth() / 8 > kMaxPanelBytes)
    return false;
  auto isContiguous = [&](const Storage &storage) {
    return storage.strides.empty() || storage.strides.back() == 1 || llvm::is_contained(tables, storage.operand);
  };
  return llvm::all_of(plan.storages, isContiguous);
}

/// Returns one head of a storage with the shape [batch, positions, heads, head_dim].
Matrix AttentionEmitter::getHead(unsigned storage, Value batch, Value head) {
  ArrayRef<int64_t> strides = plan.storages[storage].strides;
  Value origin = blocks->addIndex(blocks->mulIndex(batch, strides[0]), blocks->mulIndex(head, strides[2]));
  return {storage, origin, strides[1], strides[3]};
}

/// Returns the index of an element in a storage with the shape [batch, heads, queries].
Value AttentionEmitter::getSumIndex(unsigned storage, Value batch, Value head, Value query) {
  ArrayRef<int64_t> strides = plan.storages[storage].strides;
  Value outer = blocks->addIndex(blocks->mulIndex(batch, strides[0]), blocks->mulIndex(head, strides[1]));
  return blocks->addIndex(outer, blocks->mulIndex(query, strides[2]));
}

//===----------------------------------------------------------------------===//
// Rows and blocks
//===----------------------------------------------------------------------===//

LLVM::LLVMFuncOp AttentionEmitter::emit(StringRef symbol, function_ref<void(Value)> emitRow) {
  OpBuilder::InsertionGuard guard(builder);
  Type pointer = LLVM::LLVMPointerType::get(builder.getContext()), i64 = builder.getI64Type();
  auto type = LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(builder.getContext()), {pointer, i64, i64});
  auto function = LLVM::LLVMFuncOp::create(builder, loc, symbol, type);
  Block *entry = function.addEntryBlock(builder);
  builder.setInsertionPointToStart(entry);
  memory.emplace(plan, builder, loc, entry->getArgument(0));
  blocks.emplace(*memory, builder, loc, compute, lanes, vectorBits);
  auto toIndex = [&](Value value) -> Value {
    return arith::IndexCastOp::create(builder, loc, builder.getIndexType(), value);
  };
  blocks->loop(toIndex(entry->getArgument(1)), toIndex(entry->getArgument(2)), 1, emitRow);
  LLVM::ReturnOp::create(builder, loc, ValueRange());
  return function;
}

/// Returns the block of a row. Blocks of one head are consecutive, and so are heads of one batch.
AttentionEmitter::Place AttentionEmitter::getPlace(Value row, int64_t heads, int64_t positions) {
  auto split = [&](Value number, int64_t size) -> std::pair<Value, Value> {
    Value divisor = blocks->index(size);
    return {arith::DivUIOp::create(builder, loc, number, divisor),
            arith::RemUIOp::create(builder, loc, number, divisor)};
  };
  auto [headRow, block] = split(row, llvm::divideCeil(positions, lanes));
  auto [batch, head] = split(headRow, heads);
  Value first = blocks->mulIndex(block, lanes);
  Value count = blocks->minIndex(blocks->index(lanes), blocks->subIndex(blocks->index(positions), first));
  return {batch, head, first, count};
}

/// Splits the positions [from, to) into groups that a block handles at once, and calls `body` with the first position
/// and the size of each.
void AttentionEmitter::forEachMet(Value from, Value to, function_ref<void(Value, Value)> body) {
  blocks->loop(from, to, kMetPositions, [&](Value first) {
    body(first, blocks->minIndex(blocks->index(kMetPositions), blocks->subIndex(to, first)));
  });
}

/// Returns `hidden` in lanes where the key comes after the query, else `value`. One of key and query is the lane's
/// position, the other is `met`.
Value AttentionEmitter::hideBefore(bool lanesAreQueries, Value lanesFirst, Value met, Value value, double hidden) {
  if (!sizes.isCausal)
    return value;
  return blocks->selectLanes(lanesAreQueries, blocks->subIndex(met, lanesFirst), value, blocks->splat(hidden));
}

//===----------------------------------------------------------------------===//
// Score function
//===----------------------------------------------------------------------===//

/// Applies the score function to scaled scores of query head `head`. The lanes are positions of one side, and `met` is
/// a position of the other.
SmallVector<Value> AttentionEmitter::applyFunction(const Place &place, Value head, bool lanesAreQueries, Value met,
                                                   Value score) {
  BlockBuilder &b = *blocks;
  Value inLanes = b.getPositions(place.first, (lanesAreQueries ? sizes.queries : sizes.keys) - 1);
  Value other = b.toI32(met);
  Value arguments[] = {score, b.toI32(place.batch), b.toI32(head), lanesAreQueries ? inLanes : other,
                       lanesAreQueries ? other : inLanes};
  return buildScoreLanes(sizes.function, plan, *memory, tables, lanes, arguments, builder, loc);
}

/// Returns the first key that a query of the block can see, and the one after the last.
std::pair<Value, Value> AttentionEmitter::getVisibleKeys(const Place &place) {
  BlockBuilder &b = *blocks;
  Value zero = b.index(0), end = b.index(sizes.keys), endQuery = b.addIndex(place.first, place.count);
  if (!sizes.function)
    return {zero, sizes.isCausal ? b.minIndex(end, endQuery) : end};
  return {b.maxIndex(zero, b.subIndex(place.first, b.index(sizes.visible.last))),
          b.minIndex(end, b.subIndex(endQuery, b.index(sizes.visible.first)))};
}

/// Returns the first query that can see a key of the block, and the one after the last.
std::pair<Value, Value> AttentionEmitter::getVisibleQueries(const Place &place) {
  BlockBuilder &b = *blocks;
  Value zero = b.index(0), end = b.index(sizes.queries);
  if (!sizes.function)
    return {sizes.isCausal ? place.first : zero, end};
  return {b.maxIndex(zero, b.addIndex(place.first, b.index(sizes.visible.first))),
          b.minIndex(end, b.addIndex(b.addIndex(place.first, place.count), b.index(sizes.visible.last)))};
}

Value AttentionEmitter::shiftBy(Value number) {
  return sizes.function ? blocks->replaceLanes(number, -std::numeric_limits<double>::infinity(), 0.0) : number;
}

//===----------------------------------------------------------------------===//
// Forward
//===----------------------------------------------------------------------===//

LLVM::LLVMFuncOp AttentionEmitter::emitForward(StringRef symbol) {
  left = addPanel(sizes.headDim);
  sums = addPanel(sizes.headDim);
  scores = addPanel(kMetPositions);
  numbers = addPanel(1);
  return emit(symbol, [&](Value row) { emitQueries(getPlace(row, sizes.heads, sizes.queries)); });
}

/// Emits the softmax of a growing set of keys: when a block of keys raises the maximum m, the earlier sums are
/// multiplied by e^(m_old − m_new).
void AttentionEmitter::emitQueries(const Place &place) {
  BlockBuilder &b = *blocks;
  Value zero = b.index(0), headDim = b.index(sizes.headDim);
  Value keyHead = arith::DivUIOp::create(builder, loc, place.head, b.index(sizes.group));
  Matrix key = getHead(operands[1], place.batch, keyHead), value = getHead(operands[2], place.batch, keyHead);
  b.pack(getHead(operands[0], place.batch, place.head), place.first, place.count, sizes.headDim, left);
  b.fill(sums, sizes.headDim, 0.0);

  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  Value scale = b.splat(sizes.scale);
  auto [begin, end] = getVisibleKeys(place);
  SmallVector<Value> inits = {b.splat(-kInfinity), b.splat(0.0)};
  SmallVector<Value> totals = b.loop(begin, end, kMetPositions, inits, [&, end = end](Value first, ValueRange carried) {
    Value met = b.minIndex(b.index(kMetPositions), b.subIndex(end, first));
    b.multiply(key, first, zero, met, headDim, left, scores, /*accumulates=*/false);
    Value maximum = b.loop(zero, met, 1, carried[0], [&](Value position, ValueRange so) {
                       Value score = b.mul(b.load(scores, position), scale);
                       if (sizes.function)
                         score = applyFunction(place, place.head, true, b.addIndex(first, position), score).front();
                       score = hideBefore(true, place.first, b.addIndex(first, position), score, -kInfinity);
                       b.store(score, scores, position);
                       return SmallVector<Value>{b.max(score, so[0])};
                     }).front();
    Value shift = shiftBy(maximum);
    Value sum = b.loop(zero, met, 1, b.splat(0.0), [&](Value position, ValueRange so) {
                   Value power = b.exp(b.sub(b.load(scores, position), shift));
                   b.store(power, scores, position);
                   return SmallVector<Value>{b.add(so[0], power)};
                 }).front();
    Value shrink = b.exp(b.sub(carried[0], shift));
    b.loop(zero, headDim, 1, [&](Value row) { b.store(b.mul(b.load(sums, row), shrink), sums, row); });
    b.multiply(value.transposed(), zero, first, headDim, met, scores, sums, /*accumulates=*/true);
    return SmallVector<Value>{maximum, b.add(b.mul(carried[1], shrink), sum)};
  });

  // The sum of a row without visible keys is 0, and so are the quotients.
  Value divisor = sizes.function ? b.replaceLanes(totals[1], 0.0, 1.0) : totals[1];
  b.loop(zero, headDim, 1, [&](Value row) { b.store(b.div(b.load(sums, row), divisor), sums, row); });
  b.unpack(sums, getHead(firstResult, place.batch, place.head), place.first, place.count, sizes.headDim);
  // The maximum of such a row is −∞.
  b.store(b.add(totals[0], b.log(divisor)), numbers, zero);
  b.loop(zero, place.count, 1, [&](Value lane) {
    Value index = getSumIndex(firstResult + 1, place.batch, place.head, b.addIndex(place.first, lane));
    b.storeNumber(b.loadNumber(numbers, lane), firstResult + 1, index);
  });
}

//===----------------------------------------------------------------------===//
// Backward
//===----------------------------------------------------------------------===//

LLVM::LLVMFuncOp AttentionEmitter::emitBackward(StringRef symbol) {
  left = addPanel(sizes.headDim);
  right = addPanel(sizes.headDim);
  sums = addPanel(sizes.headDim);
  otherSums = addPanel(sizes.headDim);
  scores = addPanel(kMetPositions);
  slopes = addPanel(kMetPositions);
  numbers = addPanel(2);
  return emit(symbol, [&](Value row) {
    Value queryRows = blocks->index(getQueryRows());
    Value isQuery = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt, row, queryRows);
    scf::IfOp::create(
        builder, loc, isQuery,
        [&](OpBuilder &, Location) {
          emitQueryGradient(getPlace(row, sizes.heads, sizes.queries));
          scf::YieldOp::create(builder, loc);
        },
        [&](OpBuilder &, Location) {
          emitKeyGradients(getPlace(blocks->subIndex(row, queryRows), sizes.keyHeads, sizes.keys));
          scf::YieldOp::create(builder, loc);
        });
  });
}

/// Replaces q·k in `scores` with probabilities p, and dO·v in `slopes` with scale·f'·p·(slope − Δ), row by row. `apply`
/// returns f and f' of a row's scaled scores.
void AttentionEmitter::emitScoreGradients(Value count, function_ref<Value(Value)> logSumExp,
                                          function_ref<Value(Value)> delta, function_ref<Value(Value, Value)> hide,
                                          function_ref<SmallVector<Value>(Value, Value)> apply) {
  BlockBuilder &b = *blocks;
  Value scale = b.splat(sizes.scale);
  b.loop(b.index(0), count, 1, [&](Value row) {
    Value score = b.mul(b.load(scores, row), scale), factor = scale;
    if (sizes.function) {
      SmallVector<Value> applied = apply(row, score);
      score = applied[0];
      factor = b.mul(scale, applied[1]);
    }
    Value probability = hide(row, b.exp(b.sub(score, shiftBy(logSumExp(row)))));
    b.store(probability, scores, row);
    Value slope = b.sub(b.load(slopes, row), delta(row));
    b.store(b.mul(b.mul(probability, slope), factor), slopes, row);
  });
}

/// Computes Δ = Σ p·(dO·v) over the keys of the lanes' queries. Δ equals dO·O, but if O is rounded, Σ p·(dO·v − dO·O)
/// is not zero as it should be, and dQ would contain a multiple of the part that all keys share.
Value AttentionEmitter::emitDelta(const Place &place, const Matrix &key, const Matrix &value, Value begin, Value end,
                                  Value logSumExp) {
  BlockBuilder &b = *blocks;
  Value zero = b.index(0), headDim = b.index(sizes.headDim), scale = b.splat(sizes.scale);
  return b
      .loop(begin, end, kMetPositions, b.splat(0.0),
            [&](Value first, ValueRange carried) {
              Value met = b.minIndex(b.index(kMetPositions), b.subIndex(end, first));
              b.multiply(key, first, zero, met, headDim, left, scores, /*accumulates=*/false);
              b.multiply(value, first, zero, met, headDim, right, slopes, /*accumulates=*/false);
              return b.loop(zero, met, 1, carried, [&](Value row, ValueRange so) {
                Value score = b.mul(b.load(scores, row), scale);
                if (sizes.function)
                  score = applyFunction(place, place.head, true, b.addIndex(first, row), score).front();
                Value power = b.exp(b.sub(score, shiftBy(logSumExp)));
                Value probability = hideBefore(true, place.first, b.addIndex(first, row), power, 0.0);
                return SmallVector<Value>{b.add(so[0], b.mul(probability, b.load(slopes, row)))};
              });
            })
      .front();
}

/// Lanes are queries, and rows are keys.
void AttentionEmitter::emitQueryGradient(const Place &place) {
  BlockBuilder &b = *blocks;
  Value zero = b.index(0), one = b.index(1), headDim = b.index(sizes.headDim);
  Value keyHead = arith::DivUIOp::create(builder, loc, place.head, b.index(sizes.group));
  Matrix key = getHead(operands[1], place.batch, keyHead), value = getHead(operands[2], place.batch, keyHead);
  Matrix output = getHead(operands[3], place.batch, place.head);
  Matrix gradient = getHead(operands[5], place.batch, place.head);
  b.pack(getHead(operands[0], place.batch, place.head), place.first, place.count, sizes.headDim, left);
  b.pack(gradient, place.first, place.count, sizes.headDim, right);
  b.fill(sums, sizes.headDim, 0.0);
  // Lanes without a query compute with zeros.
  b.fill(numbers, 2, 0.0);
  b.loop(zero, place.count, 1, [&](Value lane) {
    Value query = b.addIndex(place.first, lane);
    Value index = getSumIndex(operands[4], place.batch, place.head, query);
    b.storeNumber(b.loadNumber(operands[4], index), numbers, lane);
    if (!outputIsRounded)
      b.storeNumber(b.dot(gradient, output, query, sizes.headDim), numbers, b.addIndex(b.index(lanes), lane));
  });
  Value logSumExp = b.load(numbers, zero);
  auto [begin, end] = getVisibleKeys(place);
  Value delta = outputIsRounded ? emitDelta(place, key, value, begin, end, logSumExp) : b.load(numbers, one);
  forEachMet(begin, end, [&](Value first, Value met) {
    b.multiply(key, first, zero, met, headDim, left, scores, /*accumulates=*/false);
    b.multiply(value, first, zero, met, headDim, right, slopes, /*accumulates=*/false);
    emitScoreGradients(
        met, [&](Value) { return logSumExp; }, [&](Value) { return delta; },
        [&](Value row, Value number) { return hideBefore(true, place.first, b.addIndex(first, row), number, 0.0); },
        [&](Value row, Value score) { return applyFunction(place, place.head, true, b.addIndex(first, row), score); });
    b.multiply(key.transposed(), zero, first, headDim, met, slopes, sums, /*accumulates=*/true);
  });
  b.unpack(sums, getHead(firstResult, place.batch, place.head), place.first, place.count, sizes.headDim);
}

/// Lanes are keys, and rows are the queries of all heads of their group, in order.
void AttentionEmitter::emitKeyGradients(const Place &place) {
  BlockBuilder &b = *blocks;
  Value zero = b.index(0), headDim = b.index(sizes.headDim);
  b.pack(getHead(operands[1], place.batch, place.head), place.first, place.count, sizes.headDim, left);
  b.pack(getHead(operands[2], place.batch, place.head), place.first, place.count, sizes.headDim, right);
  b.fill(sums, sizes.headDim, 0.0);
  b.fill(otherSums, sizes.headDim, 0.0);
  b.loop(zero, b.index(sizes.group), 1, [&](Value member) {
    Value head = b.addIndex(b.mulIndex(place.head, sizes.group), member);
    Matrix query = getHead(operands[0], place.batch, head), output = getHead(operands[3], place.batch, head);
    Matrix gradient = getHead(operands[5], place.batch, head);
    auto [begin, end] = getVisibleQueries(place);
    forEachMet(begin, end, [&](Value first, Value met) {
      b.multiply(query, first, zero, met, headDim, left, scores, /*accumulates=*/false);
      b.multiply(gradient, first, zero, met, headDim, right, slopes, /*accumulates=*/false);
      emitScoreGradients(
          met,
          [&](Value row) {
            Value index = getSumIndex(operands[4], place.batch, head, b.addIndex(first, row));
            return b.splat(b.loadNumber(operands[4], index));
          },
          [&](Value row) { return b.splat(b.dot(gradient, output, b.addIndex(first, row), sizes.headDim)); },
          [&](Value row, Value number) { return hideBefore(false, place.first, b.addIndex(first, row), number, 0.0); },
          [&](Value row, Value score) { return applyFunction(place, head, false, b.addIndex(first, row), score); });
      b.multiply(query.transposed(), zero, first, headDim, met, slopes, sums, /*accumulates=*/true);
      b.multiply(gradient.transposed(), zero, first, headDim, met, scores, otherSums, /*accumulates=*/true);
    });
  });
  b.unpack(sums, getHead(firstResult + 1, place.batch, place.head), place.first, place.count, sizes.headDim);
  b.unpack(otherSums, getHead(firstResult + 2, place.batch, place.head), place.first, place.count, sizes.headDim);
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

/// Returns the smallest number of rows for which a thread is used.
static int64_t chooseGrain(int64_t rows, double flops) {
  // Approximate FLOPs per nanosecond, and the duration of a share that takes much longer than its distribution.
  constexpr double kSpeed = 30.0, kShare = 20000.0;
  double rowTime = std::max(flops / rows / kSpeed, 1.0);
  return std::clamp<int64_t>(static_cast<int64_t>(std::ceil(kShare / rowTime)), 1, rows);
}

template <typename Op>
static FailureOr<AttentionSizes> getAttentionSizes(Op op, OpBuilder &builder) {
  auto sizes = op.getSizes();
  AttentionSizes result{sizes.batch,
                        sizes.queries,
                        sizes.keys,
                        sizes.heads,
                        sizes.keyHeads,
                        sizes.group,
                        sizes.headDim,
                        op.getScale().convertToDouble(),
                        op.getCausal(),
                        {},
                        {}};
  if (!op.hasScoreFunction())
    return result;
  result.visible = ScoreDistances::analyze(op).visible;
  FailureOr<func::FuncOp> scalars =
      lowerScoreToScalars(op.getScoreFunction(), /*numResults=*/std::is_same_v<Op, AttentionOp> ? 1 : 2, builder);
  if (failed(scalars))
    return failure();
  result.function = *scalars;
  return result;
}

std::optional<LLVM::LLVMFuncOp> cs336::cpu::emitAttention(exec::KernelOp kernel, StringRef symbol, int64_t vectorBits,
                                                          OpBuilder &builder, CompiledKernel &compiled) {
  Block &body = kernel.getBody().front();
  if (!llvm::hasSingleElement(body.without_terminator()))
    return std::nullopt;
  Operation *op = &body.front();
  auto forward = dyn_cast<AttentionOp>(op);
  auto backward = dyn_cast<AttentionBackwardOp>(op);
  if ((!forward && !backward) || !llvm::equal(kernel.getYieldedValues(), op->getResults()))
    return std::nullopt;
  FailureOr<AttentionSizes> sizes =
      forward ? getAttentionSizes(forward, builder) : getAttentionSizes(backward, builder);
  if (failed(sizes))
    return std::nullopt;
  llvm::scope_exit eraseScalars([&] {
    if (sizes->function)
      sizes->function.erase();
  });
  AttentionEmitter emitter(kernel, *sizes, op->getOperands(), forward ? forward.getTables() : backward.getTables(),
                           vectorBits, builder);
  if (!emitter.isSupported())
    return std::nullopt;
  int64_t rows = emitter.getQueryRows() + (backward ? emitter.getKeyRows() : 0);
  double flops = static_cast<double>(cast<CostOpInterface>(op).getFlops());
  compiled = {{KernelImplementation{{{symbol.str()}}, {0}}}, rows, chooseGrain(rows, flops)};
  return forward ? emitter.emitForward(symbol) : emitter.emitBackward(symbol);
}
