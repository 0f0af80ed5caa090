//===- GradientUpdateSchedule.cpp - Updates by gradients on sm_90a --------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Accepts kernels that compute gradients by matmuls in bf16 or f16 and update parameters by them, on architectures with
// wgmma and tensor maps. The text is an instance of the template of runtime/kernels/gradient_update.cuh and a structure
// with the update, which it calls for each vector of elements.
//
//===----------------------------------------------------------------------===//

#include "ExpressionPrinter.h"
#include "GradientProblem.h"
#include "ScalarEmitter.h"
#include "Wgmma.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace cs336;
using namespace cs336::cuda;

namespace {

constexpr int64_t rowsPerTile = GradientProblem::rowsPerTile, columnsPerTile = GradientProblem::columnsPerTile;
constexpr int64_t clusterBlocks = GradientProblem::clusterBlocks;
// The sizes of gradient_update.cuh.
constexpr int64_t columnsPerPart = 128, tokensPerStage = 32, threads = 640, multipliers = 2;

/// Returns the stages of both operands' tiles. Six and the gradients of a tile fill the shared memory of a block. If
/// half of the tokens are those of other ranks, the matmul takes longer than the update. More reads of operands in
/// flight then delay those of the update: on two H200s, steps of large in mode zero1 take 15.35 ms with 5 stages, 15.6
/// with 6, and 15.7 with 4 (no records).
constexpr int64_t countStages(size_t parts) { return parts > 1 ? 5 : 6; }
constexpr int64_t countSharedBytes(int64_t stages) {
  return stages * (tokensPerStage * (rowsPerTile + columnsPerTile) * 2 + 16) + rowsPerTile * columnsPerTile * 2 +
         multipliers * 16 + slabSlack;
}

class GradientUpdateKernel : public ScheduledKernel {
public:
  GradientUpdateKernel(const DeviceKernel &kernel, GradientProblem problem, const TargetDescription &target)
      : kernel(kernel), problem(std::move(problem)), target(target),
        gradient(this->problem.update.getRole(this->problem.members.front().parts.front().left)) {
    for (const GradientProblem::Member &member : this->problem.members)
      firstTiles.push_back(firstTiles.back() + GradientProblem::countTiles(member));
  }

  SmallVector<KernelFunction> getFunctions() const override;
  void collectDeviceSources(DeviceSources &sources) const override;
  std::string describe() const override;
  std::string describeOperands() const override;
  void emit(raw_ostream &os) const override;

private:
  /// Returns the parts of each member's tokens.
  size_t countParts() const { return problem.members.front().parts.size(); }
  std::string getName(StringRef part) const { return (kernel.name + "_" + part).str(); }
  TensorMapRecipe getMap(unsigned operand, int64_t columns, int64_t stride, int64_t tokens,
                         int64_t columnsPerBox) const;
  /// The scalars of the update that are loaded for each vector, and once per member.
  SmallVector<unsigned> getLoads(bool ofScalars) const;
  void emitTables(raw_ostream &os) const;
  void emitUpdate(raw_ostream &os) const;
  void emitApply(raw_ostream &os, ScalarEmitter emitter) const;

  const DeviceKernel kernel;
  const GradientProblem problem;
  const TargetDescription target;
  /// The operand of the update that is the gradient.
  const unsigned gradient;
  SmallVector<int64_t> firstTiles = {0};
};

class GradientUpdateSchedule : public KernelSchedule {
public:
  explicit GradientUpdateSchedule(const TargetDescription &target) : target(target) {}
  StringRef getName() const override { return "gradient_update"; }
  std::unique_ptr<ScheduledKernel> schedule(const DeviceKernel &kernel, std::string &whyNot) const override {
    FailureOr<GradientProblem> problem = GradientProblem::read(kernel, whyNot);
    if (failed(problem))
      return nullptr;
    return requireGrid(std::make_unique<GradientUpdateKernel>(kernel, std::move(*problem), target), whyNot);
  }

private:
  const TargetDescription target;
};

} // namespace

std::unique_ptr<KernelSchedule> cs336::cuda::createGradientUpdateSchedule(const TargetDescription &target) {
  return std::make_unique<GradientUpdateSchedule>(target);
}

std::string GradientUpdateKernel::describe() const {
  return llvm::formatv(
             "{0} gradients in {1} tiles of {2} x {3} elements; a block of two warpgroups multiplies by wgmma "
             "while two others update",
             problem.members.size(), firstTiles.back(), rowsPerTile, columnsPerTile)
      .str();
}

