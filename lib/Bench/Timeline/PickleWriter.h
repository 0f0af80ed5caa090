//===- PickleWriter.h - Dictionaries and lists as a pickle ------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_LIB_BENCH_TIMELINE_PICKLEWRITER_H
#define CS336_LIB_BENCH_TIMELINE_PICKLEWRITER_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/raw_ostream.h"

#include <cstdint>

namespace cs336::bench {

/// Writes one value in pickle protocol 4, with the few opcodes that every reader of pickles has: no imports, no calls,
/// no frames. Equal strings are written once. Lists are extended by at most 1000 elements at a time, as Python does:
/// readers in JavaScript pass each batch as arguments of one call.
class PickleWriter {
public:
  /// The number of a value that `writeShared` repeats.
  using Shared = uint32_t;

  explicit PickleWriter(llvm::raw_ostream &os);

  /// Writes an integer of magnitude below 2^53, which a double holds exactly.
  void writeInteger(int64_t value);
  void writeString(llvm::StringRef text);
  /// Writes a list of the elements that `writeElement` writes, one per call.
  void writeList(size_t size, llvm::function_ref<void(size_t index)> writeElement);
  /// Writes a dictionary. `writeItems` writes keys, each followed by its value.
  void writeDictionary(llvm::function_ref<void()> writeItems);

  /// Makes the value that was written last available to `writeShared`.
  Shared share();
  void writeShared(Shared shared);

  /// Ends the pickle.
  void finish();

  void writeItem(llvm::StringRef key, int64_t value) {
    writeString(key);
    writeInteger(value);
  }
  void writeItem(llvm::StringRef key, llvm::StringRef value) {
    writeString(key);
    writeString(value);
  }

private:
  void writeBytes(uint64_t value, unsigned count);

  llvm::raw_ostream &os;
  llvm::StringMap<Shared> strings;
  Shared numShared = 0;
};

} // namespace cs336::bench

#endif // CS336_LIB_BENCH_TIMELINE_PICKLEWRITER_H
