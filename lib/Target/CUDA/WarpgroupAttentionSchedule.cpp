//===- WarpgroupAttentionSchedule.cpp - Attention on sm_90a ---------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Accepts the same kernels as the schedule `attention`, if they are in bf16 or f16, on architectures with wgmma and
// tensor maps, where all operands can be copied by tensor maps and the sequences are long enough. The text is
// instances of the templates of runtime/kernels/warpgroup_attention_*.cuh.
//
//===----------------------------------------------------------------------===//

#include "AttentionProblem.h"
#include "ExpressionPrinter.h"
#include "ScalarEmitter.h"
#include "WarpgroupTiles.h"
#include "Wgmma.h"
#include "llvm/ADT/StringExtras.h"

#include <set>

using namespace mlir;
using namespace cs336;
using namespace cs336::cuda;

namespace {

/// A tensor map that a function takes, named for a role in lower camel case, and the rows that one copy moves.
struct RoleMap {
  StringRef role;
  int64_t rows;
};

/// A function of the kernel.
struct Function {
  KernelFunction launch;
  WarpgroupTiles tiles;
  SmallVector<std::string> mapNames;
  std::string arguments;
};

class WarpgroupAttentionKernel : public ScheduledKernel {
public:
  WarpgroupAttentionKernel(const DeviceKernel &kernel, AttentionProblem attention, const TargetDescription &target);

  SmallVector<KernelFunction> getFunctions() const override {
    return llvm::map_to_vector(functions, [](const Function &function) { return function.launch; });
  }
  int64_t getWorkspaceBytes() const override;
  void collectDeviceSources(DeviceSources &sources) const override;
  std::string describe() const override {
    return llvm::join(llvm::map_range(functions, [](const Function &function) { return function.tiles.describe(); }),
                      "; then ");
  }
  void emit(raw_ostream &os) const override;

private:
  WarpgroupTiles choose(AttentionStage stage) const { return WarpgroupTiles::choose(stage, problem.sizes); }
  int64_t getPaddedQueries() const { return choose(AttentionStage::BackwardQueries).getPaddedQueries(); }
  std::string getProblemName() const { return kernel.name + "_problem"; }
  std::string getWgmmaName() const { return kernel.name + "_wgmma"; }
  bool hasRole(StringRef name) const { return problem.getOperand(name).has_value(); }

  void add(StringRef suffix, const WarpgroupTiles &tiles, ArrayRef<RoleMap> maps, ArrayRef<StringRef> pointers,
           StringRef last = "");
  TensorMapRecipe getMap(const RoleMap &map) const;
  void emitFunction(raw_ostream &os, const Function &function) const;

  const DeviceKernel kernel;
  const AttentionProblem problem;
  const int64_t multiprocessors;
  SmallVector<Function> functions;
};

class WarpgroupAttentionSchedule : public KernelSchedule {
public:
  explicit WarpgroupAttentionSchedule(const TargetDescription &target) : target(target) {}
  StringRef getName() const override { return "warpgroup_attention"; }
  std::unique_ptr<ScheduledKernel> schedule(const DeviceKernel &kernel, std::string &whyNot) const override;

private:
  const TargetDescription target;
};

} // namespace

/// Returns the reason why tensor maps cannot describe an operand of heads, or an empty string if they can.
static std::string whyNotMapped(const DeviceKernel &kernel, const AttentionProblem &problem) {
  for (const AttentionProblem::Role &role : problem.roles) {
    if (!role.operand || kernel.operands[*role.operand].getRank() != 4)
      continue;
    AttentionProblem::Layout layout = AttentionProblem::getLayout(kernel, *role.operand);
    if (layout.alignment != DeviceKernel::storageAlignment)
      return "reads or writes " + kernel.getOperandName(*role.operand) + ", whose rows are not aligned to 16 bytes";
    ArrayRef<int64_t> shape = kernel.operands[*role.operand].getShape();
    if ((shape[0] > 1 && layout.batch == 0) || (shape[1] > 1 && layout.position == 0) ||
        (shape[2] > 1 && layout.head == 0))
      return "reads " + kernel.getOperandName(*role.operand) + ", whose elements are repeated";
  }
  return "";
}

