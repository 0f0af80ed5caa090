//===- RowsSchedule.cpp - Rows held in registers while they are reduced ---===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Accepts kernels whose elements depend on reductions along their row: softmax, norms, cross entropy, and their
// gradients. A team of threads, within a warp or a whole block, loads a row once, loops over its elements in several
// passes, and writes each element of the outputs once. Expensive values are kept between passes too. A row that does
// not fit into registers is read again in every pass.
//
// An output may be the buffer of an input that is read at the same elements: elements are written in the last pass
// only, in which a thread loads its elements before it writes them, and values per row are written after all passes.
// Threads read elements of other threads only to pick one element; before the last pass they synchronize.
//
//===----------------------------------------------------------------------===//

#include "ExpressionPrinter.h"
#include "IterationSpace.h"
#include "ReductionKernel.h"
#include "RowProgram.h"
#include "RowTeam.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace cs336::cuda;

namespace {

/// The longest rows that one block still reads in about the time of a kernel launch, if there are too few rows to keep
/// the device busy.
constexpr int64_t widestOfFew = 16384;

class RowsKernel : public ScheduledKernel {
public:
  RowsKernel(const DeviceKernel &kernel, RowProgram rows, VectorAxis vectors, RowTeam team)
      : kernel(kernel), rows(std::move(rows)), program(this->rows.program), vectors(vectors), team(team),
        indices(needs64BitIndices(program)) {}

  static std::unique_ptr<RowsKernel> choose(const DeviceKernel &kernel, RowProgram rows);

  SmallVector<KernelFunction> getFunctions() const override {
    return {
        {kernel.name, llvm::divideCeilSigned(rows.getNumRows(), team.getRowsPerBlock()), team.getThreadsPerBlock()}};
  }
  void collectDeviceSources(DeviceSources &sources) const override {
    sources.insert("vector.cuh");
    sources.insert("reduce.cuh");
    if (llvm::any_of(llvm::seq<unsigned>(0, program.scalars.size()),
                     [&](unsigned id) { return rows.dividesElements(id); }))
      sources.insert("scalar.cuh");
    program.collectDeviceSources(kernel, sources);
  }
  std::string describe() const override;
  void emit(raw_ostream &os) const override;

private:
  int64_t getNumVectors() const { return rows.getNumElements() / vectors.width; }
  /// Returns the thread's number in its team.
  std::string getThread() const;
  unsigned getReducedNumber(unsigned id) const;
  SmallVector<unsigned> collectLoads(ArrayRef<unsigned> scalars, bool movingWithRow) const;

  /// Writes the row of the thread's team.
  void emitRow(raw_ostream &os) const;
  /// Writes the scalars that are computed once per row after this number of passes.
  void emitScalarsOfRow(raw_ostream &os, ScalarEmitter &emitter, unsigned level) const;
  /// Writes code that computes the term of one element again.
  void emitPicked(raw_ostream &os, ScalarEmitter &emitter, unsigned id) const;
  /// Writes a barrier before the last pass if outputs overwrite elements that other threads pick.
  void emitMeeting(raw_ostream &os) const;
  /// Fills arrays with the thread's elements of the loads.
  void emitLoadsOfRow(raw_ostream &os, ScalarEmitter &emitter, ArrayRef<unsigned> loads) const;
  void emitPass(raw_ostream &os, ScalarEmitter &emitter, unsigned number) const;
  /// Writes the body of a pass's loop, for one vector.
  void emitElements(raw_ostream &os, ScalarEmitter emitter, const RowPass &pass, ArrayRef<unsigned> scalars,
                    const llvm::MapVector<unsigned, std::string> &keptNow) const;
  /// Writes the head of a loop over a thread's vectors, with the index variables of the first element if they are used.
  void emitSteps(raw_ostream &os, bool usesPlace) const;
  void emitStoresOfRow(raw_ostream &os, ScalarEmitter &emitter) const;

