//===- ExecutableFile.cpp - Frame of an executable file -------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/runtime/format/ExecutableFile.h"

#include <bit>
#include <cstring>
#include <zlib.h>

namespace cs336::format {

static_assert(std::endian::native == std::endian::little, "the frame is read and written as little-endian memory");

uint32_t Checksum(uint32_t version, const uint8_t *table, uint64_t table_size) {
  uint8_t fields[12];
  std::memcpy(fields, &version, 4);
  std::memcpy(fields + 4, &table_size, 8);
  uLong crc = crc32_z(0, fields, sizeof(fields));
  return static_cast<uint32_t>(crc32_z(crc, table, table_size));
}

bool ReadFrame(const uint8_t *bytes, Frame &frame) {
  if (std::memcmp(bytes, kMagic, kMagicSize) != 0)
    return false;
  std::memcpy(&frame.version, bytes + 8, 4);
  std::memcpy(&frame.checksum, bytes + 12, 4);
  std::memcpy(&frame.table_size, bytes + 16, 8);
  return true;
}

std::string Seal(const uint8_t *table, uint64_t table_size, uint32_t version) {
  uint32_t checksum = Checksum(version, table, table_size);
  std::string file(kFrameSize + table_size, '\0');
  std::memcpy(file.data(), kMagic, kMagicSize);
  std::memcpy(file.data() + 8, &version, 4);
  std::memcpy(file.data() + 12, &checksum, 4);
  std::memcpy(file.data() + 16, &table_size, 8);
  std::memcpy(file.data() + kFrameSize, table, table_size);
  return file;
}

std::string Serialize(const ExecutableT &executable) {
  flatbuffers::FlatBufferBuilder builder(1 << 16);
  FinishExecutableBuffer(builder, CreateExecutable(builder, &executable));
  return Seal(builder.GetBufferPointer(), builder.GetSize());
}

} // namespace cs336::format
