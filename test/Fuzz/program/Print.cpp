//===- Print.cpp - Graphs as text of the dialect --------------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Graph.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"

#include <algorithm>

namespace cs336::fuzz {
namespace {

/// Mnemonics in the order of Op.
constexpr const char *kMnemonics[] = {
    "parameter", "input",     "constant", "iota",      "neg",      "exp",        "log",    "rsqrt",
    "sqrt",      "sin",       "cos",      "tanh",      "erf",      "sigmoid",    "silu",   "relu",
    "gelu",      "gelu",      "add",      "sub",       "mul",      "div",        "max",    "min",
    "pow",       "compare",   "and",      "or",        "not",      "select",     "cast",   "broadcast",
    "reshape",   "transpose", "slice",    "pad",       "concat",   "reduce",     "reduce", "matmul",
    "linear",    "embedding", "softmax",  "attention", "rms_norm", "layer_norm", "rope",   "cross_entropy"};
constexpr const char *kPredicates[] = {"eq", "ne", "lt", "le", "gt", "ge"};

std::string typeOf(const TensorType &type) {
  return absl::StrCat("tensor<", absl::StrJoin(type.shape, "x"), type.shape.empty() ? "" : "x",
                      absl::string_view(runtime::Name(type.dtype)), ">");
}

std::string literal(double value, DType dtype) {
  if (dtype == DType::kI1)
    return value != 0 ? "true" : "false";
  if (!runtime::IsFloat(dtype))
    return absl::StrCat(static_cast<int64_t>(value));
  if (std::isinf(value)) {
    const char *minus = dtype == DType::kF64    ? "0xFFF0000000000000"
                        : dtype == DType::kF32  ? "0xFF800000"
                        : dtype == DType::kBF16 ? "0xFF80"
                                                : "0xFC00";
    return minus;
  }
  return absl::StrFormat("%.17e", value);
}

std::string elements(const Node &node, size_t axis, size_t &next) {
  if (axis == node.type.shape.size())
    return literal(node.values[next++].value, node.type.dtype);
  std::vector<std::string> parts;
  for (int64_t i = 0; i != node.type.shape[axis]; ++i)
    parts.push_back(elements(node, axis + 1, next));
  return absl::StrCat("[", absl::StrJoin(parts, ", "), "]");
}

std::string dense(const Node &node) {
  bool isSplat = std::all_of(node.values.begin(), node.values.end(),
                             [&](const Number &number) { return number.value == node.values.front().value; });
  size_t next = 0;
  return isSplat ? literal(node.values.front().value, node.type.dtype) : elements(node, 0, next);
}

/// Writes one function.
class Printer {
public:
  explicit Printer(const Graph &graph) : graph(graph) {}
  std::string print();

private:
  std::string value(int node) const { return absl::StrCat("%", node); }
  std::string type(int node) const { return typeOf(graph.nodes[node].type); }
  std::string operands(const Node &node) const {
    return absl::StrJoin(node.operands, ", ", [&](std::string *out, int operand) { *out += value(operand); });
  }
  std::string operandTypes(const Node &node) const {
    return absl::StrJoin(node.operands, ", ", [&](std::string *out, int operand) { *out += type(operand); });
  }
  std::string argument(int node) const;
  /// Prints operands and attributes, between the mnemonic and the types.
  std::string body(const Node &node) const;
  std::string types(const Node &node) const;
  std::string matmul(const Node &node) const;
  std::string line(int index) const;