  const DeviceKernel kernel;
  const RowProgram rows;
  const KernelProgram &program;
  const VectorAxis vectors;
  const RowTeam team;
  const IndexPrinter indices;
};

class RowsSchedule : public KernelSchedule {
public:
  StringRef getName() const override { return "rows"; }
  bool canOverwriteRows() const override { return true; }

  std::unique_ptr<ScheduledKernel> schedule(const DeviceKernel &kernel, std::string &whyNot) const override {
    FailureOr<RowProgram> rows = RowProgram::read(kernel, whyNot);
    if (failed(rows))
      return nullptr;
    bool readsOnce = rows->passes.size() == 1;
    if (readsOnce && rows->passes.front().stores.empty()) {
      whyNot = "only reduces rows, and reads each of them once";
      return nullptr;
    }
    if (readsOnce && rows->getColumns().getNumDims() != 0 &&
        !isContiguousAlong(rows->program, rows->getColumns().end - 1)) {
      whyNot = "reads rows that are not contiguous, each of them once";
      return nullptr;
    }
    if (readsOnce && rows->getNumRows() < ReductionGrid::blocksOfDevice && rows->getNumElements() > widestOfFew) {
      whyNot = "reads few wide rows, each of them once: several blocks can share a row";
      return nullptr;
    }
    return requireGrid(RowsKernel::choose(kernel, std::move(*rows)), whyNot, "has more rows than a grid has blocks");
  }
};

} // namespace

std::unique_ptr<KernelSchedule> cs336::cuda::createRowsSchedule() { return std::make_unique<RowsSchedule>(); }

//===----------------------------------------------------------------------===//
// Choices
//===----------------------------------------------------------------------===//

/// Returns the number of registers for one vector of all values that a team holds.
static int64_t countRegisters(const RowProgram &rows, VectorAxis vectors) {
  int64_t bytes = 0;
  auto add = [&](AffineExpr index, int64_t elementBytes) {
    bool isVector = !index || index.isFunctionOfDim(vectors.dim);
    bytes += llvm::alignTo((isVector ? vectors.width : 1) * elementBytes, 4);
  };
  for (auto [id, scalar] : llvm::enumerate(rows.program.scalars))
    if (scalar.kind == Scalar::Kind::Load && rows.isOfElement[id])
      add(scalar.index, getElementBytes(scalar.type));
  for (unsigned id : rows.kept)
    add({}, rows.program.scalars[id].type.isF64() ? 8 : 4);
  return bytes / 4;
}

std::unique_ptr<RowsKernel> RowsKernel::choose(const DeviceKernel &kernel, RowProgram rows) {
  VectorAxis vectors;
  if (const LoopNest &columns = rows.getColumns(); columns.getNumDims() != 0)
    vectors = {columns.end - 1, chooseVectorWidth(rows.program, kernel, columns.end - 1)};
  RowProgram keeping = rows;
  keeping.chooseKept();
  RowTeam team =
      RowTeam::choose(rows.getNumElements() / vectors.width, vectors.width, countRegisters(keeping, vectors));
  return std::make_unique<RowsKernel>(kernel, team.holdsRow ? std::move(keeping) : std::move(rows), vectors, team);
}

std::string RowsKernel::describe() const {
  std::string text = team.threads == 1                         ? "one thread"
                     : team.threads == RowTeam::threadsPerWarp ? "one warp"
                                                               : std::to_string(team.threads) + " threads";
  size_t passes = rows.passes.size();
  text += " per row of " + std::to_string(rows.getNumElements()) + " elements, ";
  if (team.holdsRow)
    text += "held in registers for " + std::to_string(passes) + (passes == 1 ? " pass" : " passes");
  else
    text += "read again in each of " + std::to_string(passes) + " passes";
  return text + "; " + describePoints(program);
}

std::string RowsKernel::getThread() const {
  if (team.threads == 1)
    return "0";
  return team.isWithinWarp() ? "threadIdx.x % " + std::to_string(team.threads) : "threadIdx.x";
}

