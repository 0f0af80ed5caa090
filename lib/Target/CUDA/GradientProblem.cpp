//===- GradientProblem.cpp - Updates by gradients in one kernel -----------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GradientProblem.h"

#include "cs336/Dialect/CS336/IR/CS336Ops.h"
#include "cs336/Dialect/CS336/IR/Strides.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace cs336;
using namespace cs336::cuda;

/// The elements that a thread updates at a time.
static constexpr int64_t updateWidth = 4;

/// Returns the operands of the kernel that make up a factor of a matmul along `axis`, or none for another value.
static SmallVector<BlockArgument> getParts(Value factor, int64_t axis) {
  SmallVector<Value> values = {factor};
  if (auto concat = factor.getDefiningOp<ConcatOp>()) {
    if (static_cast<int64_t>(concat.getAxis()) != axis || !concat->hasOneUse())
      return {};
    values.assign(concat.getOperands().begin(), concat.getOperands().end());
  }
  SmallVector<BlockArgument> parts;
  for (Value value : values) {
    auto argument = dyn_cast<BlockArgument>(value);
    if (!argument || !argument.hasOneUse())
      return {};
    parts.push_back(argument);
  }
  return parts;
}

/// Reads the operands of a matmul. On failure `whyNot` completes the sentence "it …".
static FailureOr<GradientProblem::Member> readMember(MatmulOp matmul, const DeviceKernel &kernel, std::string &whyNot) {
  auto refuse = [&](const Twine &reason) {
    whyNot = reason.str();
    return failure();
  };
  Type element = matmul.getType().getElementType();
  if (matmul.getType().getRank() != 2 || matmul.getTransposeA() || matmul.getTransposeB() || matmul.hasEpilogue())
    return refuse("has a matmul that is not a plain one of matrices");
  SmallVector<BlockArgument> lefts = getParts(matmul.getLhs(), 1), rights = getParts(matmul.getRhs(), 0);
  if (lefts.empty() || lefts.size() != rights.size() || lefts.size() > GradientProblem::mostParts)
    return refuse("has a matmul whose factors are not operands of its own, in at most " +
                  Twine(GradientProblem::mostParts) + " parts");
  if (!element.isBF16() && !element.isF16())
    return refuse("has a matmul that is neither in bf16 nor in f16");
  if (llvm::all_of(matmul->getUsers(), [](Operation *user) { return user->hasTrait<OpTrait::IsTerminator>(); }))
    return refuse("has a matmul that updates nothing");

  MatmulOp::Sizes sizes = matmul.getSizes();
  GradientProblem::Member member{sizes.m, sizes.n, {}};
  for (auto [left, right] : llvm::zip_equal(lefts, rights)) {
    GradientProblem::Part part{left.getArgNumber(), right.getArgNumber(),
                               cast<ShapedType>(left.getType()).getDimSize(1), 0, 0};
    if (cast<ShapedType>(right.getType()).getDimSize(0) != part.tokens)
      return refuse("has a matmul whose factors have parts of different tokens");
    for (auto [operand, longAxis, stride] :
         {std::tuple{part.left, 0, &part.leftStride}, std::tuple{part.right, 1, &part.rightStride}}) {
      SmallVector<int64_t> strides;
      int64_t offset;
      if (failed(getStridesAndOffset(kernel.operands[operand], strides, offset)) || strides[longAxis] != 1)
        return refuse("reads " + kernel.getOperandName(operand) + ", in whose rows tokens do not follow each other");
      *stride = strides[1 - longAxis];
      bool isAligned = *stride * 2 % DeviceKernel::storageAlignment == 0 &&
                       kernel.alignments[operand] == DeviceKernel::storageAlignment;
      if (!isAligned)
        return refuse("reads " + kernel.getOperandName(operand) + ", whose rows are not aligned to 16 bytes");
    }
    member.parts.push_back(part);
  }
  if (member.rows % GradientProblem::slabColumns != 0 || member.columns % GradientProblem::slabColumns != 0)
    return refuse("has a gradient whose sizes are not multiples of 64");
  return member;
}

