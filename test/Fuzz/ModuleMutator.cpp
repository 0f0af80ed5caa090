//===- ModuleMutator.cpp - Changes of modules in memory -------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ModuleMutator.h"

#include "mlir/IR/AttrTypeSubElements.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/OperationSupport.h"

#include <limits>

using namespace mlir;
using namespace cs336::fuzz;

//===----------------------------------------------------------------------===//
// Numbers
//===----------------------------------------------------------------------===//

int64_t ModuleMutator::mutateNumber(int64_t number) {
  constexpr int64_t kLimits[] = {std::numeric_limits<int64_t>::min(),
                                 std::numeric_limits<int64_t>::max(),
                                 -1,
                                 0,
                                 1,
                                 int64_t{1} << 31,
                                 int64_t{1} << 47,
                                 int64_t{1} << 62};
  uint64_t value = number; // May wrap.
  switch (below(8)) {
  case 0:
    return static_cast<int64_t>(value + 1);
  case 1:
    return static_cast<int64_t>(value - 1);
  case 2:
    return static_cast<int64_t>(value * 2);
  case 3:
    return number / 2;
  case 4:
    return kLimits[below(std::size(kLimits))];
  default:
    return static_cast<int64_t>(below(9));
  }
}

double ModuleMutator::mutateReal(double number) {
  constexpr double kLimits[] = {0.0,
                                -0.0,
                                1.0,
                                -1.0,
                                1e300,
                                5e-324,
                                std::numeric_limits<double>::infinity(),
                                std::numeric_limits<double>::quiet_NaN()};
  return below(2) ? number * 2 : kLimits[below(std::size(kLimits))];
}

void ModuleMutator::mutateList(SmallVectorImpl<int64_t> &numbers) {
  size_t at = below(numbers.size() + 1);
  switch (below(6)) {
  case 0:
    numbers.insert(numbers.begin() + at, static_cast<int64_t>(below(5)));
    return;
  case 1:
    if (at != numbers.size())
      numbers.erase(numbers.begin() + at);
    return;
  case 2:
    if (!numbers.empty())
      std::swap(numbers[below(numbers.size())], numbers[below(numbers.size())]);
    return;
  default:
    if (at != numbers.size())
      numbers[at] = mutateNumber(numbers[at]);
  }
}

//===----------------------------------------------------------------------===//
// Attributes and types
//===----------------------------------------------------------------------===//

Attribute ModuleMutator::mutateAttribute(Attribute attribute) {
  MLIRContext *context = attribute.getContext();
  if (auto integer = dyn_cast<IntegerAttr>(attribute)) {
    unsigned width = isa<IndexType>(integer.getType()) ? 64 : integer.getType().getIntOrFloatBitWidth();
    int64_t value = width <= 64 ? integer.getValue().getSExtValue() : 0;
    return IntegerAttr::get(integer.getType(),
                            llvm::APInt(width, static_cast<uint64_t>(mutateNumber(value)), /*isSigned=*/true,
                                        /*implicitTrunc=*/true));
  }
  if (auto real = dyn_cast<FloatAttr>(attribute))
    return FloatAttr::get(real.getType(), mutateReal(real.getValueAsDouble()));
  if (auto list = dyn_cast<DenseI64ArrayAttr>(attribute)) {
    SmallVector<int64_t> numbers(list.asArrayRef());
    mutateList(numbers);
    return DenseI64ArrayAttr::get(context, numbers);
  }
  if (auto list = dyn_cast<DenseI32ArrayAttr>(attribute)) {
    SmallVector<int32_t> numbers(list.asArrayRef());
    if (!numbers.empty())
      numbers[below(numbers.size())] = static_cast<int32_t>(below(4));
    return DenseI32ArrayAttr::get(context, numbers);
  }
  if (auto elements = dyn_cast<DenseIntOrFPElementsAttr>(attribute)) {
    auto values = llvm::to_vector(elements.getValues<Attribute>());
    if (values.empty() || values.size() > 4096)
      return attribute;
    size_t at = below(values.size());
    values[at] = mutateAttribute(values[at]);
    return DenseElementsAttr::get(elements.getType(), values);
  }
  if (auto type = dyn_cast<TypeAttr>(attribute)) {
    Type changed = mutateType(type.getValue());
    return changed ? TypeAttr::get(changed) : attribute;
  }
  if (auto list = dyn_cast<ArrayAttr>(attribute)) {
    SmallVector<Attribute> values(list.getValue());
    size_t at = below(values.size() + 1);
    if (at == values.size())
      return attribute;
    if (below(4) == 0)
      values.erase(values.begin() + at);
    else
      values[at] = mutateAttribute(values[at]);
    return ArrayAttr::get(context, values);
  }
  if (isa<FlatSymbolRefAttr, StringAttr>(attribute)) {
    // Mostly the name of another object.
    StringAttr name = pick(operations)->getAttrOfType<StringAttr>("sym_name");
    if (!name)
      name = StringAttr::get(context, below(2) ? "" : "x");
    return isa<StringAttr>(attribute) ? Attribute(name) : FlatSymbolRefAttr::get(name);
  }
  return attribute;
}

Type ModuleMutator::mutateElementType(Type type) {
  Builder builder(type.getContext());
  const Type choices[] = {builder.getF64Type(), builder.getF32Type(), builder.getBF16Type(),
                          builder.getF16Type(), builder.getI64Type(), builder.getI32Type(),
                          builder.getI1Type(),  builder.getI8Type(),  builder.getIndexType()};
  return choices[below(std::size(choices))];
}

