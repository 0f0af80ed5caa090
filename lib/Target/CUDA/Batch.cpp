//===- Batch.cpp - Members that do one thing to buffers of their own ------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Batch.h"
#include "ExpressionPrinter.h"
#include "IterationSpace.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

#include <limits>

using namespace mlir;
using namespace cs336::cuda;

//===----------------------------------------------------------------------===//
// Recognition of batches
//===----------------------------------------------------------------------===//

/// Returns the members' operands, in the order of the first member's operands in the kernel. Returns nullopt if no
/// linear formula gives their positions, or if members share more than single elements, because then it is better to
/// read these once.
std::optional<SmallVector<Batch::MemberOperand>> Batch::findOperands(const DeviceKernel &kernel,
                                                                     ArrayRef<FlatProgram> members) {
  SmallVector<MemberOperand> operands;
  for (auto [role, first] : llvm::enumerate(members.front().operands)) {
    int64_t step = members.size() == 1 ? 0 : static_cast<int64_t>(members[1].operands[role]) - first;
    for (auto [number, member] : llvm::enumerate(members))
      if (static_cast<int64_t>(member.operands[role]) != first + step * static_cast<int64_t>(number))
        return std::nullopt;
    if (step < 0 || (step == 0 && members.size() > 1 && !members.front().isScalar[role]))
      return std::nullopt;
    operands.push_back({first, step, kernel.operands[first], first >= kernel.numInputs});
  }
  llvm::sort(operands, [](const MemberOperand &lhs, const MemberOperand &rhs) { return lhs.first < rhs.first; });
  return operands;
}

/// Returns the largest number of consecutive elements per thread that the alignments of all members allow. Sizes do not
/// matter: the remaining elements at the end of a member are computed one by one.
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

FailureOr<Batch> Batch::read(const DeviceKernel &kernel, int64_t vectorsPerThread, std::string &whyNot,
                             size_t leastMembers) {
  SmallVector<DeviceKernel> parts = splitIndependentOutputs(kernel);
  if (parts.size() < leastMembers) {
    whyNot = "has a single computation";
    return failure();
  }
  std::vector<FlatProgram> members;
  for (const DeviceKernel &part : parts) {
    FailureOr<FlatProgram> member = FlatProgram::read(part, whyNot);
    if (failed(member))
      return failure();
    members.push_back(std::move(*member));
  }
  auto forms = llvm::map_range(members, [](const FlatProgram &member) { return ArrayRef(member.form); });
  std::optional<SmallVector<MemberOperand>> operands;
  if (llvm::all_equal(forms))
    operands = findOperands(kernel, members);
  if (!operands) {
    whyNot = "has different computations, or equal ones on operands in an irregular order";
    return failure();
  }
  Batch batch(kernel, members, *operands, vectorsPerThread);
  if (batch.getNumBlocks() > std::numeric_limits<int32_t>::max()) {
    whyNot = "needs more blocks than a grid has";
    return failure();
  }
  return batch;
}