std::string GradientUpdateKernel::describeOperands() const {
  std::string operands;
  for (const GradientProblem::Part &part : problem.members.front().parts)
    operands += llvm::formatv("{0}{1} and {2}", operands.empty() ? "" : ", and from ", part.left, part.right);
  return problem.update.describeOperands() +
         llvm::formatv("// {0} is not in memory, but computed from operands {1} of each member.\n",
                       problem.update.getBody().getOperandName(gradient), operands)
             .str();
}

/// Describes [slab, token, column of the slab].
TensorMapRecipe GradientUpdateKernel::getMap(unsigned operand, int64_t columns, int64_t stride, int64_t tokens,
                                             int64_t columnsPerBox) const {
  constexpr int64_t slab = GradientProblem::slabColumns;
  // The last dimension, of one element, is not used, but its stride must be valid.
  return {.operand = operand,
          .elementType = problem.element,
          .sizes = {slab, tokens, columns / slab, 1},
          .strides = {1, stride, slab, slab},
          .box = {slab, tokensPerStage, columnsPerBox / slab, 1},
          .swizzle = TensorMapRecipe::Swizzle::Bytes128,
          .promotion = TensorMapRecipe::L2Promotion::Bytes256};
}

SmallVector<KernelFunction> GradientUpdateKernel::getFunctions() const {
  int64_t blocks = std::min(firstTiles.back(), target.multiprocessors / clusterBlocks * clusterBlocks);
  KernelFunction function{kernel.name, blocks, threads, countSharedBytes(countStages(countParts())), clusterBlocks};
  for (const GradientProblem::Member &member : problem.members)
    for (const GradientProblem::Part &part : member.parts) {
      function.tensorMaps.push_back(getMap(part.left, member.rows, part.leftStride, part.tokens, rowsPerTile));
      function.tensorMaps.push_back(
          getMap(part.right, member.columns, part.rightStride, part.tokens, columnsPerTile / clusterBlocks));
    }
  return {function};
}

void GradientUpdateKernel::collectDeviceSources(DeviceSources &sources) const {
  static constexpr StringRef used[] = {"scalar.cuh",        "vector.cuh",         "reduce.cuh",    "batch.cuh",
                                       "mma.cuh",           "async_copy.cuh",     "barrier.cuh",   "ring.cuh",
                                       "wgmma.cuh",         "tensor_copy.cuh",    "slab_tile.cuh", "warpgroup.cuh",
                                       "gradient_tile.cuh", "gradient_update.cuh"};
  sources.insert_range(used);
  sources.insert(problem.element.isBF16() ? "bf16.cuh" : "f16.cuh");
  sources.insert(problem.element.isBF16() ? "mma_bf16.cuh" : "mma_f16.cuh");
  problem.update.getMember().collectDeviceSources(problem.update.getBody(), sources);
}

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

SmallVector<unsigned> GradientUpdateKernel::getLoads(bool ofScalars) const {
  SmallVector<unsigned> loads;
  for (auto [id, scalar] : llvm::enumerate(problem.update.getMember().scalars))
    if (scalar.kind == Scalar::Kind::Load && scalar.operand != gradient &&
        scalar.index.isSymbolicOrConstant() == ofScalars)
      loads.push_back(id);
  return loads;
}

void GradientUpdateKernel::emitTables(raw_ostream &os) const {
  os << "struct " << getName("Operands") << " {\n  void *pointers[" << kernel.operands.size() << "];\n};\n\n"
     << "// Of each member and part of tokens: the maps of the left and of the right operand.\nstruct "
     << getName("Maps") << " {\n  TensorMap maps[" << 2 * countParts() * problem.members.size() << "];\n};\n\n"
     << "// Of each member: its first tile, and the sizes of its gradient.\n";
  Batch::emitTable(os, "unsigned", getName("firstTiles"), firstTiles);
  os << "static __constant__ const GradientSizes " << getName("sizes") << "[" << problem.members.size() << "] = {\n";
  llvm::interleave(
      problem.members, os,
      [&](const GradientProblem::Member &member) {
        os << "    {" << member.rows << ", " << member.columns << ", {";
        llvm::interleaveComma(member.parts, os, [&](const GradientProblem::Part &part) { os << part.tokens; });
        os << "}}";
      },
      ",\n");
  os << "};\n\n";
}

