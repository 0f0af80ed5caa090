//===- RowProgram.cpp - Rows whose reductions need each other -------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RowProgram.h"
#include "IterationSpace.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace cs336::cuda;

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

/// Returns the rows of the reduction with the most dimensions, or nothing if there is no reduction.
static std::optional<Rows> findRows(func::FuncOp function) {
  std::optional<Rows> rows;
  for (linalg::GenericOp generic : function.getOps<linalg::GenericOp>()) {
    SmallVector<int64_t> shape = generic.getStaticLoopRanges();
    if (generic.getNumReductionLoops() == 0 || (rows && rows->shape.size() >= shape.size()))
      continue;
    rows.emplace().shape = shape;
    generic.getReductionDims(rows->axes);
  }
  return rows;
}

FailureOr<RowProgram> RowProgram::read(const DeviceKernel &kernel, std::string &whyNot) {
  std::optional<Rows> rows = findRows(kernel.function);
  whyNot = "reduces over no axis";
  if (!rows)
    return failure();
  FailureOr<KernelProgram> program = KernelProgram::readRows(kernel, *rows, whyNot);
  if (failed(program) ||
      llvm::none_of(program->scalars, [](const Scalar &scalar) { return scalar.kind == Scalar::Kind::Reduced; }))
    return failure();
  if (program->nests.size() > 2) {
    whyNot = "has reductions along other axes than its rows, or of each element";
    return failure();
  }
  mergeDimensions(*program);
  RowProgram result;
  result.program = std::move(*program);
  result.sortScalars();
  result.makePasses();
  return result;
}

//===----------------------------------------------------------------------===//
// Passes after which scalars are available
//===----------------------------------------------------------------------===//

bool RowProgram::movesAlongRow(AffineExpr index) const {
  return llvm::any_of(llvm::seq(getColumns().begin, getColumns().end),
                      [&](unsigned dim) { return index.isFunctionOfDim(dim); });
}

bool RowProgram::movesWithRow(AffineExpr index) const {
  return llvm::any_of(llvm::seq(program.getPoint().begin, program.getPoint().end),
                      [&](unsigned dim) { return index.isFunctionOfDim(dim); });
}

std::optional<unsigned> RowProgram::findPicked(const Scalar &reduced) const {
  const Scalar &term = program.scalars[reduced.operands.front()];
  if (!isa<arith::AddFOp, arith::AddIOp>(reduced.op) || !isa_and_present<arith::SelectOp>(term.op) ||
      getColumns().getNumDims() != 1)
    return std::nullopt;
  TypedAttr otherwise = program.scalars[term.operands[2]].constant;
  std::optional<std::pair<AffineExpr, unsigned>> test = program.getIndexTest(term.operands[0]);
  if (!otherwise || otherwise != getNeutralElement(reduced) || !test || isOfElement[test->second] ||
      test->first != getAffineDimExpr(getColumns().begin, test->first.getContext()))
    return std::nullopt;
  return test->second;
}

unsigned RowProgram::getPickedTerm(unsigned id) const {
  return program.scalars[program.scalars[id].operands.front()].operands[1];
}

void RowProgram::sortScalars() {
  for (const Scalar &scalar : program.scalars) {
    bool ofElement = scalar.index && movesAlongRow(scalar.index);
    if (scalar.box)
      ofElement |= llvm::any_of(program.boxes[*scalar.box].ranges,
                                [&](const Box::Range &range) { return movesAlongRow(range.index); });
    unsigned level = 0;
    for (unsigned operand : scalar.operands) {
      ofElement |= isOfElement[operand];
      level = std::max(level, levels[operand]);
    }
    if (scalar.kind == Scalar::Kind::Reduced) {
      ofElement = isOfElement[scalar.operands.back()];
      if (std::optional<unsigned> number = findPicked(scalar))
        picked[levels.size()] = *number;
      else
        level = std::max(levels[scalar.operands.front()] + 1, level);
    }
    isOfElement.push_back(ofElement);
    levels.push_back(level);
  }
}

SmallVector<unsigned> RowProgram::getScalarsOfRows(unsigned level) const {
  SmallVector<unsigned> ids;
  for (unsigned id = 0; id < program.scalars.size(); ++id)
    if (!isOfElement[id] && levels[id] == level)
      ids.push_back(id);
  return ids;
}