unsigned RowsKernel::getReducedNumber(unsigned id) const {
  unsigned number = 0;
  for (const RowPass &pass : rows.passes) {
    if (rows.levels[id] == 0)
      break;
    if (&pass == &rows.passes[rows.levels[id] - 1])
      return number + (llvm::find(pass.reduced, id) - pass.reduced.begin());
    number += pass.reduced.size();
  }
  llvm_unreachable("every reduction is in a pass");
}

SmallVector<unsigned> RowsKernel::collectLoads(ArrayRef<unsigned> scalars, bool movingWithRow) const {
  SmallVector<unsigned> loads;
  for (unsigned id : scalars)
    if (program.scalars[id].kind == Scalar::Kind::Load && rows.isOfElement[id] &&
        rows.movesWithRow(program.scalars[id].index) == movingWithRow)
      loads.push_back(id);
  return loads;
}

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

void RowsKernel::emit(raw_ostream &os) const {
  emitTables(os, kernel, program);
  emitSignature(os, kernel, kernel.name, team.getThreadsPerBlock());
  emitRow(os);
  ScalarEmitter emitter(kernel, program, indices, vectors, os);
  emitter.emitLoads(rows.getScalarsOfRows(0), "  ");
  // Loads of elements that differ per row are issued before any computation. Elements that all rows read are in a
  // cache.
  if (team.holdsRow)
    emitLoadsOfRow(
        os, emitter,
        collectLoads(llvm::to_vector(llvm::seq<unsigned>(0, program.scalars.size())), /*movingWithRow=*/true));
  emitScalarsOfRow(os, emitter, 0);
  for (unsigned number = 0; number < rows.passes.size(); ++number) {
    if (number + 1 == rows.passes.size())
      emitMeeting(os);
    emitPass(os, emitter, number);
    emitScalarsOfRow(os, emitter, number + 1);
  }
  emitStoresOfRow(os, emitter);
  os << "}\n";
}

void RowsKernel::emitRow(raw_ostream &os) const {
  std::string row = indices.getBlock();
  int64_t rowsPerBlock = team.getRowsPerBlock();
  if (rowsPerBlock != 1)
    row += " * " + std::to_string(rowsPerBlock) + " + threadIdx.x";
  if (rowsPerBlock != 1 && team.threads != 1)
    row += " / " + std::to_string(team.threads);
  os << "  const " << indices.getType() << " row = " << row << ";\n";
  if (rows.getNumRows() % rowsPerBlock != 0)
    os << "  if (row >= " << rows.getNumRows() << ")\n    return;\n";
  indices.emitPoint(os, "  ", 0, program.getExtents(program.getPoint()), "row", 1);
}

void RowsKernel::emitScalarsOfRow(raw_ostream &os, ScalarEmitter &emitter, unsigned level) const {
  auto getResult = [&](unsigned id, StringRef) {
    return printResult(program, emitter, id, {"result" + std::to_string(getReducedNumber(id))});
  };
  for (unsigned id : rows.getScalarsOfRows(level)) {
    if (rows.picked.contains(id))
      emitPicked(os, emitter, id);
    else
      emitter.emitOperations(id, "  ", getResult);
    // A value that only a store rounds has no separate expression.
    if (rows.isUsedByElements(id) && !emitter.getExpression(id).text.empty())
      emitter.emitVariable(id, "  ");
    if (rows.dividesElements(id))
      emitter.emitDivisor(id, emitter.getExpression(id), "  ");
  }
}

void RowsKernel::emitMeeting(raw_ostream &os) const {
  auto isPickedLast = [&](const auto &pick) { return rows.levels[pick.first] + 1 == rows.passes.size(); };
  if (!kernel.overwritesRows || team.threads == 1 || llvm::none_of(rows.picked, isPickedLast))
    return;
  os << "  // What was picked may now be overwritten.\n  " << (team.isWithinWarp() ? "__syncwarp" : "__syncthreads")
     << "();\n";
}

