//===- Reference.h - NumPy's semantics of the dialect -----------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_TEST_FUZZ_PROGRAM_REFERENCE_H
#define CS336_TEST_FUZZ_PROGRAM_REFERENCE_H

#include "Graph.h"

namespace cs336::fuzz {

/// Computes the values of a node from those of its operands, in float64 and by the definitions of the operations.
/// Parameters, inputs and constants keep their values. Shares no code with the compiler.
void evaluate(Graph &graph, int node);

/// Returns the last output, a scalar, with its derivative along the direction in which the elements of one parameter
/// move. The number is unknown if reverse differentiation could multiply zero by infinity on the way to the loss.
Number differentiate(Graph graph, int parameter, absl::Span<const double> direction);

} // namespace cs336::fuzz

#endif // CS336_TEST_FUZZ_PROGRAM_REFERENCE_H
