//===- EntryBuilder.cpp - Builds the entry of a function ------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "EntryBuilder.h"

#include "Variables.h"
#include "cs336/Dialect/CS336/IR/CS336Ops.h"
#include "cs336/Dialect/CS336/IR/Ports.h"
#include "cs336/Statistics/RemarkOptions.h"
#include "llvm/ADT/SmallVectorExtras.h"

using namespace mlir;
using namespace cs336;
using namespace cs336::exec;

static constexpr RemarkOptions entryBuilderRemarks("convert-cs336-to-exec");

EntryBuilder::EntryBuilder(func::FuncOp function, KernelTable &kernels, OpBuilder &builder, ConversionCounts &counts)
    : function(function), kernels(kernels), builder(builder), counts(counts), lastUses(function.getBody().front()) {}

LogicalResult EntryBuilder::build() {
  auto entry = EntryOp::create(builder, function.getLoc(), function.getSymName(), *getMode(function), IntegerAttr(),
                               IntegerAttr());
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(&entry.getBody().emplaceBlock());
  if (failed(declarePorts()))
    return failure();
  Block &block = function.getBody().front();
  for (Operation &op : block.without_terminator())
    if (lastUses.isNeeded(&op) && failed(convert(&op)))
      return failure();
  finishResults(block.getTerminator());
  // Erases unused views. An operation may request a view and then use the storage in another layout.
  for (ViewOp view : llvm::make_early_inc_range(entry.getBody().getOps<ViewOp>()))
    if (view.use_empty())
      view.erase();
  // Erases unused arguments, mostly weights that have been replaced with derived weights.
  for (GetOp get : llvm::make_early_inc_range(entry.getBody().getOps<GetOp>()))
    if (get.use_empty())
      get.erase();
  counts.requiredCopies += llvm::range_size(entry.getBody().getOps<CopyOp>());
  return success();
}

//===----------------------------------------------------------------------===//
// Ports
//===----------------------------------------------------------------------===//