Batch::Batch(const DeviceKernel &kernel, ArrayRef<FlatProgram> members, ArrayRef<MemberOperand> operands,
             int64_t vectorsPerThread)
    : name(kernel.name), numOperands(kernel.operands.size()), operands(operands), member(members.front().program),
      body{kernel.source, kernel.name, kernel.function, {}, {}, 0, {}}, width(chooseWidth(kernel, members)),
      vectorsPerThread(vectorsPerThread) {
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

std::string Batch::describe() const {
  return llvm::formatv("{0} members with {1} elements in all, {2} elements of one member per block", getNumMembers(),
                       llvm::sum_of(sizes), getElementsPerBlock())
      .str();
}

std::string Batch::describeOperands() const {
  std::string text;
  for (auto [role, operand] : llvm::enumerate(operands)) {
    std::string element;
    llvm::raw_string_ostream(element) << operand.type.getElementType();
    std::string places = std::to_string(operand.first);
    if (operand.step != 0)
      places += ", " + std::to_string(operand.first + operand.step) + ", …, one per member";
    else
      places += ", the same for all members";
    text += llvm::formatv("//   {0}: {1}, operand {2}\n", body.getOperandName(role), element, places).str();
  }
  return text;
}

void Batch::emitTable(raw_ostream &os, StringRef type, const Twine &table, ArrayRef<int64_t> values) {
  constexpr size_t lineWidth = 120;
  os << "static __constant__ const " << type << " " << table << "[" << values.size() << "] = {";
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

std::string Batch::getPointerType(unsigned role) const {
  const MemberOperand &operand = operands[role];
  return (operand.isOutput ? "" : "const ") + ExpressionPrinter::getStorageType(operand.type.getElementType()).str() +
         " *";
}

std::string Batch::printPointer(unsigned role) const {
  const MemberOperand &operand = operands[role];
  std::string place = operand.step == 0   ? ""
                      : operand.step == 1 ? "member"
                                          : "member * " + std::to_string(operand.step);
  if (operand.first != 0 || place.empty())
    place = std::to_string(operand.first) + (place.empty() ? "" : " + ") + place;
  return "static_cast<" + getPointerType(role) + ">(operands.pointers[" + place + "])";
}

void Batch::emitPointers(raw_ostream &os) const {
  for (unsigned role = 0; role < operands.size(); ++role)
    os << "  " << getPointerType(role) << "const " << body.getOperandName(role) << " = " << printPointer(role) << ";\n";
}

unsigned Batch::getRole(unsigned operand) const {
  const auto *found = llvm::find_if(operands, [&](const MemberOperand &role) { return role.first == operand; });
  assert(found != operands.end() && "not an operand of the first member");
  return found - operands.begin();
}

void Batch::emitLoop(raw_ostream &os, const Twine &begin, int64_t count) const {
  std::string variable = IndexPrinter::getVariable(0);
  os << "  for (" << indices.getType() << " " << variable << " = " << begin << " + threadIdx.x";
  if (count != 1)
    os << " * " << count;
  os << "; " << variable << (count == 1 ? "" : " + " + std::to_string(count - 1)) << " < end; " << variable
     << " += " << threadsPerBlock * count << ") {\n";
}

void Batch::emitRestLoop(raw_ostream &os) const {
  os << "  // Fewer than a vector at the end of a member.\n";
  emitLoop(os, "end - end % " + Twine(width), 1);
}

bool Batch::hasRest() const {
  return llvm::any_of(sizes, [&](int64_t size) { return size % width != 0; });
}

void Batch::emitTables(raw_ostream &os, bool hasWorkspace) const {
  os << "struct " << name << "_Operands {\n  void *pointers[" << numOperands + hasWorkspace << "];\n};\n\n"
     << "// Of each member: its first block, and how many elements it has.\n";
  emitTable(os, "unsigned", getFirstBlocks(), firstBlocks);
  emitTable(os, indices.getType(), name + "_sizes", sizes);
  os << "\n";
}

void Batch::emitSignature(raw_ostream &os, StringRef symbol) const {
  os << "extern \"C\" __global__ void __launch_bounds__(" << threadsPerBlock << ")\n"
     << symbol << "(const __grid_constant__ " << name << "_Operands operands) {\n";
}

void Batch::emitWorkspace(raw_ostream &os) const {
  os << "  unsigned char *const workspace = static_cast<unsigned char *>(operands.pointers[" << numOperands << "]);\n";
}

void Batch::emitBlock(raw_ostream &os) const {
  StringRef type = indices.getType();
  os << "  const int member = findMember(" << getFirstBlocks() << ", blockIdx.x);\n";
  emitPointers(os);
  std::string perBlock = std::to_string(getElementsPerBlock()) + (type == "unsigned" ? "" : "ull");
  os << "  const " << type << " begin = (blockIdx.x - " << getFirstBlocks() << "[member]) * " << perBlock << ";\n"
     << "  const " << type << " left = " << name << "_sizes[member] - begin;\n"
     << "  const " << type << " end = begin + (left < " << perBlock << " ? left : " << perBlock << ");\n";
}
