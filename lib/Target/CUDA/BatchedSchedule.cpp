//===- BatchedSchedule.cpp - One grid that does one thing to many buffers -===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Takes kernels whose outputs fall into members that compute the same of buffers of their own: updates of all
// parameters. The grid's blocks are divided among the members by a table; a block looks up which member it works for
// and takes that member's pointers from the one structure that holds those of all, which lie in memory as parameters
// one by one would. So the text is that of one member, whose body all share, and two tables.
//
// A thread loads everything before it stores anything, as in the pointwise schedule: an output may be the buffer of an
// input of the same member.
//
//===----------------------------------------------------------------------===//

#include "ExpressionPrinter.h"
#include "FlatProgram.h"
#include "IterationSpace.h"
#include "ScalarEmitter.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

#include <limits>

using namespace mlir;
using namespace cs336::cuda;

namespace {

constexpr int64_t threadsPerBlock = 256;
/// Vectors that a thread takes, one after the other: enough that finding the member costs little.
constexpr int64_t vectorsPerThread = 4;

/// Operands `first`, `first` + `step`, …, one a member; the same for all with a step of 0.
struct MemberOperand {
  unsigned first;
  int64_t step;
  MemRefType type;
  bool isOutput;
};

class BatchedKernel : public ScheduledKernel {
public:
  /// Null, with the reason, if the kernel is no batch.
  static std::unique_ptr<BatchedKernel> create(const DeviceKernel &kernel, std::string &whyNot);

  SmallVector<KernelFunction> getFunctions() const override {
    return {{kernel.name, firstBlocks.back(), threadsPerBlock}};
  }
  void collectDeviceSources(DeviceSources &sources) const override {
    sources.insert("batch.cuh");
    if (width > 1)
      sources.insert("vector.cuh");
    member.collectDeviceSources(body, sources);
  }
  std::string describe() const override;
  std::string describeOperands() const override;
  void emit(raw_ostream &os) const override;

private:
  BatchedKernel(const DeviceKernel &kernel, ArrayRef<FlatProgram> members, ArrayRef<MemberOperand> operands,
                int64_t width);

  size_t getNumMembers() const { return sizes.size(); }
  int64_t getElementsPerBlock() const { return threadsPerBlock * vectorsPerThread * width; }
  void emitTable(raw_ostream &os, StringRef type, StringRef name, ArrayRef<int64_t> values) const;
  void emitPointers(raw_ostream &os) const;
  /// The head of a loop over a block's elements, from `begin` on, `count` of them a thread at a time.
  void emitLoop(raw_ostream &os, const Twine &begin, int64_t count) const;

  const DeviceKernel kernel;
  const SmallVector<MemberOperand> operands;
  /// The program of every member, and the operands that it names.
  KernelProgram member;
  DeviceKernel body;
  const int64_t width;
  SmallVector<int64_t> sizes, firstBlocks = {0};
  IndexPrinter indices{false};
};

class BatchedSchedule : public KernelSchedule {
public:
  StringRef getName() const override { return "batched"; }
  std::unique_ptr<ScheduledKernel> schedule(const DeviceKernel &kernel, std::string &whyNot) const override {
    return BatchedKernel::create(kernel, whyNot);
  }
};

} // namespace

std::unique_ptr<KernelSchedule> cs336::cuda::createBatchedSchedule() { return std::make_unique<BatchedSchedule>(); }

//===----------------------------------------------------------------------===//
// What is a batch
//===----------------------------------------------------------------------===//

/// Where the members' operands are, in the kernel's order of the first member's. Nothing if a formula does not say it,
/// or members share more than single elements: then reading once is better.
static std::optional<SmallVector<MemberOperand>> findOperands(const DeviceKernel &kernel,
                                                              ArrayRef<FlatProgram> members) {
  SmallVector<MemberOperand> operands;
  for (auto [role, first] : llvm::enumerate(members.front().operands)) {
    int64_t step = static_cast<int64_t>(members[1].operands[role]) - first;
    for (auto [number, member] : llvm::enumerate(members))
      if (static_cast<int64_t>(member.operands[role]) != first + step * static_cast<int64_t>(number))
        return std::nullopt;
    if (step < 0 || (step == 0 && !members.front().isScalar[role]))
      return std::nullopt;
    operands.push_back({first, step, kernel.operands[first], first >= kernel.numInputs});
  }
  llvm::sort(operands, [](const MemberOperand &lhs, const MemberOperand &rhs) { return lhs.first < rhs.first; });
  return operands;
}

