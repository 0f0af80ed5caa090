//===- AttentionProblem.cpp - An attention as kernels see it --------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AttentionProblem.h"

#include "ExpressionPrinter.h"
#include "cs336/Dialect/CS336/IR/CS336Ops.h"
#include "cs336/Support/FileCache.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/StringExtras.h"

#include <numeric>

using namespace mlir;
using namespace cs336;
using namespace cs336::cuda;

using Role = AttentionProblem::Role;

/// Finds the kernel's operands for the operation's operands and results. On failure, `whyNot` is the reason.
static FailureOr<SmallVector<Role>> findRoles(const DeviceKernel &kernel, Operation *op, ArrayRef<StringRef> names,
                                              std::string &whyNot) {
  SmallVector<Role> roles;
  ArrayRef<StringRef> ofOperands = names.drop_back(op->getNumResults());
  for (auto [name, value] : llvm::zip(ofOperands, op->getOperands()))
    roles.push_back({name, cast<BlockArgument>(value).getArgNumber()});
  unsigned numFound = 0;
  for (auto [name, result] : llvm::zip_equal(names.take_back(op->getNumResults()), op->getResults())) {
    Role &role = roles.emplace_back(Role{name, std::nullopt});
    for (auto [number, yielded] : llvm::enumerate(exec::KernelOp(kernel.source).getYieldedValues()))
      if (yielded == result)
        role.operand = kernel.numInputs + number;
    numFound += role.operand.has_value();
  }
  if (numFound == kernel.outputs.size())
    return roles;
  whyNot = "yields a value that is not a result of the attention, or one result twice";
  return failure();
}

/// Returns the reason why the kernels cannot access the operand's layout, or an empty string if they can.
static std::string whyLayoutIsRefused(const DeviceKernel &kernel, unsigned operand, bool isTable) {
  MemRefType type = kernel.operands[operand];
  std::string text = "reads or writes " + kernel.getOperandName(operand);
  SmallVector<int64_t> strides;
  int64_t offset;
  if (failed(type.getStridesAndOffset(strides, offset)) || ShapedType::isDynamic(offset) ||
      llvm::any_of(strides, ShapedType::isDynamic))
    return text + ", of which strides or the offset are not known";
  // The sums and tables need no contiguous axis.
  bool isOfHeads = type.getRank() == 4 && !isTable;
  if (isOfHeads && strides.back() != 1 && type.getShape().back() != 1)
    return text + ", which does not lie contiguously along its last axis";
  return "";
}

template <typename Op>
static FailureOr<AttentionProblem> readAs(const DeviceKernel &kernel, Op op, bool isBackward, ArrayRef<StringRef> names,
                                          std::string &whyNot) {
  auto sizes = op.getSizes();
  Type element = cast<RankedTensorType>(op.getQuery().getType()).getElementType();
  AttentionProblem problem{{sizes.batch, sizes.queries, sizes.keys, sizes.heads, sizes.keyHeads, sizes.headDim},
                           op.getScale().convertToDouble(),
                           op.getCausal(),
                           isBackward,
                           element,
                           getAttentionArithmetic(element, op.getPrecision()),
                           {},
                           std::nullopt};
  FailureOr<SmallVector<Role>> roles = findRoles(kernel, op, names, whyNot);
  if (failed(roles))
    return failure();
  problem.roles = std::move(*roles);
  SmallVector<unsigned> tables;
  for (Value table : op.getTables())
    tables.push_back(cast<BlockArgument>(table).getArgNumber());
  for (unsigned operand = 0; operand < kernel.operands.size() && whyNot.empty(); ++operand)
    whyNot = whyLayoutIsRefused(kernel, operand, llvm::is_contained(tables, operand));
  if (op.hasScoreFunction() && whyNot.empty()) {
    problem.score = ScoreText{&op.getScoreFunction(), ScoreDistances::analyze(op),
                              element.getIntOrFloatBitWidth() == 16, problem.scale, tables};
    whyNot = problem.score->whyUnknown(kernel);
  }
  if (!whyNot.empty())
    return failure();
  return problem;
}

FailureOr<AttentionProblem> AttentionProblem::read(const DeviceKernel &kernel, std::string &whyNot) {
  static constexpr StringRef forward[] = {"Query", "Key", "Value", "Output", "LogSumExp"};
  static constexpr StringRef backward[] = {"Query",         "Key",         "Value",
                                           "Output",        "LogSumExp",   "OutputGradient",
                                           "QueryGradient", "KeyGradient", "ValueGradient"};
  auto operations = exec::KernelOp(kernel.source).getBody().front().without_terminator();
  if (llvm::none_of(operations, llvm::IsaPred<AttentionOp, AttentionBackwardOp>))
    return failure();
  if (!llvm::hasSingleElement(operations)) {
    whyNot = "computes more than an attention";
    return failure();
  }
  if (auto attention = dyn_cast<AttentionOp>(*operations.begin()))
    return readAs(kernel, attention, /*isBackward=*/false, forward, whyNot);
  return readAs(kernel, cast<AttentionBackwardOp>(*operations.begin()), /*isBackward=*/true, backward, whyNot);
}

