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

/// A kernel whose outputs fall into members that do the same to buffers of their own, and how one grid does it. The
/// blocks are divided among the members by a table; a block looks up which member it works for and takes that member's
/// pointers from the one structure that holds those of all, which lie in memory as parameters one by one would. So the
/// text is that of one member, and two tables.
class Batch {
public:
  static constexpr int64_t threadsPerBlock = 256;

  /// A thread takes `vectorsPerThread` vectors, one after the other: enough that finding the member costs little. On
  /// failure `whyNot` completes the sentence "it …".
  static mlir::FailureOr<Batch> read(const DeviceKernel &kernel, int64_t vectorsPerThread, std::string &whyNot);

  /// What every member computes, of the operands that `getBody` has: one for all members' that have that role.
  const KernelProgram &getMember() const { return member; }
  const DeviceKernel &getBody() const { return body; }
  /// Neighbouring elements that a thread takes at once.
  int64_t getWidth() const { return width; }
  /// Returns whether a member ends with fewer elements than that.
  bool hasRest() const;
  size_t getNumMembers() const { return sizes.size(); }
  int64_t getLargestSize() const { return *llvm::max_element(sizes); }
  int64_t getNumBlocks() const { return firstBlocks.back(); }
  const IndexPrinter &getIndices() const { return indices; }

  /// For comments: how the blocks are divided, and which operands of the kernel have which role.
  std::string describe() const;
  std::string describeOperands() const;

  /// The structure of the pointers, and the tables.
  void emitTables(llvm::raw_ostream &os, bool hasWorkspace) const;
  /// The head of a function that takes the structure, as `operands`, up to the opening brace.
  void emitSignature(llvm::raw_ostream &os, llvm::StringRef symbol) const;
  /// The name of the table of the members' first blocks, with one more for the end.
  std::string getFirstBlocks() const { return name + "_firstBlocks"; }
  /// Variables for the pointers of the variable `member`.
  void emitPointers(llvm::raw_ostream &os) const;
  /// Declares `workspace`.
  void emitWorkspace(llvm::raw_ostream &os) const;
  /// Of a block: its `member`, the pointers, and the places `begin` and `end` of its elements.
  void emitBlock(llvm::raw_ostream &os) const;
  /// The head of a loop over a block's elements from `begin` on, `count` of them a thread at a time.
  void emitLoop(llvm::raw_ostream &os, const llvm::Twine &begin, int64_t count) const;
  /// The same over the elements that vectors leave.
  void emitRestLoop(llvm::raw_ostream &os) const;

private:
  /// Operands `first`, `first` + `step`, …, one a member; the same for all with a step of 0.
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
  void emitTable(llvm::raw_ostream &os, llvm::StringRef type, const llvm::Twine &table,
                 llvm::ArrayRef<int64_t> values) const;

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
