//===- ScalarEmitter.h - The scalars of a program as C++ --------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_LIB_TARGET_CUDA_SCALAREMITTER_H
#define CS336_LIB_TARGET_CUDA_SCALAREMITTER_H

#include "IndexPrinter.h"
#include "IterationSpace.h"
#include "KernelProgram.h"

namespace cs336::cuda {

/// The consecutive elements along a dimension that a thread handles at once. With a width of one there are no vectors.
struct VectorAxis {
  unsigned dim = 0;
  int64_t width = 1;
};

/// Writes the `extern "C" __global__` line and the parameters, up to the opening brace: one pointer per operand, then
/// the workspace as bytes, if there is one, then the tensor maps. A function with tensor maps may move registers
/// between its warps, for which the text must state that a multiprocessor runs one block of it.
void emitSignature(llvm::raw_ostream &os, const DeviceKernel &kernel, llvm::StringRef symbol, int64_t threads,
                   bool hasWorkspace = false, llvm::ArrayRef<std::string> tensorMaps = {});

/// Writes the tables of constants that the program reads, before the functions.
void emitTables(llvm::raw_ostream &os, const DeviceKernel &kernel, const KernelProgram &program);

/// Writes statements that compute scalars of a program, in the scope of the variables of the dimensions. Loads come
/// first, so that many are in flight at once; then follow the operations, for each element of a vector in the scope of
/// the variable `lane`. A copy continues in an inner scope.
class ScalarEmitter {
public:
  /// Writes the terms of a reduction and returns its result.
  using ReducedEmitter = llvm::function_ref<Expression(unsigned id, llvm::StringRef indent)>;

  ScalarEmitter(const DeviceKernel &kernel, const KernelProgram &program, const IndexPrinter &indices,
                VectorAxis vectors, llvm::raw_ostream &os);

  /// Returns a copy that computes `scalars` again, for one element instead of vectors.
  ScalarEmitter forOneElement(llvm::ArrayRef<unsigned> scalars) const;

  void emitLoads(llvm::ArrayRef<unsigned> scalars, llvm::StringRef indent);
  void emitOperations(llvm::ArrayRef<unsigned> scalars, llvm::StringRef indent, ReducedEmitter emitReduced = {});
  /// Writes the result of an operation to `variable`, and uses this variable for it afterwards.
  void emitInto(unsigned id, std::string variable, llvm::StringRef indent);
  /// Returns the expression of a scalar whose operation has been written.
  const Expression &getExpression(unsigned id) const { return expressions[id]; }
  /// Stores a scalar whose operation has been written in a variable, unless it is one, for repeated uses.
  void emitVariable(unsigned id, llvm::StringRef indent);
  /// Sets the variable of a scalar that is not a load.
  void define(unsigned id, Expression expression) { expressions[id] = std::move(expression); }
  /// Writes the divisor for a scalar by which many values are divided, and uses it afterwards in place of `value`.
  void emitDivisor(unsigned id, const Expression &value, llvm::StringRef indent);
  /// Returns whether floats are divided by the scalar, which is an element that all threads load.
  bool isSharedDivisor(unsigned id) const;
  /// Uses `divisor`, a variable of type Divisor, where values are divided by the scalar.
  void provideDivisor(unsigned id, std::string divisor) { divisors[id] = std::move(divisor); }
  /// From now on, other quotients and roots of float32 are within 2 units in the last place, and take no branches.
  void approximateQuotients() { hasRoughQuotients = true; }
  /// Returns a word for the result of an operation or a gather, with a number that no other variable has.
  std::string takeVariable(unsigned id);

  /// Writes `for (int lane = 0; …) {` and its end if there are vectors. Returns the indentation inside.
  std::string openLanes(llvm::StringRef indent);
  void closeLanes(llvm::StringRef indent);

  /// Loads and computes `scalars`, which include what is stored, and writes the outputs.
  void emitToStores(llvm::ArrayRef<unsigned> scalars, llvm::StringRef indent = "  ", ReducedEmitter emitReduced = {});

  /// The steps of emitToStores for stores by number, whose operations have been written: vectors, a vector's lane, and
  /// writes to memory.
  void declareStored(llvm::ArrayRef<unsigned> stores, llvm::StringRef indent);
  void assignStored(llvm::ArrayRef<unsigned> stores, llvm::StringRef indent);
  void emitStores(llvm::ArrayRef<unsigned> stores, llvm::StringRef indent);

  /// The steps of emitLoads, for one load: a name, the type of a variable that holds the element or its vector, and the
  /// access itself.
  std::string takeLoadVariable(unsigned load);
  std::string getLoadType(unsigned load) const;
  std::string printLoad(unsigned load) const;
  void emitBoxes(llvm::ArrayRef<unsigned> scalars, llvm::StringRef indent);

  /// Returns the variable with the loaded element or its vector, in the type of the memory.
  void provide(unsigned load, llvm::StringRef variable);
  /// Uses what another emitter has loaded for this scalar.
  void provideFrom(const ScalarEmitter &other, unsigned load);
  /// Returns the loaded element.
  const std::string &getLoaded(unsigned load) const { return loaded.find(load)->second; }

  /// Returns a number that no variable's name has used.
  unsigned takeNumber() { return numVariables++; }

private:
  bool isVector(mlir::AffineExpr index) const { return vectors.width > 1 && index.isFunctionOfDim(vectors.dim); }
  /// For a vector's index.
  SteppedAccess getAccess(mlir::AffineExpr index) const;
  /// Returns the type of a vector of elements that are accessed at this index.
  std::string getVectorType(mlir::Type element, mlir::AffineExpr index) const;
  /// Returns the element of a lane at this index in the variable with its vector.
  std::string getElementOfLane(llvm::StringRef variable, mlir::AffineExpr index) const;
  /// Returns the first store of the vector that has the element of this store.
  unsigned getFirstOfVector(unsigned store) const;
  Expression printScalar(const Scalar &scalar, unsigned id);
  Expression printGather(const Scalar &scalar);
  /// Returns the element's index in its buffer at a lane.
  Expression printIndex(mlir::AffineExpr index);
  /// Returns an expression for the comparison of the index at a lane with the number.
  Expression printIndexTest(mlir::AffineExpr index, const Expression &number);
  /// Returns whether a store rounds what the scalar rounds.
  bool isRoundedByStore(unsigned id) const;
  Expression printStored(const Store &store);
  std::string element(unsigned operand, mlir::AffineExpr index) const;
  std::string address(unsigned operand, mlir::AffineExpr index) const;

  const DeviceKernel &kernel;
  const KernelProgram &program;
  const IndexPrinter &indices;
  VectorAxis vectors;
  llvm::raw_ostream &os;
  /// The expressions of the scalars that have been computed.
  std::vector<Expression> expressions;
  /// The replacements of divisors, by scalar.
  llvm::DenseMap<unsigned, std::string> divisors;
  llvm::SmallVector<bool> roughExponentials;
  bool hasRoughQuotients = false;
  llvm::SmallVector<unsigned> uses;
  /// The variables of loads, by scalar.
  llvm::DenseMap<unsigned, std::string> loaded;
  llvm::SmallVector<unsigned> timesLoaded;
  llvm::SmallVector<bool> knownBoxes;
  unsigned numVariables = 0;
};

} // namespace cs336::cuda

#endif // CS336_LIB_TARGET_CUDA_SCALAREMITTER_H