/// Builds the kernel that reads gradients from memory, in place of the left operands of their first parts, at the
/// builder's insertion point.
static FailureOr<DeviceKernel> buildUpdate(const DeviceKernel &kernel, ArrayRef<MatmulOp> matmuls,
                                           ArrayRef<GradientProblem::Member> members, OpBuilder &builder) {
  exec::KernelOp source = kernel.source;
  IRMapping mapping;
  SmallVector<Type> inputs = llvm::map_to_vector(source.getInTypes(), [](Type type) { return type; });
  DenseMap<Operation *, unsigned> gradients;
  for (auto [each, member] : llvm::zip_equal(matmuls, members)) {
    MatmulOp matmul = each;
    unsigned left = member.parts.front().left;
    inputs[left] = exec::getDenseType(matmul.getType());
    gradients[matmul] = left;
  }
  OpBuilder detached(source.getContext());
  OwningOpRef<exec::KernelOp> update =
      exec::KernelOp::create(detached, source.getLoc(), (source.getSymName() + "_update").str(),
                             builder.getFunctionType(inputs, llvm::to_vector_of<Type>(source.getOutTypes())));
  Block &body = update->getBody().emplaceBlock();
  for (auto [argument, type] : llvm::zip_equal(source.getBody().getArguments(), inputs)) {
    auto shaped = cast<MemRefType>(type);
    mapping.map(argument,
                body.addArgument(RankedTensorType::get(shaped.getShape(), shaped.getElementType()), argument.getLoc()));
  }
  OpBuilder inBody = OpBuilder::atBlockEnd(&body);
  auto isFactor = [](Operation &op) {
    return isa<ConcatOp>(op) && llvm::any_of(op.getUsers(), [](Operation *user) { return isa<MatmulOp>(user); });
  };
  for (Operation &op : source.getBody().front()) {
    if (auto matmul = dyn_cast<MatmulOp>(op))
      mapping.map(matmul.getResult(), body.getArgument(gradients.lookup(matmul)));
    else if (!isFactor(op))
      inBody.clone(op, mapping);
  }
  FailureOr<DeviceKernel> form = DeviceKernel::read(*update, builder);
  if (failed(form))
    return failure();
  form->source = source;
  form->name = kernel.name;
  form->alignments = kernel.alignments;
  return form;
}

FailureOr<GradientProblem> GradientProblem::read(const DeviceKernel &kernel, std::string &whyNot) {
  exec::KernelOp source = kernel.source;
  auto matmuls = llvm::to_vector(source.getBody().getOps<MatmulOp>());
  if (matmuls.empty())
    return failure();
  SmallVector<Member> members;
  for (MatmulOp matmul : matmuls) {
    FailureOr<Member> member = readMember(matmul, kernel, whyNot);
    if (failed(member))
      return failure();
    members.push_back(*member);
  }
  if (!llvm::all_equal(llvm::map_range(members, [](const Member &member) { return member.parts.size(); }))) {
    whyNot = "has matmuls of factors in different numbers of parts";
    return failure();
  }
  func::FuncOp function = kernel.function;
  OpBuilder builder(function);
  FailureOr<DeviceKernel> form = buildUpdate(kernel, matmuls, members, builder);
  if (failed(form)) {
    whyNot = "has an update without a linalg form";
    return failure();
  }
  FailureOr<Batch> update = Batch::read(*form, /*vectorsPerThread=*/1, whyNot, /*leastMembers=*/1);
  if (failed(update))
    return failure();
  if (update->getNumMembers() != members.size() || update->getMember().hasReductions()) {
    whyNot = "does more than one element-wise update for each matmul";
    return failure();
  }
  unsigned gradient = update->getRole(members.front().parts.front().left);
  for (auto [number, member] : llvm::enumerate(members))
    if (update->getOperand(gradient, number) != member.parts.front().left) {
      whyNot = "has matmuls in another order than their updates";
      return failure();
    }
  if (update->getWidth() != updateWidth || update->hasRest()) {
    whyNot = "updates operands that cannot be read 4 elements at a time";
    return failure();
  }
  Type element = matmuls.front().getType().getElementType();
  return GradientProblem{element, std::move(members), std::move(*update)};
}
