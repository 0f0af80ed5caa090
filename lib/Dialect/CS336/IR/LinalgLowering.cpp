//===- LinalgLowering.cpp - Operations as linalg on tensors ---------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// Everything but a scatter becomes `linalg.generic`. Layout operations are expressed by indexing maps. The map of a
// shifted box has an offset (`d0 + 64`), on the input of a slice, and on the output of a pad or a concatenation.

#include "ScalarConversion.h"
#include "cs336/Dialect/CS336/IR/CS336Ops.h"
#include "cs336/Dialect/CS336/IR/TensorTypes.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace cs336;

using Lowered = FailureOr<SmallVector<Value>>;
using BodyBuilder = function_ref<Value(OpBuilder &, Location, ValueRange)>;

static AffineMap identityMap(OpBuilder &builder, int64_t rank) { return builder.getMultiDimIdentityMap(rank); }

/// Returns the map that selects the dimensions `dims` of `rank` dimensions.
static AffineMap selectDims(OpBuilder &builder, int64_t rank, ArrayRef<int64_t> dims) {
  SmallVector<AffineExpr> exprs;
  for (int64_t dim : dims)
    exprs.push_back(builder.getAffineDimExpr(dim));
  return AffineMap::get(rank, 0, exprs, builder.getContext());
}

/// Returns the map from indices of `box` to those of `whole`, which contains it at `offsets`. linalg accepts a plain
/// dimension only for an axis that is as long as its loop. If the box begins at the origin but ends before the axis
/// does, the index is written modulo the axis' size.
static AffineMap boxMap(OpBuilder &builder, ArrayRef<int64_t> offsets, Value box, Value whole) {
  SmallVector<AffineExpr> exprs;
  for (auto [dim, offset] : llvm::enumerate(offsets)) {
    int64_t size = tensorType(whole).getDimSize(dim);
    bool isPart = offset == 0 && tensorType(box).getDimSize(dim) != size;
    AffineExpr index = builder.getAffineDimExpr(dim) + offset;
    exprs.push_back(isPart ? index % size : index);
  }
  return AffineMap::get(offsets.size(), 0, exprs, builder.getContext());
}

/// Builds a generic over parallel dimensions with one result. `maps` are those of the inputs, then that of `init`.
static Value buildParallel(OpBuilder &builder, Location loc, ValueRange inputs, Value init, ArrayRef<AffineMap> maps,
                           BodyBuilder body) {
  SmallVector<utils::IteratorType> iterators(maps.front().getNumDims(), utils::IteratorType::parallel);
  auto generic = linalg::GenericOp::create(
      builder, loc, init.getType(), inputs, init, maps, iterators, [&](OpBuilder &b, Location l, ValueRange scalars) {
        linalg::YieldOp::create(b, l, body(b, l, scalars.take_front(inputs.size())));
      });
  return generic.getResult(0);
}

/// Copies `input`, read through `from`, to `init`, written through `to`.
static Value buildCopy(OpBuilder &builder, Location loc, Value input, AffineMap from, Value init, AffineMap to) {
  return buildParallel(builder, loc, input, init, {from, to},
                       [](OpBuilder &, Location, ValueRange scalars) { return scalars.front(); });
}

static Value buildFill(OpBuilder &builder, Location loc, TypedAttr value, Value init) {
  return buildParallel(
      builder, loc, {}, init, identityMap(builder, rankOf(init)),
      [&](OpBuilder &b, Location l, ValueRange) -> Value { return arith::ConstantOp::create(b, l, value); });
}

//===----------------------------------------------------------------------===//
// Pointwise
//===----------------------------------------------------------------------===//

template <typename PointwiseOp>
static Lowered lowerPointwise(PointwiseOp op, OpBuilder &builder, ValueRange inputs, ValueRange inits) {
  SmallVector<AffineMap> maps(inputs.size() + 1, identityMap(builder, rankOf(inits.front())));
  Value result =
      buildParallel(builder, op.getLoc(), inputs, inits.front(), maps,
                    [&](OpBuilder &b, Location loc, ValueRange scalars) { return op.buildScalar(b, loc, scalars); });
  return SmallVector<Value>{result};
}

#define CS336_POINTWISE(OP)                                                                                            \
  FusionKind OP::getFusionKind() { return FusionKind::Pointwise; }                                                     \
  Lowered OP::lowerToLinalg(OpBuilder &builder, ValueRange inputs, ValueRange inits) {                                 \
    return lowerPointwise(*this, builder, inputs, inits);                                                              \
  }
