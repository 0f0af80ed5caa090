//===- FakeNvtx.h - A tool that listens to NVTX -----------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An NVTX library as a profiler would load it into the process, by the name in
// NVTX_INJECTION64_PATH. It records ranges.
//
//===----------------------------------------------------------------------===//

#ifndef CS336_TEST_RUNTIME_FAKENVTX_H
#define CS336_TEST_RUNTIME_FAKENVTX_H

#include <string>
#include <vector>

namespace cs336::runtime::testing {

struct FakeNvtx {
  /// The names of the domains that exist.
  std::vector<std::string> domains;
  /// "+name" for a range that begins, "-name" for one that ends.
  std::vector<std::string> events;
  /// The ranges that are open now, the outermost first.
  std::vector<std::string> open;
};

/// The tool of this process.
FakeNvtx &TheFakeNvtx();

} // namespace cs336::runtime::testing

#endif // CS336_TEST_RUNTIME_FAKENVTX_H
