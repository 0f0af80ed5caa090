//===- DistributePass.cpp - Means of gradients over ranks ----------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ExchangeModel.h"
#include "FactorExchange.h"
#include "PartExchange.h"
#include "ShardParameters.h"
#include "WidenedGradient.h"
#include "cs336/Dialect/CS336/IR/CS336Ops.h"
#include "cs336/Dialect/CS336/IR/Collectives.h"
#include "cs336/Dialect/CS336/IR/Phase.h"
#include "cs336/Dialect/CS336/IR/Ports.h"
#include "cs336/Dialect/CS336/IR/TensorBytes.h"
#include "cs336/Dialect/CS336/IR/TensorTypes.h"
#include "cs336/Dialect/CS336/Transforms/OptionParsers.h"
#include "cs336/Dialect/CS336/Transforms/Passes.h"
#include "cs336/Statistics/PassCounter.h"
#include "cs336/Statistics/RemarkOptions.h"
#include "cs336/Support/UnknownValue.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SmallVectorExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

#include <limits>

namespace cs336 {
#define GEN_PASS_DEF_DISTRIBUTEPASS
#include "cs336/Dialect/CS336/Transforms/Passes.h.inc"
} // namespace cs336

using namespace mlir;
using namespace cs336;

static constexpr RemarkOptions distributeRemarks("cs336-distribute");
static constexpr double kMiB = 1 << 20;
/// MiB of the smallest bucket, unless a size is given.
static constexpr double kLeastBucketMiB = 25;
/// The value of the option that stands for one layer in mode fsdp, and for all layers in mode zero1.
static constexpr int64_t kAutomaticPrefetch = -1;
/// Bytes of the largest bucket of several gradients, unless a size is given. Two H200s exchange so many bytes with 98 %
/// of the bandwidth of 1 GiB, so that larger buckets only end later (docs/Rationale/RanksOnGPUs.md).
static constexpr int64_t kMostBucketBytes = int64_t{256} << 20;
/// Buckets of factors that are exchanged between those of a gradient and its matmul. In mode fsdp the backward pass
/// also waits for parameters, and steps with a longer lead are slower (docs/Rationale/FactorsOfGradients.md).
static constexpr size_t kLead = 4, kLeadOfFSDP = 2;
/// More layers than a model has: all gathers are at the start.
static constexpr int64_t kAllLayers = std::numeric_limits<int64_t>::max();

namespace {
/// A value to exchange, and the results that it becomes, as positions in the return operation.
struct Member {
  Value value;
  std::string name;
  SmallVector<unsigned, 1> results;
  /// True if each rank gets its part of the mean, for its part of a parameter. Otherwise all ranks get the whole.
  bool isScattered = false;
  bool isGradient = false;
};

/// The values that one collective exchanges.
using Bucket = SmallVector<Member *>;

/// The options of the pass.
struct Distribution {
  int64_t worldSize;
  DistributeMode mode;
  BucketSize bucketSize;
  /// The device that BucketSize::isAutomatic is for.
  const DeviceModel &device;
  /// The most bytes of factors that a rank sends in place of each byte of a gradient; 0 for none.
  double factors;
  /// The parameters whose gradients are scattered.
  llvm::StringSet<> scattered;
};

/// Rewrites one function.
class Distributor {
public:
  Distributor(func::FuncOp function, const Distribution &distribution)
      : function(function), distribution(distribution), terminator(function.getBody().front().getTerminator()) {}

  void run();