void GradientUpdateKernel::emitUpdate(raw_ostream &os) const {
  const Batch &update = problem.update;
  const DeviceKernel &body = update.getBody();
  ScalarEmitter emitter(body, update.getMember(), update.getIndices(), {0, update.getWidth()}, os);
  StringRef index = update.getIndices().getType();
  os << "  /// Element i0 of a member's operands, and those after it in a vector.\n  struct Update {\n    using Index "
        "= "
     << index << ";\n";
  SmallVector<std::string> initializers;
  for (unsigned role = 0; role < body.operands.size(); ++role) {
    if (role == gradient)
      continue;
    std::string name = body.getOperandName(role);
    os << "    " << update.getPointerType(role) << "const " << name << ";\n";
    initializers.push_back(name + "(" + update.printPointer(role) + ")");
  }
  for (unsigned load : getLoads(/*ofScalars=*/true)) {
    std::string variable = emitter.takeLoadVariable(load);
    os << "    const " << emitter.getLoadType(load) << " " << variable << ";\n";
    initializers.push_back(variable + "(" + emitter.printLoad(load) + ")");
    emitter.provide(load, variable);
    if (emitter.isSharedDivisor(load)) {
      std::string divisor = "divisor" + variable.substr(1);
      os << "    const Divisor " << divisor << ";\n";
      initializers.push_back(divisor + "(" + variable + ")");
      emitter.provideDivisor(load, divisor);
    }
  }
  os << "    struct Loaded {\n";
  SmallVector<unsigned> loads = getLoads(/*ofScalars=*/false);
  SmallVector<std::string> values, lines;
  for (unsigned load : loads) {
    std::string variable = emitter.takeLoadVariable(load);
    os << "      " << emitter.getLoadType(load) << " " << variable << ";\n";
    values.push_back(emitter.printLoad(load));
    lines.push_back("fetchLine(" + body.getOperandName(update.getMember().scalars[load].operand) + " + i0);");
    emitter.provide(load, "loaded." + variable);
  }
  os << "    };\n\n    __device__ Update(const " << getName("Operands")
     << " &operands, int member)\n        : " << llvm::join(initializers, ",\n          ")
     << " {}\n    __device__ void fetch(Index i0) const {\n      " << llvm::join(lines, "\n      ")
     << "\n    }\n    __device__ Loaded load(Index i0) const {\n      return {"
     << llvm::join(values, ",\n              ") << "};\n    }\n";
  emitApply(os, emitter);
  os << "  };\n";
}

void GradientUpdateKernel::emitApply(raw_ostream &os, ScalarEmitter emitter) const {
  const KernelProgram &program = problem.update.getMember();
  os << "    __device__ void apply(Index i0, const Loaded &loaded, const Vector<"
     << ExpressionPrinter::getStorageType(problem.element) << ", " << problem.update.getWidth()
     << "> &gradient) const {\n";
  SmallVector<unsigned> all;
  for (auto [id, scalar] : llvm::enumerate(program.scalars)) {
    all.push_back(id);
    if (scalar.kind == Scalar::Kind::Load && scalar.operand == gradient)
      emitter.provide(id, "gradient");
  }
  // Updates of other kinds than AdamW are approximated too.
  emitter.approximateQuotients();
  emitter.emitToStores(all, "      ");
  os << "    }\n";
}

void GradientUpdateKernel::emit(raw_ostream &os) const {
  emitTables(os);
  emitWgmma(os, getName("wgmma"), problem.element, {columnsPerPart}, {columnsPerPart});
  os << "struct " << getName("Members") << " {\n  static constexpr int tiles = " << firstTiles.back()
     << ", parts = " << countParts() << ";\n"
     << "  __device__ static GradientTile find(int number) {\n    return GradientTile::find<" << clusterBlocks << ">("
     << getName("firstTiles") << ", " << getName("sizes") << ", number);\n  }\n\n";
  emitUpdate(os);
  os << "};\n\nextern \"C\" __global__ void __launch_bounds__(" << threads << ", 1)\n"
     << kernel.name << "(const __grid_constant__ " << getName("Operands") << " operands,\n    const __grid_constant__ "
     << getName("Maps") << " maps) {\n  using Kernel = GradientUpdate<" << getName("wgmma")
     << ",\n                                " << getName("Members") << ", " << clusterBlocks << ", "
     << countStages(countParts()) << ">;\n  static_assert(Kernel::threads == " << threads
     << " && Kernel::sharedBytes == " << countSharedBytes(countStages(countParts()))
     << ");\n  Kernel::run(operands, maps.maps);\n}\n";
}
