//===- PickleWriter.cpp - Dictionaries and lists as a pickle --------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The opcodes are those of Python's pickletools, which documents each.
//
//===----------------------------------------------------------------------===//

#include "PickleWriter.h"

#include <cassert>

using namespace cs336::bench;

static constexpr char kProto = '\x80', kStop = '.', kMark = '(', kMemoize = '\x94';
static constexpr char kEmptyDict = '}', kSetItems = 'u', kEmptyList = ']', kAppends = 'e';
static constexpr char kBinInt = 'J', kBinInt1 = 'K', kBinInt2 = 'M', kLong1 = '\x8a';
static constexpr char kShortBinUnicode = '\x8c', kBinUnicode = 'X', kBinGet = 'h', kLongBinGet = 'j';

PickleWriter::PickleWriter(llvm::raw_ostream &os) : os(os) { os << kProto << '\x04'; }

void PickleWriter::writeBytes(uint64_t value, unsigned count) {
  for (unsigned byte = 0; byte < count; ++byte)
    os << static_cast<char>(value >> (8 * byte) & 0xff);
}

void PickleWriter::writeInteger(int64_t value) {
  assert(value > -(int64_t(1) << 53) && value < (int64_t(1) << 53) && "a double does not hold the integer");
  auto bits = static_cast<uint64_t>(value);
  if (value >= 0 && value < 256) {
    os << kBinInt1;
    return writeBytes(bits, 1);
  }
  if (value >= 0 && value < 65536) {
    os << kBinInt2;
    return writeBytes(bits, 2);
  }
  if (value == static_cast<int32_t>(value)) {
    os << kBinInt;
    return writeBytes(bits, 4);
  }
  os << kLong1 << '\x07';
  writeBytes(bits, 7);
}

void PickleWriter::writeString(llvm::StringRef text) {
  auto [found, isNew] = strings.try_emplace(text, numShared);
  if (!isNew)
    return writeShared(found->second);
  bool isShort = text.size() < 256;
  os << (isShort ? kShortBinUnicode : kBinUnicode);
  writeBytes(text.size(), isShort ? 1 : 4);
  os << text;
  share();
}

void PickleWriter::writeList(size_t size, llvm::function_ref<void(size_t)> writeElement) {
  constexpr size_t kBatch = 1000;
  os << kEmptyList;
  for (size_t begin = 0; begin < size; begin += kBatch) {
    os << kMark;
    for (size_t index = begin; index < std::min(size, begin + kBatch); ++index)
      writeElement(index);
    os << kAppends;
  }
}

void PickleWriter::writeDictionary(llvm::function_ref<void()> writeItems) {
  os << kEmptyDict << kMark;
  writeItems();
  os << kSetItems;
}

PickleWriter::Shared PickleWriter::share() {
  os << kMemoize;
  return numShared++;
}

void PickleWriter::writeShared(Shared shared) {
  bool isShort = shared < 256;
  os << (isShort ? kBinGet : kLongBinGet);
  writeBytes(shared, isShort ? 1 : 4);
}

void PickleWriter::finish() { os << kStop; }