  int64_t numCollectives = 0, numScatters = 0, numFactored = 0, numAdded = 0;
  /// Bytes of all scattered gradients, of which each rank gets its part.
  int64_t scatteredBytes = 0;
  int64_t numExchanged() const { return members.size() + numFactored + numAdded; }

private:
  void collectMembers();
  bool isScattered(DictionaryAttr port) const {
    return getPortKind(port) == port::kGradient && distribution.scattered.contains(getPortName(port));
  }
  RankedTensorType getPartType(RankedTensorType whole) const;
  bool replaceSplat(unsigned index, ConstantOp constant);
  /// Returns whether `a` is computed before `b`.
  static bool isReadyBefore(const Member *a, const Member *b);
  bool hasBuckets() const {
    return distribution.mode == DistributeMode::Bucket || distribution.mode == DistributeMode::Zero1 ||
           distribution.mode == DistributeMode::FSDP;
  }
  double getBucketBytes(int64_t bytes) const;
  double getBucketBytes();
  double predictBucketBytes(int64_t gradientBytes);
  SmallVector<Bucket> chooseBuckets(bool scattered, double bucketBytes);
  bool waitsForAllGradients() const {
    return distribution.mode == DistributeMode::PerParameter || distribution.mode == DistributeMode::Flat;
  }
  std::string nameBucket(const Bucket &bucket) const;
  void exchange(const Bucket &bucket);
  void describe(const Bucket &bucket, StringRef name, Location loc);
  void exchangePartsOf(const Bucket &bucket, PartsOf partsOf);
  bool canUseFactors() const;
  bool hasFactorsToExchange(const Member &member) const;
  bool replacesReductions() const;
  void exchangeFactors();
  void gatherMatrices();
  SmallVector<Member> takeMembers(llvm::function_ref<bool(const Member &)> predicate);
  void replaceResults(const Member &member, Value value, OpBuilder &builder, double factor = 1);
  void setResultTypes();

  func::FuncOp function;
  const Distribution &distribution;
  Operation *terminator;
  SmallVector<Member> members;
  /// The last exchange of parts or sums, or null. Reductions follow it, because they wait for multiprocessors.
  Operation *lastParts = nullptr;
};
} // namespace

static int64_t getBytes(const Bucket &bucket) {
  int64_t bytes = 0;
  for (const Member *member : bucket)
    bytes += getTensorBytes(member->value);
  return bytes;
}

static std::string formatMiB(int64_t bytes) {
  return llvm::formatv("{0:f3} MiB", static_cast<double>(bytes) / kMiB).str();
}

/// Returns whether a result is a gradient or the loss.
static bool isAveraged(DictionaryAttr port, Value value) {
  if (getPortKind(port) == port::kGradient)
    return true;
  RankedTensorType type = tensorType(value);
  return getPortKind(port) == port::kOutput && getPortName(port) == "loss" && type.getRank() == 0 &&
         isa<FloatType>(type.getElementType());
}

RankedTensorType Distributor::getPartType(RankedTensorType whole) const {
  SmallVector<int64_t> shape(whole.getShape());
  shape[0] /= distribution.worldSize;
  return whole.clone(shape);
}

/// Replaces a gradient whose elements are all equal, on all ranks, with its part. Returns false for other constants.
bool Distributor::replaceSplat(unsigned index, ConstantOp constant) {
  auto elements = dyn_cast<DenseElementsAttr>(constant.getValue());
  if (!elements || !elements.isSplat())
    return false;
  RankedTensorType part = getPartType(tensorType(terminator->getOperand(index)));
  OpBuilder builder(terminator);
  Value value = ConstantOp::create(builder, constant.getLoc(), getPartType(tensorType(constant)),
                                   elements.resizeSplat(getPartType(tensorType(constant))));
  if (value.getType() != part)
    value = CastOp::create(builder, constant.getLoc(), part, value);
  terminator->setOperand(index, value);
  return true;
}

void Distributor::collectMembers() {
  llvm::MapVector<Value, Member> byValue;
  for (auto [index, result] : llvm::enumerate(terminator->getOperands())) {
    DictionaryAttr port = function.getResultAttrDict(index);
    if (!isAveraged(port, result))
      continue;
    Value value = getPortKind(port) == port::kGradient ? skipExtension(result) : result;
    auto constant = value.getDefiningOp<ConstantOp>();
    if (constant && (!isScattered(port) || replaceSplat(index, constant)))
      continue;
    Member &member = byValue[value];
    if (member.results.empty())
      member = {value, getPortName(port).str(), {}, isScattered(port), getPortKind(port) == port::kGradient};
    member.results.push_back(index);
  }
  for (auto &[value, member] : byValue)
    members.push_back(std::move(member));
}

bool Distributor::isReadyBefore(const Member *a, const Member *b) {
  Operation *first = a->value.getDefiningOp(), *second = b->value.getDefiningOp();
  if (!first || !second)
    return !first && second;
  return first->isBeforeInBlock(second);
}

static CollectiveKind getKind(const Bucket &bucket) {
  return bucket.front()->isScattered ? CollectiveKind::ReduceScatter : CollectiveKind::AllReduce;
}