CS336_POINTWISE(NegOp)
CS336_POINTWISE(ExpOp)
CS336_POINTWISE(LogOp)
CS336_POINTWISE(RsqrtOp)
CS336_POINTWISE(SqrtOp)
CS336_POINTWISE(SinOp)
CS336_POINTWISE(CosOp)
CS336_POINTWISE(TanhOp)
CS336_POINTWISE(ErfOp)
CS336_POINTWISE(SigmoidOp)
CS336_POINTWISE(AddOp)
CS336_POINTWISE(SubOp)
CS336_POINTWISE(MulOp)
CS336_POINTWISE(DivOp)
CS336_POINTWISE(MaxOp)
CS336_POINTWISE(MinOp)
CS336_POINTWISE(PowOp)
CS336_POINTWISE(CompareOp)
CS336_POINTWISE(AndOp)
CS336_POINTWISE(OrOp)
CS336_POINTWISE(NotOp)
CS336_POINTWISE(SelectOp)
CS336_POINTWISE(CastOp)
#undef CS336_POINTWISE

//===----------------------------------------------------------------------===//
// Sources
//===----------------------------------------------------------------------===//

FusionKind ConstantOp::getFusionKind() { return FusionKind::Pointwise; }
bool ConstantOp::isRematerializable() { return true; }

Lowered ConstantOp::lowerToLinalg(OpBuilder &builder, ValueRange inputs, ValueRange inits) {
  Value init = inits.front();
  if (auto splat = dyn_cast<SplatElementsAttr>(getValue()))
    return SmallVector<Value>{buildFill(builder, getLoc(), splat.getSplatValue<TypedAttr>(), init)};
  Value table = arith::ConstantOp::create(builder, getLoc(), getValue());
  AffineMap map = identityMap(builder, rankOf(init));
  return SmallVector<Value>{buildCopy(builder, getLoc(), table, map, init, map)};
}

FusionKind IotaOp::getFusionKind() { return FusionKind::Pointwise; }
bool IotaOp::isRematerializable() { return true; }

Lowered IotaOp::lowerToLinalg(OpBuilder &builder, ValueRange inputs, ValueRange inits) {
  Type type = getResult().getType().getElementType();
  Value result = buildParallel(builder, getLoc(), {}, inits.front(), identityMap(builder, rankOf(inits.front())),
                               [&](OpBuilder &b, Location loc, ValueRange) -> Value {
                                 Value index = linalg::IndexOp::create(b, loc, getAxis());
                                 Value number = arith::IndexCastOp::create(b, loc, b.getI64Type(), index);
                                 return convertScalar(b, loc, number, type);
                               });
  return SmallVector<Value>{result};
}

//===----------------------------------------------------------------------===//
// Layout
//===----------------------------------------------------------------------===//

FusionKind BroadcastOp::getFusionKind() { return FusionKind::Pointwise; }
bool BroadcastOp::isRematerializable() { return true; }

Lowered BroadcastOp::lowerToLinalg(OpBuilder &builder, ValueRange inputs, ValueRange inits) {
  int64_t rank = rankOf(inits.front());
  return SmallVector<Value>{buildCopy(builder, getLoc(), inputs.front(), selectDims(builder, rank, getDims()),
                                      inits.front(), identityMap(builder, rank))};
}

FusionKind TransposeOp::getFusionKind() { return FusionKind::Opaque; }

Lowered TransposeOp::lowerToLinalg(OpBuilder &builder, ValueRange inputs, ValueRange inits) {
  // Axis i of the result is axis perm[i] of the operand, so axis j of the operand follows dim perm⁻¹[j].
  AffineMap perm = selectDims(builder, getPerm().size(), getPerm());
  return SmallVector<Value>{buildCopy(builder, getLoc(), inputs.front(), inversePermutation(perm), inits.front(),
                                      identityMap(builder, rankOf(inits.front())))};
}

FusionKind SliceOp::getFusionKind() { return FusionKind::Opaque; }

Lowered SliceOp::lowerToLinalg(OpBuilder &builder, ValueRange inputs, ValueRange inits) {
  return SmallVector<Value>{buildCopy(builder, getLoc(), inputs.front(),
                                      boxMap(builder, getOffsets(), inits.front(), inputs.front()), inits.front(),
                                      identityMap(builder, rankOf(inits.front())))};
}

