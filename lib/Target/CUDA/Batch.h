//===- Batch.h - Members that do one thing to buffers of their own -*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_LIB_TARGET_CUDA_BATCH_H
#define CS336_LIB_TARGET_CUDA_BATCH_H

#include "FlatProgram.h"
#include "IndexPrinter.h"

namespace cs336::cuda {

/// A kernel that does the same computation on the buffers of several members, and its grid. A table divides the blocks
/// among the members. Each block looks up its member, and reads that member's pointers from one structure with the
/// pointers of all members, which has the memory layout of separate parameters. So the text is the code of one member
/// and two tables.
class Batch {
public:
  static constexpr int64_t threadsPerBlock = 256;

  /// A thread computes `vectorsPerThread` vectors, one after the other: enough to make the look-up of the member cheap.
  /// On failure, also if there are fewer than `leastMembers`, `whyNot` completes the sentence "it …".
  static mlir::FailureOr<Batch> read(const DeviceKernel &kernel, int64_t vectorsPerThread, std::string &whyNot,
                                     size_t leastMembers = 2);

  /// Returns the computation of every member on the operands of `getBody`, each of which represents the members'
  /// operands with its role.
  const KernelProgram &getMember() const { return member; }
  const DeviceKernel &getBody() const { return body; }
  /// The number of consecutive elements that a thread handles at once.
  int64_t getWidth() const { return width; }
  /// Returns whether the last vector of a member has fewer elements.
  bool hasRest() const;
  size_t getNumMembers() const { return sizes.size(); }
  int64_t getLargestSize() const { return *llvm::max_element(sizes); }
  int64_t getNumBlocks() const { return firstBlocks.back(); }
  const IndexPrinter &getIndices() const { return indices; }

  /// Returns the text of comments: the division of the blocks, and the roles of the kernel's operands.
  std::string describe() const;
  std::string describeOperands() const;

  /// Writes the structure of the pointers, and the tables.
  void emitTables(llvm::raw_ostream &os, bool hasWorkspace) const;
  /// Writes the head of a function with the parameter `operands`, the structure, up to the opening brace.
  void emitSignature(llvm::raw_ostream &os, llvm::StringRef symbol) const;
  /// Returns the name of the table of the members' first blocks, with one more element for the end.
  std::string getFirstBlocks() const { return name + "_firstBlocks"; }
  /// Returns the type of the pointer to an operand of `getBody`.
  std::string getPointerType(unsigned role) const;
  /// Returns the expression of this pointer, for the structure `operands` and the member with the number `member`.
  std::string printPointer(unsigned role) const;
  /// Declares variables for the pointers of the member with the number `member`.
  void emitPointers(llvm::raw_ostream &os) const;
  /// Returns the operand of `getBody` for an operand of the kernel's first member.
  unsigned getRole(unsigned operand) const;
  /// Returns the kernel's operand that has a role in a member.
  unsigned getOperand(unsigned role, unsigned ofMember) const {
    return operands[role].first + operands[role].step * ofMember;
  }
  /// Writes the table of the members' first blocks, or of any other numbers.
  static void emitTable(llvm::raw_ostream &os, llvm::StringRef type, const llvm::Twine &table,
                        llvm::ArrayRef<int64_t> values);
  /// Declares `workspace`.
  void emitWorkspace(llvm::raw_ostream &os) const;
  /// Declares variables of a block: its `member`, the pointers, and the range `begin` to `end` of its elements.
  void emitBlock(llvm::raw_ostream &os) const;
  /// Writes the head of a loop over a block's elements from `begin` on, with `count` elements per thread at a time.
  void emitLoop(llvm::raw_ostream &os, const llvm::Twine &begin, int64_t count) const;
  /// Writes the head of a loop over the elements that remain after the vectors.
  void emitRestLoop(llvm::raw_ostream &os) const;

private:
  /// Operands `first`, `first` + `step`, …, one per member; with a step of 0 all members have the same operand.
  struct MemberOperand {
    unsigned first;
    int64_t step;
    mlir::MemRefType type;
    bool isOutput;
  };

  Batch(const DeviceKernel &kernel, llvm::ArrayRef<FlatProgram> members, llvm::ArrayRef<MemberOperand> operands,
        int64_t vectorsPerThread);
  static std::optional<llvm::SmallVector<MemberOperand>> findOperands(const DeviceKernel &kernel,
                                                                      llvm::ArrayRef<FlatProgram> members);
  int64_t getElementsPerBlock() const { return threadsPerBlock * vectorsPerThread * width; }

  std::string name;
  size_t numOperands;
  llvm::SmallVector<MemberOperand> operands;
  KernelProgram member;
  DeviceKernel body;
  int64_t width, vectorsPerThread;
  llvm::SmallVector<int64_t> sizes, firstBlocks = {0};
  IndexPrinter indices{false};
};

} // namespace cs336::cuda

#endif // CS336_LIB_TARGET_CUDA_BATCH_H