static std::string formatMilliseconds(double seconds) { return llvm::formatv("{0:f3} ms", seconds * 1e3).str(); }

static std::string formatSize(const BucketForecast &forecast) {
  return llvm::formatv("{0}", BucketSize{forecast.bytes / kMiB}).str();
}

/// Returns the size of buckets with the best predicted time.
double Distributor::predictBucketBytes(int64_t gradientBytes) {
  ExchangeModel model(function.getBody().front(), distribution.device, distribution.worldSize);
  auto [chosen, earliest] = chooseBucketSize(model, std::min(gradientBytes, kMostBucketBytes), [&](double bytes) {
    SmallVector<Bucket> buckets = chooseBuckets(/*scattered=*/false, bytes);
    llvm::append_range(buckets, chooseBuckets(/*scattered=*/true, bytes));
    llvm::stable_sort(buckets, [](const Bucket &a, const Bucket &b) { return isReadyBefore(a.back(), b.back()); });
    return llvm::map_to_vector(buckets, [](const Bucket &bucket) {
      return Exchange{getKind(bucket), getBytes(bucket), bucket.back()->value.getDefiningOp()};
    });
  });
  remark::passed(function.getLoc(), distributeRemarks("BucketSize")) << remark::add(
      "@{0}: buckets of {1} MiB: {2} collectives take {3}, {4} of it after the computation of {5}, as predicted for "
      "{6} ranks on {7}; the earliest end, {8} after the computation, has buckets of {9} MiB",
      function.getName(), formatSize(chosen), chosen.numCollectives, formatMilliseconds(chosen.time.communication),
      formatMilliseconds(chosen.time.exposed), formatMilliseconds(model.getComputeSeconds()), distribution.worldSize,
      model.getDevice(), formatMilliseconds(earliest.time.exposed), formatSize(earliest));
  return chosen.bytes;
}

/// Returns the size in bytes at which a bucket is complete. By default, a bucket is a small part of all gradients,
/// because no computation overlaps the exchange of the last bucket. Smaller buckets do not use the links' bandwidth.
double Distributor::getBucketBytes(int64_t bytes) const {
  constexpr double kBuckets = 20;
  BucketSize size = distribution.bucketSize;
  if (size.isGiven())
    return size.mib * kMiB;
  return std::max(kLeastBucketMiB * kMiB, static_cast<double>(bytes) / kBuckets);
}

/// Returns the same for the exchange of all members.
double Distributor::getBucketBytes() {
  int64_t bytes = 0;
  for (const Member &member : members)
    bytes += getTensorBytes(member.value);
  return distribution.bucketSize.isAutomatic && hasBuckets() ? predictBucketBytes(bytes) : getBucketBytes(bytes);
}

SmallVector<Bucket> Distributor::chooseBuckets(bool scattered, double bucketBytes) {
  Bucket order;
  for (Member &member : members)
    if (member.isScattered == scattered)
      order.push_back(&member);
  if (!waitsForAllGradients())
    llvm::stable_sort(order, isReadyBefore);

  SmallVector<Bucket> buckets;
  bool isSizeGiven = distribution.bucketSize.isGiven();
  auto isComplete = [&](const Bucket &bucket, const Member *next) {
    switch (distribution.mode) {
    case DistributeMode::PerParameter:
    case DistributeMode::Overlap:
      return true;
    case DistributeMode::Flat:
      return false;
    case DistributeMode::Bucket:
    case DistributeMode::Zero1:
    case DistributeMode::FSDP:
      return static_cast<double>(getBytes(bucket)) >= bucketBytes ||
             (!isSizeGiven && getBytes(bucket) + getTensorBytes(next->value) > kMostBucketBytes);
    }
    llvm_unreachable("every mode has a case");
  };
  // Maps each element type to its last bucket: values of one type are exchanged as one range of memory. In mode flat,
  // there is one bucket.
  llvm::MapVector<Type, size_t> last;
  for (Member *member : order) {
    Type type = distribution.mode == DistributeMode::Flat ? Type() : getElementTypeOrSelf(member->value.getType());
    auto [position, isNew] = last.insert({type, buckets.size()});
    if (isNew || isComplete(buckets[position->second], member)) {
      position->second = buckets.size();
      buckets.emplace_back();
    }
    buckets[position->second].push_back(member);
  }
  // Collectives have the order in which they are ready.
  if (!waitsForAllGradients())
    llvm::stable_sort(buckets, [](const Bucket &a, const Bucket &b) { return isReadyBefore(a.back(), b.back()); });
  return buckets;
}