FusionKind PadOp::getFusionKind() { return FusionKind::Assembly; }

Lowered PadOp::lowerToLinalg(OpBuilder &builder, ValueRange inputs, ValueRange inits) {
  Value zeros =
      buildFill(builder, getLoc(), builder.getZeroAttr(getResult().getType().getElementType()), inits.front());
  return SmallVector<Value>{buildCopy(builder, getLoc(), inputs.front(), identityMap(builder, rankOf(inputs.front())),
                                      zeros, boxMap(builder, getOffsets(), inputs.front(), zeros))};
}

FusionKind ConcatOp::getFusionKind() { return FusionKind::Assembly; }

Lowered ConcatOp::lowerToLinalg(OpBuilder &builder, ValueRange inputs, ValueRange inits) {
  Value result = inits.front();
  SmallVector<int64_t> offsets(rankOf(result), 0);
  for (Value input : inputs) {
    result = buildCopy(builder, getLoc(), input, identityMap(builder, rankOf(input)), result,
                       boxMap(builder, offsets, input, result));
    offsets[getAxis()] += tensorType(input).getDimSize(getAxis());
  }
  return SmallVector<Value>{result};
}

FusionKind ReshapeOp::getFusionKind() { return FusionKind::Opaque; }

/// Reads each element from its row-major position in the operand. A reshape that strides can express is a view, and is
/// not lowered here.
Lowered ReshapeOp::lowerToLinalg(OpBuilder &builder, ValueRange inputs, ValueRange inits) {
  ArrayRef<int64_t> from = getOperand().getType().getShape(), to = getResult().getType().getShape();
  Value result =
      buildParallel(builder, getLoc(), {}, inits.front(), identityMap(builder, to.size()),
                    [&](OpBuilder &b, Location loc, ValueRange) -> Value {
                      Value position = arith::ConstantIndexOp::create(b, loc, 0);
                      for (auto [dim, size] : llvm::enumerate(to)) {
                        Value scaled =
                            arith::MulIOp::create(b, loc, position, arith::ConstantIndexOp::create(b, loc, size));
                        position = arith::AddIOp::create(b, loc, scaled, linalg::IndexOp::create(b, loc, dim));
                      }
                      SmallVector<Value> indices(from.size());
                      for (int64_t dim = from.size(); dim-- > 0;) {
                        Value size = arith::ConstantIndexOp::create(b, loc, from[dim]);
                        indices[dim] = arith::RemUIOp::create(b, loc, position, size);
                        position = arith::DivUIOp::create(b, loc, position, size);
                      }
                      return tensor::ExtractOp::create(b, loc, inputs.front(), indices);
                    });
  return SmallVector<Value>{result};
}

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

FusionKind ReduceOp::getFusionKind() { return FusionKind::RowReduction; }
SmallVector<int64_t> ReduceOp::getReducedAxes() { return SmallVector<int64_t>(getAxes()); }

static TypedAttr getNeutralValue(OpBuilder &builder, ReduceKind kind, Type type) {
  if (kind == ReduceKind::Sum)
    return builder.getZeroAttr(type);
  if (auto floatType = dyn_cast<FloatType>(type))
    return builder.getFloatAttr(type, APFloat::getInf(floatType.getFloatSemantics(), /*Negative=*/true));
  return builder.getIntegerAttr(type, APInt::getSignedMinValue(type.getIntOrFloatBitWidth()));
}

static Value combine(OpBuilder &builder, Location loc, ReduceKind kind, Value lhs, Value rhs) {
  if (isa<IntegerType>(lhs.getType())) {
    if (kind == ReduceKind::Sum)
      return arith::AddIOp::create(builder, loc, lhs, rhs);
    return arith::MaxSIOp::create(builder, loc, lhs, rhs);
  }
  if (kind == ReduceKind::Max)
    return arith::MaximumFOp::create(builder, loc, lhs, rhs);
  // The target chooses the order of a sum, which is the same in every run.
  return arith::AddFOp::create(builder, loc, lhs, rhs, arith::FastMathFlags::reassoc);
}