AttentionProblem::Layout AttentionProblem::getLayout(const DeviceKernel &kernel, unsigned operand) {
  MemRefType type = kernel.operands[operand];
  int64_t elementBytes = type.getElementTypeBitWidth() / 8, offset;
  SmallVector<int64_t> strides;
  (void)type.getStridesAndOffset(strides, offset);
  // The sums are [batch, head, position] and are read one by one. All other operands are [batch, position, head,
  // element].
  if (type.getRank() == 3)
    return {strides[0], strides[2], strides[1], elementBytes};
  int64_t alignment = kernel.alignments[operand];
  for (auto [stride, size] : llvm::zip(ArrayRef(strides).take_front(3), type.getShape()))
    if (size > 1)
      alignment = std::gcd(alignment, stride * elementBytes);
  return {strides[0], strides[1], strides[2], alignment};
}

std::optional<unsigned> AttentionProblem::getOperand(StringRef role) const {
  return llvm::find_if(roles, [&](const Role &each) { return each.name == role; })->operand;
}

std::string AttentionProblem::getArguments(const DeviceKernel &kernel, ArrayRef<StringRef> names, StringRef last,
                                           bool takesScore) const {
  SmallVector<std::string> arguments;
  for (StringRef name : names) {
    std::optional<unsigned> operand = getOperand(name);
    arguments.push_back(operand ? kernel.getOperandName(*operand) : "nullptr");
  }
  if (!last.empty())
    arguments.push_back(last.str());
  if (score && takesScore)
    arguments.push_back(score->getInitializer(kernel));
  return llvm::join(arguments, ", ");
}

std::string AttentionProblem::describe(const DeviceKernel &kernel) const {
  static constexpr StringLiteral units[] = {"tensor cores", "tensor cores in tf32", "fused multiply-adds"};
  std::string text;
  llvm::raw_string_ostream os(text);
  os << (isBackward ? "attention_backward " : "attention ") << element << " by "
     << units[static_cast<size_t>(arithmetic)] << (isCausal ? ", causal" : "") << ", batches " << sizes.batches
     << ", queries " << sizes.queries << ", keys " << sizes.keys << ", query heads " << sizes.queryHeads
     << ", key heads " << sizes.keyHeads << ", head_dim " << sizes.headDim;
  for (const Role &role : roles) {
    if (!role.operand)
      continue;
    Layout layout = getLayout(kernel, *role.operand);
    os << ", " << role.name << " " << layout.batch << "/" << layout.position << "/" << layout.head << " aligned to "
       << layout.alignment;
  }
  if (!score)
    return text;
  std::string function;
  llvm::raw_string_ostream functionStream(function);
  score->emit(functionStream, kernel);
  CacheKey key;
  key.add(function);
  constexpr size_t digits = 16;
  os << ", score " << StringRef(key.finish()).take_front(digits);
  return text;
}

void AttentionProblem::collectTypeSources(const DeviceKernel &kernel, DeviceSources &sources) const {
  auto insertFor = [&](Type type) {
    if (StringRef source = ExpressionPrinter::getDeviceSource(getElementTypeOrSelf(type)); !source.empty())
      sources.insert(source);
  };
  for (MemRefType operand : kernel.operands)
    insertFor(operand);
  if (score)
    score->function->walk([&](Operation *op) { llvm::for_each(op->getResultTypes(), insertFor); });
}

void AttentionProblem::emit(raw_ostream &os, const DeviceKernel &kernel, StringRef name) const {
  Builder builder(element.getContext());
  FloatType compute = element.isF64() ? FloatType(builder.getF64Type()) : FloatType(builder.getF32Type());
  os << "struct " << name << " {\n"
     << "  static constexpr int batches = " << sizes.batches << ", queryHeads = " << sizes.queryHeads
     << ", keyHeads = " << sizes.keyHeads << ";\n"
     << "  static constexpr int queries = " << sizes.queries << ", keys = " << sizes.keys
     << ", headDim = " << sizes.headDim << ";\n"
     << "  static constexpr " << ExpressionPrinter::getComputeType(compute)
     << " scale = " << ExpressionPrinter::print(builder.getFloatAttr(compute, scale)).text << ";\n"
     << "  static constexpr bool isCausal = " << (isCausal ? "true" : "false") << ";\n"
     << "  // Strides of a batch, a position and a head.\n";
  for (const Role &role : roles) {
    Layout layout = role.operand ? getLayout(kernel, *role.operand) : Layout();
    os << "  using " << role.name << "Layout = HeadLayout<" << layout.batch << ", " << layout.position << ", "
       << layout.head << ", " << layout.alignment << ">;\n";
  }
  if (score)
    score->emit(os, kernel);
  os << "};\n\n";
}