std::string Distributor::nameBucket(const Bucket &bucket) const {
  if (bucket.size() == 1)
    return bucket.front()->name;
  if (distribution.mode == DistributeMode::Flat)
    return "gradients";
  return "bucket" + std::to_string(numCollectives);
}

void Distributor::exchange(const Bucket &bucket) {
  OpBuilder builder(terminator);
  if (!waitsForAllGradients()) {
    Value last = bucket.back()->value;
    builder.setInsertionPointAfterValue(last);
    Operation *next = &*builder.getInsertionPoint();
    if (lastParts && (next == lastParts || next->isBeforeInBlock(lastParts)))
      builder.setInsertionPointAfter(lastParts);
  }
  bool isScattered = bucket.front()->isScattered;
  SmallVector<Value> values;
  SmallVector<Type> types;
  for (const Member *member : bucket) {
    RankedTensorType type = tensorType(member->value);
    values.push_back(member->value);
    types.push_back(isScattered ? getPartType(type) : type);
  }
  MLIRContext *context = function.getContext();
  std::string name = nameBucket(bucket);
  Location loc = inPhase(Phase::Communication, NameLoc::get(StringAttr::get(context, name)));
  auto collective = CollectiveOp::create(builder, loc, types, getKind(bucket),
                                         CollectiveReductionAttr::get(context, CollectiveReduction::Mean), values,
                                         distribution.worldSize, /*root=*/IntegerAttr());
  for (auto [member, mean] : llvm::zip_equal(bucket, collective.getResults()))
    replaceResults(*member, mean, builder);
  ++numCollectives;
  if (isScattered) {
    ++numScatters;
    scatteredBytes += getBytes(bucket);
  }
  describe(bucket, name, loc);
}

/// Emits a remark if the bucket has several values.
void Distributor::describe(const Bucket &bucket, StringRef name, Location loc) {
  if (bucket.size() == 1)
    return;
  auto names = llvm::map_range(bucket, [](const Member *member) -> StringRef { return member->name; });
  remark::passed(loc, distributeRemarks("Bucketed"))
      << remark::add("@{0}: {1} has {2} values, {3}: {4}", function.getName(), name, bucket.size(),
                     formatMiB(getBytes(bucket)), llvm::join(names, ", "));
}

/// Exchanges gradients, and leaves the sums to the updates.
void Distributor::exchangePartsOf(const Bucket &bucket, PartsOf partsOf) {
  auto values = llvm::map_to_vector(bucket, [](const Member *member) { return member->value; });
  OpBuilder builder(function.getContext());
  builder.setInsertionPointAfterValue(values.back());
  std::string name = nameBucket(bucket);
  auto [sums, collective] = exchangeParts(builder, name, values, distribution.worldSize, partsOf);
  describe(bucket, name, collective.getLoc());
  for (auto [member, sum] : llvm::zip_equal(bucket, sums))
    replaceResults(*member, sum, builder, 1.0 / static_cast<double>(distribution.worldSize));
  if (!lastParts || lastParts->isBeforeInBlock(collective))
    lastParts = collective;
  ++numCollectives;
  if (partsOf == PartsOf::AllRows)
    return;
  ++numScatters;
  scatteredBytes += getBytes(bucket);
}

/// Replaces the results of a member by its mean, which is `factor` times `value`.
void Distributor::replaceResults(const Member &member, Value value, OpBuilder &builder, double factor) {
  for (unsigned index : member.results) {
    Value old = terminator->getOperand(index), result = value;
    RankedTensorType type = tensorType(value).clone(tensorType(old).getElementType());
    Location loc = inPhase(Phase::Communication, old.getLoc());
    if (type != value.getType())
      result = CastOp::create(builder, loc, type, value);
    if (factor != 1)
      result = MulOp::create(builder, loc, result, ConstantOp::create(builder, loc, type, factor));
    terminator->setOperand(index, result);
    Operation *widening = old.getDefiningOp();
    if (!widening || !isOpTriviallyDead(widening))
      continue;
    if (builder.getInsertionPoint() == Block::iterator(widening))
      builder.setInsertionPointAfter(widening);
    widening->erase();
  }
}

