//===- PassStatistics.cpp - The table of what passes counted --------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Statistics/PassStatistics.h"

#include "cs336/Statistics/PassCounter.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassInstrumentation.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"

#include <array>
#include <string>
#include <vector>

using namespace mlir;
using namespace cs336;

namespace {
/// MLIR calls the methods of an instrumentation one at a time, so only the numbers themselves are shared by threads.
class PassStatistics : public PassInstrumentation {
public:
  explicit PassStatistics(raw_ostream &out) : out(out) {}
  ~PassStatistics() override { print(); }

  void runBeforePass(Pass *pass, Operation *) override {
    // MLIR's passes do not support casts, and Pass has no member that returns the numbers.
    auto *counting = dynamic_cast<CountingPass *>(pass);
    if (!counting)
      return;
    for (const std::shared_ptr<const PassCount> &count : counting->getCounts())
      if (known.insert(count.get()).second)
        rows.push_back({pass->getArgument().str(), count});
  }

private:
  struct Row {
    std::string pass;
    std::shared_ptr<const PassCount> count;
  };

  void print() const;

  raw_ostream &out;
  std::vector<Row> rows;
  llvm::DenseSet<const PassCount *> known;
};
} // namespace

void PassStatistics::print() const {
  std::vector<std::array<std::string, 4>> lines{{"pass", "statistic", "value", "description"}};
  for (const Row &row : rows)
    lines.push_back(
        {row.pass, row.count->name.str(), llvm::utostr(row.count->value.load()), row.count->description.str()});
  std::array<size_t, 3> widths{};
  for (const auto &line : lines)
    for (auto [column, width] : llvm::enumerate(widths))
      width = std::max(width, line[column].size());
  for (const auto &[pass, name, value, description] : lines)
    out << llvm::left_justify(pass, widths[0]) << "  " << llvm::left_justify(name, widths[1]) << "  "
        << llvm::right_justify(value, widths[2]) << "  " << description << "\n";
}

void cs336::enablePassStatistics(PassManager &manager, raw_ostream &out) {
  manager.addInstrumentation(std::make_unique<PassStatistics>(out));
}
