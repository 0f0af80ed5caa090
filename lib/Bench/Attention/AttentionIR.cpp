//===- AttentionIR.cpp - Attention alone, as programs ---------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Bench/Attention/AttentionIR.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

#include <cmath>
#include <vector>

using namespace cs336;
using namespace cs336::bench;

double AttentionCase::getForwardFlops() const {
  double scores = static_cast<double>(batchSize * numHeads) * static_cast<double>(length) * static_cast<double>(length);
  return (part == Part::Whole ? 4 : 2) * scores * static_cast<double>(headDim) * (isCausal ? 0.5 : 1);
}

namespace {
/// Writes functions of one case.
class AttentionWriter {
public:
  explicit AttentionWriter(const AttentionCase &attention);

  void writeFunction(llvm::StringRef mode);
  std::string take() { return std::move(text); }

private:
  using Shape = std::vector<int64_t>;

  std::string tensor(const Shape &shape, llvm::StringRef element) const;
  std::string tensor(const Shape &shape) const { return tensor(shape, element); }
  /// One operation: `%name = cs336.<rest>`, in the part of the model called `source`.
  void write(llvm::StringRef name, llvm::StringRef source, const llvm::Twine &rest) {
    stream << "  %" << name << " = cs336." << rest << " loc(\"attn." << source << "\")\n";
  }
  std::string splitHeads(llvm::StringRef name);
  void writeMask();
  void writeSoftmax();

  const AttentionCase &attention;
  bool hasHeads, hasValues;
  std::string element;
  /// Of q, k and v as they are stored; of the products' operands; of scores; of their rows; of o.
  Shape stored, heads, scores, rows, result;
  std::string text;
  llvm::raw_string_ostream stream{text};
};
} // namespace

AttentionWriter::AttentionWriter(const AttentionCase &attention)
    : attention(attention), hasHeads(attention.numHeads > 1), hasValues(attention.part == AttentionCase::Part::Whole) {
  bool isLow = attention.computeType == ComputeType::BF16 || attention.computeType == ComputeType::FP16;
  element = !isLow ? "f32" : attention.computeType == ComputeType::BF16 ? "bf16" : "f16";
  int64_t batch = attention.batchSize, length = attention.length;
  rows = {batch, length};
  stored = {batch, length, attention.headDim};
  if (hasHeads) {
    rows = {batch, attention.numHeads, length};
    stored = {batch, length, attention.numHeads, attention.headDim};
  }
  heads = scores = rows;
  heads.push_back(attention.headDim);
  scores.push_back(length);
  result = hasValues ? stored : scores;
}

std::string AttentionWriter::tensor(const Shape &shape, llvm::StringRef elementType) const {
  std::string name = "tensor<";
  for (int64_t size : shape)
    name += std::to_string(size) + "x";
  return name + elementType.str() + ">";
}

/// The name of `name` as the products take it.
std::string AttentionWriter::splitHeads(llvm::StringRef name) {
  if (!hasHeads)
    return name.str();
  write((name + "h").str(), "split_heads",
        "transpose %" + name + " perm = [0, 2, 1, 3] : " + tensor(stored) + " -> " + tensor(heads));
  return (name + "h").str();
}

/// Query i sees key j where i >= j.
void AttentionWriter::writeMask() {
  std::string positions = tensor({attention.length, attention.length}, "i32");
  std::string visible = tensor({attention.length, attention.length}, "i1"), mask = tensor(scores, "i1");
  write("query", "mask", "iota axis = 0 : " + positions);
  write("key", "mask", "iota axis = 1 : " + positions);
  write("visible", "mask", "compare ge %query, %key : " + positions);
  write("mask", "mask",
        "broadcast %visible dims = " + llvm::StringRef(hasHeads ? "[2, 3]" : "[1, 2]") + " : " + visible + " -> " +
            mask);
  bool isWide = element == "f32";
  write("hidden", "mask",
        "constant dense<" +
            llvm::StringRef(isWide              ? "0xFF800000"
                            : element == "bf16" ? "0xFF80"
                                                : "0xFC00") +
            "> : " + tensor(scores));
  write("masked", "mask", "select %mask, %scaled, %hidden : " + tensor(scores));
}