/// Removes the members for which the predicate holds, and returns them.
SmallVector<Member> Distributor::takeMembers(llvm::function_ref<bool(const Member &)> predicate) {
  auto begin =
      std::stable_partition(members.begin(), members.end(), [&](const Member &member) { return !predicate(member); });
  SmallVector<Member> taken(std::make_move_iterator(begin), std::make_move_iterator(members.end()));
  members.erase(begin, members.end());
  return taken;
}

/// Returns whether updates can follow the gradients one by one, so that one kernel can compute a gradient and apply it.
/// Updates that clip gradients wait for the norm of all of them.
bool Distributor::canUseFactors() const {
  auto optimizer = function->getAttrOfType<OptimizerAttr>(CS336Dialect::kOptimizerAttr);
  return distribution.factors > 0 && getMode(function) == Mode::Train && !(optimizer && optimizer.getMaxNorm() > 0);
}

bool Distributor::hasFactorsToExchange(const Member &member) const {
  bool isGathered = distribution.mode == DistributeMode::Bucket && member.isGradient &&
                    tensorType(member.value).getDimSize(0) % distribution.worldSize == 0;
  return hasFactors(member.value) && (member.isScattered || isGathered) &&
         getFactorRatio(member.value.getDefiningOp<MatmulOp>(), distribution.worldSize) <= distribution.factors;
}

/// Returns whether the sums of factors take the place of most reductions in mode bucket. Otherwise the kernels of
/// updates and of reductions would wait for each other.
bool Distributor::replacesReductions() const {
  constexpr double kLeastShare = 0.9;
  int64_t exchanged = 0, all = 0;
  for (const Member &member : members) {
    if (!member.isGradient || !hasFactors(member.value))
      continue;
    all += getTensorBytes(member.value);
    exchanged += hasFactorsToExchange(member) ? getTensorBytes(member.value) : 0;
  }
  return static_cast<double>(exchanged) >= kLeastShare * static_cast<double>(all);
}

/// Exchanges factors in place of gradients where ranks send few enough bytes.
void Distributor::exchangeFactors() {
  bool gathers = distribution.mode == DistributeMode::Bucket;
  if (!canUseFactors() || (gathers && !replacesReductions()))
    return;
  SmallVector<Member> factored = takeMembers([&](const Member &member) { return hasFactorsToExchange(member); });
  if (factored.empty())
    return;
  llvm::stable_sort(factored, [](const Member &a, const Member &b) { return isReadyBefore(&a, &b); });
  auto gradients =
      llvm::map_to_vector(factored, [](const Member &member) { return member.value.getDefiningOp<MatmulOp>(); });

  BucketSize size = distribution.bucketSize;
  FactorExchange exchange(distribution.worldSize, kMiB * (size.isGiven() ? size.mib : kLeastBucketMiB),
                          distribution.mode == DistributeMode::FSDP ? kLeadOfFSDP : kLead);
  SmallVector<Value> sums = exchange.build(gradients);
  CollectiveKind replaced = gathers ? CollectiveKind::AllReduce : CollectiveKind::ReduceScatter;
  int64_t replacedBytes = 0, gradientBytes = 0;
  for (MatmulOp gradient : gradients) {
    gradientBytes += getTensorBytes(gradient.getResult());
    replacedBytes += getRingBytes(replaced, distribution.worldSize, getTensorBytes(gradient.getResult()));
  }
  if (gathers) {
    gatherMatrices();
    sums = exchange.gather(sums, getBucketBytes(gradientBytes), lastParts);
    lastParts = sums.back().getDefiningOp();
  }
  OpBuilder builder(terminator);
  for (auto [member, sum] : llvm::zip_equal(factored, sums)) {
    builder.setInsertionPointAfterValue(sum);
    replaceResults(member, sum, builder, 1.0 / static_cast<double>(distribution.worldSize));
  }
  for (MatmulOp gradient : gradients)
    if (isOpTriviallyDead(gradient))
      gradient.erase();
  numCollectives += exchange.numCollectives;
  numFactored = factored.size();
  remark::passed(function.getLoc(), distributeRemarks("Factored")) << remark::add(
      "@{0}: {1} gradients are computed from the factors of all ranks: each rank sends {2}, and {3} of gradients "
      "otherwise",
      function.getName(), numFactored, formatMiB(exchange.sentBytes), formatMiB(replacedBytes));
}

