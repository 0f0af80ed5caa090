//===- Distributor.cpp - Means of gradients over ranks --------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Distributor.h"

#include "ExchangeModel.h"
#include "WidenedGradient.h"
#include "cs336/Dialect/CS336/IR/CS336Ops.h"
#include "cs336/Dialect/CS336/IR/Phase.h"
#include "cs336/Dialect/CS336/IR/TensorBytes.h"
#include "cs336/Dialect/CS336/IR/TensorTypes.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SmallVectorExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace cs336;

int64_t Distributor::getBytes(const Bucket &bucket) {
  int64_t bytes = 0;
  for (const Member *member : bucket)
    bytes += getTensorBytes(member->value);
  return bytes;
}

std::string cs336::formatMiB(int64_t bytes) {
  return llvm::formatv("{0:f3} MiB", static_cast<double>(bytes) / Distributor::kMiB).str();
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

static std::string formatMilliseconds(double seconds) { return llvm::formatv("{0:f3} ms", seconds * 1e3).str(); }

static std::string formatSize(const BucketForecast &forecast) {
  return llvm::formatv("{0}", BucketSize{forecast.bytes / Distributor::kMiB}).str();
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

SmallVector<Distributor::Bucket> Distributor::chooseBuckets(bool scattered, double bucketBytes) {
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
SmallVector<Distributor::Member> Distributor::takeMembers(llvm::function_ref<bool(const Member &)> predicate) {
  auto begin =
      std::stable_partition(members.begin(), members.end(), [&](const Member &member) { return !predicate(member); });
  SmallVector<Member> taken(std::make_move_iterator(begin), std::make_move_iterator(members.end()));
  members.erase(begin, members.end());
  return taken;
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