  const Graph &graph;
};

std::string Printer::argument(int index) const {
  const Node &node = graph.nodes[index];
  std::string bound = node.integers.empty() ? "" : absl::StrCat(", cs336.bound = ", node.integers[0], " : i64");
  return absl::StrCat(value(index), ": ", type(index), " {cs336.kind = \"",
                      node.op == Op::kParameter ? "parameter" : "input", "\", cs336.name = \"", nameOf(graph, index),
                      "\"", bound, "}");
}

std::string Printer::matmul(const Node &node) const {
  std::string text = absl::StrCat(value(node.operands[0]), ", ", value(node.operands[1]));
  size_t next = 2;
  if (node.flags & kHasAddend)
    absl::StrAppend(&text, " add ", value(node.operands[next++]));
  if (node.flags & kHasBias)
    absl::StrAppend(&text, " bias ", value(node.operands[next]));
  std::vector<const char *> flags;
  for (auto [flag, name] :
       {std::pair(kReluEpilogue, "relu"), std::pair(kTransposeA, "transpose_a"), std::pair(kTransposeB, "transpose_b")})
    if (node.flags & flag)
      flags.push_back(name);
  return flags.empty() ? text : absl::StrCat(text, " {", absl::StrJoin(flags, ", "), "}");
}

std::string Printer::body(const Node &node) const {
  std::string list = absl::StrCat("[", absl::StrJoin(node.integers, ", "), "]");
  std::string number = absl::StrFormat("%.17e", node.number);
  switch (node.op) {
  case Op::kConstant:
    return absl::StrCat("dense<", dense(node), ">");
  case Op::kIota:
    return absl::StrCat("axis = ", node.integers[0]);
  case Op::kGeluTanh:
    return absl::StrCat(operands(node), " {tanh}");
  case Op::kCompare:
    return absl::StrCat(kPredicates[node.integers[0]], " ", operands(node));
  case Op::kBroadcast:
    return absl::StrCat(operands(node), " dims = ", list);
  case Op::kTranspose:
    return absl::StrCat(operands(node), " perm = ", list);
  case Op::kSlice:
  case Op::kPad:
    return absl::StrCat(operands(node), " offsets = ", list);
  case Op::kConcat:
    return absl::StrCat("axis = ", node.integers[0], " ", operands(node));
  case Op::kReduceSum:
    return absl::StrCat("sum ", operands(node), " axes = ", list);
  case Op::kReduceMax:
    return absl::StrCat("max ", operands(node), " axes = ", list, node.flags & kStopGradient ? " {stop_gradient}" : "");
  case Op::kMatmul:
    return matmul(node);
  case Op::kSoftmax:
    return absl::StrCat(value(node.operands[0]),
                        node.operands.size() > 1 ? absl::StrCat(" mask ", value(node.operands[1])) : "",
                        " {scale = ", number, " : f64}");
  case Op::kAttention:
    return absl::StrCat(operands(node), " {scale = ", number, " : f64", node.flags & kCausal ? ", causal}" : "}");
  case Op::kRmsNorm:
  case Op::kLayerNorm:
    return absl::StrCat(operands(node), " eps = ", number);
  case Op::kRope:
    return absl::StrCat(operands(node), " theta = ", number);
  default:
    return operands(node);
  }
}

std::string Printer::types(const Node &node) const {
  std::string result = typeOf(node.type);
  switch (node.op) {
  case Op::kConstant:
    return result;
  case Op::kCompare:
    return type(node.operands[0]);
  case Op::kCast:
  case Op::kBroadcast:
  case Op::kReshape:
  case Op::kTranspose:
  case Op::kSlice:
  case Op::kPad:
  case Op::kConcat:
  case Op::kReduceSum:
  case Op::kReduceMax:
  case Op::kLinear:
  case Op::kEmbedding:
  case Op::kCrossEntropy:
    return absl::StrCat(operandTypes(node), " -> ", result);
  case Op::kMatmul:
    return absl::StrCat(type(node.operands[0]), ", ", type(node.operands[1]), " -> ", result);
  case Op::kSoftmax:
    return operandTypes(node);
  case Op::kRmsNorm:
  case Op::kLayerNorm:
    return absl::StrCat(type(node.operands[0]), ", ", type(node.operands[1]));
  case Op::kAttention: {
    const Dims &query = node.type.shape;
    return absl::StrCat(type(node.operands[0]), ", ", type(node.operands[1]), " -> ",
                        typeOf({node.type.dtype, {query[0], query[2], query[1]}}));
  }
  default:
    return result;
  }
}

std::string Printer::line(int index) const {
  const Node &node = graph.nodes[index];
  std::string second = node.op == Op::kAttention ? absl::StrCat(", %lse", index) : "";
  return absl::StrCat("  ", value(index), second, " = cs336.", kMnemonics[static_cast<int>(node.op)], " ", body(node),
                      " : ", types(node), "\n");
}

std::string Printer::print() {
  std::vector<std::string> arguments, results, names, types;
  std::string lines;
  for (int i = 0, end = static_cast<int>(graph.nodes.size()); i != end; ++i) {
    Op op = graph.nodes[i].op;
    if (op == Op::kParameter || op == Op::kInput)
      arguments.push_back(argument(i));
    else
      lines += line(i);
  }
  for (const Output &output : graph.outputs) {
    names.push_back(value(output.node));
    types.push_back(type(output.node));
    results.push_back(absl::StrCat(types.back(), " {cs336.kind = \"output\", cs336.name = \"", output.name, "\"}"));
  }
  return absl::StrCat("func.func @f(\n    ", absl::StrJoin(arguments, ",\n    "), ")\n    -> (",
                      absl::StrJoin(results, ",\n        "), ")\n    attributes {cs336.mode = #cs336.mode<",
                      graph.hasGradients ? "forward_backward" : "forward", ">} {\n", lines, "  return ",
                      absl::StrJoin(names, ", "), " : ", absl::StrJoin(types, ", "), "\n}\n");
}

} // namespace

int64_t elementsOf(const Dims &shape) {
  int64_t count = 1;
  for (int64_t size : shape)
    count *= size;
  return count;
}

std::string nameOf(const Graph &graph, int node) {
  return absl::StrCat(graph.nodes[node].op == Op::kParameter ? "p" : "x", node);
}

std::string print(const Graph &graph) { return Printer(graph).print(); }

} // namespace cs336::fuzz
