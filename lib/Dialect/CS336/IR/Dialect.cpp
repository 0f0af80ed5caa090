//===- Dialect.cpp - The cs336 dialect and its attributes on functions -===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Dialect/CS336/IR/CS336Dialect.h"

#include "cs336/Dialect/CS336/IR/CS336Ops.h"
#include "cs336/Dialect/CS336/IR/IntegerRanges.h"
#include "cs336/Dialect/CS336/IR/Ports.h"
#include "cs336/Dialect/CS336/IR/Sizes.h"
#include "cs336/Dialect/CS336/IR/TableBlocks.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

#include "cs336/Dialect/CS336/IR/CS336Dialect.cpp.inc"
#include "cs336/Dialect/CS336/IR/CS336Enums.cpp.inc"
#include "cs336/Dialect/CS336/IR/CS336Interfaces.cpp.inc"

using namespace mlir;
using namespace cs336;

void CS336Dialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "cs336/Dialect/CS336/IR/CS336Ops.cpp.inc"
      >();
  attachIntegerRangeModels(*getContext());
  registerAttributes();
}

Operation *CS336Dialect::materializeConstant(OpBuilder &builder, Attribute value, Type type, Location loc) {
  auto elements = dyn_cast<ElementsAttr>(value);
  if (!elements || elements.getType() != type)
    return nullptr;
  return ConstantOp::create(builder, loc, type, elements);
}

static LogicalResult verifyTableBlockBytes(Operation *op, Attribute value) {
  StringRef name = kTableBlockBytesAttr;
  auto bytes = dyn_cast<IntegerAttr>(value);
  if (!bytes || !bytes.getType().isSignlessInteger(64) || bytes.getInt() < 1)
    return op->emitOpError() << "attribute '" << name << "' is " << value << ", must be an i64 of at least 1";
  if (!isa<AttentionOp>(op))
    return op->emitOpError() << "attribute '" << name << "' is for cs336.attention only";
  return success();
}

LogicalResult CS336Dialect::verifyOperationAttribute(Operation *op, NamedAttribute attribute) {
  StringRef name = attribute.getName();
  if (name == kTableBlockBytesAttr)
    return verifyTableBlockBytes(op, attribute.getValue());
  if (name == kModeAttr) {
    if (!isa<ModeAttr>(attribute.getValue()))
      return op->emitOpError() << "attribute '" << name << "' must be #cs336.mode";
  } else if (name == kOptimizerAttr) {
    if (!isa<OptimizerAttr>(attribute.getValue()))
      return op->emitOpError() << "attribute '" << name << "' must be #cs336.optimizer";
  } else if (name == kLossScalingAttr) {
    if (!isa<LossScalingAttr>(attribute.getValue()))
      return op->emitOpError() << "attribute '" << name << "' must be #cs336.loss_scaling";
  } else {
    return op->emitOpError() << "unknown attribute '" << name << "' of the cs336 dialect";
  }
  if (!isa<FunctionOpInterface>(op))
    return op->emitOpError() << "attribute '" << name << "' is for functions only";
  return success();
}

/// Verifies that `views` names row ranges that cover dimension 0 of the whole tensor exactly. `type` is one of `shards`
/// parts of it.
static LogicalResult verifyViews(Operation *op, Attribute attribute, Type type, int64_t shards, const Twine &where) {
  auto views = dyn_cast<ArrayAttr>(attribute);
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!views || !tensor || tensor.getRank() == 0)
    return op->emitOpError() << where << ": cs336.views must be an array of #cs336.view on a tensor of rank 1 or more";
  int64_t rows = 0;
  for (Attribute entry : views) {
    auto view = dyn_cast<ViewAttr>(entry);
    if (!view)
      return op->emitOpError() << where << ": cs336.views holds " << entry << ", which is not a #cs336.view";
    rows = addSaturating(rows, view.getRows());
  }
  int64_t whole = multiplySaturating(tensor.getDimSize(0), shards);
  if (rows != whole)
    return op->emitOpError() << where << ": views cover " << rows << " rows of " << whole;
  return success();
}

