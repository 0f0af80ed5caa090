//===- PtxThread.h - A thread of an interpreted kernel ----------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_TEST_RUNTIME_PTXTHREAD_H
#define CS336_TEST_RUNTIME_PTXTHREAD_H

#include "fake_cuda/GlobalMemory.h"

#include <bit>
#include <cstdint>
#include <cstring>
#include <deque>
#include <string>
#include <type_traits>
#include <vector>

namespace cs336::runtime::testing {

/// Dynamic shared memory of a block. It is divided into places of 16 bytes. A place belongs to the thread that has
/// written it: no kernel here makes threads wait for each other.
class SharedMemory {
public:
  /// The address of the first byte. The driver uses the memory before it.
  static constexpr uint32_t kBegin = 1024;
  static constexpr uint32_t kPlace = 16;

  explicit SharedMemory(uint32_t bytes) : values_(bytes), places_((bytes + kPlace - 1) / kPlace) {}

  struct Place {
    static constexpr int kNobody = -1;
    int thread = kNobody;
    bool is_awaited = false; // A copy into it has not been waited for.
  };

  bool Contains(uint32_t address, uint32_t bytes) const {
    return address >= kBegin && uint64_t{address} + bytes <= kBegin + values_.size();
  }
  char *At(uint32_t address) { return &values_[address - kBegin]; }
  Place &PlaceOf(uint32_t address) { return places_[(address - kBegin) / kPlace]; }

private:
  std::vector<char> values_;
  std::vector<Place> places_;
};

/// The state of a thread. Its instructions report what a GPU would not do, or would do at random, with Fail().
class PtxThread {
public:
  PtxThread(int number, std::vector<uint64_t> registers, const GlobalMemory &global, SharedMemory &shared)
      : number_(number), registers_(std::move(registers)), global_(global), shared_(shared) {}

  template <typename T>
  T Get(uint32_t index) const {
    if constexpr (std::is_same_v<T, float>)
      return std::bit_cast<float>(static_cast<uint32_t>(registers_[index]));
    else
      return static_cast<T>(registers_[index]);
  }
  template <typename T>
  void Set(uint32_t index, T value) {
    if constexpr (std::is_same_v<T, float>)
      registers_[index] = std::bit_cast<uint32_t>(value);
    else
      registers_[index] = value;
  }

  /// Returns the host's address of aligned bytes in global memory; otherwise fails, and returns null.
  char *Global(uint64_t address, uint32_t bytes);
  /// Reads aligned bytes of shared memory that this thread has written.
  void ReadShared(uint32_t address, void *values, uint32_t bytes);

  /// Begins an asynchronous copy of 16 bytes to shared memory, of which the last ones are 0 instead of copied. It is
  /// done as late as possible: when a wait requires it.
  void BeginCopy(uint32_t to, uint64_t from, uint32_t copied_bytes);
  /// Ends a group of copies.
  void CommitCopies();
  /// Waits until at most this number of groups, the newest ones, is not done.
  void WaitForCopies(size_t groups);

  void Jump(uint64_t instruction) { next_ = instruction; }
  void Return() { has_ended_ = true; }
  void Fail(std::string fault) {
    fault_ = std::move(fault);
    has_ended_ = true;
  }

  /// Returns the number of the instruction that runs now, and moves to the next one.
  uint64_t Advance() { return next_++; }
  bool has_ended() const { return has_ended_; }
  const std::string &fault() const { return fault_; }

private:
  struct Copy {
    uint32_t to, bytes;
    const char *from;
  };

  const int number_; // In the block.
  std::vector<uint64_t> registers_;
  const GlobalMemory &global_;
  SharedMemory &shared_;
  std::deque<Copy> copies_;    // Copies that are not done, in order.
  std::deque<size_t> groups_;  // The numbers of copies of groups.
  size_t copies_of_group_ = 0; // Copies of the group that has not ended.
  uint64_t next_ = 0;
  bool has_ended_ = false;
  std::string fault_;
};

} // namespace cs336::runtime::testing

#endif // CS336_TEST_RUNTIME_PTXTHREAD_H