bool RowProgram::isUsedByElements(unsigned id) const {
  auto uses = [&](unsigned user) {
    return isOfElement[user] && llvm::is_contained(program.scalars[user].operands, id);
  };
  return llvm::any_of(llvm::seq<unsigned>(id, program.scalars.size()), uses) ||
         llvm::any_of(passes.back().stores, [&](unsigned store) { return program.stores[store].value == id; });
}

bool RowProgram::dividesElements(unsigned id) const {
  auto divides = [&](unsigned user) {
    const Scalar &quotient = program.scalars[user];
    return isOfElement[user] && quotient.type.isF32() && isa_and_present<arith::DivFOp>(quotient.op) &&
           quotient.operands.back() == id;
  };
  return !isOfElement[id] && llvm::any_of(llvm::seq<unsigned>(id, program.scalars.size()), divides);
}

//===----------------------------------------------------------------------===//
// Passes
//===----------------------------------------------------------------------===//

void RowProgram::makePasses() {
  for (auto [id, scalar] : llvm::enumerate(program.scalars)) {
    if (scalar.kind != Scalar::Kind::Reduced)
      continue;
    if (picked.contains(id)) {
      // Picked elements are read before outputs are written, because an output may be in the same buffer.
      passes.resize(std::max<size_t>(passes.size(), levels[id] + 1));
      continue;
    }
    passes.resize(std::max<size_t>(passes.size(), levels[id]));
    passes[levels[id] - 1].reduced.push_back(id);
  }
  SmallVector<unsigned> storesOfElements;
  for (auto [number, store] : llvm::enumerate(program.stores)) {
    if (!movesAlongRow(store.index)) {
      storesOfRows.push_back(number);
      continue;
    }
    storesOfElements.push_back(number);
    passes.resize(std::max<size_t>(passes.size(), levels[store.value] + 1));
  }
  // If an output overwrites an input, no element may be read after it is written.
  passes.back().stores = storesOfElements;
  for (auto [number, pass] : llvm::enumerate(passes))
    pass.scalars = collectScalars(number);
}

SmallVector<unsigned> RowProgram::getScalarsOfElement(unsigned id) const {
  SmallVector<unsigned> found = program.collectOperands(id);
  llvm::erase_if(found, [&](unsigned operand) { return !isOfElement[operand]; });
  return found;
}

SmallVector<unsigned> RowProgram::collectScalars(unsigned number) const {
  const RowPass &pass = passes[number];
  SmallVector<unsigned> waiting, found;
  for (unsigned id : pass.reduced)
    waiting.push_back(program.scalars[id].operands.front());
  for (unsigned store : pass.stores)
    waiting.push_back(program.stores[store].value);
  llvm::SmallDenseSet<unsigned> seen;
  while (!waiting.empty()) {
    unsigned id = waiting.pop_back_val();
    if (!isOfElement[id] || !seen.insert(id).second)
      continue;
    found.push_back(id);
    bool isThere = llvm::is_contained(kept, id) && llvm::any_of(ArrayRef(passes).take_front(number), [&](auto &before) {
                     return llvm::is_contained(before.scalars, id);
                   });
    if (!isThere)
      llvm::append_range(waiting, program.scalars[id].operands);
  }
  llvm::sort(found);
  return found;
}

/// Returns whether keeping a value in a register is cheaper than computing it again.
static bool takesLong(const Scalar &scalar) {
  if (scalar.kind == Scalar::Kind::Gather)
    return true;
  return scalar.op && (isa<math::MathDialect>(scalar.op->getDialect()) || isa<arith::DivFOp>(scalar.op));
}

void RowProgram::chooseKept() {
  // Visits passes from the last to the first: values that only kept values need are computed once.
  for (unsigned id = program.scalars.size(); id-- > 0;) {
    auto numUsers = llvm::count_if(passes, [&](const RowPass &pass) { return llvm::is_contained(pass.scalars, id); });
    if (numUsers < 2 || !takesLong(program.scalars[id]))
      continue;
    kept.push_back(id);
    for (auto [number, pass] : llvm::enumerate(passes))
      pass.scalars = collectScalars(number);
  }
}
