//===- KernelLoops.cpp - Statements and loops of a kernel ------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelLoops.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace cs336::cpu;

static SmallVector<int64_t> rowMajorStrides(ArrayRef<int64_t> shape) {
  SmallVector<int64_t> strides(shape.size(), 1);
  for (int64_t dim = static_cast<int64_t>(shape.size()) - 2; dim >= 0; --dim)
    strides[dim] = strides[dim + 1] * shape[dim + 1];
  return strides;
}

Storage::Storage(Kind kind, ShapedType type)
    : kind(kind), element(type.getElementType()), shape(type.getShape()), strides(rowMajorStrides(type.getShape())),
      elements(type.getNumElements()) {}

namespace {
class LoopFinder {
public:
  LoopFinder(func::FuncOp func, KernelPlan &plan) : func(func), plan(plan) {}

  FailureOr<llvm::SmallBitVector> run(TypeRange operandTypes);

private:
  // Storage and statements.
  void addOperands(TypeRange operandTypes);
  void addConstant(arith::ConstantOp constant);
  void addResult(Value init, Value result);
  void addStatement(linalg::GenericOp generic);
  void addStatement(scf::ForOp loop);
  void addStorage(Value tensor, Storage storage);
  void markScattered();

  // Dims of statements become loops of the kernel.
  void numberLoops();
  void unifyWalks(bool ofWrittenStorages);
  bool unify(unsigned lhs, unsigned rhs);
  std::optional<unsigned> getWalkingDim(const Statement &statement, AffineMap map, unsigned storage,
                                        int64_t axis) const;
  unsigned getStorage(linalg::GenericOp generic, OpOperand &operand) const;
  LogicalResult buildAccesses();
  void findIndependentLoops();

  // Merges loops that traverse memory like one loop.
  void mergeLoops();
  bool canMerge(unsigned outer, unsigned inner) const;
  void mergeInto(unsigned outer, unsigned inner);

  func::FuncOp func;
  KernelPlan &plan;

  /// A dim of a statement is a node until loops are numbered: firstNode[statement] + dim.
  SmallVector<unsigned> firstNode, statementOfNode, classOfNode;

  /// Loops whose iterations are independent of each other in every statement, and loops whose variable is used as a
  /// number.
  llvm::SmallBitVector isIndependent, isIndexed;
};
} // namespace

//===----------------------------------------------------------------------===//
// Storage and statements
//===----------------------------------------------------------------------===//

void LoopFinder::addStorage(Value tensor, Storage storage) {
  plan.storageOf[tensor] = plan.storages.size();
  plan.storages.push_back(std::move(storage));
}

void LoopFinder::addOperands(TypeRange operandTypes) {
  for (auto [index, type] : llvm::enumerate(operandTypes)) {
    auto memref = cast<MemRefType>(type);
    Storage storage(Storage::Kind::Operand, memref);
    storage.operand = index;
    int64_t offset;
    storage.strides.clear();
    LogicalResult isStrided = memref.getStridesAndOffset(storage.strides, offset);
    assert(succeeded(isStrided) && "a kernel operand without strides");
    (void)isStrided;
    addStorage(func.getArgument(index), std::move(storage));
  }
}

void LoopFinder::addConstant(arith::ConstantOp constant) {
  auto elements = dyn_cast<DenseElementsAttr>(constant.getValue());
  if (!elements)
    return;
  Storage storage(Storage::Kind::Constant, elements.getType());
  storage.constant = elements;
  addStorage(constant, std::move(storage));
}

void LoopFinder::addResult(Value init, Value result) {
  if (init.getDefiningOp<tensor::EmptyOp>())
    addStorage(result, Storage(Storage::Kind::Temporary, cast<RankedTensorType>(result.getType())));
  else
    plan.storageOf[result] = plan.storageOf.lookup(init);
  plan.storages[plan.storageOf.lookup(result)].isWritten = true;
}

void LoopFinder::addStatement(linalg::GenericOp generic) {
  for (auto [init, result] : llvm::zip_equal(generic.getDpsInits(), generic->getResults()))
    addResult(init, result);
  firstNode.push_back(statementOfNode.size());
  statementOfNode.append(generic.getNumLoops(), plan.statements.size());
  plan.statements.emplace_back(generic);
}