Lowered ReduceOp::lowerToLinalg(OpBuilder &builder, ValueRange inputs, ValueRange inits) {
  Location loc = getLoc();
  RankedTensorType resultType = getResult().getType();
  Type compute = getComputeType(resultType.getElementType());
  int64_t rank = rankOf(inputs.front());

  Value accumulator = inits.front();
  if (compute != resultType.getElementType())
    accumulator = tensor::EmptyOp::create(builder, loc, resultType.getShape(), compute);
  accumulator = buildFill(builder, loc, getNeutralValue(builder, getKind(), compute), accumulator);

  SmallVector<utils::IteratorType> iterators(rank, utils::IteratorType::parallel);
  for (int64_t axis : getAxes())
    iterators[axis] = utils::IteratorType::reduction;
  SmallVector<int64_t> kept;
  for (int64_t axis = 0; axis < rank; ++axis)
    if (iterators[axis] == utils::IteratorType::parallel)
      kept.push_back(axis);

  SmallVector<AffineMap> maps = {identityMap(builder, rank), selectDims(builder, rank, kept)};
  auto generic = linalg::GenericOp::create(
      builder, loc, accumulator.getType(), inputs, accumulator, maps, iterators,
      [&](OpBuilder &b, Location l, ValueRange scalars) {
        linalg::YieldOp::create(b, l, combine(b, l, getKind(), convertScalar(b, l, scalars[0], compute), scalars[1]));
      });
  Value result = generic.getResult(0);
  if (result.getType() == resultType)
    return SmallVector<Value>{result};

  SmallVector<AffineMap> roundingMaps(2, identityMap(builder, resultType.getRank()));
  return SmallVector<Value>{buildParallel(builder, loc, result, inits.front(), roundingMaps,
                                          [&](OpBuilder &b, Location l, ValueRange scalars) {
                                            return convertScalar(b, l, scalars.front(), resultType.getElementType());
                                          })};
}

//===----------------------------------------------------------------------===//
// Matmuls
//===----------------------------------------------------------------------===//

FusionKind MatmulOp::getFusionKind() { return FusionKind::Contraction; }

/// Returns the map from the batches, m, n and k to an operand's axes: its batches, then `row` and `column`, in the
/// other order if it is transposed.
static AffineMap getOperandMap(OpBuilder &builder, int64_t numDims, Value operand, int64_t row, int64_t column,
                               bool isTransposed) {
  SmallVector<int64_t> dims = llvm::to_vector(llvm::seq(rankOf(operand) - 2));
  llvm::append_values(dims, isTransposed ? column : row, isTransposed ? row : column);
  return selectDims(builder, numDims, dims);
}

Lowered MatmulOp::lowerToLinalg(OpBuilder &builder, ValueRange inputs, ValueRange inits) {
  Location loc = getLoc();
  RankedTensorType resultType = getResult().getType();
  Type compute = getComputeType(resultType.getElementType());
  int64_t rank = resultType.getRank(), m = rank - 2, n = rank - 1, k = rank;

  Value sums = tensor::EmptyOp::create(builder, loc, resultType.getShape(), compute);
  sums = buildFill(builder, loc, builder.getZeroAttr(compute), sums);
  SmallVector<AffineMap> maps = {getOperandMap(builder, rank + 1, getLhs(), m, k, getTransposeA()),
                                 getOperandMap(builder, rank + 1, getRhs(), k, n, getTransposeB()),
                                 selectDims(builder, rank + 1, llvm::to_vector(llvm::seq(rank)))};
  SmallVector<utils::IteratorType> iterators(rank, utils::IteratorType::parallel);
  iterators.push_back(utils::IteratorType::reduction);
  auto generic =
      linalg::GenericOp::create(builder, loc, sums.getType(), inputs.take_front(2), sums, maps, iterators,
                                [&](OpBuilder &b, Location l, ValueRange scalars) {
                                  Value product = arith::MulFOp::create(b, l, convertScalar(b, l, scalars[0], compute),
                                                                        convertScalar(b, l, scalars[1], compute));
                                  linalg::YieldOp::create(b, l, combine(b, l, ReduceKind::Sum, product, scalars[2]));
                                });

  SmallVector<Value> terms = {generic.getResult(0)};
  SmallVector<AffineMap> termMaps = {identityMap(builder, rank)};
  if (getAddend()) {
    terms.push_back(inputs[2]);
    termMaps.push_back(identityMap(builder, rank));
  }
  if (getBias()) {
    terms.push_back(inputs.back());
    termMaps.push_back(selectDims(builder, rank, {n}));
  }
  termMaps.push_back(identityMap(builder, rank));
  return SmallVector<Value>{buildParallel(
      builder, loc, terms, inits.front(), termMaps, [&](OpBuilder &b, Location l, ValueRange scalars) -> Value {
        Value sum = scalars.front();
        for (Value term : scalars.slice(1, terms.size() - 1))
          sum = arith::AddFOp::create(b, l, sum, convertScalar(b, l, term, compute));
        if (getRelu()) {
          Value zero = arith::ConstantOp::create(b, l, b.getZeroAttr(compute));
          Value isPositiveOrNaN = arith::CmpFOp::create(b, l, arith::CmpFPredicate::UGT, sum, zero);
          sum = arith::SelectOp::create(b, l, isPositiveOrNaN, sum, zero);
        }
        return convertScalar(b, l, sum, resultType.getElementType());
      })};
}

