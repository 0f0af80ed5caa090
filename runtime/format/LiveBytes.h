//===- LiveBytes.h - Memory that commands need ------------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_RUNTIME_FORMAT_LIVEBYTES_H
#define CS336_RUNTIME_FORMAT_LIVEBYTES_H

#include "cs336/runtime/format/Executable_generated.h"

#include <cstdint>
#include <vector>

namespace cs336::runtime {

/// Returns the live bytes of the entry's arena while each of its commands runs: those that the command or a later one
/// reads before they are written again, those that it writes, its workspace, and written outputs.
std::vector<int64_t> LiveBytes(const format::EntryT &entry);

} // namespace cs336::runtime

#endif // CS336_RUNTIME_FORMAT_LIVEBYTES_H