void LoopFinder::addStatement(scf::ForOp loop) {
  for (auto [init, result] : llvm::zip_equal(loop.getInitArgs(), loop.getResults())) {
    addResult(init, result);
    plan.storages[plan.storageOf.lookup(result)].isScattered = true;
  }
  firstNode.push_back(statementOfNode.size());
  plan.statements.emplace_back(loop);
  plan.statements.back().isOpaque = true;
}

void LoopFinder::markScattered() {
  for (Statement &statement : plan.statements)
    statement.op->walk([&](tensor::ExtractOp extract) {
      if (auto storage = plan.storageOf.find(extract.getTensor()); storage != plan.storageOf.end())
        plan.storages[storage->second].isScattered = true;
    });
}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

unsigned LoopFinder::getStorage(linalg::GenericOp generic, OpOperand &operand) const {
  return plan.storageOf.lookup(generic.isDpsInit(&operand) ? Value(generic.getTiedOpResult(&operand)) : operand.get());
}

/// Returns the dim that alone iterates over the whole `axis` of a storage, if its size is greater than 1.
std::optional<unsigned> LoopFinder::getWalkingDim(const Statement &statement, AffineMap map, unsigned storage,
                                                  int64_t axis) const {
  auto dim = dyn_cast<AffineDimExpr>(map.getResult(axis));
  int64_t size = plan.storages[storage].shape[axis];
  if (!dim || size == 1 || statement.getGeneric().getStaticLoopRanges()[dim.getPosition()] != size)
    return std::nullopt;
  return dim.getPosition();
}

/// Joins two classes of nodes, unless a statement would have two dims in one loop (x + xᵀ).
bool LoopFinder::unify(unsigned lhs, unsigned rhs) {
  unsigned to = classOfNode[lhs], from = classOfNode[rhs];
  if (to == from)
    return true;
  llvm::SmallBitVector statements(plan.statements.size());
  for (auto [node, nodeClass] : llvm::enumerate(classOfNode))
    if (nodeClass == to)
      statements.set(statementOfNode[node]);
  for (auto [node, nodeClass] : llvm::enumerate(classOfNode))
    if (nodeClass == from && statements.test(statementOfNode[node]))
      return false;
  std::replace(classOfNode.begin(), classOfNode.end(), from, to);
  return true;
}

void LoopFinder::unifyWalks(bool ofWrittenStorages) {
  DenseMap<std::pair<unsigned, int64_t>, unsigned> walkers;
  for (auto [index, statement] : llvm::enumerate(plan.statements)) {
    if (statement.isOpaque)
      continue;
    linalg::GenericOp generic = statement.getGeneric();
    for (OpOperand &operand : generic->getOpOperands()) {
      unsigned storage = getStorage(generic, operand);
      AffineMap map = generic.getMatchingIndexingMap(&operand);
      if (plan.storages[storage].isWritten != ofWrittenStorages)
        continue;
      for (int64_t axis = 0; axis < map.getNumResults(); ++axis) {
        std::optional<unsigned> dim = getWalkingDim(statement, map, storage, axis);
        if (!dim)
          continue;
        unsigned node = firstNode[index] + *dim;
        auto [walker, isFirst] = walkers.try_emplace({storage, axis}, node);
        if (!isFirst)
          unify(walker->second, node);
      }
    }
  }
}