/// Verifies that the tensor can be one of several parts of a variable or a gradient.
static LogicalResult verifyShards(Operation *op, Attribute attribute, DictionaryAttr port, Type type,
                                  const Twine &where) {
  auto shards = dyn_cast<IntegerAttr>(attribute);
  if (!shards || !shards.getType().isSignlessInteger(64) || shards.getInt() < 2)
    return op->emitOpError() << where << ": cs336.shards is " << attribute
                             << ", must be an i64 of at least 2, the number of ranks";
  if (!llvm::is_contained({port::kParameter, port::kState, port::kDerived, port::kGradient}, getPortKind(port)))
    return op->emitOpError() << where << ": cs336.shards is for parameters, state, derived values and gradients only";
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor || tensor.getRank() == 0 || !isa<FloatType>(tensor.getElementType()))
    return op->emitOpError() << where << ": cs336.shards requires a floating-point tensor of rank 1 or more, is on "
                             << type;
  SmallVector<int64_t> whole(tensor.getShape());
  whole[0] = multiplySaturating(whole[0], shards.getInt());
  if (!isStorable(tensor.clone(whole)))
    return op->emitOpError() << where << ": the whole tensor of " << shards.getInt() << " parts must be " << kStorable;
  return success();
}

static LogicalResult verifyPortAttribute(Operation *op, NamedAttribute attribute, DictionaryAttr port, Type type,
                                         const Twine &where, ArrayRef<StringRef> kinds) {
  StringRef name = attribute.getName();
  Attribute value = attribute.getValue();
  if (name == CS336Dialect::kKindAttr) {
    auto kind = dyn_cast<StringAttr>(value);
    if (!kind || !llvm::is_contained(kinds, kind.getValue()))
      return op->emitOpError() << where << ": cs336.kind is " << value << ", must be one of "
                               << llvm::join(kinds, ", ");
    if (!isStorable(type))
      return op->emitOpError() << where << " of kind " << value << " must be " << kStorable << ", is " << type;
    return success();
  }
  if (name == CS336Dialect::kNameAttr) {
    auto string = dyn_cast<StringAttr>(value);
    if (!string || string.empty())
      return op->emitOpError() << where << ": cs336.name must be a non-empty string";
    return success();
  }
  if (name == CS336Dialect::kViewsAttr)
    return verifyViews(op, value, type, getPortShards(port), where);
  if (name == CS336Dialect::kShardsAttr)
    return verifyShards(op, value, port, type, where);
  return op->emitOpError() << where << ": unknown attribute '" << name << "' of the cs336 dialect";
}

LogicalResult CS336Dialect::verifyRegionArgAttribute(Operation *op, unsigned region, unsigned index,
                                                     NamedAttribute attribute) {
  auto function = dyn_cast<FunctionOpInterface>(op);
  if (!function)
    return op->emitOpError() << "attribute '" << attribute.getName() << "' is for arguments of functions only";
  Type type = function.getArgumentTypes()[index];
  std::string where = ("argument " + Twine(index)).str();
  if (attribute.getName() == kInitAttr) {
    if (!isa<InitAttr>(attribute.getValue()))
      return op->emitOpError() << where << ": cs336.init must be #cs336.init";
    return success();
  }
  if (attribute.getName() == kBoundAttr) {
    auto bound = dyn_cast<IntegerAttr>(attribute.getValue());
    auto tensor = dyn_cast<RankedTensorType>(type);
    bool isBound = bound && bound.getType().isSignlessInteger(64) && bound.getInt() > 0;
    Type element = tensor ? tensor.getElementType() : Type();
    if (!isBound || !element || !(element.isSignlessInteger(64) || element.isSignlessInteger(32)))
      return op->emitOpError() << where << ": cs336.bound must be a positive integer on a tensor of i64 or i32";
    return success();
  }
  return verifyPortAttribute(op, attribute, function.getArgAttrDict(index), type, where,
                             {"parameter", "state", "derived", "input"});
}

LogicalResult CS336Dialect::verifyRegionResultAttribute(Operation *op, unsigned region, unsigned index,
                                                        NamedAttribute attribute) {
  auto function = dyn_cast<FunctionOpInterface>(op);
  if (!function)
    return op->emitOpError() << "attribute '" << attribute.getName() << "' is for results of functions only";
  std::string where = ("result " + Twine(index)).str();
  return verifyPortAttribute(op, attribute, function.getResultAttrDict(index), function.getResultTypes()[index], where,
                             {"output", "gradient", "parameter", "state", "derived"});
}

//===----------------------------------------------------------------------===//
// Custom assembly and builders
//===----------------------------------------------------------------------===//

/// Parses a float64 without its type.
static ParseResult parseReal(OpAsmParser &parser, FloatAttr &attribute) {
  FailureOr<Real> value = FieldParser<Real>::parse(parser);
  if (failed(value))
    return failure();
  attribute = parser.getBuilder().getF64FloatAttr(*value);
  return success();
}
static void printReal(OpAsmPrinter &printer, Operation *, FloatAttr attribute) {
  printer.printAttributeWithoutType(attribute);
}

