//===- Check.cpp - Comparison with the reference --------------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Bounds of errors are of first order, from Number.h. kSlack times them covers higher orders and operations that the
// compiler computes in several rounded steps. Faults are orders of magnitude larger.
//
//===----------------------------------------------------------------------===//

#include "Check.h"

#include "Reference.h"

#include "absl/strings/str_format.h"

#include <algorithm>

namespace cs336::fuzz {
namespace {

constexpr double kSlack = 4;

std::string describe(const std::string &name, size_t element, double plain, double fused, double expected,
                     double bound) {
  return absl::StrFormat("%s[%u]: %.17g without fusion, %.17g with, %.17g expected, within %.3g", name,
                         static_cast<unsigned>(element), plain, fused, expected, bound);
}

bool isWithin(double actual, double expected, double bound) {
  return actual == expected || std::abs(actual - expected) <= bound;
}

std::string compareOutput(const Graph &graph, const Output &output, const std::vector<double> &plain,
                          const std::vector<double> &fused) {
  const Node &node = graph.nodes[output.node];
  if (plain.size() != node.values.size() || fused.size() != node.values.size())
    return absl::StrFormat("%s has %u and %u elements, not %u", output.name, static_cast<unsigned>(plain.size()),
                           static_cast<unsigned>(fused.size()), static_cast<unsigned>(node.values.size()));
  for (size_t i = 0; i != plain.size(); ++i) {
    const Number &number = node.values[i];
    double bound = kSlack * number.error;
    if (number.isKnown() && !(isWithin(plain[i], number.value, bound) && isWithin(fused[i], number.value, bound)))
      return describe(output.name, i, plain[i], fused[i], number.value, bound);
  }
  return "";
}

bool comparesGradients(const Graph &graph) {
  // In float16, gradients can overflow, which the reference does not predict.
  bool hasF16 = graph.compute == ComputeType::kFP16 ||
                std::any_of(graph.nodes.begin(), graph.nodes.end(),
                            [](const Node &node) { return node.type.dtype == DType::kF16; });
  return graph.hasGradients && !hasF16;
}

/// Compares gradients, which are computed in reverse, with directional derivatives of the reference.
class GradientCheck {
public:
  GradientCheck(const Graph &graph, const Results &plain, const Results &fused);

  /// Returns the difference in the gradient of a parameter, or an empty string.
  std::string compare(int parameter) const;

private:
  std::string compareAlong(const std::string &what, int parameter, absl::Span<const double> direction) const;
  double bound(const Number &loss) const;

  const Graph &graph;
  const Results &plain, &fused;
  /// The rounding of sums in reverse relative to the paths, and the most that underflow can change.
  double sums, underflow;
};

GradientCheck::GradientCheck(const Graph &graph, const Results &plain, const Results &fused)
    : graph(graph), plain(plain), fused(fused) {
  double unit = 0, accumulatorUnit = std::ldexp(1, -53), mostTerms = 0, elements = 0, smallest = 0;
  for (const Node &node : graph.nodes) {
    Arithmetic math(node.type.dtype, graph.compute);
    unit = std::max(unit, math.getUnit());
    smallest = std::max(smallest, math.getSmallest());
    if (runtime::IsFloat(node.type.dtype) && node.type.dtype != DType::kF64)
      accumulatorUnit = std::ldexp(1, -24);
    mostTerms = std::max(mostTerms, static_cast<double>(node.values.size()));
    elements += static_cast<double>(node.values.size());
  }
  // Adjoints of broadcasts and of matmuls sum as many terms as these have elements, at least in float32. Adjoints of
  // values with several uses are added in the value's type.
  sums = mostTerms * accumulatorUnit + static_cast<double>(graph.nodes.size()) * unit;
  // Partial derivatives that underflow are multiplied by values of moderate size.
  underflow = elements * smallest * 1e3;
}

double GradientCheck::bound(const Number &loss) const {
  return kSlack * (loss.slopeError + sums * loss.paths + underflow);
}

std::string GradientCheck::compareAlong(const std::string &what, int parameter,
                                        absl::Span<const double> direction) const {
  Number loss = differentiate(graph, parameter, direction);
  if (!loss.isKnown() || !loss.isSlopeKnown())
    return "";
  const std::string name = nameOf(graph, parameter);
  const std::vector<double> &p = plain.at(name), &f = fused.at(name);
  double plainSlope = 0, fusedSlope = 0;
  for (size_t i = 0; i != p.size(); ++i) {
    if (direction[i] == 0)
      continue;
    plainSlope += p[i] * direction[i];
    fusedSlope += f[i] * direction[i];
  }
  double allowed = bound(loss);
  if (isWithin(plainSlope, loss.slope, allowed) && isWithin(fusedSlope, loss.slope, allowed))
    return "";
  return describe("gradient of " + name + ", " + what, 0, plainSlope, fusedSlope, loss.slope, allowed);
}

std::string GradientCheck::compare(int parameter) const {
  const std::string name = nameOf(graph, parameter);
  const std::vector<double> &p = plain.at(name), &f = fused.at(name);
  size_t size = graph.nodes[parameter].values.size(), largest = 0, different = 0;
  if (p.size() != size || f.size() != size)
    return absl::StrFormat("the gradient of %s has %u and %u elements, not %u", name, static_cast<unsigned>(p.size()),
                           static_cast<unsigned>(f.size()), static_cast<unsigned>(size));
  std::vector<double> direction(size);
  for (size_t i = 0; i != size; ++i) {
    // Each element has another weight, with irregular signs.
    direction[i] = std::sin(static_cast<double>(i * i + 7 * i + 1)) + 1.25 * (i % 3 == 0 ? -1 : 1);
    if (std::abs(p[i]) > std::abs(p[largest]))
      largest = i;
    if (!(std::abs(p[i] - f[i]) <= std::abs(p[different] - f[different])))
      different = i;
  }
  std::string message = compareAlong("sum along a direction", parameter, direction);
  for (size_t element : {largest, different}) {
    if (!message.empty())
      return message;
    std::fill(direction.begin(), direction.end(), 0);
    direction[element] = 1;
    message = compareAlong(absl::StrFormat("element %u", static_cast<unsigned>(element)), parameter, direction);
  }
  return message;
}

std::string compareGradients(const Graph &graph, const Results &plain, const Results &fused) {
  GradientCheck check(graph, plain, fused);
  for (int i = 0, end = static_cast<int>(graph.nodes.size()); i != end; ++i)
    if (graph.nodes[i].op == Op::kParameter)
      if (std::string message = check.compare(i); !message.empty())
        return message;
  return "";
}

} // namespace

Coverage findCoverage(const Graph &graph) {
  Coverage coverage = {.hasGradients = comparesGradients(graph)};
  for (const Output &output : graph.outputs)
    for (const Number &number : graph.nodes[output.node].values) {
      ++coverage.elements;
      coverage.knownElements += number.isKnown();
    }
  return coverage;
}

std::string findDifference(const Graph &graph, const Results &plain, const Results &fused) {
  for (const Output &output : graph.outputs)
    if (std::string text = compareOutput(graph, output, plain.at(output.name), fused.at(output.name)); !text.empty())
      return text;
  return comparesGradients(graph) ? compareGradients(graph, plain, fused) : "";
}

} // namespace cs336::fuzz
