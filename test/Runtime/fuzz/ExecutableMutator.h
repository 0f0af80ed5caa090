//===- ExecutableMutator.h - Changes of fields of programs ------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_TEST_RUNTIME_FUZZ_EXECUTABLEMUTATOR_H
#define CS336_TEST_RUNTIME_FUZZ_EXECUTABLEMUTATOR_H

#include "cs336/runtime/format/Executable_generated.h"

#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace cs336::runtime::testing {

/// Makes changes that an attacker could make in an executable before computing
/// its checksum again. Indices, offsets, sizes, strides, types and counts
/// become neighbouring, huge or negative ones; commands and buffers are
/// swapped, dropped or duplicated. Machine code does not change, and neither do
/// kernels' signatures, unless a symbol ties them to their code.
class ExecutableMutator {
public:
  explicit ExecutableMutator(uint64_t seed) : random_(seed) {}

  /// Makes one change, or a few related ones.
  void Mutate(format::ExecutableT &executable);

private:
  void MutateVariable(format::ExecutableT &executable);
  void MutateRanges(format::OperandSignatureT &operand);
  void MutateKernel(format::ExecutableT &executable);
  void MutateEntry(format::EntryT &entry);
  void MutatePorts(format::EntryT &entry);
  void MutateBuffer(format::EntryT &entry);
  void MutateAllocation(format::EntryT &entry);
  void MutateBounds(format::EntryT &entry);
  void MutateOrder(format::EntryT &entry);
  void MutateCommand(const format::ExecutableT &executable, format::EntryT &entry);
  void MutateBody(const format::ExecutableT &executable, const format::EntryT &entry, format::LaunchT &launch);
  void MutateBody(const format::ExecutableT &executable, const format::EntryT &entry, format::GemmT &gemm);
  void MutateBody(const format::ExecutableT &executable, const format::EntryT &entry, format::CopyT &copy);
  void MutateBody(const format::ExecutableT &executable, const format::EntryT &entry, format::CollectiveT &collective);
  void MutateBody(const format::ExecutableT &executable, const format::EntryT &entry, format::RecordT &record);
  void MutateBody(const format::ExecutableT &executable, const format::EntryT &entry, format::WaitT &wait);
  void MutateBody(const format::ExecutableT &executable, const format::EntryT &entry, format::CheckBoundT &check);
  void MutateOptionalBuffer(const format::EntryT &entry, flatbuffers::Optional<uint32_t> &buffer);
  void MutateShape(std::vector<int64_t> &shape);
  void MutateNumber(int64_t &number);
  void MutateNumber(double &number);
  void MutateIndex(uint32_t &index, size_t size);
  template <typename Enum>
  void MutateEnum(Enum &value);

  size_t Below(size_t count) { return random_() % count; }
  template <typename T>
  T &Pick(std::vector<T> &list) {
    return list[Below(list.size())];
  }

  std::mt19937_64 random_;
};

/// Unpacks the executable in `bytes`, a whole file. Checks only the frame, the
/// checksum and the structure of the table. Returns null if these are wrong.
std::unique_ptr<format::ExecutableT> Unpack(const uint8_t *bytes, size_t size);

} // namespace cs336::runtime::testing

#endif // CS336_TEST_RUNTIME_FUZZ_EXECUTABLEMUTATOR_H
