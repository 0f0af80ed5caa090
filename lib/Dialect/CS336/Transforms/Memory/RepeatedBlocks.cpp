//===- RepeatedBlocks.cpp - The layers of a model, by structure -----------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RepeatedBlocks.h"

#include "cs336/Support/CompletePrinting.h"
#include "mlir/IR/AsmState.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace cs336;

/// Returns the values that an operation reads, including those of its regions.
static llvm::SetVector<Value> getReads(Operation *op) {
  llvm::SetVector<Value> reads(op->operand_begin(), op->operand_end());
  getUsedValuesDefinedAbove(op->getRegions(), reads);
  return reads;
}

//===----------------------------------------------------------------------===//
// Activations
//===----------------------------------------------------------------------===//

SmallVector<Operation *> cs336::collectActivations(ArrayRef<Operation *> operations) {
  // The only argument that a value depends on, or null for several. Values that depend on no argument are not in the
  // map.
  DenseMap<Value, Value> argumentOf;
  SmallVector<Operation *> activations;
  for (Operation *op : operations) {
    bool dependsOnAny = false, dependsOnSeveral = false;
    Value argument;
    for (Value read : getReads(op)) {
      auto found = argumentOf.find(read);
      if (!isa<BlockArgument>(read) && found == argumentOf.end())
        continue;
      Value source = isa<BlockArgument>(read) ? read : found->second;
      dependsOnSeveral |= !source || (dependsOnAny && source != argument);
      dependsOnAny = true;
      argument = source;
    }
    if (!dependsOnAny)
      continue;
    for (Value result : op->getResults())
      argumentOf[result] = dependsOnSeveral ? Value() : argument;
    if (dependsOnSeveral)
      activations.push_back(op);
  }
  return activations;
}

//===----------------------------------------------------------------------===//
// Cuts
//===----------------------------------------------------------------------===//

namespace {
/// A position after which the remaining operations read no earlier value but `value`.
struct Cut {
  size_t position;
  Value value;
};
} // namespace

static SmallVector<Cut> findCuts(ArrayRef<Operation *> activations) {
  DenseMap<Value, size_t> lastReads;
  DenseSet<Value> computed;
  for (auto [position, op] : llvm::enumerate(activations)) {
    for (Value read : getReads(op))
      if (computed.contains(read))
        lastReads[read] = position;
    computed.insert(op->result_begin(), op->result_end());
  }

  SmallVector<Cut> cuts;
  llvm::SetVector<Value> live;
  for (auto [position, op] : llvm::enumerate(activations)) {
    live.remove_if([&, position = position](Value value) { return lastReads.lookup(value) <= position; });
    for (Value result : op->getResults())
      if (lastReads.contains(result))
        live.insert(result);
    if (live.size() == 1 && (cuts.empty() || cuts.back().value != live.front()))
      cuts.push_back({position + 1, live.front()});
  }
  return cuts;
}

//===----------------------------------------------------------------------===//
// Repetition
//===----------------------------------------------------------------------===//

/// Returns the operations of a stretch as text. Equal stretches have equal texts. Values are numbered by their origin.
static std::string describe(ArrayRef<Operation *> operations, Value input) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  AsmState printing(input.getContext(), printCompletely());
  DenseMap<Value, size_t> numbers;
  numbers[input] = 0;
  for (Operation *op : operations) {
    op->walk<WalkOrder::PreOrder>([&](Operation *nested) {
      stream << nested->getName();
      nested->getAttrDictionary().print(stream, printing);
      llvm::interleaveComma(nested->getResultTypes(), stream << " : ");
    });
    stream << " of ";
    llvm::interleaveComma(op->getOperands(), stream, [&](Value operand) {
      if (auto number = numbers.find(operand); number != numbers.end())
        stream << number->second;
      else
        stream << operand.getType();
    });
    stream << '\n';
    for (Value result : op->getResults())
      numbers.try_emplace(result, numbers.size());
  }
  return text;
}

namespace {
/// A repetition of `count` blocks with `period` stretches each, starting at stretch `first`.
struct Repetition {
  size_t first = 0, period = 1, count = 0;
};
} // namespace

/// Returns the repetition with the most operations. Ties are broken by the number of blocks, then by position.
static Repetition findRepetition(ArrayRef<unsigned> kinds, ArrayRef<Cut> cuts) {
  Repetition best;
  size_t most = 0;
  for (size_t period = 1; period <= kinds.size() / 2; ++period) {
    for (size_t first = 0; first + 2 * period <= kinds.size();) {
      size_t end = first;
      while (end + period < kinds.size() && kinds[end] == kinds[end + period])
        ++end;
      size_t count = (end - first) / period + 1;
      size_t covered = cuts[first + count * period].position - cuts[first].position;
      if (count > 1 && covered > most) {
        best = {first, period, count};
        most = covered;
      }
      first = end + 1;
    }
  }
  return best;
}

SmallVector<ProgramBlock> cs336::findRepeatedBlocks(ArrayRef<Operation *> activations) {
  SmallVector<Cut> cuts = findCuts(activations);
  auto stretch = [&](size_t first, size_t last) {
    return activations.slice(cuts[first].position, cuts[last].position - cuts[first].position);
  };
  llvm::StringMap<unsigned> kindOf;
  SmallVector<unsigned> kinds;
  for (size_t index = 0; index + 1 < cuts.size(); ++index)
    kinds.push_back(
        kindOf.try_emplace(describe(stretch(index, index + 1), cuts[index].value), kindOf.size()).first->second);

  Repetition repetition = findRepetition(kinds, cuts);
  SmallVector<ProgramBlock> blocks;
  for (size_t block = 0; block < repetition.count; ++block) {
    size_t first = repetition.first + block * repetition.period, last = first + repetition.period;
    blocks.push_back({cuts[first].value, cuts[last].value, SmallVector<Operation *>(stretch(first, last))});
  }
  return blocks;
}