/// Shorter sequences are faster with the schedule `attention`, whose blocks are smaller.
static bool isLong(const AttentionProblem &problem) {
  constexpr int64_t forwardRows = 256, backwardRows = 512;
  return problem.sizes.queries >= (problem.isBackward ? backwardRows : forwardRows) &&
         problem.sizes.keys >= (problem.isBackward ? backwardRows : forwardRows);
}

std::unique_ptr<ScheduledKernel> WarpgroupAttentionSchedule::schedule(const DeviceKernel &kernel,
                                                                      std::string &whyNot) const {
  FailureOr<AttentionProblem> problem = AttentionProblem::read(kernel, whyNot);
  if (failed(problem))
    return nullptr;
  whyNot = WarpgroupTiles::whyNone(problem->sizes, problem->element);
  if (whyNot.empty())
    whyNot = whyNotMapped(kernel, *problem);
  if (whyNot.empty() && !isLong(*problem))
    whyNot = "has short sequences";
  if (!whyNot.empty())
    return nullptr;
  return requireGrid(std::make_unique<WarpgroupAttentionKernel>(kernel, std::move(*problem), target), whyNot);
}

WarpgroupAttentionKernel::WarpgroupAttentionKernel(const DeviceKernel &kernel, AttentionProblem attention,
                                                   const TargetDescription &target)
    : kernel(kernel), problem(std::move(attention)), multiprocessors(target.multiprocessors) {
  constexpr int64_t stored = WarpgroupTiles::rows;
  if (!problem.isBackward) {
    WarpgroupTiles tiles = choose(AttentionStage::Forward);
    add("", tiles,
        {{"Query", tiles.getRowsPerBlock()},
         {"Key", tiles.getStreamedRows()},
         {"Value", tiles.getStreamedRows()},
         {"Output", stored}},
        {"LogSumExp"});
    return;
  }
  WarpgroupTiles queries = choose(AttentionStage::BackwardQueries), keys = choose(AttentionStage::BackwardKeys);
  add("_queries", queries,
      {{"Query", queries.getRowsPerBlock()},
       {"Key", queries.getStreamedRows()},
       {"Value", queries.getStreamedRows()},
       {"OutputGradient", queries.getRowsPerBlock()},
       {"QueryGradient", stored}},
      {"Output", "OutputGradient", "LogSumExp"}, "reinterpret_cast<QueryStatistics *>(workspace)");
  add("_keys", keys,
      {{"Query", keys.getStreamedRows()},
       {"Key", keys.getRowsPerBlock()},
       {"Value", keys.getRowsPerBlock()},
       {"OutputGradient", keys.getStreamedRows()},
       {"KeyGradient", stored},
       {"ValueGradient", stored}},
      {}, "reinterpret_cast<const QueryStatistics *>(workspace)");
}

void WarpgroupAttentionKernel::add(StringRef suffix, const WarpgroupTiles &tiles, ArrayRef<RoleMap> maps,
                                   ArrayRef<StringRef> pointers, StringRef last) {
  Function function{{kernel.name + suffix.str(), std::min(tiles.getTiles(), multiprocessors), tiles.getThreads(),
                     tiles.getSharedBytes()},
                    tiles,
                    {},
                    ""};
  SmallVector<std::string> arguments;
  for (const RoleMap &map : maps) {
    if (!hasRole(map.role)) {
      arguments.push_back("nullptr");
      continue;
    }
    std::string name = llvm::toLower(map.role.front()) + map.role.drop_front().str() + "Map";
    function.launch.tensorMaps.push_back(getMap(map));
    function.mapNames.push_back(name);
    arguments.push_back("&" + name);
  }
  std::string rest = problem.getArguments(kernel, pointers, last);
  if (!rest.empty())
    arguments.push_back(rest);
  function.arguments = llvm::join(arguments, ", ");
  functions.push_back(std::move(function));
}

