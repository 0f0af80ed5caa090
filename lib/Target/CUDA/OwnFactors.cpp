//===- OwnFactors.cpp - Factors that a rank gathers to itself -------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "OwnFactors.h"

#include "GradientProblem.h"
#include "MergedKernel.h"
#include "cs336/Dialect/CS336/IR/CS336Ops.h"
#include "cs336/Dialect/CS336/IR/Collectives.h"
#include "cs336/Dialect/Exec/Transforms/Lifetimes.h"

using namespace mlir;
using namespace cs336;
using namespace cs336::cuda;
using namespace cs336::exec;

/// The bytes of a tensor map, which is a parameter of a launch. Each part of a factor has one.
static constexpr size_t mapBytes = 128, partsPerFactor = 2;

//===----------------------------------------------------------------------===//
// Views of a factor
//===----------------------------------------------------------------------===//

Value GatheredFactor::createOwn(OpBuilder &builder) const {
  exec::CollectiveOp gather = collective;
  Value source = gather.getSources()[operand];
  BufferLayout from(bufferType(source)), own(layout);
  own.sizes[isTransposed ? 1 : 0] = tokens;
  own.offset += from.offset;
  if (gather.getKind() == CollectiveKind::AllGather)
    return createView(builder, source.getLoc(), source, own.getType());
  // The source has a part for each rank: [ranks, tokens, columns].
  own.strides[isTransposed ? 1 : 0] = from.strides[1];
  own.sizes.insert(own.sizes.begin(), from.sizes.front());
  own.strides.insert(own.strides.begin(), from.strides.front());
  Value parts = createView(builder, source.getLoc(), source, own.getType());
  own.sizes.erase(own.sizes.begin());
  own.strides.erase(own.strides.begin());
  return PartOp::create(builder, source.getLoc(), own.getType(), parts);
}

Value GatheredFactor::createOthers(OpBuilder &builder, Value storage) const {
  BufferLayout others(layout);
  others.sizes[isTransposed ? 1 : 0] -= tokens;
  return createView(builder, storage.getLoc(), storage, others.getType());
}

//===----------------------------------------------------------------------===//
// Search
//===----------------------------------------------------------------------===//

namespace {

class OwnFactorSearch {
public:
  OwnFactorSearch(const EntryCommands &commands, SymbolTable &symbols) : commands(commands), symbols(symbols) {}

  OwnFactors run();

private:
  std::optional<FactorReader> readLaunch(LaunchOp launch, unsigned position) const;
  std::optional<GatheredFactor> readFactor(Value buffer, bool isTransposed, unsigned position) const;
  bool isReadByOthers(const GatheredFactor &factor, const DenseSet<Operation *> &readers) const;

  const EntryCommands &commands;
  SymbolTable &symbols;
};

} // namespace

/// Returns whether the collective fills dense storage of its own with a part for each rank.
static bool fillsStorage(exec::CollectiveOp collective, Value target) {
  BufferOpInterface storage = getStorage(target);
  return writesParts(collective.getKind()) && !collective.getOthers() && collective.getGroup() > 1 &&
         isa<AllocOp>(*storage) && BufferLayout(bufferType(target)).offset == 0 &&
         bufferType(target).getNumElements() == storage.getBuffer().getType().getNumElements();
}

