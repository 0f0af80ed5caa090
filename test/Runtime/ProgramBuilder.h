//===- ProgramBuilder.h - Building executables by hand ----------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_TEST_RUNTIME_PROGRAMBUILDER_H
#define CS336_TEST_RUNTIME_PROGRAMBUILDER_H

#include "cs336/runtime/Executable.h"
#include "cs336/runtime/Session.h"
#include "cs336/runtime/Tensor.h"

#include "absl/status/statusor.h"

#include <memory>
#include <string>
#include <vector>

namespace cs336::runtime::testing {

format::TensorTypeT MakeType(DType dtype, std::vector<int64_t> shape);

/// Returns a dense tensor of those elements.
template <typename T>
Tensor MakeTensor(DType dtype, Dims shape, std::vector<T> values) {
  Tensor tensor = *Tensor::Create({dtype, std::move(shape)});
  std::copy(values.begin(), values.end(), tensor.mutable_values<T>().begin());
  return tensor;
}

/// Adds parts to one entry. Functions that add a part return its index.
class EntryBuilder {
public:
  EntryBuilder(format::ExecutableT &executable, format::EntryT &entry) : executable_(executable), entry_(entry) {}

  /// Adds a port and a dense buffer for its storage. Returns the buffer's
  /// index.
  uint32_t Input(const std::string &name, const format::TensorTypeT &type, int64_t bound = 0);
  uint32_t Output(const std::string &name, const format::TensorTypeT &type);
  /// Adds a dense buffer for a variable of the executable.
  uint32_t Variable(const std::string &name);
  /// Adds dense buffers for the part of a variable that a rank stores, and for all parts of a gathered one.
  uint32_t OwnPart(const std::string &name);
  uint32_t AllParts(const std::string &name);
  /// Adds a dense buffer at the end of the arena, which grows.
  uint32_t Arena(const std::string &name, const format::TensorTypeT &type);
  /// Moves a buffer of Arena(), with its allocation.
  void Move(uint32_t buffer, int64_t offset);
  /// Adds another view of a buffer's storage, `offset` bytes further on.
  uint32_t View(uint32_t buffer, std::vector<int64_t> shape, std::vector<int64_t> strides, int64_t offset = 0);
  /// Adds a view of a rank's part along dimension 0 of a dense buffer: by default of this rank's, otherwise of that of
  /// the rank `shift` further on.
  uint32_t PartOf(uint32_t buffer, int64_t shift = 0);

  /// Adds a launch. The first launch of a kernel determines its signature.
  format::LaunchT &Launch(uint32_t kernel, std::vector<uint32_t> operands, std::vector<uint32_t> writes, int64_t rows,
                          int64_t grain = 1, int64_t thread_bytes = 0);
  format::GemmT &Gemm(uint32_t a, uint32_t b, uint32_t c);
  void Copy(uint32_t src, uint32_t dst);
  void Collective(format::CollectiveKind kind, uint32_t src, uint32_t dst,
                  format::Reduction reduction = format::Reduction::sum, uint32_t root = 0);
  /// Adds a collective whose target has only the parts of other ranks.
  void GatherOthers(format::CollectiveKind kind, uint32_t src, uint32_t dst);
  void CheckBound(uint32_t src, uint32_t dst, int64_t bound);
  void Record(uint32_t event);
  void Wait(uint32_t event);

  format::EntryT &entry() { return entry_; }

private:
  std::unique_ptr<format::SignatureT> SignatureOf(const format::LaunchT &launch) const;
  uint32_t AddBuffer(const std::string &name, format::BufferSource source, uint32_t index,
                     const format::TensorTypeT &type, int64_t offset);
  template <typename Body>
  Body &AddCommand(Body body);

  format::ExecutableT &executable_;
  format::EntryT &entry_;
};

/// Adds parts to an executable.
class ProgramBuilder {
public:
  format::VariableT &Variable(const std::string &name, const format::TensorTypeT &type,
                              format::VariableKind kind = format::VariableKind::parameter);
  /// Adds views to the variable, one after the other.
  static void AddViews(format::VariableT &variable, std::vector<std::pair<std::string, int64_t>> rows);
  EntryBuilder Entry(const std::string &name, format::Mode mode = format::Mode::forward);
  /// Adds the kernel of test/Runtime/kernels with that symbol. Returns its
  /// index.
  uint32_t Kernel(const std::string &symbol);

  std::string Bytes() const;
  absl::StatusOr<std::shared_ptr<const Executable>> Build() const;

  format::ExecutableT &executable() { return executable_; }

private:
  format::ExecutableT executable_;
};

absl::Span<const uint8_t> AsBytes(const std::string &text);

/// A program with something of every kind: packed parameters, a derived value
/// that "prepare" computes, and "train", which reads tokens below 16, launches
/// a kernel, runs a GEMM, copies and counts its steps.
ProgramBuilder SampleProgram();

/// A program with rows = table[ids[1]] and then checked_rows =
/// table[check_bound(state)], with tables of 5 rows. Buffers: ids, rows,
/// checked_rows, table, state, ids[1], checked and, for tests, other, of 3 i64
/// in the arena.
ProgramBuilder GatherProgram();

} // namespace cs336::runtime::testing

#endif // CS336_TEST_RUNTIME_PROGRAMBUILDER_H