void LoopFinder::numberLoops() {
  for (unsigned node = 0; node < statementOfNode.size(); ++node)
    classOfNode.push_back(node);
  // Storage that one statement writes and another reads comes first: only statements that iterate over it in the same
  // way can share rows.
  unifyWalks(/*ofWrittenStorages=*/true);
  unifyWalks(/*ofWrittenStorages=*/false);

  DenseMap<unsigned, unsigned> loopOfClass;
  for (auto [index, statement] : llvm::enumerate(plan.statements)) {
    if (statement.isOpaque)
      continue;
    for (auto [dim, size] : llvm::enumerate(statement.getGeneric().getStaticLoopRanges())) {
      if (size == 1) {
        statement.loopOfDim.push_back(std::nullopt);
        continue;
      }
      auto [loop, isNew] = loopOfClass.try_emplace(classOfNode[firstNode[index] + dim], plan.loopSizes.size());
      if (isNew)
        plan.loopSizes.push_back(size);
      statement.loopOfDim.push_back(loop->second);
    }
  }

  unsigned count = plan.loopSizes.size();
  isIndexed.resize(count);
  for (Statement &statement : plan.statements) {
    statement.loops.resize(count);
    statement.reductions.resize(count);
    if (statement.isOpaque)
      continue;
    linalg::GenericOp generic = statement.getGeneric();
    for (auto [loop, iterator] : llvm::zip_equal(statement.loopOfDim, generic.getIteratorTypesArray())) {
      if (!loop)
        continue;
      statement.loops.set(*loop);
      if (iterator == utils::IteratorType::reduction)
        statement.reductions.set(*loop);
    }
    generic.getBody()->walk([&](linalg::IndexOp index) {
      if (std::optional<unsigned> loop = statement.loopOfDim[index.getDim()])
        isIndexed.set(*loop);
    });
  }
}

/// Adds `expr`, scaled, to the address. Fails where it is not linear.
static LogicalResult addLinear(AffineExpr expr, int64_t scale, const Statement &statement, Access &access) {
  if (auto constant = dyn_cast<AffineConstantExpr>(expr)) {
    access.offset += scale * constant.getValue();
    return success();
  }
  if (auto dim = dyn_cast<AffineDimExpr>(expr)) {
    if (std::optional<unsigned> loop = statement.loopOfDim[dim.getPosition()])
      access.coefficients[*loop] += scale;
    return success();
  }
  auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
  if (binary && binary.getKind() == AffineExprKind::Add)
    return success(succeeded(addLinear(binary.getLHS(), scale, statement, access)) &&
                   succeeded(addLinear(binary.getRHS(), scale, statement, access)));
  if (binary && binary.getKind() == AffineExprKind::Mul)
    if (auto factor = dyn_cast<AffineConstantExpr>(binary.getRHS()))
      return addLinear(binary.getLHS(), scale * factor.getValue(), statement, access);
  // A box at the origin of a longer axis: the index modulo a size that it stays below.
  auto index = binary && binary.getKind() == AffineExprKind::Mod ? dyn_cast<AffineDimExpr>(binary.getLHS()) : nullptr;
  if (index) {
    auto size = dyn_cast<AffineConstantExpr>(binary.getRHS());
    if (size && statement.getGeneric().getStaticLoopRanges()[index.getPosition()] <= size.getValue())
      return addLinear(index, scale, statement, access);
  }
  return failure();
}

LogicalResult LoopFinder::buildAccesses() {
  for (Statement &statement : plan.statements) {
    if (statement.isOpaque)
      continue;
    linalg::GenericOp generic = statement.getGeneric();
    for (OpOperand &operand : generic->getOpOperands()) {
      Access access{getStorage(generic, operand), 0, SmallVector<int64_t>(plan.loopSizes.size(), 0)};
      AffineMap map = generic.getMatchingIndexingMap(&operand);
      for (auto [expr, stride] : llvm::zip_equal(map.getResults(), plan.storages[access.storage].strides))
        if (failed(addLinear(expr, stride, statement, access)))
          return generic.emitOpError("has an indexing map that is not linear: ") << AffineMapAttr::get(map);
      (generic.isDpsInit(&operand) ? statement.outputs : statement.inputs).push_back(std::move(access));
    }
  }
  return success();
}

