//===- Execute.h - Programs compiled and run in this process ----*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_TEST_FUZZ_PROGRAM_EXECUTE_H
#define CS336_TEST_FUZZ_PROGRAM_EXECUTE_H

#include "Graph.h"

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

#include <map>
#include <string>
#include <vector>

namespace cs336::fuzz {

/// Row-major elements by the name of an output or of a parameter, which is the name of its gradient.
using Results = std::map<std::string, std::vector<double>>;

/// Compiles the graph, whose text is `text`, with options of `--cs336-pipeline` for an instruction set, without caches,
/// and runs it once on one thread in poisoned memory. Errors contain the compiler's diagnostics or the run's error.
absl::StatusOr<Results> compileAndRun(const Graph &graph, const std::string &text, const std::string &pipeline,
                                      const std::string &cpu);

} // namespace cs336::fuzz

#endif // CS336_TEST_FUZZ_PROGRAM_EXECUTE_H