/// Parses `score(tables : types) { … }`, or nothing.
static ParseResult parseScoreFunction(OpAsmParser &parser, SmallVectorImpl<OpAsmParser::UnresolvedOperand> &tables,
                                      SmallVectorImpl<Type> &types, Region &score) {
  if (failed(parser.parseOptionalKeyword("score")))
    return success();
  if (parser.parseLParen())
    return failure();
  if (failed(parser.parseOptionalRParen()) &&
      (parser.parseOperandList(tables) || parser.parseColon() || parser.parseTypeList(types) || parser.parseRParen()))
    return failure();
  return parser.parseRegion(score);
}
static void printScoreFunction(OpAsmPrinter &printer, Operation *, OperandRange tables, TypeRange types,
                               Region &score) {
  if (score.empty() && tables.empty())
    return;
  printer << " score(";
  if (!tables.empty())
    printer << tables << " : " << types;
  printer << ") ";
  printer.printRegion(score);
}

/// Sets the predicate's type, which has the shape of the selected values and is therefore not printed.
static ParseResult parsePredicateType(OpAsmParser &parser, Type result, Type &predicate) {
  auto tensor = dyn_cast<RankedTensorType>(result);
  if (!tensor)
    return parser.emitError(parser.getCurrentLocation(), "select requires a ranked tensor type");
  predicate = tensor.clone(parser.getBuilder().getI1Type());
  return success();
}
static void printPredicateType(OpAsmPrinter &, Operation *, Type, Type) {}

/// Derives the types of addend and bias from the result: an addend has its type, and a bias is one row of it. They are
/// not printed.
static ParseResult parseMatmulTypes(OpAsmParser &parser, Type &result,
                                    const std::optional<OpAsmParser::UnresolvedOperand> &addend, Type &addendType,
                                    const std::optional<OpAsmParser::UnresolvedOperand> &bias, Type &biasType) {
  if (parser.parseType(result))
    return failure();
  if (addend)
    addendType = result;
  if (!bias)
    return success();
  auto tensor = dyn_cast<RankedTensorType>(result);
  if (!tensor || tensor.getRank() == 0)
    return parser.emitError(parser.getCurrentLocation(),
                            "a bias requires a result that is a ranked tensor with an axis");
  biasType = tensor.clone(tensor.getShape().take_back());
  return success();
}
static void printMatmulTypes(OpAsmPrinter &printer, Operation *, Type result, Value, Type, Value, Type) {
  printer.printType(result);
}

/// Parses the one floating-point type that the scalar operands of adamw share; `apply` is i1.
static ParseResult parseScalarTypes(OpAsmParser &parser, Type &lr, Type &correction1, Type &correction2, Type &scale,
                                    Type &apply) {
  if (parser.parseType(lr))
    return failure();
  correction1 = correction2 = scale = lr;
  apply = RankedTensorType::get({}, parser.getBuilder().getI1Type());
  return success();
}
static void printScalarTypes(OpAsmPrinter &printer, Operation *, Type lr, Type, Type, Type, Type) {
  printer.printType(lr);
}

LogicalResult CompareOp::inferReturnTypes(MLIRContext *context, std::optional<Location>, Adaptor adaptor,
                                          SmallVectorImpl<Type> &types) {
  auto operand = dyn_cast<RankedTensorType>(adaptor.getLhs().getType());
  if (!operand)
    return failure();
  types.push_back(operand.clone(IntegerType::get(context, 1)));
  return success();
}

void MatmulOp::build(OpBuilder &builder, OperationState &state, Value lhs, Value rhs, bool transposeA, bool transposeB,
                     Precision precision) {
  auto lhsType = cast<RankedTensorType>(lhs.getType()), rhsType = cast<RankedTensorType>(rhs.getType());
  SmallVector<int64_t> shape(lhsType.getShape().drop_back(2));
  shape.push_back(lhsType.getShape().take_back(2)[transposeA ? 1 : 0]);
  shape.push_back(rhsType.getShape().take_back(2)[transposeB ? 0 : 1]);
  build(builder, state, lhsType.clone(shape), lhs, rhs, /*addend=*/Value(), /*bias=*/Value(), transposeA, transposeB,
        /*relu=*/false, precision);
}

void LinearOp::build(OpBuilder &builder, OperationState &state, Value input, Value weight) {
  auto type = cast<RankedTensorType>(input.getType());
  SmallVector<int64_t> shape(type.getShape());
  shape.back() = cast<RankedTensorType>(weight.getType()).getDimSize(0);
  build(builder, state, type.clone(shape), input, weight, Precision::IEEE);
}

/// Builds the implicit terminator of a group without results.
void YieldOp::build(OpBuilder &builder, OperationState &state) {}

#define GET_OP_CLASSES
#include "cs336/Dialect/CS336/IR/CS336Ops.cpp.inc"
