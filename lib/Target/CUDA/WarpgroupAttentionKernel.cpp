//===- WarpgroupAttentionKernel.cpp - Kernels of attention on sm_90a ------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "WarpgroupAttentionKernel.h"

#include "ExpressionPrinter.h"
#include "ScalarEmitter.h"
#include "Wgmma.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace cs336;
using namespace cs336::cuda;

/// Rows that one copy stores.
static constexpr int64_t stored = WarpgroupTiles::rows;

WarpgroupAttentionKernel::WarpgroupAttentionKernel(const DeviceKernel &kernel, AttentionProblem attention,
                                                   WarpgroupPlan tiles, const TargetDescription &target)
    : kernel(kernel), problem(std::move(attention)), plan(std::move(tiles)), multiprocessors(target.multiprocessors) {
  if (const WarpgroupGradientTiles *sums = plan.getSums())
    addOnePass(*sums);
  else if (problem.isBackward)
    addTwoPasses(plan.getTiles()[0], plan.getTiles()[1]);
  else
    addForward(plan.getTiles()[0]);
}

DictionaryAttr WarpgroupAttentionKernel::getParameters() const {
  return plan.getParameters(problem.element.getContext());
}

SmallVector<KernelFunction> WarpgroupAttentionKernel::getFunctions() const {
  return llvm::map_to_vector(functions, [](const Function &function) { return function.launch; });
}

std::string WarpgroupAttentionKernel::describe() const {
  return llvm::join(llvm::map_range(functions, [](const Function &function) { return function.description; }),
                    "; then ");
}

/// Returns the text of a pointer to bits of tiles, at an offset in the workspace.
static std::string printBits(int64_t offset, StringRef qualifier) {
  std::string address = offset == 0 ? "workspace" : "workspace + " + std::to_string(offset);
  return ("reinterpret_cast<" + qualifier + "TileBits *>(" + address + ")").str();
}

bool WarpgroupAttentionKernel::hidesTiles() const { return problem.score && problem.score->inspectsTiles; }

void WarpgroupAttentionKernel::addMarks(StringRef text, ArrayRef<TileMaskText> masks, int64_t blocks,
                                        StringRef description, int64_t offset) {
  int64_t bytes = 0;
  std::string instance = (text + "<" + getProblemName()).str();
  for (const TileMaskText &mask : masks) {
    bytes += mask.getBytes(problem.sizes);
    instance += ", " + mask.print(getProblemName());
  }
  workspaceBytes = offset + bytes;
  functions.push_back(
      {{kernel.name + "_tiles", blocks, TileMaskText::threads, 0},
       description.str(),
       instance + ">",
       "Attention::blocks == " + std::to_string(blocks) + " && Attention::bytes == " + std::to_string(bytes),
       {},
       problem.score->getInitializer(kernel) + ", " + printBits(offset, "")});
}

bool WarpgroupAttentionKernel::addMarks(ArrayRef<TileMaskText> masks, int64_t offset) {
  if (!hidesTiles())
    return false;
  int64_t blocks = 0;
  for (const TileMaskText &mask : masks)
    blocks += mask.getRows(problem.sizes);
  addMarks("MarkTiles", masks, blocks, "32 tiles of scores per block at a time, of which data may hide all pairs",
           offset);
  return true;
}

void WarpgroupAttentionKernel::addRankedMarks(const TileMaskText &mask) {
  addMarks("MarkWords", mask, mask.getRows(problem.sizes) * mask.getWords(problem.sizes),
           "32 tiles of scores per block, of which data may hide all pairs", 0);
  int64_t blocks = problem.sizes.batches;
  functions.push_back({{kernel.name + "_ranks", blocks, TileMaskText::threads, 0},
                       "the tiles of a batch per block, sorted by their work",
                       "RankTiles<" + mask.print(getProblemName()) + ">",
                       "Attention::blocks == " + std::to_string(blocks),
                       {},
                       printBits(0, "")});
}

void WarpgroupAttentionKernel::addForward(const WarpgroupTiles &tiles) {
  int64_t own = tiles.getRowsPerBlock(), streamed = tiles.getStreamedRows();
  std::string bits;
  // Blocks that compute several tiles get equal work only if the tiles are sorted.
  if (hidesTiles() && tiles.getTiles() > multiprocessors) {
    addRankedMarks(tiles.getMask());
    bits = printBits(0, "") + ", /*isRanked=*/true";
  } else if (addMarks(tiles.getMask(), 0)) {
    bits = printBits(0, "");
  }
  add(makeFunction("", tiles, 0), {{"Query", own}, {"Key", streamed}, {"Value", streamed}, {"Output", stored}},
      {"LogSumExp"}, "", /*takesScore=*/true, bits);
}