/// Finds loops with independent iterations: every statement has the loop, no statement reduces over it, and each value
/// is read in the iteration that wrote it.
void LoopFinder::findIndependentLoops() {
  isIndependent.resize(plan.loopSizes.size(), true);
  DenseMap<std::pair<unsigned, int64_t>, std::optional<unsigned>> walkers;
  auto excludeLoopsOf = [&](const Statement &statement, AffineExpr expr) {
    expr.walk([&](AffineExpr part) {
      if (auto dim = dyn_cast<AffineDimExpr>(part))
        if (std::optional<unsigned> loop = statement.loopOfDim[dim.getPosition()])
          isIndependent.reset(*loop);
    });
  };
  for (Statement &statement : plan.statements) {
    isIndependent &= statement.loops;
    isIndependent.reset(statement.reductions);
    if (statement.isOpaque)
      continue;
    linalg::GenericOp generic = statement.getGeneric();
    for (OpOperand &operand : generic->getOpOperands()) {
      unsigned storage = getStorage(generic, operand);
      if (!plan.storages[storage].isWritten)
        continue;
      AffineMap map = generic.getMatchingIndexingMap(&operand);
      for (int64_t axis = 0; axis < map.getNumResults(); ++axis) {
        std::optional<unsigned> loop;
        if (std::optional<unsigned> dim = getWalkingDim(statement, map, storage, axis))
          loop = statement.loopOfDim[*dim];
        auto [walker, isFirst] = walkers.try_emplace({storage, axis}, loop);
        if (!isFirst && walker->second == loop && !plan.storages[storage].isScattered)
          continue;
        if (isFirst && !plan.storages[storage].isScattered && (loop || plan.storages[storage].shape[axis] == 1))
          continue;
        excludeLoopsOf(statement, map.getResult(axis));
        if (walker->second)
          isIndependent.reset(*walker->second);
      }
    }
  }
}

bool LoopFinder::canMerge(unsigned outer, unsigned inner) const {
  if (isIndexed.test(outer) || isIndexed.test(inner) || isIndependent.test(outer) != isIndependent.test(inner))
    return false;
  auto isNested = [&](const Access &access) {
    return access.coefficients[outer] == access.coefficients[inner] * plan.loopSizes[inner];
  };
  return llvm::all_of(plan.statements, [&](const Statement &statement) {
    return statement.loops.test(outer) == statement.loops.test(inner) &&
           statement.reductions.test(outer) == statement.reductions.test(inner) &&
           llvm::all_of(statement.inputs, isNested) && llvm::all_of(statement.outputs, isNested);
  });
}

/// Makes `inner` iterate over both loops. `outer` gets size 1 and is not used any more.
void LoopFinder::mergeInto(unsigned outer, unsigned inner) {
  plan.loopSizes[inner] *= plan.loopSizes[outer];
  plan.loopSizes[outer] = 1;
  isIndependent.reset(outer);
  for (Statement &statement : plan.statements) {
    statement.loops.reset(outer);
    statement.reductions.reset(outer);
    for (Access &access : statement.inputs)
      access.coefficients[outer] = 0;
    for (Access &access : statement.outputs)
      access.coefficients[outer] = 0;
  }
}

void LoopFinder::mergeLoops() {
  unsigned count = plan.loopSizes.size();
  bool changed = true;
  while (changed) {
    changed = false;
    for (unsigned inner = 0; inner < count; ++inner) {
      for (unsigned outer = 0; outer < count; ++outer) {
        if (outer == inner || plan.loopSizes[outer] == 1 || plan.loopSizes[inner] == 1 || !canMerge(outer, inner))
          continue;
        mergeInto(outer, inner);
        changed = true;
      }
    }
  }
}

FailureOr<llvm::SmallBitVector> LoopFinder::run(TypeRange operandTypes) {
  addOperands(operandTypes);
  for (Operation &op : func.getBody().front()) {
    if (auto constant = dyn_cast<arith::ConstantOp>(op))
      addConstant(constant);
    else if (auto generic = dyn_cast<linalg::GenericOp>(op))
      addStatement(generic);
    else if (auto loop = dyn_cast<scf::ForOp>(op))
      addStatement(loop);
  }
  markScattered();
  numberLoops();
  if (failed(buildAccesses()))
    return failure();
  findIndependentLoops();
  mergeLoops();
  return isIndependent;
}

FailureOr<llvm::SmallBitVector> cs336::cpu::findLoops(func::FuncOp func, TypeRange operandTypes, KernelPlan &plan) {
  return LoopFinder(func, plan).run(operandTypes);
}