/// As many neighbouring elements a thread as all members' alignments allow. Sizes do not matter: what is left at the
/// end of a member is taken one by one.
static int64_t chooseWidth(const DeviceKernel &kernel, ArrayRef<FlatProgram> members) {
  constexpr int64_t widest = 8;
  int64_t width = widest;
  for (const FlatProgram &member : members) {
    KernelProgram rounded = member.program;
    rounded.extents.front() = llvm::alignTo(rounded.extents.front(), widest);
    width = std::min(width, chooseVectorWidth(rounded, kernel, 0));
  }
  return width;
}

std::unique_ptr<BatchedKernel> BatchedKernel::create(const DeviceKernel &kernel, std::string &whyNot) {
  SmallVector<DeviceKernel> parts = splitIndependentOutputs(kernel);
  if (parts.size() < 2) {
    whyNot = "does only one thing";
    return nullptr;
  }
  std::vector<FlatProgram> members;
  for (const DeviceKernel &part : parts) {
    FailureOr<FlatProgram> member = FlatProgram::read(part, whyNot);
    if (failed(member))
      return nullptr;
    members.push_back(std::move(*member));
  }
  auto forms = llvm::map_range(members, [](const FlatProgram &member) -> StringRef { return member.form; });
  std::optional<SmallVector<MemberOperand>> operands;
  if (llvm::all_equal(forms))
    operands = findOperands(kernel, members);
  if (!operands) {
    whyNot = "does several things, or one to operands in no order";
    return nullptr;
  }
  std::unique_ptr<BatchedKernel> batched(new BatchedKernel(kernel, members, *operands, chooseWidth(kernel, members)));
  if (batched->firstBlocks.back() > std::numeric_limits<int32_t>::max()) {
    whyNot = "needs more blocks than a grid has";
    return nullptr;
  }
  return batched;
}

BatchedKernel::BatchedKernel(const DeviceKernel &kernel, ArrayRef<FlatProgram> members,
                             ArrayRef<MemberOperand> operands, int64_t width)
    : kernel(kernel), operands(operands), member(members.front().program),
      body{kernel.name, kernel.function, {}, {}, 0, {}}, width(width) {
  DenseMap<unsigned, unsigned> roles;
  for (const MemberOperand &operand : operands) {
    roles[operand.first] = body.operands.size();
    body.operands.push_back(operand.type);
    body.numInputs += !operand.isOutput;
  }
  for (Scalar &scalar : member.scalars)
    if (scalar.kind == Scalar::Kind::Load)
      scalar.operand = roles.at(scalar.operand);
  for (Store &store : member.stores)
    store.operand = roles.at(store.operand);

  bool needs64Bit = false;
  for (const FlatProgram &each : members) {
    int64_t size = each.getNumElements(), blocks = llvm::divideCeilSigned(size, getElementsPerBlock());
    sizes.push_back(size);
    firstBlocks.push_back(firstBlocks.back() + blocks);
    needs64Bit |= blocks * getElementsPerBlock() > std::numeric_limits<int32_t>::max();
  }
  indices = IndexPrinter(needs64Bit);
}

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

std::string BatchedKernel::describe() const {
  return llvm::formatv("{0} members, {1} of one a block, of {2} in all", getNumMembers(), getElementsPerBlock(),
                       llvm::sum_of(sizes))
      .str();
}

std::string BatchedKernel::describeOperands() const {
  std::string text;
  for (auto [role, operand] : llvm::enumerate(operands)) {
    std::string element;
    llvm::raw_string_ostream(element) << operand.type.getElementType();
    std::string places = std::to_string(operand.first);
    if (operand.step != 0)
      places += ", " + std::to_string(operand.first + operand.step) + ", …, one a member";
    else
      places += ", of all members";
    text += llvm::formatv("//   {0}: {1}, operand {2}\n", body.getOperandName(role), element, places).str();
  }
  return text;
}