void WarpgroupAttentionKernel::addTwoPasses(const WarpgroupTiles &queries, const WarpgroupTiles &keys) {
  int64_t padded = queries.getPaddedQueries();
  int64_t statisticsBytes = problem.sizes.batches * problem.sizes.queryHeads * padded * 2 * sizeof(float);
  workspaceBytes = statisticsBytes;
  std::string bitsOfQueries, bitsOfKeys;
  if (addMarks({queries.getMask(), keys.getMask()}, statisticsBytes)) {
    bitsOfQueries = printBits(statisticsBytes, "const ");
    bitsOfKeys = printBits(statisticsBytes + queries.getMask().getBytes(problem.sizes), "const ");
  }
  add(makeFunction("_queries", queries, padded),
      {{"Query", queries.getRowsPerBlock()},
       {"Key", queries.getStreamedRows()},
       {"Value", queries.getStreamedRows()},
       {"OutputGradient", queries.getRowsPerBlock()},
       {"QueryGradient", stored}},
      {"Output", "OutputGradient", "LogSumExp"}, "reinterpret_cast<QueryStatistics *>(workspace)",
      /*takesScore=*/true, bitsOfQueries);
  add(makeFunction("_keys", keys, padded),
      {{"Query", keys.getStreamedRows()},
       {"Key", keys.getRowsPerBlock()},
       {"Value", keys.getRowsPerBlock()},
       {"OutputGradient", keys.getStreamedRows()},
       {"KeyGradient", stored},
       {"ValueGradient", stored}},
      {}, "reinterpret_cast<const QueryStatistics *>(workspace)", /*takesScore=*/true, bitsOfKeys);
}

WarpgroupAttentionKernel::Function WarpgroupAttentionKernel::makeFunction(StringRef suffix, const WarpgroupTiles &tiles,
                                                                          int64_t paddedQueries) {
  for (int64_t number : tiles.getInstructionColumns())
    columns.insert(number);
  KernelFunction launch{kernel.name + suffix.str(), std::min(tiles.getTiles(), multiprocessors), tiles.getThreads(),
                        tiles.getSharedBytes()};
  std::string check = "Attention::tiles == " + std::to_string(tiles.getTiles()) +
                      " && Attention::sharedBytes == " + std::to_string(launch.sharedBytes);
  return {std::move(launch),
          tiles.describe(),
          tiles.getTemplate(getProblemName(), getWgmmaName(), paddedQueries),
          std::move(check),
          {},
          ""};
}

void WarpgroupAttentionKernel::addOnePass(const WarpgroupGradientTiles &tiles) {
  constexpr int64_t queries = WarpgroupGradientTiles::queriesPerTile, keys = WarpgroupGradientTiles::keysPerTile;
  addMarks(tiles.getMasks(), tiles.getMaskOffset());
  workspaceBytes = tiles.getWorkspaceBytes();
  leftTransposedColumns = tiles.getLeftTransposedColumns();
  for (int64_t number : llvm::concat<const int64_t>(tiles.getInstructionColumns(), leftTransposedColumns))
    columns.insert(number);
  auto equals = [](StringRef constant, int64_t value) {
    return ("Attention::" + constant + " == " + Twine(value)).str();
  };
  add({{kernel.name + "_prepare", tiles.getPrepareBlocks(), WarpgroupGradientTiles::prepareThreads, 0},
       "64 queries per block for their statistics, or the mean of the keys of a head",
       tiles.getPrepareTemplate(getProblemName(), ExpressionPrinter::getStorageType(problem.element)),
       equals("blocks", tiles.getPrepareBlocks()),
       {},
       ""},
      {}, {"Key", "Output", "OutputGradient", "LogSumExp"}, "workspace");
  add({{kernel.name + "_sums", std::min(tiles.getKeyTiles(), multiprocessors), WarpgroupGradientTiles::sumsThreads,
        tiles.getSumsSharedBytes()},
       "128 keys per block of 3 warpgroups and one for copies, queries in tiles of 64, by wgmma",
       tiles.getSumsTemplate(getProblemName(), getWgmmaName()),
       equals("tiles", tiles.getKeyTiles()) + " && " + equals("sharedBytes", tiles.getSumsSharedBytes()) + " && " +
           equals("workspaceBytes", workspaceBytes),
       {},
       ""},
      {{"Query", queries},
       {"Key", keys},
       {"Value", keys},
       {"OutputGradient", queries},
       {"KeyGradient", stored},
       {"ValueGradient", stored}},
      {}, "workspace");
  add({{kernel.name + "_round", tiles.getRoundBlocks(), WarpgroupGradientTiles::roundThreads,
        tiles.getRoundSharedBytes()},
       "64 queries per block of a warpgroup that rounds dQ",
       tiles.getRoundTemplate(getProblemName(), getWgmmaName()),
       equals("blocks", tiles.getRoundBlocks()) + " && " + equals("sharedBytes", tiles.getRoundSharedBytes()),
       {},
       ""},
      {{"QueryGradient", stored}}, {}, "workspace", /*takesScore=*/false);
}