void RowsKernel::emitPicked(raw_ostream &os, ScalarEmitter &emitter, unsigned id) const {
  const Scalar &scalar = program.scalars[id];
  std::string result = "picked" + std::to_string(emitter.takeNumber());
  std::string place = "asIndex(" + emitter.getExpression(rows.picked.lookup(id)).text + ")";
  os << "  " << ExpressionPrinter::getComputeType(scalar.type) << " " << result << " = "
     << ExpressionPrinter::print(getNeutralElement(scalar)).text << ";\n  if (" << place << " < "
     << rows.getNumElements() << ") {\n    const " << indices.getType() << " "
     << IndexPrinter::getVariable(rows.getColumns().begin) << " = " << place << ";\n";
  unsigned term = rows.getPickedTerm(id);
  SmallVector<unsigned> scalars = rows.getScalarsOfElement(term);
  ScalarEmitter element = emitter.forOneElement(scalars);
  element.emitLoads(scalars, "    ");
  element.emitOperations(scalars, "    ");
  os << "    " << result << " = " << element.getExpression(term).text << ";\n  }\n";
  emitter.define(id, printResult(program, emitter, id, {result}));
}

void RowsKernel::emitSteps(raw_ostream &os, bool usesPlace) const {
  int64_t items = getNumVectors();
  bool isPartial = team.threads * team.steps != items;
  os << "#pragma unroll\n  for (int step = 0; step < " << team.steps << "; ++step) {\n";
  if (!usesPlace && !isPartial)
    return;
  os << "    const " << indices.getType() << " item = ";
  if (team.threads == 1)
    os << "step;\n";
  else
    os << getThread() << " + step * " << team.threads << ";\n";
  // All steps but the last are full, and the text shows this to the compiler.
  std::string last = team.steps == 1 ? "" : "step == " + std::to_string(team.steps - 1) + " && ";
  if (isPartial)
    os << "    if (" << last << "item >= " << items << ")\n      continue;\n";
  if (usesPlace)
    indices.emitPoint(os, "    ", rows.getColumns().begin, program.getExtents(rows.getColumns()), "item",
                      vectors.width);
}

void RowsKernel::emitLoadsOfRow(raw_ostream &os, ScalarEmitter &emitter, ArrayRef<unsigned> loads) const {
  if (loads.empty())
    return;
  SmallVector<std::string> arrays;
  for (unsigned load : loads) {
    arrays.push_back(emitter.takeLoadVariable(load));
    os << "  " << emitter.getLoadType(load) << " " << arrays.back() << "[" << team.steps << "];\n";
  }
  emitSteps(os, /*usesPlace=*/true);
  ScalarEmitter inner = emitter;
  inner.emitBoxes(loads, "    ");
  for (auto [load, array] : llvm::zip_equal(loads, arrays)) {
    os << "    " << array << "[step] = " << inner.printLoad(load) << ";\n";
    emitter.provide(load, array + "[step]");
  }
  os << "  }\n";
}