//===----------------------------------------------------------------------===//
// Gathers and scatters
//===----------------------------------------------------------------------===//

FusionKind EmbeddingOp::getFusionKind() { return FusionKind::Opaque; }

Lowered EmbeddingOp::lowerToLinalg(OpBuilder &builder, ValueRange inputs, ValueRange inits) {
  Value table = inputs[0], ids = inputs[1];
  int64_t rank = rankOf(inits.front());
  AffineMap whole = identityMap(builder, rank);
  ArrayRef<AffineExpr> positions = whole.getResults().take_front(rankOf(ids));
  SmallVector<AffineMap> maps = {AffineMap::get(rank, 0, positions, builder.getContext()), whole};
  Value result = buildParallel(builder, getLoc(), ids, inits.front(), maps,
                               [&](OpBuilder &b, Location loc, ValueRange scalars) -> Value {
                                 Value row = arith::IndexCastOp::create(b, loc, b.getIndexType(), scalars.front());
                                 Value column = linalg::IndexOp::create(b, loc, rank - 1);
                                 return tensor::ExtractOp::create(b, loc, table, ValueRange{row, column});
                               });
  return SmallVector<Value>{result};
}

FusionKind EmbeddingGradOp::getFusionKind() { return FusionKind::Opaque; }

/// Builds loops over positions, then columns, that carry the table: the row to which a position adds depends on data.
Lowered EmbeddingGradOp::lowerToLinalg(OpBuilder &builder, ValueRange inputs, ValueRange inits) {
  Location loc = getLoc();
  Value ids = inputs[0], gradient = inputs[1];
  Type element = getResult().getType().getElementType(), compute = getComputeType(element);
  Value table = buildFill(builder, loc, builder.getZeroAttr(element), inits.front());

  Value zero = arith::ConstantIndexOp::create(builder, loc, 0), one = arith::ConstantIndexOp::create(builder, loc, 1);
  SmallVector<Value> sizes;
  for (int64_t size : tensorType(gradient).getShape())
    sizes.push_back(arith::ConstantIndexOp::create(builder, loc, size));
  Value columns = sizes.pop_back_val();
  // Targets recognise a loop, so one position becomes a loop with one iteration.
  bool isOnePosition = sizes.empty();
  if (isOnePosition)
    sizes.push_back(one);
  SmallVector<Value> lower(sizes.size(), zero), steps(sizes.size(), one);

  auto addElement = [&](OpBuilder &b, Location l, Value row, SmallVector<Value> position, Value carried) -> Value {
    SmallVector<Value> target = {row, position.back()};
    Value old = convertScalar(b, l, tensor::ExtractOp::create(b, l, carried, target), compute);
    Value term = convertScalar(b, l, tensor::ExtractOp::create(b, l, gradient, position), compute);
    Value sum = convertScalar(b, l, arith::AddFOp::create(b, l, old, term), element);
    return tensor::InsertOp::create(b, l, sum, carried, target);
  };
  scf::LoopNest nest = scf::buildLoopNest(
      builder, loc, lower, sizes, steps, table,
      [&](OpBuilder &b, Location l, ValueRange variables, ValueRange carried) -> scf::ValueVector {
        ValueRange indices = isOnePosition ? ValueRange() : variables;
        Value id = tensor::ExtractOp::create(b, l, ids, indices);
        Value row = arith::IndexCastOp::create(b, l, b.getIndexType(), id);
        auto loop = scf::ForOp::create(b, l, zero, columns, one, carried,
                                       [&](OpBuilder &inner, Location at, Value column, ValueRange innerCarried) {
                                         SmallVector<Value> position(indices);
                                         position.push_back(column);
                                         scf::YieldOp::create(
                                             inner, at, addElement(inner, at, row, position, innerCarried.front()));
                                       });
        return scf::ValueVector(loop.getResults());
      });
  return SmallVector<Value>(nest.results);
}