void WarpgroupAttentionKernel::add(Function function, ArrayRef<RoleMap> maps, ArrayRef<StringRef> pointers,
                                   StringRef last, bool takesScore, StringRef bits) {
  SmallVector<std::string> arguments;
  for (const RoleMap &map : maps) {
    std::optional<unsigned> operand = problem.getOperand(map.role);
    if (!operand) {
      arguments.push_back("nullptr");
      continue;
    }
    std::string name = llvm::toLower(map.role.front()) + map.role.drop_front().str() + "Map";
    function.launch.tensorMaps.push_back(getMap(*operand, map.rows));
    function.mapNames.push_back(name);
    arguments.push_back("&" + name);
  }
  std::string rest = problem.getArguments(kernel, pointers, last, takesScore);
  if (!rest.empty())
    arguments.push_back(rest);
  if (!bits.empty())
    arguments.push_back(bits.str());
  function.arguments = llvm::join(arguments, ", ");
  functions.push_back(std::move(function));
}

/// Describes an operand as [batch, head, position, element], so that tiles end with a head's positions.
TensorMapRecipe WarpgroupAttentionKernel::getMap(unsigned operand, int64_t rows) const {
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
          .box = {WarpgroupTiles::slabColumns, rows, 1, 1},
          .swizzle = TensorMapRecipe::Swizzle::Bytes128,
          .promotion = TensorMapRecipe::L2Promotion::Bytes128};
}

void WarpgroupAttentionKernel::collectDeviceSources(DeviceSources &sources) const {
  static constexpr StringRef shared[] = {"scalar.cuh",
                                         "vector.cuh",
                                         "reduce.cuh",
                                         "async_copy.cuh",
                                         "mma.cuh",
                                         "head_layout.cuh",
                                         "attention.cuh",
                                         "pair_tile.cuh",
                                         "tile_mask.cuh",
                                         "visited_tiles.cuh",
                                         "barrier.cuh",
                                         "ring.cuh",
                                         "tensor_copy.cuh",
                                         "wgmma.cuh",
                                         "slab_tile.cuh",
                                         "warpgroup.cuh",
                                         "warpgroup_roles.cuh",
                                         "warpgroup_bias.cuh",
                                         "warpgroup_mask.cuh",
                                         "warpgroup_key_tiles.cuh",
                                         "warpgroup_scores.cuh",
                                         "warpgroup_epilogue.cuh"};
  static constexpr StringRef forward[] = {"tile_queue.cuh",           "query_tile.cuh",
                                          "warpgroup_softmax.cuh",    "warpgroup_soft_cap.cuh",
                                          "warpgroup_bias_steps.cuh", "warpgroup_attention_forward.cuh"};
  static constexpr StringRef twoPasses[] = {"tile_queue.cuh",
                                            "query_tile.cuh",
                                            "key_gradient_tile.cuh",
                                            "warpgroup_slopes.cuh",
                                            "sampled_mean.cuh",
                                            "warpgroup_attention_queries.cuh",
                                            "warpgroup_attention_keys.cuh"};
  static constexpr StringRef onePass[] = {"warpgroup_key_order.cuh",      "ordered_sums.cuh",
                                          "warpgroup_gradient.cuh",       "warpgroup_gradient_prepare.cuh",
                                          "warpgroup_gradient_block.cuh", "warpgroup_gradient_slopes.cuh",
                                          "warpgroup_gradient_keys.cuh",  "warpgroup_gradient_queries.cuh",
                                          "warpgroup_gradient_sums.cuh",  "warpgroup_gradient_round.cuh"};
  sources.insert_range(shared);
  problem.collectTypeSources(kernel, sources);
  sources.insert(problem.element.isBF16() ? "mma_bf16.cuh" : "mma_f16.cuh");
  sources.insert_range(!problem.isBackward ? ArrayRef(forward)
                       : plan.getSums()    ? ArrayRef(onePass)
                                           : ArrayRef(twoPasses));
}

void WarpgroupAttentionKernel::emitFunction(raw_ostream &os, const Function &function) const {
  emitSignature(os, kernel, function.launch.symbol, function.launch.threads, /*hasWorkspace=*/workspaceBytes > 0,
                function.mapNames);
  os << "  using Attention = " << function.instance << ";\n"
     << "  static_assert(" << function.check << ");\n"
     << "  Attention::run(" << function.arguments << ");\n}\n";
}

void WarpgroupAttentionKernel::emit(raw_ostream &os) const {
  problem.emit(os, kernel, getProblemName());
  emitWgmma(os, getWgmmaName(), problem.element, llvm::to_vector(columns), leftTransposedColumns);
  llvm::interleave(functions, os, [&](const Function &function) { emitFunction(os, function); }, "\n");
}
