//===- DtypesCommand.cpp - cs336-bench dtypes -----------------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Bench/Numerics/DtypesCommand.h"

#include "cs336/Bench/Program/ProgramIR.h"
#include "cs336/Dialect/CS336/IR/CS336Ops.h"
#include "cs336/Dialect/CS336/IR/Phase.h"
#include "cs336/Dialect/CS336/IR/Ports.h"
#include "cs336/Dialect/CS336/Transforms/Passes.h"
#include "cs336/Dialect/Exec/IR/CommandSource.h"
#include "cs336/Driver/Tool/ToolFlags.h"
#include "cs336/Support/Nesting.h"
#include "cs336/Support/ReadInput.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/Support/MemoryBuffer.h"

#include "absl/strings/str_cat.h"

using namespace mlir;
using namespace cs336;
using namespace cs336::bench;
namespace cl = llvm::cl;
namespace json = llvm::json;

static constexpr llvm::StringLiteral kDtypesDescription = "prints the type of every value under mixed precision";

// Written by CMake: examples/toy_model.mlir as a string literal.
static constexpr llvm::StringLiteral kToyModel =
#include "ToyModel.inc"
    ;

namespace {
/// A value's name, and its type in each column; empty if a program lacks the value.
struct ValueRow {
  std::string name, what;
  SmallVector<std::string> types;
};

/// One row per name, filled column by column. If several operations have one name, the last one is used.
class TypeTable {
public:
  explicit TypeTable(size_t columns) : columns(columns) {}

  void addColumn(ModuleOp module);
  void addGradients(ModuleOp module);
  void finishColumn() { ++column; }
  ArrayRef<ValueRow> getRows() const { return rows; }

private:
  void set(const Twine &name, StringRef what, Type type);

  size_t columns, column = 0;
  std::vector<ValueRow> rows;
};
} // namespace

void TypeTable::set(const Twine &name, StringRef what, Type type) {
  std::string text = name.str();
  // A parameter may have the name of the operation that reads it.
  auto isOperation = [](StringRef kind) { return kind.contains('.'); };
  auto found = llvm::find_if(
      rows, [&](const ValueRow &row) { return row.name == text && isOperation(row.what) == isOperation(what); });
  ValueRow &row = found == rows.end() ? rows.emplace_back() : *found;
  row.name = text;
  row.types.resize(columns);
  row.what = what.str();
  row.types[column].clear();
  llvm::raw_string_ostream(row.types[column]) << getElementTypeOrSelf(type);
}

/// Lists parameters, inputs, and the result of each operation of the model, without casts.
void TypeTable::addColumn(ModuleOp module) {
  for (auto function : module.getOps<func::FuncOp>()) {
    for (BlockArgument argument : function.getArguments()) {
      auto name = function.getArgAttrOfType<StringAttr>(argument.getArgNumber(), CS336Dialect::kNameAttr);
      auto kind = function.getArgAttrOfType<StringAttr>(argument.getArgNumber(), CS336Dialect::kKindAttr);
      if (name && kind)
        set(name.getValue(), kind.getValue(), argument.getType());
    }
    function.walk([&](Operation *op) {
      StringRef name = exec::getSourcePath(op->getLoc());
      if (!name.empty() && op->getNumResults() > 0 && !isa<CastOp>(op))
        set(name, op->getName().getStringRef(), op->getResult(0).getType());
    });
  }
}

void TypeTable::addGradients(ModuleOp module) {
  for (auto function : module.getOps<func::FuncOp>())
    for (unsigned i = 0; i < function.getNumResults(); ++i) {
      auto name = function.getResultAttrOfType<StringAttr>(i, CS336Dialect::kNameAttr);
      auto kind = function.getResultAttrOfType<StringAttr>(i, CS336Dialect::kKindAttr);
      if (name && kind && kind.getValue() == "gradient")
        set(name.getValue() + ".grad", "gradient", function.getResultTypes()[i]);
    }
}

static std::vector<Column<ValueRow>> getColumns(ArrayRef<ComputeType> types) {
  std::vector<Column<ValueRow>> columns{
      {"value", "value", [](const ValueRow &row) { return Cell(row.name); }, Show::Text, Role::Setting},
      {"what", "what", [](const ValueRow &row) { return Cell(row.what); }, Show::Result, Role::Setting}};
  for (auto [index, type] : llvm::enumerate(types)) {
    std::string name = stringifyComputeType(type).str();
    columns.push_back({name, name, [index](const ValueRow &row) { return Cell(row.types[index]); }});
  }
  return columns;
}

DtypesCommand::DtypesCommand()
    : subcommand("dtypes", kDtypesDescription),
      program(cl::Positional, cl::desc("[program.mlir]"), cl::cat(category), cl::sub(subcommand)),
      dtypes("dtype", cl::desc("Types to compare (default fp32,fp16,bf16)"), getComputeTypeValues(), cl::CommaSeparated,
             cl::cat(category), cl::sub(subcommand)),
      output(category, subcommand) {}

void DtypesCommand::hideOtherOptions() { hideOtherFlags({&category}, subcommand); }

static LogicalResult fillColumn(ModuleOp module, ComputeType type, TypeTable &table) {
  PassManager cast(module.getContext(), module.getOperationName());
  cast.addPass(createNamePortsPass({Mode::ForwardBackward}));
  addAutocast(cast, type);
  if (failed(cast.run(module)))
    return failure();
  table.addColumn(module);
  PassManager differentiate(module.getContext(), module.getOperationName());
  differentiate.addNestedPass<func::FuncOp>(createDifferentiatePass());
  if (failed(differentiate.run(module)))
    return failure();
  table.addGradients(module);
  table.finishColumn();
  return success();
}

SmallVector<ComputeType> DtypesCommand::getTypes() const {
  if (dtypes.empty())
    return {ComputeType::FP32, ComputeType::FP16, ComputeType::BF16};
  return SmallVector<ComputeType>(dtypes.begin(), dtypes.end());
}

std::vector<ColumnHead> DtypesCommand::getColumns() const {
  auto columns = ::getColumns(getTypes());
  return {columns.begin(), columns.end()};
}

absl::Status DtypesCommand::run(llvm::StringRef commandLine) {
  std::string text = kToyModel.str();
  if (!program.empty()) {
    llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>> file = readInput(program);
    if (!file)
      return absl::InvalidArgumentError(llvm::toString(file.takeError()));
    if (llvm::Error error = checkIsReadableIR((*file)->getMemBufferRef()))
      return absl::InvalidArgumentError(llvm::toString(std::move(error)));
    text = (*file)->getBuffer().str();
  }
  SmallVector<ComputeType> types = getTypes();
  std::vector<Column<ValueRow>> columns = ::getColumns(types);
  if (absl::Status status = output.check(columns); !status.ok())
    return status;
  TypeTable table(types.size());
  for (ComputeType type : types) {
    absl::Status status = withIR(
        text, [](StringRef) {}, [&](ModuleOp module) { return fillColumn(module, type, table); },
        program.empty() ? llvm::StringRef("-") : llvm::StringRef(program));
    if (!status.ok())
      return status;
  }
  json::Object context{{"benchmark", "dtypes"}, {"command", commandLine}};
  return output.write({std::move(context), {{"dtypes", "", columns, table.getRows()}}, {}});
}
