//===- PrintCostPass.cpp - Counts, FLOPs and bytes ------------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Dialect/CS336/IR/CS336Interfaces.h"
#include "cs336/Dialect/CS336/IR/Phase.h"
#include "cs336/Dialect/CS336/IR/Ports.h"
#include "cs336/Dialect/CS336/IR/Sizes.h"
#include "cs336/Dialect/CS336/Transforms/Passes.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"
#include <map>

namespace cs336 {
#define GEN_PASS_DEF_PRINTCOSTPASS
#include "cs336/Dialect/CS336/Transforms/Passes.h.inc"
} // namespace cs336

using namespace mlir;
using namespace cs336;

namespace {
struct Cost {
  int64_t count = 0, flops = 0, bytes = 0, wireBytes = 0;

  void operator+=(const Cost &other) {
    count += other.count;
    flops = addSaturating(flops, other.flops);
    bytes = addSaturating(bytes, other.bytes);
    wireBytes = addSaturating(wireBytes, other.wireBytes);
  }
};

/// Costs by phase and operation, in that order.
using CostTable = std::map<std::pair<Phase, std::string>, Cost>;

class PrintCostPass : public cs336::impl::PrintCostPassBase<PrintCostPass> {
  void runOnOperation() override;
};
} // namespace

/// Adds up costs. The cost of a group includes the operations inside it, so the walk does not enter operations with a
/// cost.
static CostTable countCosts(func::FuncOp function, int64_t &numWithoutCost) {
  CostTable table;
  function.getBody().walk<WalkOrder::PreOrder>([&](Operation *op) {
    auto costOp = dyn_cast<CostOpInterface>(op);
    if (!costOp) {
      numWithoutCost += !op->hasTrait<OpTrait::IsTerminator>();
      return WalkResult::advance();
    }
    table[{getPhase(op->getLoc()), op->getName().getStringRef().str()}] +=
        Cost{1, costOp.getFlops(), costOp.getBytes(), costOp.getWireBytes()};
    return WalkResult::skip();
  });
  return table;
}

namespace {
/// The widths of a table's columns of text, in characters.
struct Widths {
  size_t phase = StringRef("optimizer").size(), name = StringRef("operation").size();
};
} // namespace

template <typename... Cells>
static void printCells(raw_ostream &os, Widths widths, StringRef phase, StringRef name, Cells... cells) {
  os << "  " << llvm::left_justify(phase, widths.phase) << ' ' << llvm::left_justify(name, widths.name)
     << llvm::formatv(" {0,8} {1,20} {2,20}\n", cells...);
}

static void printRow(raw_ostream &os, Widths widths, StringRef phase, StringRef name, const Cost &cost) {
  printCells(os, widths, phase, name, cost.count, cost.flops, cost.bytes);
}

static void printTable(raw_ostream &os, const CostTable &table, int64_t numWithoutCost) {
  Widths widths;
  for (auto &[key, cost] : table)
    widths = {std::max(widths.phase, stringifyPhase(key.first).size()), std::max(widths.name, key.second.size())};
  printCells(os, widths, "phase", "operation", "count", "FLOPs", "bytes");
  std::map<Phase, Cost> phases;
  Cost total;
  for (auto &[key, cost] : table) {
    printRow(os, widths, stringifyPhase(key.first), key.second, cost);
    phases[key.first] += cost;
    total += cost;
  }
  for (auto &[phase, cost] : phases)
    printRow(os, widths, stringifyPhase(phase), "total", cost);
  if (phases.size() > 1)
    printRow(os, widths, "all", "total", total);
  if (total.wireBytes > 0)
    os << "  " << total.wireBytes << " bytes sent by each rank\n";
  if (numWithoutCost > 0)
    os << "  " << numWithoutCost << " operations without a cost\n";
}

void PrintCostPass::runOnOperation() {
  // Prints one string, so that tables from several threads of the pass manager do not mix.
  std::string text;
  llvm::raw_string_ostream os(text);
  for (auto function : getOperation().getOps<func::FuncOp>()) {
    if (function.isExternal())
      continue;
    os << '@' << function.getName();
    if (std::optional<Mode> mode = getMode(function))
      os << " (" << stringifyMode(*mode) << ')';
    os << '\n';
    int64_t numWithoutCost = 0;
    CostTable table = countCosts(function, numWithoutCost);
    printTable(os, table, numWithoutCost);
  }
  llvm::errs() << text;
  markAllAnalysesPreserved();
}