/// Describes an operand as [batch, head, position, element], so that tiles end with a head's positions.
TensorMapRecipe WarpgroupAttentionKernel::getMap(const RoleMap &map) const {
  unsigned operand = *problem.getOperand(map.role);
  ArrayRef<int64_t> shape = kernel.operands[operand].getShape();
  AttentionProblem::Layout layout = AttentionProblem::getLayout(kernel, operand);
  // Strides of dimensions of one element are not used, but must be valid.
  int64_t least = DeviceKernel::storageAlignment / 2;
  auto getStride = [&](int64_t size, int64_t stride) { return size == 1 ? least : stride; };
  return {.operand = operand,
          .elementType = problem.element,
          .sizes = {shape[3], shape[1], shape[2], shape[0]},
          .strides = {1, getStride(shape[1], layout.position), getStride(shape[2], layout.head),
                      getStride(shape[0], layout.batch)},
          .box = {WarpgroupTiles::slabColumns, map.rows, 1, 1},
          .swizzle = TensorMapRecipe::Swizzle::Bytes128,
          .promotion = TensorMapRecipe::L2Promotion::Bytes128};
}

int64_t WarpgroupAttentionKernel::getWorkspaceBytes() const {
  const AttentionSizes &sizes = problem.sizes;
  return problem.isBackward ? sizes.batches * sizes.queryHeads * getPaddedQueries() * 2 * sizeof(float) : 0;
}

void WarpgroupAttentionKernel::collectDeviceSources(DeviceSources &sources) const {
  for (StringRef source :
       {"scalar.cuh", "vector.cuh", "reduce.cuh", "async_copy.cuh", "mma.cuh", "head_layout.cuh", "attention.cuh",
        "barrier.cuh", "tensor_copy.cuh", "wgmma.cuh", "slab_tile.cuh", "warpgroup_attention.cuh"})
    sources.insert(source);
  sources.insert(ExpressionPrinter::getDeviceSource(problem.element));
  sources.insert(problem.element.isBF16() ? "mma_bf16.cuh" : "mma_f16.cuh");
  if (problem.isBackward)
    for (StringRef source : {"sampled_mean.cuh", "warpgroup_attention_queries.cuh", "warpgroup_attention_keys.cuh"})
      sources.insert(source);
  else
    sources.insert("warpgroup_attention_forward.cuh");
}

void WarpgroupAttentionKernel::emitFunction(raw_ostream &os, const Function &function) const {
  emitSignature(os, kernel, function.launch.symbol, function.launch.threads, /*hasWorkspace=*/problem.isBackward,
                function.mapNames);
  os << "  using Attention = "
     << function.tiles.getTemplate(getProblemName(), getWgmmaName(), problem.isBackward ? getPaddedQueries() : 0)
     << ";\n"
     << "  static_assert(Attention::tiles == " << function.tiles.getTiles()
     << " && Attention::sharedBytes == " << function.launch.sharedBytes << ");\n"
     << "  Attention::run(" << function.arguments << ");\n}\n";
}

void WarpgroupAttentionKernel::emit(raw_ostream &os) const {
  problem.emit(os, kernel, getProblemName());
  std::set<int64_t> columns;
  for (const Function &function : functions)
    for (int64_t number : function.tiles.getInstructionColumns())
      columns.insert(number);
  emitWgmma(os, getWgmmaName(), problem.element, llvm::to_vector(columns));
  llvm::interleave(functions, os, [&](const Function &function) { emitFunction(os, function); }, "\n");
}

std::unique_ptr<KernelSchedule> cs336::cuda::createWarpgroupAttentionSchedule(const TargetDescription &target) {
  return std::make_unique<WarpgroupAttentionSchedule>(target);
}