//===----------------------------------------------------------------------===//
// Optimizer
//===----------------------------------------------------------------------===//

FusionKind AdamWOp::getFusionKind() { return FusionKind::Pointwise; }

namespace {
/// Scalar arithmetic in one float type.
struct FloatArithmetic {
  OpBuilder &builder;
  Location loc;
  Type type;

  Value constant(double value) { return arith::ConstantOp::create(builder, loc, builder.getFloatAttr(type, value)); }
  Value add(Value a, Value b) { return arith::AddFOp::create(builder, loc, a, b); }
  Value sub(Value a, Value b) { return arith::SubFOp::create(builder, loc, a, b); }
  Value mul(Value a, Value b) { return arith::MulFOp::create(builder, loc, a, b); }
  Value div(Value a, Value b) { return arith::DivFOp::create(builder, loc, a, b); }
  Value sqrt(Value a) { return math::SqrtOp::create(builder, loc, a); }
};

/// An element of every operand of `cs336.adamw`, in the arithmetic's type.
struct AdamWScalars {
  Value parameter, gradient, m, v, lr, correction1, correction2, scale;
};
} // namespace

/// Returns the three new values; see the operation's description for the formulas.
static std::array<Value, 3> buildAdamW(AdamWOp op, FloatArithmetic math, const AdamWScalars &x) {
  double beta1 = op.getBeta1().convertToDouble(), beta2 = op.getBeta2().convertToDouble();
  Value g = math.mul(x.gradient, x.scale);
  Value m = math.add(math.mul(math.constant(beta1), x.m), math.mul(math.constant(1.0 - beta1), g));
  Value v = math.add(math.mul(math.constant(beta2), x.v), math.mul(math.constant(1.0 - beta2), math.mul(g, g)));

  Value eps = math.constant(op.getEps().convertToDouble());
  Value decayRate = math.mul(x.lr, math.constant(op.getWeightDecay().convertToDouble()));
  auto decay = [&](Value p) { return math.sub(p, math.mul(decayRate, p)); };
  auto step = [&](Value p) {
    if (op.getForm() == AdamWForm::PyTorch) {
      Value denominator = math.add(math.sqrt(math.div(v, x.correction2)), eps);
      return math.sub(p, math.div(math.mul(x.lr, math.div(m, x.correction1)), denominator));
    }
    Value rate = math.div(math.mul(x.lr, math.sqrt(x.correction2)), x.correction1);
    return math.sub(p, math.div(math.mul(rate, m), math.add(math.sqrt(v), eps)));
  };
  Value p = op.getForm() == AdamWForm::CS336Spring2025 ? decay(step(x.parameter)) : step(decay(x.parameter));
  return {p, m, v};
}

Lowered AdamWOp::lowerToLinalg(OpBuilder &builder, ValueRange inputs, ValueRange inits) {
  int64_t rank = rankOf(inits.front());
  AffineMap identity = identityMap(builder, rank), scalar = AffineMap::get(rank, 0, builder.getContext());
  SmallVector<AffineMap> maps(4, identity);
  maps.append(5, scalar);
  maps.append(3, identity);
  SmallVector<utils::IteratorType> iterators(rank, utils::IteratorType::parallel);
  auto generic = linalg::GenericOp::create(
      builder, getLoc(), TypeRange(inits), inputs, inits, maps, iterators,
      [&](OpBuilder &b, Location loc, ValueRange scalars) {
        FloatArithmetic math{b, loc, getComputeType(getM().getType().getElementType())};
        SmallVector<Value> x;
        for (Value value : scalars.take_front(8))
          x.push_back(convertScalar(b, loc, value, math.type));
        std::array<Value, 3> updated = buildAdamW(*this, math, {x[0], x[1], x[2], x[3], x[4], x[5], x[6], x[7]});
        Value apply = scalars[8];
        std::array<Value, 3> old = {scalars[0], scalars[2], scalars[3]};
        SmallVector<Value> results;
        for (auto [newValue, oldValue] : llvm::zip_equal(updated, old))
          results.push_back(
              arith::SelectOp::create(b, loc, apply, convertScalar(b, loc, newValue, oldValue.getType()), oldValue));
        linalg::YieldOp::create(b, loc, results);
      });
  return SmallVector<Value>(generic.getResults());
}
