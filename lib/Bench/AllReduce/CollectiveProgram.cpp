//===- CollectiveProgram.cpp - Programs of collectives --------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Bench/AllReduce/CollectiveProgram.h"

#include "cs336/Bench/Program/ProgramIR.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

#include "absl/strings/str_cat.h"

using namespace mlir;
using namespace cs336;
using namespace cs336::bench;

std::string cs336::bench::getSourceName(size_t i) { return absl::StrCat("source", i); }

std::string cs336::bench::getTargetName(const CollectiveCase &one, size_t i) {
  return isInPlace(one.collective) ? getSourceName(i) : absl::StrCat("target", i);
}

std::string cs336::bench::getCheckEntry(size_t i) { return absl::StrCat("check", i); }
std::string cs336::bench::getTimeEntry(size_t i) { return absl::StrCat("time", i); }

static StringRef getMnemonic(Collective collective) {
  switch (collective) {
  case Collective::AllReduce:
    return "all_reduce";
  case Collective::AllGather:
    return "all_gather";
  case Collective::ReduceScatter:
    return "reduce_scatter";
  case Collective::Broadcast:
    return "broadcast";
  case Collective::AllToAll:
    return "all_to_all";
  }
  llvm_unreachable("every collective has a mnemonic");
}

static StringRef getMnemonic(runtime::Reduction reduction) {
  switch (reduction) {
  case runtime::Reduction::kSum:
    return " sum";
  case runtime::Reduction::kMean:
    return " mean";
  case runtime::Reduction::kMax:
    return " max";
  case runtime::Reduction::kMin:
    return " min";
  }
  llvm_unreachable("every reduction has a mnemonic");
}

/// Prints a type such as "memref<250xf32>".
static std::string printType(runtime::DType dtype, int64_t count) {
  StringRef element = dtype == runtime::DType::kBF16 ? "bf16" : dtype == runtime::DType::kF16 ? "f16" : "f32";
  return llvm::formatv("memref<{0}x{1}>", count, element);
}

std::string cs336::bench::printCollectiveProgram(ArrayRef<CollectiveCase> cases, ArrayRef<int64_t> chains, int ranks) {
  std::string text;
  llvm::raw_string_ostream os(text);
  for (auto [i, one, chain] : llvm::enumerate(cases, chains)) {
    std::string source = printType(one.dtype, one.getSourceCount(ranks)),
                target = printType(one.dtype, one.getTargetCount(ranks));
    // State has a value from the beginning, so that a run needs only the operand.
    os << "exec.variable @" << getSourceName(i) << " state : " << source << " {init = #cs336.init<zeros>}\n";
    if (!isInPlace(one.collective))
      os << "exec.variable @" << getTargetName(one, i) << " state : " << target << " {init = #cs336.init<zeros>}\n";
    std::string result = isInPlace(one.collective) ? "%source" : "%target";
    for (const auto &[entry, runs] : {std::pair(getCheckEntry(i), int64_t(1)), std::pair(getTimeEntry(i), chain)}) {
      os << "exec.entry @" << entry << " mode<train> {\n"
         << "  %source = exec.get @" << getSourceName(i) << " : " << source << "\n";
      if (!isInPlace(one.collective))
        os << "  %target = exec.get @" << getTargetName(one, i) << " : " << target << "\n";
      for (int64_t run = 0; run != runs; ++run)
        os << "  exec.collective " << getMnemonic(one.collective)
           << (isReducing(one.collective) ? getMnemonic(one.reduction) : "") << " ins(%source : " << source << ") outs("
           << result << " : " << target << ") group = " << ranks
           << (one.collective == Collective::Broadcast ? " root = 0" : "") << "\n";
      os << "}\n";
    }
  }
  return text;
}

absl::StatusOr<std::shared_ptr<const runtime::Executable>>
cs336::bench::compileCollectives(ArrayRef<CollectiveCase> cases, ArrayRef<int64_t> chains, int ranks, Target target) {
  CompileOptions options;
  options.target = target;
  options.cacheFolder.clear(); // Programs without kernels compile at once.
  FailureOr<std::vector<uint8_t>> bytes = failure();
  absl::Status status = withIR(
      printCollectiveProgram(cases, chains, ranks), [](StringRef) {},
      [&](ModuleOp module) {
        bytes = compileModule(module, options);
        return success(succeeded(bytes));
      });
  if (!status.ok())
    return status;
  return runtime::Executable::FromBytes(*bytes);
}