Type ModuleMutator::mutateType(Type type) {
  auto emitError = [&] { return mlir::emitError(UnknownLoc::get(type.getContext())); };
  auto shaped = dyn_cast<ShapedType>(type);
  if (!shaped || !shaped.hasRank())
    return isa<FunctionType>(type) ? type : mutateElementType(type);
  SmallVector<int64_t> shape(shaped.getShape());
  Type element = shaped.getElementType();
  if (below(4) == 0)
    element = mutateElementType(element);
  else
    mutateList(shape);
  if (isa<RankedTensorType>(type))
    return RankedTensorType::getChecked(emitError, shape, element, Attribute());
  auto buffer = dyn_cast<MemRefType>(type);
  if (!buffer)
    return {};
  MemRefLayoutAttrInterface layout;
  if (auto strided = dyn_cast<StridedLayoutAttr>(buffer.getLayout())) {
    layout = strided;
    if (below(2)) {
      shape.assign(shaped.getShape().begin(), shaped.getShape().end());
      SmallVector<int64_t> strides(strided.getStrides());
      int64_t offset = strided.getOffset();
      if (below(3) == 0)
        offset = mutateNumber(offset);
      else
        mutateList(strides);
      layout = StridedLayoutAttr::getChecked(emitError, type.getContext(), offset, ArrayRef<int64_t>(strides));
      if (!layout)
        return {};
    }
  }
  return MemRefType::getChecked(emitError, shape, element, layout, Attribute());
}

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

void ModuleMutator::mutateAttributes(Operation *op) {
  ArrayRef<NamedAttribute> attributes = op->getAttrDictionary().getValue();
  if (below(6) == 0) {
    // An attribute that may be absent.
    if (ArrayRef<StringAttr> names = op->getName().getAttributeNames(); !names.empty())
      op->setAttr(pick(names), Builder(op).getI64IntegerAttr(mutateNumber(1)));
    return;
  }
  if (attributes.empty())
    return;
  NamedAttribute attribute = pick(attributes);
  if (below(8) == 0)
    op->removeAttr(attribute.getName());
  else
    op->setAttr(attribute.getName(), mutateAttribute(attribute.getValue()));
}

void ModuleMutator::copyAttribute(Operation *op) {
  ArrayRef<NamedAttribute> attributes = pick(operations)->getAttrDictionary().getValue();
  if (attributes.empty())
    return;
  NamedAttribute attribute = pick(attributes);
  if (op->hasAttr(attribute.getName()) || below(8) == 0)
    op->setAttr(attribute.getName(), attribute.getValue());
}

void ModuleMutator::mutateOperand(Operation *op) {
  if (op->getNumOperands() == 0)
    return;
  unsigned at = below(op->getNumOperands());
  if (below(4) == 0) {
    Value first = op->getOperand(at);
    unsigned other = below(op->getNumOperands());
    op->setOperand(at, op->getOperand(other));
    op->setOperand(other, first);
    return;
  }
  // The values that are visible here: arguments, and results of earlier operations.
  SmallVector<Value> values(op->getBlock()->getArguments());
  for (Operation &each : *op->getBlock()) {
    if (&each == op)
      break;
    llvm::append_range(values, each.getResults());
  }
  if (below(4) != 0)
    llvm::erase_if(values, [&](Value value) { return value.getType() != op->getOperand(at).getType(); });
  if (!values.empty())
    op->setOperand(at, pick(values));
}

void ModuleMutator::mutateValueType(Operation *op) {
  SmallVector<Value> values(op->getResults());
  for (Region &region : op->getRegions())
    for (Block &block : region)
      llvm::append_range(values, block.getArguments());
  if (values.empty())
    return;
  Value value = pick(values);
  if (Type type = mutateType(value.getType()))
    value.setType(type);
}

void ModuleMutator::replaceType(Operation *op) {
  SmallVector<Type> types(op->getResultTypes());
  llvm::append_range(types, op->getOperandTypes());
  if (types.empty())
    return;
  Type from = pick(types), to = mutateType(from);
  if (!to)
    return;
  AttrTypeReplacer replacer;
  replacer.addReplacement([&](Type type) { return type == from ? to : type; });
  replacer.recursivelyReplaceElementsIn(root, /*replaceAttrs=*/true, /*replaceLocs=*/false, /*replaceTypes=*/true);
}

void ModuleMutator::mutateOrder(Operation *op) {
  Block &block = *op->getBlock();
  auto other = std::next(block.begin(), below(block.getOperations().size()));
  switch (below(3)) {
  case 0:
    // Uses before definitions do not survive parsing; the verifier rejects them.
    op->moveBefore(&block, other);
    return;
  case 1:
    if (op->use_empty())
      op->erase();
    return;
  default:
    block.getOperations().insert(other, op->clone());
  }
}

void ModuleMutator::mutate(ModuleOp module) {
  root = module;
  operations.clear();
  module->walk([&](Operation *op) {
    if (op != module)
      operations.push_back(op);
  });
  if (operations.empty())
    return;
  Operation *op = pick(operations);
  switch (below(8)) {
  case 0:
  case 1:
    return mutateAttributes(op);
  case 2:
    return copyAttribute(op);
  case 3:
    return mutateOperand(op);
  case 4:
    return mutateValueType(op);
  case 5:
  case 6:
    return replaceType(op);
  default:
    return mutateOrder(op);
  }
}
