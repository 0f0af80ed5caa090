//===- DeviceSources.cpp - The embedded files of runtime/kernels ----------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DeviceSources.h"
#include "llvm/ADT/STLExtras.h"

namespace {
struct DeviceSource {
  llvm::StringLiteral name;
  llvm::StringLiteral text;
};

// Written by CMake: {"vector.cuh", R"cuda(...)cuda"}, …
constexpr DeviceSource deviceSources[] = {
#include "DeviceSources.inc"
};
} // namespace

/// Returns the text of a file without its header comment.
static llvm::StringRef getText(const DeviceSource &source) {
  llvm::StringRef text = source.text;
  while (text.starts_with("//=") || text.starts_with("// ") || text.starts_with("//\n"))
    text = text.drop_front(text.find('\n') + 1);
  return text.ltrim('\n');
}

void cs336::cuda::emitDeviceSources(const DeviceSources &sources, llvm::raw_ostream &os) {
  assert(llvm::all_of(sources,
                      [](llvm::StringRef name) {
                        return llvm::any_of(deviceSources,
                                            [&](const DeviceSource &source) { return source.name == name; });
                      }) &&
         "a schedule names a file that is not embedded");
  for (const DeviceSource &source : deviceSources)
    if (sources.contains(source.name))
      os << getText(source) << "\n";
}