void AttentionWriter::writeSoftmax() {
  std::string type = tensor(scores), row = tensor(rows);
  std::string last = hasHeads ? "[3]" : "[2]", others = hasHeads ? "[0, 1, 2]" : "[0, 1]";
  std::string x = attention.isCausal ? "%masked" : "%scaled";
  write("max", "softmax", "reduce max " + x + " axes = " + last + " {stop_gradient} : " + type + " -> " + row);
  write("maxes", "softmax", "broadcast %max dims = " + others + " : " + row + " -> " + type);
  write("shifted", "softmax", "sub " + x + ", %maxes : " + type);
  write("e", "softmax", "exp %shifted : " + type);
  write("sum", "softmax", "reduce sum %e axes = " + last + " : " + type + " -> " + row);
  write("sums", "softmax", "broadcast %sum dims = " + others + " : " + row + " -> " + type);
  write("p", "softmax", "div %e, %sums : " + type);
}

void AttentionWriter::writeFunction(llvm::StringRef mode) {
  std::string io = tensor(stored), output = tensor(result);
  bool hasLoss = mode != "forward";
  stream << "func.func @" << mode << "(";
  auto writeVariable = [&](llvm::StringRef name, llvm::StringRef kind, llvm::StringRef type) {
    stream << llvm::formatv("{0}%{1}: {2} {{cs336.kind = \"{3}\", cs336.name = \"{1}\", cs336.init = "
                            "#cs336.init<truncated_normal, std = 1.0, cut = 3.0>}",
                            name == "q" ? "" : ", ", name, type, kind);
  };
  static constexpr llvm::StringLiteral kNames[] = {"q", "k", "v"};
  for (llvm::StringRef name : llvm::ArrayRef(kNames).take_front(hasValues ? 3 : 2))
    writeVariable(name, "parameter", io);
  if (hasLoss)
    writeVariable("weights", "state", output);
  stream << ") -> (" << (hasLoss ? tensor({}) : output) << " {cs336.kind = \"output\", cs336.name = \""
         << (hasLoss ? "loss" : "o") << "\"}) attributes {cs336.mode = #cs336.mode<" << mode << ">} {\n";

  std::string q = splitHeads("q"), k = splitHeads("k");
  std::string operand = tensor(heads), type = tensor(scores);
  write("scores", "scores",
        "matmul %" + q + ", %" + k + " {transpose_b} : " + operand + ", " + operand + " -> " + type);
  write("scale", "scale",
        llvm::formatv("constant dense<{0:e17}> : {1}", 1 / std::sqrt(static_cast<double>(attention.headDim)), type)
            .str());
  write("scaled", "scale", "mul %scores, %scale : " + type);
  if (attention.isCausal)
    writeMask();
  writeSoftmax();
  std::string o = "p";
  if (hasValues) {
    std::string v = splitHeads("v");
    o = "oh";
    write(o, "values", "matmul %p, %" + v + " : " + type + ", " + operand + " -> " + operand);
  }
  if (hasValues && hasHeads) {
    o = "o";
    write(o, "merge_heads", "transpose %oh perm = [0, 2, 1, 3] : " + operand + " -> " + io);
  }
  if (!hasLoss) {
    stream << "  return %" << o << " : " << output << "\n}\n";
    return;
  }
  std::string scalar = tensor({});
  write("weighted", "loss", "mul %" + o + ", %weights : " + output);
  write("loss", "loss",
        "reduce sum %weighted axes = " + llvm::StringRef(hasHeads ? "[0, 1, 2, 3]" : "[0, 1, 2]") + " : " + output +
            " -> " + scalar);
  stream << "  return %loss : " << scalar << "\n}\n";
}

std::string cs336::bench::makeAttentionForward(const AttentionCase &attention) {
  AttentionWriter writer(attention);
  writer.writeFunction("forward");
  return writer.take();
}

std::string cs336::bench::makeAttentionBackward(const AttentionCase &attention) {
  AttentionWriter writer(attention);
  writer.writeFunction("loss");
  writer.writeFunction("forward_backward");
  return writer.take();
}