void BatchedKernel::emitTable(raw_ostream &os, StringRef type, StringRef name, ArrayRef<int64_t> values) const {
  constexpr size_t lineWidth = 120;
  os << "static __constant__ const " << type << " " << kernel.name << "_" << name << "[" << values.size() << "] = {";
  std::string line = "   ";
  for (auto [i, value] : llvm::enumerate(values)) {
    std::string text = " " + std::to_string(value) + (i + 1 < values.size() ? "," : "};");
    if (line.size() + text.size() > lineWidth || i == 0) {
      os << (i == 0 ? "" : line) << "\n";
      line = "   ";
    }
    line += text;
  }
  os << line << "\n";
}

void BatchedKernel::emitPointers(raw_ostream &os) const {
  for (auto [role, operand] : llvm::enumerate(operands)) {
    std::string type = (operand.isOutput ? "" : "const ") +
                       ExpressionPrinter::getStorageType(operand.type.getElementType()).str() + " *";
    std::string place = operand.step == 0   ? ""
                        : operand.step == 1 ? "member"
                                            : "member * " + std::to_string(operand.step);
    if (operand.first != 0 || place.empty())
      place = std::to_string(operand.first) + (place.empty() ? "" : " + ") + place;
    os << "  " << type << "const " << body.getOperandName(role) << " = static_cast<" << type << ">(operands.pointers["
       << place << "]);\n";
  }
}

void BatchedKernel::emitLoop(raw_ostream &os, const Twine &begin, int64_t count) const {
  std::string variable = IndexPrinter::getVariable(0);
  os << "  for (" << indices.getType() << " " << variable << " = " << begin << " + threadIdx.x";
  if (count != 1)
    os << " * " << count;
  os << "; " << variable << (count == 1 ? "" : " + " + std::to_string(count - 1)) << " < end; " << variable
     << " += " << threadsPerBlock * count << ") {\n";
}

void BatchedKernel::emit(raw_ostream &os) const {
  StringRef type = indices.getType();
  os << "struct " << kernel.name << "_Operands {\n  void *pointers[" << kernel.operands.size() << "];\n};\n\n"
     << "// Of each member: its first block, and how many elements it has.\n";
  emitTable(os, "unsigned", "firstBlocks", firstBlocks);
  emitTable(os, type, "sizes", sizes);
  os << "\nextern \"C\" __global__ void __launch_bounds__(" << threadsPerBlock << ")\n"
     << kernel.name << "(const __grid_constant__ " << kernel.name << "_Operands operands) {\n"
     << "  const int member = findMember(" << kernel.name << "_firstBlocks, blockIdx.x);\n";
  emitPointers(os);
  std::string perBlock = std::to_string(getElementsPerBlock()) + (type == "unsigned" ? "" : "ull");
  os << "  const " << type << " begin = (blockIdx.x - " << kernel.name << "_firstBlocks[member]) * " << perBlock
     << ";\n"
     << "  const " << type << " left = " << kernel.name << "_sizes[member] - begin;\n"
     << "  const " << type << " end = begin + (left < " << perBlock << " ? left : " << perBlock << ");\n";

  SmallVector<unsigned> all = llvm::to_vector(llvm::seq<unsigned>(0, member.scalars.size())), scalarLoads;
  llvm::copy_if(all, std::back_inserter(scalarLoads), [&](unsigned id) {
    const Scalar &scalar = member.scalars[id];
    return scalar.kind == Scalar::Kind::Load && scalar.index.isSymbolicOrConstant();
  });
  auto emitStep = [&](const ScalarEmitter &outer) {
    ScalarEmitter(outer).emitToStores(all, "    ");
    os << "  }\n";
  };
  ScalarEmitter vectors(body, member, indices, {0, width}, os);
  // What is one element for all is read before the loops.
  vectors.emitLoads(scalarLoads, "  ");
  emitLoop(os, "begin", width);
  emitStep(vectors);
  if (llvm::any_of(sizes, [&](int64_t size) { return size % width != 0; })) {
    ScalarEmitter elements(body, member, indices, {}, os);
    for (unsigned load : scalarLoads)
      elements.provide(load, vectors.getLoaded(load));
    os << "  // Fewer than a vector at the end of a member.\n";
    emitLoop(os, "end - end % " + std::to_string(width), 1);
    emitStep(elements);
  }
  os << "}\n";
}