std::optional<GatheredFactor> OwnFactorSearch::readFactor(Value buffer, bool isTransposed, unsigned position) const {
  ArrayRef<unsigned> writers = commands.getWriters(buffer);
  if (writers.size() != 1)
    return std::nullopt;
  auto collective = dyn_cast<exec::CollectiveOp>(commands[writers.front()].getOperation());
  if (!collective)
    return std::nullopt;
  auto target = llvm::find_if(collective.getTargets(),
                              [&](Value each) { return getStorageIdentity(each) == getStorageIdentity(buffer); });
  auto operand = static_cast<unsigned>(std::distance(collective.getTargets().begin(), target));
  Value source = collective.getSources()[operand];
  auto isLater = [&](unsigned writer) { return writer > writers.front() && writer < position; };
  if (!fillsStorage(collective, *target) || llvm::any_of(commands.getWriters(source), isLater))
    return std::nullopt;

  GatheredFactor factor{collective, operand, 0, isTransposed, BufferLayout(bufferType(buffer))};
  unsigned tokenAxis = isTransposed ? 1 : 0;
  int64_t ranks = static_cast<int64_t>(collective.getGroup()), tokens = factor.layout.sizes[tokenAxis];
  int64_t columns = factor.layout.strides[tokenAxis], width = factor.layout.sizes[1 - tokenAxis];
  // A token's values in the storage are one row, of which the factor has some or all columns.
  if (tokens % ranks != 0 || factor.layout.strides[1 - tokenAxis] != 1 || factor.layout.offset + width > columns ||
      tokens * columns != bufferType(*target).getNumElements())
    return std::nullopt;
  factor.tokens = tokens / ranks;
  BufferLayout from(bufferType(source));
  int64_t elementBytes = getElementBytes(from.elementType);
  // Tensor maps describe the own tokens too.
  auto isAligned = [&](int64_t elements) { return elements * elementBytes % DeviceKernel::storageAlignment == 0; };
  if (!isAligned(from.offset + factor.layout.offset))
    return std::nullopt;
  if (collective.getKind() == CollectiveKind::AllGather)
    return factor;
  bool hasMatrices = from.sizes == SmallVector<int64_t>{ranks, factor.tokens, columns};
  // PartOp has these requirements.
  bool hasPart = hasMatrices && isAligned(from.strides[1]) && isa<AllocOp>(*getStorage(source)) &&
                 from.strides[0] * elementBytes % PartOp::kDistance == 0;
  return hasPart ? std::optional(factor) : std::nullopt;
}

std::optional<FactorReader> OwnFactorSearch::readLaunch(LaunchOp launch, unsigned position) const {
  FactorReader reader{launch, {}};
  auto kernel = symbols.lookup<KernelOp>(launch.getKernel());
  for (auto matmul : kernel.getBody().getOps<MatmulOp>())
    for (auto [value, isTransposed] : {std::pair{matmul.getLhs(), true}, std::pair{matmul.getRhs(), false}}) {
      auto argument = dyn_cast<BlockArgument>(value);
      if (!argument || !argument.hasOneUse())
        return std::nullopt;
      unsigned input = argument.getArgNumber();
      std::optional<GatheredFactor> factor = readFactor(launch.getInputs()[input], isTransposed, position);
      if (!factor)
        return std::nullopt;
      reader.factors.insert({input, std::move(*factor)});
    }
  size_t operands = launch.getInputs().size() + launch.getOutputs().size() + reader.factors.size();
  size_t bytes = operands * sizeof(void *) + partsPerFactor * reader.factors.size() * mapBytes;
  if (reader.factors.empty() || launch.getWorkspace() || bytes > maxParameterBytes)
    return std::nullopt;
  // The launch reads what is gathered as factors only.
  for (auto [number, input] : llvm::enumerate(launch.getInputs()))
    if (!reader.factors.contains(number))
      for (const auto &[other, factor] : reader.factors)
        if (getStorageIdentity(input) == getStorageIdentity(launch.getInputs()[other]))
          return std::nullopt;
  return reader;
}

/// Returns whether a command that is not among the readers uses what is gathered as the factor.
bool OwnFactorSearch::isReadByOthers(const GatheredFactor &factor, const DenseSet<Operation *> &readers) const {
  exec::CollectiveOp collective = factor.collective;
  return llvm::any_of(commands.getReaders(collective.getTargets()[factor.operand]),
                      [&](unsigned reader) { return !readers.contains(commands[reader]); });
}

OwnFactors OwnFactorSearch::run() {
  OwnFactors found;
  for (auto [position, command] : llvm::enumerate(commands.get()))
    if (auto launch = dyn_cast<LaunchOp>(CommandOpInterface(command).getOperation()))
      if (std::optional<FactorReader> reader = readLaunch(launch, position))
        found.readers.push_back(std::move(*reader));
  // A launch that is dropped excludes its factors, which excludes other launches.
  for (bool isChanged = true; isChanged;) {
    DenseSet<Operation *> readers;
    for (const FactorReader &reader : found.readers)
      readers.insert(reader.launch);
    size_t count = found.readers.size();
    llvm::erase_if(found.readers, [&](const FactorReader &reader) {
      return llvm::any_of(reader.factors, [&](const auto &each) { return isReadByOthers(each.second, readers); });
    });
    isChanged = found.readers.size() != count;
  }
  for (const FactorReader &reader : found.readers)
    for (const auto &[input, factor] : reader.factors)
      found.operands[factor.collective].insert(factor.operand);
  return found;
}

OwnFactors cs336::cuda::findOwnFactors(const EntryCommands &commands, SymbolTable &symbols) {
  return OwnFactorSearch(commands, symbols).run();
}