/// Gathers the gradients of matrices that have no factors to exchange, if they are small. The updates add those of all
/// ranks. A reduction would wait for multiprocessors, which the kernels of updates occupy.
void Distributor::gatherMatrices() {
  auto isMatrix = [](const Member &member) {
    return member.isGradient && !member.isScattered && tensorType(member.value).getRank() >= 2;
  };
  int64_t bytes = 0;
  for (const Member &member : members)
    bytes += isMatrix(member) ? getTensorBytes(member.value) : 0;
  if (bytes * distribution.worldSize > kMostBucketBytes)
    return;
  SmallVector<Member> matrices = takeMembers(isMatrix);
  llvm::stable_sort(matrices, [](const Member &a, const Member &b) { return isReadyBefore(&a, &b); });
  for (Member &matrix : matrices)
    exchangePartsOf({&matrix}, PartsOf::AllRows);
  numAdded = matrices.size();
}

/// Sets the function's result types, which change for scattered gradients.
void Distributor::setResultTypes() {
  MLIRContext *context = function.getContext();
  for (unsigned index = 0; index < function.getNumResults(); ++index)
    if (DictionaryAttr port = function.getResultAttrDict(index); isScattered(port))
      function.setResultAttrs(index, withShards(context, port, distribution.worldSize));
  function.setFunctionType(FunctionType::get(context, function.getArgumentTypes(), terminator->getOperandTypes()));
}

void Distributor::run() {
  collectMembers();
  exchangeFactors();
  double bucketBytes = getBucketBytes();
  SmallVector<Bucket> scattered = chooseBuckets(/*scattered=*/true, bucketBytes);
  // With factors, few gradients are left, and the kernels of updates occupy all multiprocessors.
  bool exchangesParts = numFactored > 0 && llvm::sum_of(llvm::map_range(scattered, getBytes)) <= kMostBucketBytes;
  if (exchangesParts)
    llvm::for_each(scattered, [&](const Bucket &bucket) { exchangePartsOf(bucket, PartsOf::OwnRows); });
  for (const Bucket &bucket : chooseBuckets(/*scattered=*/false, bucketBytes))
    exchange(bucket);
  if (!exchangesParts)
    llvm::for_each(scattered, [&](const Bucket &bucket) { exchange(bucket); });
  if (!distribution.scattered.empty())
    setResultTypes();
}

namespace {
class DistributePass : public cs336::impl::DistributePassBase<DistributePass>, public CountingPass {
public:
  using DistributePassBase::DistributePassBase;

private:
  void runOnOperation() override;
  LogicalResult checkOptions(func::FuncOp function);
  bool shardsParameters() const { return mode == DistributeMode::Zero1 || mode == DistributeMode::FSDP; }
  FailureOr<ShardedParameters> shard(func::FuncOp function, bool exchanges);
  void exchange(func::FuncOp function, llvm::StringSet<> scattered);

  PassCounter numCollectives{this, "num-collectives", "Number of collectives added"};
  PassCounter numExchanged{this, "num-exchanged", "Number of gradients and losses exchanged"};
  PassCounter numSharded{this, "num-sharded", "Number of parameters sharded"};
};
} // namespace

LogicalResult DistributePass::checkOptions(func::FuncOp function) {
  if (worldSize < 1)
    return function.emitOpError() << "cannot be distributed: world-size is " << worldSize.getValue()
                                  << ", must be at least 1";
  if (prefetch < kAutomaticPrefetch)
    return function.emitOpError() << "cannot be distributed: prefetch is " << prefetch.getValue()
                                  << ", must not be negative, except -1, which chooses it by the mode";
  if (gatherLayers < 1)
    return function.emitOpError() << "cannot be distributed: gather-layers is " << gatherLayers.getValue()
                                  << ", must be at least 1";
  if (bucketMiB.mib < 0)
    return function.emitOpError() << "cannot be distributed: bucket-mib is "
                                  << llvm::formatv("{0:f}", bucketMiB.mib).str()
                                  << ", must be above 0, or 0 for a size by the gradients";
  if (factors < 0)
    return function.emitOpError() << "cannot be distributed: factors is "
                                  << llvm::formatv("{0:f}", factors.getValue()).str() << ", must not be negative";
  if (!findDeviceModel(predictOn)) {
    auto names =
        llvm::map_to_vector(getDeviceModels(), [](const DeviceModel &device) -> StringRef { return device.name; });
    return function.emitOpError() << "cannot be distributed: " << describeUnknown("predict-on", predictOn, names);
  }
  return success();
}

