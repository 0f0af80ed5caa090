//===- IterationSpace.cpp - Loops merged, vectors and index types chosen --===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "IterationSpace.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/Support/MathExtras.h"

#include <limits>

using namespace mlir;
using namespace cs336::cuda;

int64_t cs336::cuda::getElementBytes(Type type) { return llvm::divideCeil(type.getIntOrFloatBitWidth(), 8); }

std::string cs336::cuda::describePoints(const KernelProgram &program) {
  std::string text = std::to_string(program.getNumPoints());
  if (program.getPoint().getNumDims() < 2)
    return text + (program.getNumPoints() == 1 ? " point" : " points");
  text += " =";
  for (auto [dim, extent] : llvm::enumerate(program.getExtents(program.getPoint())))
    text += (dim == 0 ? " " : " x ") + std::to_string(extent);
  return text + " points (i0, i1, …)";
}

//===----------------------------------------------------------------------===//
// Linear forms
//===----------------------------------------------------------------------===//

static bool addLinear(AffineExpr index, int64_t factor, LinearForm &form) {
  if (auto constant = dyn_cast<AffineConstantExpr>(index)) {
    form.constant += factor * constant.getValue();
    return true;
  }
  if (auto dim = dyn_cast<AffineDimExpr>(index)) {
    form.coefficients[dim.getPosition()] += factor;
    return true;
  }
  auto binary = dyn_cast<AffineBinaryOpExpr>(index);
  if (!binary)
    return false;
  if (binary.getKind() == AffineExprKind::Add)
    return addLinear(binary.getLHS(), factor, form) && addLinear(binary.getRHS(), factor, form);
  if (auto scale = dyn_cast<AffineConstantExpr>(binary.getRHS()); scale && binary.getKind() == AffineExprKind::Mul)
    return addLinear(binary.getLHS(), factor * scale.getValue(), form);
  return false;
}

std::optional<LinearForm> cs336::cuda::getLinearForm(AffineExpr index, unsigned numDims) {
  LinearForm form{SmallVector<int64_t>(numDims, 0)};
  if (!addLinear(index, 1, form))
    return std::nullopt;
  return form;
}

//===----------------------------------------------------------------------===//
// Merging
//===----------------------------------------------------------------------===//

/// Returns whether the index, at every point, depends on (outer, inner) through outer · extent(inner) + inner only.
static bool walksAsOne(AffineExpr index, unsigned outer, unsigned inner, ArrayRef<int64_t> extents) {
  if (std::optional<LinearForm> form = getLinearForm(index, extents.size()))
    return form->coefficients[outer] == form->coefficients[inner] * extents[inner];
  return !index.isFunctionOfDim(outer) && !index.isFunctionOfDim(inner);
}

void cs336::cuda::mergeDimensions(KernelProgram &program) {
  if (program.stores.empty())
    return;
  MLIRContext *context = program.stores.front().index.getContext();
  SmallVector<AffineExpr> indices;
  program.forEachIndex([&](AffineExpr &index) { indices.push_back(index); });

  // Returns the old dimensions in terms of the new ones. A merged dimension is at the position of its innermost old
  // dimension: the point (outer, inner) becomes (0, outer · extent + inner).
  SmallVector<AffineExpr> replacements;
  SmallVector<int64_t> merged;
  for (LoopNest &nest : program.nests) {
    unsigned begin = merged.size();
    std::optional<unsigned> previous;
    for (unsigned dim = nest.begin; dim < nest.end; ++dim) {
      if (program.extents[dim] == 1) {
        replacements.push_back(getAffineConstantExpr(0, context));
        continue;
      }
      bool joins = previous && llvm::all_of(indices, [&](AffineExpr index) {
                     return walksAsOne(index, *previous, dim, program.extents);
                   });
      if (joins) {
        replacements[*previous] = getAffineConstantExpr(0, context);
        merged.back() *= program.extents[dim];
      } else {
        merged.push_back(program.extents[dim]);
      }
      replacements.push_back(getAffineDimExpr(merged.size() - 1, context));
      previous = dim;
    }
    nest = {begin, static_cast<unsigned>(merged.size())};
  }

  program.forEachIndex(
      [&](AffineExpr &index) { index = simplifyAffineExpr(index.replaceDims(replacements), merged.size(), 0); });
  program.extents = merged;
}

