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

llvm::StringRef cs336::cuda::getDeviceSource(llvm::StringRef name) {
  const DeviceSource *source =
      llvm::find_if(deviceSources, [&](const DeviceSource &source) { return source.name == name; });
  assert(source != std::end(deviceSources) && "a schedule names a file that is not embedded");
  llvm::StringRef text = source->text;
  while (text.starts_with("//=") || text.starts_with("// ") || text.starts_with("//\n"))
    text = text.drop_front(text.find('\n') + 1);
  return text.ltrim('\n');
}
