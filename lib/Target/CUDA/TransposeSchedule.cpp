//===- TransposeSchedule.cpp - Tiles turned in shared memory --------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Accepts element-wise kernels with operands that are contiguous along another dimension than the outputs. A block
// computes a square of points in these two dimensions: it copies such operands to shared memory in their own order; it
// reads all other operands, and writes, in the order of the outputs. As in the pointwise schedule, a thread loads the
// elements of a point before it stores there, so that an output may overwrite an operand that is read at that point
// only.
//
//===----------------------------------------------------------------------===//

#include "ExpressionPrinter.h"
#include "IterationSpace.h"
#include "ScalarEmitter.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace cs336::cuda;

namespace {

constexpr int64_t tileSize = 32, tileThreads = 256, rowsOfThreads = tileThreads / tileSize;
/// With fewer contiguous elements than this, a tile is mostly empty.
constexpr int64_t minExtent = 8;

class TransposeKernel : public ScheduledKernel {
public:
  /// `turned` are loads that are contiguous along the second to last dimension of `program`.
  TransposeKernel(const DeviceKernel &kernel, KernelProgram program, SmallVector<unsigned> turned)
      : kernel(kernel), program(std::move(program)), turned(std::move(turned)),
        indices(needs64BitIndices(this->program)) {}

  SmallVector<KernelFunction> getFunctions() const override {
    int64_t outer = ShapedType::getNumElements(ArrayRef(program.extents).drop_back(2));
    return {{kernel.name, outer * getNumTiles(getColumn()) * getNumTiles(getRow()), tileThreads}};
  }
  void collectDeviceSources(DeviceSources &sources) const override { program.collectDeviceSources(kernel, sources); }
  std::string describe() const override;
  void emit(raw_ostream &os) const override;

private:
  /// Returns the dimension along which the outputs are contiguous, or that of the turned operands.
  unsigned getColumn() const { return program.extents.size() - 1; }
  unsigned getRow() const { return program.extents.size() - 2; }
  int64_t getNumTiles(unsigned dim) const { return llvm::divideCeilSigned(program.extents[dim], tileSize); }

  const DeviceKernel kernel;
  const KernelProgram program;
  const SmallVector<unsigned> turned;
  const IndexPrinter indices;
};

class TransposeSchedule : public KernelSchedule {
public:
  StringRef getName() const override { return "transpose"; }
  std::unique_ptr<ScheduledKernel> schedule(const DeviceKernel &kernel, std::string &whyNot) const override;
};

} // namespace

std::unique_ptr<KernelSchedule> cs336::cuda::createTransposeSchedule() { return std::make_unique<TransposeSchedule>(); }

/// Returns the dimension along which the load is contiguous, if it is not the last.
static std::optional<unsigned> getContiguousDim(const KernelProgram &program, const Scalar &load) {
  std::optional<LinearForm> form = getLinearForm(load.index, program.extents.size());
  if (load.kind != Scalar::Kind::Load || load.box || !form || form->coefficients.back() <= 1)
    return std::nullopt;
  for (unsigned dim = 0; dim + 1 < program.extents.size(); ++dim)
    if (form->coefficients[dim] == 1 && program.extents[dim] >= minExtent)
      return dim;
  return std::nullopt;
}

/// Makes `dim` the second to last dimension.
static void moveBeforeLast(KernelProgram &program, unsigned dim) {
  MLIRContext *context = program.stores.front().index.getContext();
  unsigned place = program.extents.size() - 2;
  SmallVector<AffineExpr> replacements;
  for (unsigned old = 0; old < program.extents.size(); ++old) {
    unsigned renamed = old == dim ? place : old > dim && old <= place ? old - 1 : old;
    replacements.push_back(getAffineDimExpr(renamed, context));
  }
  program.forEachIndex([&](AffineExpr &index) { index = index.replaceDims(replacements); });
  int64_t extent = program.extents[dim];
  program.extents.erase(program.extents.begin() + dim);
  program.extents.insert(program.extents.begin() + place, extent);
}