FailureOr<ShardedParameters> DistributePass::shard(func::FuncOp function, bool exchanges) {
  bool gatherAgain = mode == DistributeMode::FSDP;
  // Values that are gathered once live until the backward pass: memory does not depend on when the forward pass
  // gathers.
  int64_t layersAhead = prefetch != kAutomaticPrefetch ? prefetch.getValue()
                        : gatherAgain || !exchanges    ? 1
                                                       : kAllLayers;
  // Values that a gather brings for several layers need their memory earlier, unless all gathers are at the start.
  int64_t layersPerGather = layersAhead == kAllLayers ? gatherLayers.getValue() : 1;
  FailureOr<ShardedParameters> sharded =
      shardParameters(function, {worldSize, gatherAgain, layersAhead, layersPerGather});
  if (failed(sharded))
    return failure();
  numSharded += sharded->names.size();
  numCollectives += sharded->numGathers;
  remark::passed(function.getLoc(), distributeRemarks("Sharded")) << remark::add(
      "@{0}: {1} parameters are sharded over {2} ranks, {3} replicated ({4} vectors, scalars or integers, {5} with "
      "rows that {2} does not divide); {6} collectives gather {7}",
      function.getName(), sharded->names.size(), worldSize.getValue(), sharded->numSmall + sharded->numIndivisible,
      sharded->numSmall, sharded->numIndivisible, sharded->numGathers, formatMiB(sharded->gatheredBytes));
  return sharded;
}

void DistributePass::exchange(func::FuncOp function, llvm::StringSet<> scattered) {
  Distribution distribution{worldSize, mode, bucketMiB, *findDeviceModel(predictOn), factors, std::move(scattered)};
  Distributor distributor(function, distribution);
  distributor.run();
  numCollectives += distributor.numCollectives;
  numExchanged += distributor.numExchanged();
  if (distributor.numScatters > 0)
    remark::passed(function.getLoc(), distributeRemarks("Scattered"))
        << remark::add("@{0}: {1} collectives scatter {2} of gradients", function.getName(), distributor.numScatters,
                       formatMiB(distributor.scatteredBytes));
  remark::passed(function.getLoc(), distributeRemarks("Distributed"))
      << remark::add("@{0}: {1} values become means over {2} ranks, in {3} collectives", function.getName(),
                     distributor.numExchanged(), worldSize.getValue(), distributor.numCollectives);
}

void DistributePass::runOnOperation() {
  func::FuncOp function = getOperation();
  if (failed(checkOptions(function)))
    return signalPassFailure();
  std::optional<Mode> functionMode = getMode(function);
  bool exchanges = functionMode == Mode::Train || functionMode == Mode::ForwardBackward;
  if (function.isExternal() || worldSize == 1 || !functionMode || !(exchanges || shardsParameters()))
    return;
  if (function.walk([](CollectiveOp) { return WalkResult::interrupt(); }).wasInterrupted()) {
    remark::missed(function.getLoc(), distributeRemarks("HasCollectives"))
        << remark::add("@{0} contains collectives and is not changed", function.getName());
    return;
  }
  if (functionMode == Mode::Train && !hasResultOfKind(function, port::kGradient)) {
    function.emitOpError() << "returns no gradients to average over ranks; run --cs336-distribute after "
                              "--cs336-differentiate and before --cs336-optimizer";
    return signalPassFailure();
  }
  if (!function.getBody().hasOneBlock()) {
    function.emitOpError() << "has several blocks; only straight-line functions are distributed";
    return signalPassFailure();
  }
  llvm::StringSet<> scattered;
  if (shardsParameters()) {
    FailureOr<ShardedParameters> sharded = shard(function, exchanges);
    if (failed(sharded))
      return signalPassFailure();
    // A caller gets whole gradients. Only an optimizer uses parts of them.
    if (functionMode == Mode::Train)
      scattered = std::move(sharded->names);
  }
  if (exchanges)
    exchange(function, std::move(scattered));
}
