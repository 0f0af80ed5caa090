//===- PeerReductionRun.cpp - A run of the kernel of reductions -----------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PeerReductionRun.h"

#include "device/cuda/PeerKernels.h"
#include "fake_cuda/PtxInterpreter.h"
#include "status/StatusMacros.h"

#include "absl/strings/str_cat.h"

#include <Eigen/Core>
#include <bit>
#include <cmath>
#include <cstring>

namespace cs336::runtime::testing {

namespace {

/// Addresses of the device are far from those of the host, and multiples of 16 only.
constexpr uint64_t kFirstAddress = (uint64_t{1} << 60) + 16, kStride = (uint64_t{1} << 32) + 48;
constexpr uint64_t kAbandoned = 64, kRecords = 128;

float Combine(Reduction reduction, float a, float b) {
  if (reduction == Reduction::kSum || reduction == Reduction::kMean)
    return a + b;
  if (std::isnan(a) || std::isnan(b))
    return NAN;
  return reduction == Reduction::kMax ? std::fmax(a, b) : std::fmin(a, b);
}

} // namespace

PeerReductionRun::PeerReductionRun(const PeerReductionCase &what) : what_(what) {
  for (int64_t bytes : what.bytes) {
    Operand &operand = operands_.emplace_back();
    for (int rank = 0; rank != what.ranks; ++rank)
      operand.sources.push_back(&AddValues(bytes));
    for (int target = 0; target != what.targets; ++target)
      operand.targets.push_back(&AddValues(bytes));
    records_.push_back(static_cast<uint64_t>(bytes));
    for (const std::vector<Block *> *blocks : {&operand.sources, &operand.targets})
      for (const Block *block : *blocks)
        records_.push_back(AddressOf(*block));
  }
  memory_.Add(kRecords, records_.data(), records_.size() * sizeof(uint64_t));
  memory_.Add(kAbandoned, &abandoned, sizeof(abandoned));
}

PeerReductionRun::Block &PeerReductionRun::AddValues(int64_t bytes) {
  Block &block = blocks_.emplace_back(bytes);
  for (int64_t at = 0; at != bytes; at += ByteSize(what_.dtype)) {
    random_ = random_ * 1664525 + 1013904223;
    // Numbers of several magnitudes, so that sums are rounded.
    float value = std::ldexp(static_cast<float>(static_cast<int32_t>(random_)) * 0x1p-31f, random_ >> 5 & 7);
    uint32_t bits = Round(random_ % 1021 == 0 ? NAN : value);
    std::memcpy(&block[at], &bits, ByteSize(what_.dtype));
  }
  memory_.Add(AddressOf(block), block.data(), bytes);
  return block;
}

uint64_t PeerReductionRun::AddressOf(const Block &block) const {
  uint64_t number = 0;
  while (&blocks_[number] != &block)
    ++number;
  return kFirstAddress + number * kStride;
}

uint32_t PeerReductionRun::Round(float value) const {
  if (what_.dtype == DType::kF32)
    return std::bit_cast<uint32_t>(value);
  return what_.dtype == DType::kBF16 ? std::bit_cast<uint16_t>(Eigen::bfloat16(value))
                                     : std::bit_cast<uint16_t>(Eigen::half(value));
}

float PeerReductionRun::Read(const Block &block, int64_t index) const {
  uint32_t bits = 0;
  std::memcpy(&bits, &block[index * ByteSize(what_.dtype)], ByteSize(what_.dtype));
  if (what_.dtype == DType::kF32)
    return std::bit_cast<float>(bits);
  auto half = static_cast<uint16_t>(bits);
  return what_.dtype == DType::kBF16 ? static_cast<float>(std::bit_cast<Eigen::bfloat16>(half))
                                     : static_cast<float>(std::bit_cast<Eigen::half>(half));
}

absl::Status PeerReductionRun::Check(const Operand &operand) const {
  auto count = static_cast<int64_t>(operand.sources.front()->size() / ByteSize(what_.dtype));
  for (int64_t i = 0; i != count; ++i) {
    float result = Read(*operand.sources[0], i);
    for (int rank = 1; rank != what_.ranks; ++rank)
      result = Combine(what_.reduction, result, Read(*operand.sources[rank], i));
    if (what_.reduction == Reduction::kMean)
      result /= static_cast<float>(what_.ranks);
    for (const Block *target : operand.targets) {
      float got = Read(*target, i);
      bool is_right = std::isnan(result) ? std::isnan(got) : Round(got) == Round(result);
      if (!is_right)
        return absl::InternalError(absl::StrCat("element ", i, " of ", count, ": ", got, " instead of ", result));
    }
  }
  return absl::OkStatus();
}

absl::Status PeerReductionRun::Run(const std::string &text) {
  const std::deque<Block> before = blocks_;
  const std::vector<uint64_t> records = records_;
  CS336_ASSIGN_OR_RETURN(PtxProgram program, ParsePtx(text));
  PtxLaunch launch = {what_.blocks,
                      kReduceThreads,
                      static_cast<uint32_t>(ReduceSharedBytes(what_.ranks)),
                      {kRecords, operands_.size(), static_cast<uint64_t>(what_.ranks),
                       static_cast<uint64_t>(what_.targets), kAbandoned}};
  CS336_RETURN_IF_ERROR(RunPtx(program, launch, memory_));
  for (size_t i = 0, block = 0; i != operands_.size(); ++i, block += what_.ranks + what_.targets) {
    CS336_RETURN_IF_ERROR(Annotate(Check(operands_[i]), absl::StrCat("operand ", i)));
    for (int rank = 0; rank != what_.ranks; ++rank)
      if (blocks_[block + rank] != before[block + rank])
        return absl::InternalError(absl::StrCat("values of rank ", rank, " are overwritten"));
  }
  return records_ == records ? absl::OkStatus() : absl::InternalError("a record is overwritten");
}

absl::Status PeerReductionRun::Run() { return Run(ReduceText(what_.dtype, what_.reduction, what_.ranks)); }

} // namespace cs336::runtime::testing