//===----------------------------------------------------------------------===//
// Choices
//===----------------------------------------------------------------------===//

/// Returns whether every coefficient but that of `dim` is a multiple of `width`.
static bool othersAreMultiples(const LinearForm &form, unsigned dim, int64_t width) {
  return llvm::all_of(llvm::enumerate(form.coefficients),
                      [&](auto step) { return step.index() == dim || step.value() % width == 0; });
}

SteppedAccess SteppedAccess::get(AffineExpr index, unsigned dim, unsigned numDims) {
  LinearForm form = *getLinearForm(index, numDims);
  int64_t step = form.coefficients[dim], place = form.constant % step;
  return {step, simplifyAffineExpr(index - place, numDims, 0), place};
}

namespace {
/// Accesses that together are contiguous along one dimension.
struct ContiguousAccess {
  LinearForm form;
  int64_t step;
  int64_t elementBytes;
  int64_t alignment;

  /// Returns whether the elements of `width` points can be accessed at once: all start at a multiple of their size.
  bool allowsWidth(unsigned dim, int64_t width) const {
    int64_t elements = width * step;
    return alignment % std::min(elements * elementBytes, accessBytes) == 0 &&
           (form.constant - form.constant % step) % elements == 0 && othersAreMultiples(form, dim, elements);
  }
  int64_t getWidestWidth() const { return std::max<int64_t>(accessBytes / elementBytes / step, 1); }

  static constexpr int64_t accessBytes = 16;
};

/// The places in vectors that interleaved accesses access.
class InterleavedPlaces {
public:
  /// `box` is 0 for none.
  void add(unsigned operand, unsigned box, const SteppedAccess &access) {
    Vector &vector = vectors[{operand, box, access.base}];
    vector.step = access.step;
    vector.places.insert(access.place);
  }
  bool areNone() const { return vectors.empty(); }
  /// Returns whether every place of every vector is accessed.
  bool areComplete() const {
    return llvm::all_of(vectors, [](const auto &entry) {
      return static_cast<int64_t>(entry.second.places.size()) == entry.second.step;
    });
  }

private:
  struct Vector {
    int64_t step = 1;
    llvm::SmallDenseSet<int64_t> places;
  };
  DenseMap<std::tuple<unsigned, unsigned, AffineExpr>, Vector> vectors;
};
} // namespace

/// Returns whether all elements of a vector along `dim` are in the box if one is.
static bool holdsWholeVectors(const Box &box, unsigned numDims, unsigned dim, int64_t width) {
  return llvm::all_of(box.ranges, [&](const Box::Range &range) {
    if (!range.index.isFunctionOfDim(dim))
      return true;
    std::optional<LinearForm> form = getLinearForm(range.index, numDims);
    return form && form->coefficients[dim] == 1 && (range.begin - form->constant) % width == 0 &&
           (range.end - form->constant) % width == 0 && othersAreMultiples(*form, dim, width);
  });
}

