//===- ExecutableFile.h - The frame of an executable file -------*- C++ -*-===//
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
inline constexpr uint32_t kFormatVersion = 16;

inline constexpr char kMagic[] = "CS336X\r\n";
inline constexpr size_t kMagicSize = sizeof(kMagic) - 1;
inline constexpr size_t kFrameSize = 24;

/// The fields of a frame.
struct Frame {
  uint32_t version = kFormatVersion;
  uint32_t checksum = 0;
  uint64_t table_size = 0;
};

/// Computes the checksum that a frame with `version` must have for `table`.
uint32_t Checksum(uint32_t version, const uint8_t *table, uint64_t table_size);

/// Reads the frame at `bytes`, which must hold at least kFrameSize bytes. Returns
/// false if the magic differs. Checks nothing else.
bool ReadFrame(const uint8_t *bytes, Frame &frame);

/// Returns a finished table with a frame in front of it.
std::string Seal(const uint8_t *table, uint64_t table_size, uint32_t version = kFormatVersion);

/// Returns the bytes of a whole file for `executable`.
std::string Serialize(const ExecutableT &executable);

} // namespace cs336::format

#endif // CS336_RUNTIME_FORMAT_EXECUTABLEFILE_H