std::unique_ptr<ScheduledKernel> TransposeSchedule::schedule(const DeviceKernel &kernel, std::string &whyNot) const {
  FailureOr<KernelProgram> program = KernelProgram::read(kernel, whyNot);
  if (failed(program))
    return nullptr;
  whyNot = "reads no operand in another order than it writes";
  mergeDimensions(*program);
  if (program->hasReductions() || program->extents.size() < 2 || program->extents.back() < minExtent)
    return nullptr;
  std::optional<unsigned> row;
  SmallVector<unsigned> turned;
  for (auto [id, scalar] : llvm::enumerate(program->scalars)) {
    std::optional<unsigned> dim = scalar.index ? getContiguousDim(*program, scalar) : std::nullopt;
    if (!dim || (row && row != dim))
      continue;
    row = dim;
    turned.push_back(id);
  }
  // The maximum number of tiles of doubles in shared memory.
  constexpr unsigned maxTiles = 5;
  if (!row || turned.size() > maxTiles)
    return nullptr;
  moveBeforeLast(*program, *row);
  return requireGrid(std::make_unique<TransposeKernel>(kernel, std::move(*program), std::move(turned)), whyNot);
}

std::string TransposeKernel::describe() const {
  std::string size = std::to_string(tileSize);
  return "one tile of " + size + " x " + size +
         " points per block, through shared memory for operands in another order; " + describePoints(program);
}

void TransposeKernel::emit(raw_ostream &os) const {
  std::string type = indices.getType().str(), block = indices.getBlock();
  std::string row = IndexPrinter::getVariable(getRow()), column = IndexPrinter::getVariable(getColumn());
  int64_t columnTiles = getNumTiles(getColumn()), rowTiles = getNumTiles(getRow());
  emitTables(os, kernel, program);
  emitSignature(os, kernel, kernel.name, tileThreads);
  for (unsigned id : turned)
    os << "  __shared__ " << ExpressionPrinter::getStorageType(program.scalars[id].type) << " tile" << id << "["
       << tileSize << "][" << tileSize + 1 << "];\n";
  os << "  const " << type << " firstColumn = " << block << " % " << columnTiles << " * " << tileSize << ";\n"
     << "  const " << type << " firstRow = " << block << " / " << columnTiles << " % " << rowTiles << " * " << tileSize
     << ";\n";
  if (getRow() != 0)
    os << "  const " << type << " outer = " << block << " / " << columnTiles * rowTiles << ";\n";
  indices.emitPoint(os, "  ", 0, ArrayRef(program.extents).drop_back(2), "outer", 1);

  std::string loop = "#pragma unroll\n  for (unsigned step = threadIdx.x / " + std::to_string(tileSize) + "; step < " +
                     std::to_string(tileSize) + "; step += " + std::to_string(rowsOfThreads) + ") {\n";
  std::string lane = "threadIdx.x % " + std::to_string(tileSize);
  os << loop << "    const " << type << " " << row << " = firstRow + " << lane << ";\n    const " << type << " "
     << column << " = firstColumn + step;\n    if (" << row << " < " << program.extents[getRow()] << " && " << column
     << " < " << program.extents[getColumn()] << ") {\n";
  for (unsigned id : turned)
    os << "      tile" << id << "[step][" << lane << "] = " << kernel.getOperandName(program.scalars[id].operand) << "["
       << indices.print(program.scalars[id].index).text << "];\n";
  os << "    }\n  }\n  __syncthreads();\n"
     << loop << "    const " << type << " " << row << " = firstRow + step;\n    const " << type << " " << column
     << " = firstColumn + " << lane << ";\n    if (" << row << " >= " << program.extents[getRow()] << " || " << column
     << " >= " << program.extents[getColumn()] << ")\n      continue;\n";
  ScalarEmitter emitter(kernel, program, indices, {}, os);
  for (unsigned id : turned)
    emitter.provide(id, "tile" + std::to_string(id) + "[" + lane + "][step]");
  emitter.emitToStores(llvm::to_vector(llvm::seq<unsigned>(0, program.scalars.size())), "    ");
  os << "  }\n}\n";
}