LogicalResult EntryBuilder::declarePorts() {
  llvm::DenseMap<StringRef, Value> storageOf;
  llvm::DenseMap<StringRef, Value> oldValueOf;
  auto getVariable = [&](const Port &port, Type type, Location loc) {
    Value &storage = storageOf[port.name];
    if (!storage)
      storage = GetOp::create(builder, loc, getDenseType(cast<RankedTensorType>(type)), port.name);
    return storage;
  };
  for (BlockArgument argument : function.getArguments()) {
    FailureOr<Port> port = getArgumentPort(function, argument.getArgNumber());
    if (failed(port))
      return failure();
    if (port->isVariable()) {
      if (storageOf.contains(port->name))
        return function.emitError() << "two arguments of @" << function.getSymName() << " are called '" << port->name
                                    << '\'';
      place(argument, getVariable(*port, argument.getType(), argument.getLoc()));
      oldValueOf[port->name] = argument;
      continue;
    }
    auto bound = port->attributes.getAs<IntegerAttr>(CS336Dialect::kBoundAttr);
    place(argument,
          InputOp::create(builder, argument.getLoc(), getDenseType(cast<RankedTensorType>(argument.getType())),
                          builder.getStringAttr(port->name), bound));
  }

  Operation *terminator = function.getBody().front().getTerminator();
  llvm::DenseSet<StringRef> assigned;
  for (OpOperand &operand : terminator->getOpOperands()) {
    FailureOr<Port> port = getResultPort(function, operand.getOperandNumber());
    if (failed(port))
      return failure();
    Value value = operand.get();
    if (port->isVariable()) {
      if (!assigned.insert(port->name).second)
        return function.emitError() << "two results of @" << function.getSymName() << " are new values of '"
                                    << port->name << '\'';
      results.addVariable(value, getVariable(*port, value.getType(), value.getLoc()), oldValueOf.lookup(port->name));
      continue;
    }
    if (int64_t shards = getPortShards(port->attributes); shards != 1)
      return function.emitError() << "returns one of " << shards << " parts of the gradient '" << port->name
                                  << "', but outputs are whole: run --cs336-optimizer, which uses it up";
    OutputKind kind = port->kind == port::kGradient ? OutputKind::Gradient : OutputKind::Output;
    results.addOutput(value,
                      OutputOp::create(builder, value.getLoc(), getDenseType(cast<RankedTensorType>(value.getType())),
                                       port->name, kind, IntegerAttr(), getPortViews(port->attributes)));
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Placements
//===----------------------------------------------------------------------===//

void EntryBuilder::place(Value tensor, Value storage) {
  placements[tensor] = {storage, bufferType(storage)};
  contents[storage] = tensor;
}

EntryBuilder::Placement EntryBuilder::getPlacement(Value tensor) {
  if (auto found = placements.find(tensor); found != placements.end())
    return found->second;
  // Only rematerializable operations have not been converted at their position.
  Operation *op = tensor.getDefiningOp();
  if (auto view = dyn_cast<ViewOpInterface>(op)) {
    convertView(view);
    return placements.at(tensor);
  }
  materialize(tensor, AllocOp::create(builder, op->getLoc(), getDenseType(cast<RankedTensorType>(tensor.getType())),
                                      IntegerAttr()));
  return placements.at(tensor);
}

bool EntryBuilder::isUnplacedLiteral(Value tensor) const {
  return !placements.contains(tensor) && tensor.getDefiningOp()->getNumOperands() == 0;
}

void EntryBuilder::materialize(Value tensor, Value storage) {
  Group group = Group::collect(tensor.getDefiningOp());
  auto operands = llvm::map_to_vector(group.getInputs(), [&](Value input) { return getBuffer(input); });
  auto types = llvm::map_to_vector(operands, [](Value operand) { return bufferType(operand); });
  LaunchOp::create(builder, tensor.getLoc(), FlatSymbolRefAttr::get(kernels.getOrCreate(group, types)), operands,
                   storage);
  ++counts.launches;
  place(tensor, storage);
}

Value EntryBuilder::getBuffer(Value tensor) {
  Placement placement = getPlacement(tensor);
  Value &view = views[{placement.storage, placement.type}];
  if (!view)
    view = createView(builder, tensor.getLoc(), placement.storage, placement.type);
  return view;
}

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

LogicalResult EntryBuilder::convert(Operation *op) {
  if (isRematerializable(op))
    return success();
  if (auto view = dyn_cast<ViewOpInterface>(op)) {
    convertView(view);
    return success();
  }
  if (auto command = dyn_cast<CommandLoweringInterface>(op))
    return convertToCommands(command);
  if (isa<FusedOp, FusibleOpInterface>(op)) {
    launch(op);
    return success();
  }
  auto diagnostic = op->emitError() << "'" << op->getName() << "' cannot be executed";
  if (isa<DecomposableOpInterface>(op))
    return diagnostic << ": decompose it first (--cs336-decompose)";
  return diagnostic << ": it must implement FusibleOpInterface, ViewOpInterface or CommandLoweringInterface";
}

void EntryBuilder::convertView(ViewOpInterface view) {
  Value source = view->getOperand(0), result = view->getResult(0);
  Placement placement = getPlacement(source);
  FailureOr<MemRefType> type = view.getViewType(placement.type);
  if (succeeded(type)) {
    placements[result] = {placement.storage, *type};
    return;
  }
  remark::missed(view.getLoc(), entryBuilderRemarks("LayoutCopied"))
      << remark::add("copied first: strides cannot express this {0}", view->getName().stripDialect().str());
  Value copy = createDenseCopy(builder, view.getLoc(), getBuffer(source));
  // From row-major storage every layout operation is a view.
  placements[result] = {copy, *view.getViewType(bufferType(copy))};
  contents[copy] = result;
}

static bool readsContiguousRows(Operation *op) {
  auto fusible = dyn_cast<FusibleOpInterface>(op);
  return fusible && fusible.readsContiguousRows();
}

static bool hasContiguousRows(MemRefType type) {
  return type.getRank() == 0 || type.getShape().back() == 1 || BufferLayout(type).strides.back() == 1;
}

void EntryBuilder::launch(Operation *op) {
  Group group = Group::collect(op);
  SmallVector<Value> buffers;
  SmallVector<Placement> operands;
  SmallVector<MemRefType> types;
  for (Value input : group.getInputs()) {
    buffers.push_back(getBuffer(input));
    operands.push_back(getPlacement(input));
    if (readsContiguousRows(op) && !hasContiguousRows(operands.back().type)) {
      remark::missed(op->getLoc(), entryBuilderRemarks("OperandCopied"))
          << "copied first: the kernel requires contiguous elements along the last axis";
      buffers.back() = createDenseCopy(builder, op->getLoc(), buffers.back());
      operands.back() = {buffers.back(), bufferType(buffers.back())};
    }
    types.push_back(operands.back().type);
  }
  KernelOp kernel = kernels.getOrCreate(group, types);
  SmallVector<Value> targets;
  auto mayWriteOver = [&](unsigned operand, unsigned result) { return kernel.canWriteOver(operand, result); };
  for (OpResult result : op->getResults())
    targets.push_back(chooseStorage(op, result, result.getResultNumber(), mayWriteOver, operands, targets));
  LaunchOp::create(builder, op->getLoc(), FlatSymbolRefAttr::get(kernel), buffers, targets);
  ++counts.launches;
  for (auto [result, target] : llvm::zip_equal(op->getResults(), targets))
    place(result, target);
}

LogicalResult EntryBuilder::convertToCommands(CommandLoweringInterface op) {
  SmallVector<Value> buffers, targets;
  SmallVector<Placement> operands;
  for (Value operand : op->getOperands()) {
    operands.push_back(getPlacement(operand));
    buffers.push_back(getBuffer(operand));
  }
  auto mayWriteOver = [&](unsigned operand, unsigned result) { return op.mayWriteOver(operand, result); };
  for (OpResult result : op->getResults())
    targets.push_back(chooseStorage(op, result, result.getResultNumber(), mayWriteOver, operands, targets));
  if (failed(op.lowerToCommands(builder, buffers, targets)))
    return failure();
  for (auto [result, target] : llvm::zip_equal(op->getResults(), targets))
    place(result, target);
  return success();
}

//===----------------------------------------------------------------------===//
// Destinations
//===----------------------------------------------------------------------===//

bool EntryBuilder::mayStoreInto(Value storage, unsigned index, WritesOver mayWriteOver, ArrayRef<Placement> operands) {
  for (auto [position, operand] : llvm::enumerate(operands))
    if (operand.storage == storage && (operand.type != bufferType(storage) || !mayWriteOver(position, index)))
      return false;
  return true;
}

bool EntryBuilder::mayReplaceVariable(const VariableResult &variable, Operation *op, unsigned index,
                                      WritesOver mayWriteOver, ArrayRef<Placement> operands) {
  return (!variable.oldValue || lastUses.isDeadAfter(variable.oldValue, op)) &&
         mayStoreInto(variable.storage, index, mayWriteOver, operands);
}

Value EntryBuilder::chooseStorage(Operation *op, Value result, unsigned index, WritesOver mayWriteOver,
                                  ArrayRef<Placement> operands, ArrayRef<Value> taken) {
  if (VariableResult *variable = results.findVariable(result)) {
    if (mayReplaceVariable(*variable, op, index, mayWriteOver, operands)) {
      variable->isWritten = true;
      ++counts.inPlace;
      return variable->storage;
    }
    remark::missed(op->getLoc(), entryBuilderRemarks("VariableCopied"))
        << "the new value is copied to its variable at the end: the old value is read here or later";
  }
  if (OutputResult *output = results.findOutput(result)) {
    output->isWritten = true;
    return output->storage;
  }
  MemRefType type = getDenseType(cast<RankedTensorType>(result.getType()));
  for (const Placement &operand : operands) {
    Value storage = operand.storage;
    if (isa<AllocOp>(storage.getDefiningOp()) && bufferType(storage) == type && !llvm::is_contained(taken, storage) &&
        lastUses.isDeadAfter(contents.lookup(storage), op) && mayStoreInto(storage, index, mayWriteOver, operands)) {
      ++counts.inPlace;
      return storage;
    }
  }
  return AllocOp::create(builder, op->getLoc(), type, IntegerAttr());
}

//===----------------------------------------------------------------------===//
// Results that were not computed into their destination
//===----------------------------------------------------------------------===//

void EntryBuilder::fillResult(Value tensor, Value source, Value target, Location loc) {
  if (!source)
    return materialize(tensor, target);
  CopyOp::create(builder, loc, source, target);
  ++counts.resultCopies;
}

void EntryBuilder::finishResults(Operation *terminator) {
  auto getLoc = [&](Value value) { return value.getDefiningOp() ? value.getLoc() : terminator->getLoc(); };
  auto getSource = [&](Value value) { return isUnplacedLiteral(value) ? Value() : getBuffer(value); };
  // Outputs come first, because they may be old values of variables.
  for (OutputResult &output : results.getOutputs())
    if (!output.isWritten)
      fillResult(output.value, getSource(output.value), output.storage, getLoc(output.value));

  // Variables follow, with the effect of simultaneous writes: a value in a variable that is about to change is copied
  // first.
  llvm::SmallDenseSet<Value> changing;
  for (const VariableResult &variable : results.getVariables())
    if (!variable.isWritten)
      changing.insert(variable.storage);
  SmallVector<std::pair<Value, VariableResult *>> sources;
  for (VariableResult &variable : results.getVariables()) {
    if (variable.isWritten)
      continue;
    Value source = getSource(variable.value);
    if (source && changing.contains(getPlacement(variable.value).storage)) {
      source = createDenseCopy(builder, getLoc(variable.value), source);
      ++counts.resultCopies;
    }
    sources.push_back({source, &variable});
  }
  for (auto [source, variable] : sources)
    fillResult(variable->value, source, variable->storage, getLoc(variable->value));
}
