//===- ProgramFuzzer.cpp - Random programs, compiled and compared ---------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// libFuzzer's entry points. A recipe (Recipe.h) becomes a program (Decoder.h) with the values of NumPy's semantics
// (Reference.h) and bounds of rounding errors (Number.h). The program is compiled without fusion and with the recipe's
// choices, and run both ways (Execute.h). Both results must agree with the reference (Check.h), gradients included.
//
// If CS336_FUZZ_PRINT is set, the program and its options are printed before they are compiled, as input for cs336-opt
// and cs336-run.
//
//===----------------------------------------------------------------------===//

#include "Check.h"
#include "Decoder.h"
#include "Execute.h"
#include "Recipe.h"

#include <cstdio>
#include <cstdlib>

using namespace cs336::fuzz;

namespace {

std::string describe(const Case &program, const std::string &text) {
  Coverage coverage = findCoverage(program.graph);
  return "// Compares " + std::to_string(coverage.knownElements) + " of " + std::to_string(coverage.elements) +
         " elements, and " + (coverage.hasGradients ? "gradients" : "no gradients") + ".\n" + "// --cs336-pipeline=\"" +
         program.plain + "\"\n// --cs336-pipeline=\"" + program.fused + "\"\n// --cpu=" + program.cpu + "\n" + text;
}

[[noreturn]] void fail(const Case &program, const std::string &text, const std::string &message) {
  std::fprintf(stderr, "%s\n%s", message.c_str(), describe(program, text).c_str());
  std::abort();
}

Results runOrFail(const Case &program, const std::string &text, const std::string &pipeline) {
  absl::StatusOr<Results> results = compileAndRun(program.graph, text, pipeline, program.cpu);
  if (results.ok())
    return *std::move(results);
  if (!program.graph.mayFail || absl::IsInternal(results.status()))
    fail(program, text, pipeline + ": " + results.status().ToString());
  return {};
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  Case program = decode(Recipe::fromBytes({data, size}));
  std::string text = print(program.graph);
  if (std::getenv("CS336_FUZZ_PRINT"))
    std::printf("%s", describe(program, text).c_str());
  Results plain = runOrFail(program, text, program.plain), fused = runOrFail(program, text, program.fused);
  if (plain.empty() || fused.empty())
    return 0;
  std::string difference = findDifference(program.graph, plain, fused);
  if (!difference.empty())
    fail(program, text, difference);
  return 0;
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned int seed) {
  Recipe recipe = Recipe::fromBytes({data, size});
  recipe.mutate(seed);
  return recipe.write({data, max_size});
}

extern "C" size_t LLVMFuzzerCustomCrossOver(const uint8_t *first, size_t firstSize, const uint8_t *second,
                                            size_t secondSize, uint8_t *out, size_t max_size, unsigned int seed) {
  Recipe recipe = Recipe::fromBytes({first, firstSize});
  recipe.crossOver(Recipe::fromBytes({second, secondSize}), seed);
  return recipe.write({out, max_size});
}
