//===- ExecutableFile.h - Frame of an executable file -----------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A .cs336x file is a 24-byte frame and a FlatBuffers table after it
// (Executable.fbs). Every version can read the frame:
//
//   bytes  0..7   "CS336X\r\n", which also detects damage by text-mode transfers
//   bytes  8..11  format version, little-endian
//   bytes 12..15  CRC-32 (zlib) of bytes 8..11, 16..23 and the table
//   bytes 16..23  bytes in the table, little-endian
//
// The table starts at a multiple of 8 bytes, as FlatBuffers requires.
//
//===----------------------------------------------------------------------===//

#ifndef CS336_RUNTIME_FORMAT_EXECUTABLEFILE_H
#define CS336_RUNTIME_FORMAT_EXECUTABLEFILE_H

#include "cs336/runtime/format/Executable_generated.h"

#include <cstdint>
#include <string>

namespace cs336::format {

/// Raised whenever an older runtime would misread a newer file.
inline constexpr uint32_t kFormatVersion = 7;

inline constexpr char kMagic[] = "CS336X\r\n";
inline constexpr size_t kMagicSize = sizeof(kMagic) - 1;
inline constexpr size_t kFrameSize = 24;

/// The fields of a frame.
struct Frame {
  uint32_t version = kFormatVersion;
  uint32_t checksum = 0;
  uint64_t table_size = 0;
};

/// The checksum that a frame with `version` must carry for `table`.
uint32_t Checksum(uint32_t version, const uint8_t *table, uint64_t table_size);

/// Reads the frame at `bytes`, which holds at least kFrameSize; false if the
/// magic is another. Nothing else is checked.
bool ReadFrame(const uint8_t *bytes, Frame &frame);

/// Puts a frame before a finished table.
std::string Seal(const uint8_t *table, uint64_t table_size, uint32_t version = kFormatVersion);

/// A whole file's bytes for `executable`.
std::string Serialize(const ExecutableT &executable);

} // namespace cs336::format

#endif // CS336_RUNTIME_FORMAT_EXECUTABLEFILE_H