void RowsKernel::emitPass(raw_ostream &os, ScalarEmitter &emitter, unsigned number) const {
  const RowPass &pass = rows.passes[number];
  SmallVector<StringRef> purposes;
  for (unsigned id : pass.reduced)
    purposes.push_back(ExpressionPrinter::getNoun(program.scalars[id].op));
  if (!pass.stores.empty())
    purposes.push_back("outputs");
  os << "\n  // Pass " << number + 1 << " of " << rows.passes.size() << ": " << llvm::join(purposes, ", ") << ".\n";

  // The scalars that this pass computes, and the values that it keeps.
  auto isBefore = [&](unsigned id) {
    return llvm::any_of(ArrayRef(rows.passes).take_front(number),
                        [&](const RowPass &before) { return llvm::is_contained(before.scalars, id); });
  };
  SmallVector<unsigned> scalars;
  llvm::MapVector<unsigned, std::string> keptNow;
  for (unsigned id : pass.scalars) {
    bool isKept = llvm::is_contained(rows.kept, id);
    if (isKept && isBefore(id))
      continue;
    scalars.push_back(id);
    if (!isKept)
      continue;
    StringRef type = ExpressionPrinter::getComputeType(program.scalars[id].type);
    std::string array = emitter.takeVariable(id);
    if (vectors.width == 1)
      os << "  " << type << " ";
    else
      os << "  Vector<" << type << ", " << vectors.width << "> ";
    os << array << "[" << team.steps << "];\n";
    keptNow[id] = array + (vectors.width == 1 ? "[step]" : "[step][lane]");
  }

  for (unsigned id : pass.reduced) {
    emitCombiner(os, program.scalars[id], getReducedNumber(id));
    emitAccumulator(os, program.scalars[id], getReducedNumber(id), vectors.width);
  }
  if (team.holdsRow) {
    SmallVector<unsigned> shared = collectLoads(scalars, /*movingWithRow=*/false);
    llvm::erase_if(shared, isBefore);
    emitLoadsOfRow(os, emitter, shared);
    bool usesPlace = !pass.stores.empty() || llvm::any_of(scalars, [&](unsigned id) {
      const Scalar &scalar = program.scalars[id];
      return scalar.kind != Scalar::Kind::Load && (scalar.index || scalar.box);
    });
    emitSteps(os, usesPlace);
  } else {
    indices.emitLoop(os, "  ", rows.getColumns().begin, program.getExtents(rows.getColumns()), vectors.width,
                     getThread(), std::to_string(team.threads));
  }
  emitElements(os, emitter, pass, scalars, keptNow);
  os << "  }\n";
  for (const auto &[id, element] : keptNow)
    emitter.define(id, {element});

  for (unsigned id : pass.reduced) {
    std::string suffix = std::to_string(getReducedNumber(id)), value = "partial" + suffix;
    if (vectors.width > 1)
      value = "reduceLanes(" + value + ", combine" + suffix + ")";
    if (team.threads != 1) {
      StringRef function = team.isWithinWarp() ? "reduceWarp" : "reduceBlock";
      value = (function + "<" + Twine(team.threads) + ">(" + value + ", combine" + suffix + ")").str();
    }
    os << "  const auto result" << suffix << " = " << value << ";\n";
  }
}

void RowsKernel::emitElements(raw_ostream &os, ScalarEmitter emitter, const RowPass &pass, ArrayRef<unsigned> scalars,
                              const llvm::MapVector<unsigned, std::string> &keptNow) const {
  SmallVector<unsigned> read(scalars);
  if (team.holdsRow)
    llvm::erase_if(read, [&](unsigned id) { return program.scalars[id].kind == Scalar::Kind::Load; });
  emitter.emitLoads(read, "    ");
  emitter.declareStored(pass.stores, "    ");
  std::string body = emitter.openLanes("    ");
  for (unsigned id : scalars) {
    if (auto kept = keptNow.find(id); kept != keptNow.end())
      emitter.emitInto(id, kept->second, body);
    else
      emitter.emitOperations(id, body);
  }
  for (unsigned id : pass.reduced) {
    const Scalar &scalar = program.scalars[id];
    Expression partial{"partial" + std::to_string(getReducedNumber(id)) + (vectors.width == 1 ? "" : "[lane]")};
    Expression term = emitter.getExpression(scalar.operands.front());
    os << body << partial.text << " = " << ExpressionPrinter::print(scalar.op, {partial, term}).text << ";\n";
  }
  emitter.assignStored(pass.stores, body);
  emitter.closeLanes("    ");
  emitter.emitStores(pass.stores, "    ");
}

void RowsKernel::emitStoresOfRow(raw_ostream &os, ScalarEmitter &emitter) const {
  if (rows.storesOfRows.empty())
    return;
  os << "\n";
  if (team.threads != 1)
    os << "  if (" << getThread() << " != 0)\n    return;\n";
  emitter.emitStores(rows.storesOfRows, "  ");
}