int64_t cs336::cuda::chooseVectorWidth(const KernelProgram &program, const DeviceKernel &kernel, unsigned dim,
                                       VectorAccess access) {
  unsigned numDims = program.extents.size();
  constexpr int64_t widest = 8;
  int64_t widthOfLoads = widest, widthOfStores = widest;
  SmallVector<ContiguousAccess> accesses;
  InterleavedPlaces loads, stores;
  // Loads and stores that do not depend on the dimension access one element, whatever the width.
  auto take = [&](unsigned operand, AffineExpr index, int64_t &width, InterleavedPlaces &places, unsigned box) {
    if (!index.isFunctionOfDim(dim))
      return true;
    std::optional<LinearForm> form = getLinearForm(index, numDims);
    if (!form)
      return false;
    auto stepped = SteppedAccess::get(index, dim, numDims);
    // The elements of a vector are a power of two.
    bool isInterleaved = access == VectorAccess::Interleaved && llvm::isPowerOf2_64(stepped.step);
    if (stepped.step != 1 && !isInterleaved)
      return false;
    places.add(operand, box, stepped);
    int64_t elementBytes = getElementBytes(kernel.operands[operand].getElementType());
    accesses.push_back({*form, stepped.step, elementBytes, kernel.alignments[operand]});
    width = std::min(width, accesses.back().getWidestWidth());
    return true;
  };
  for (const Scalar &scalar : program.scalars) {
    if (scalar.kind == Scalar::Kind::Load &&
        !take(scalar.operand, scalar.index, widthOfLoads, loads, scalar.box ? *scalar.box + 1 : 0))
      return 1;
    // A lane's index is the first lane's index plus a multiple of the lane's number.
    bool isPrinted = scalar.kind == Scalar::Kind::Index || scalar.kind == Scalar::Kind::Table;
    if (isPrinted && scalar.index.isFunctionOfDim(dim) && !getLinearForm(scalar.index, numDims))
      return 1;
  }
  for (const Store &store : program.stores)
    if (!take(store.operand, store.index, widthOfStores, stores, /*box=*/0))
      return 1;
  if (accesses.empty() || !loads.areComplete() || !stores.areComplete())
    return 1;

  auto fits = [&](int64_t width) {
    return program.extents[dim] % width == 0 &&
           llvm::all_of(accesses, [&](const ContiguousAccess &access) { return access.allowsWidth(dim, width); }) &&
           llvm::all_of(program.boxes, [&](const Box &box) { return holdsWholeVectors(box, numDims, dim, width); });
  };
  bool onlyLoads = program.hasReductions() && !loads.areNone();
  int64_t width = onlyLoads ? widthOfLoads : std::min(widthOfLoads, widthOfStores);
  while (width > 1 && !fits(width))
    width /= 2;
  return width;
}

bool cs336::cuda::isContiguousAlong(const KernelProgram &program, unsigned dim) {
  // The number of elements of an operand that its loads read.
  auto countElements = [&](AffineExpr index) {
    int64_t count = 1;
    for (auto [dim, extent] : llvm::enumerate(program.extents))
      count *= index.isFunctionOfDim(dim) ? extent : 1;
    return count;
  };
  SmallVector<AffineExpr> loads;
  int64_t largest = 0;
  for (const Scalar &scalar : program.scalars)
    if (scalar.kind == Scalar::Kind::Load) {
      loads.push_back(scalar.index);
      largest = std::max(largest, countElements(scalar.index));
    }
  return llvm::any_of(loads, [&](AffineExpr index) {
    std::optional<LinearForm> form = getLinearForm(index, program.extents.size());
    return countElements(index) == largest && form && form->coefficients[dim] == 1;
  });
}

int64_t cs336::cuda::getLargestValue(AffineExpr index, ArrayRef<int64_t> extents, int64_t *largestPart) {
  int64_t value;
  if (auto constant = dyn_cast<AffineConstantExpr>(index)) {
    value = constant.getValue();
  } else if (auto dim = dyn_cast<AffineDimExpr>(index)) {
    value = extents[dim.getPosition()] - 1;
  } else {
    auto binary = cast<AffineBinaryOpExpr>(index);
    int64_t lhs = getLargestValue(binary.getLHS(), extents, largestPart);
    int64_t rhs = getLargestValue(binary.getRHS(), extents, largestPart);
    switch (binary.getKind()) {
    case AffineExprKind::Add:
      value = lhs + rhs;
      break;
    case AffineExprKind::Mul:
      value = lhs * rhs;
      break;
    case AffineExprKind::FloorDiv:
      value = lhs / rhs;
      break;
    case AffineExprKind::Mod:
      value = std::min(lhs, rhs - 1);
      break;
    default:
      llvm_unreachable("ceildiv does not come from an index of a tensor");
    }
  }
  if (largestPart)
    *largestPart = std::max(*largestPart, value);
  return value;
}

bool cs336::cuda::needs64BitIndices(const KernelProgram &program) {
  int64_t largest = 0;
  for (const LoopNest &nest : program.nests)
    largest = std::max(largest, program.getNumIterations(nest));
  program.forEachIndex([&](AffineExpr index) { getLargestValue(index, program.extents, &largest); });
  return largest > std::numeric_limits<int32_t>::max();
}
