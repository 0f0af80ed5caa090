//===- ParserFuzzer.cpp - libFuzzer entry for the readers -----------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One program per reader, which CS336_FUZZ_READER names. Executables are
// resealed, because a mutation would not keep the checksum valid.
//
//===----------------------------------------------------------------------===//

#include "cs336/runtime/Executable.h"
#include "cs336/runtime/TensorFile.h"
#include "cs336/runtime/format/ExecutableFile.h"

#include <cstddef>
#include <cstdint>

namespace {

using Bytes = absl::Span<const uint8_t>;

[[maybe_unused]] void ReadExecutable(Bytes bytes) {
  (void)cs336::runtime::Executable::FromBytes(bytes);
  if (bytes.size() <= cs336::format::kFrameSize)
    return;
  bytes.remove_prefix(cs336::format::kFrameSize);
  std::string sealed = cs336::format::Seal(bytes.data(), bytes.size());
  (void)cs336::runtime::Executable::FromBytes({reinterpret_cast<const uint8_t *>(sealed.data()), sealed.size()});
}
[[maybe_unused]] void ReadNpy(Bytes bytes) { (void)cs336::runtime::ParseNpy(bytes); }
[[maybe_unused]] void ReadNpz(Bytes bytes) { (void)cs336::runtime::ParseNpz(bytes); }
[[maybe_unused]] void ReadSafetensors(Bytes bytes) { (void)cs336::runtime::ParseSafetensors(bytes); }

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  CS336_FUZZ_READER({data, size});
  return 0;
}
