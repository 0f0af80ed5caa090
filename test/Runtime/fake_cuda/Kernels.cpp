//===- Kernels.cpp - The kernels of the fake driver -----------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fake_cuda/Kernels.h"

#include "fake_cuda/DeviceBlocks.h"
#include "fake_cuda/FakeCuda.h"
#include "fake_cuda/PtxInterpreter.h"

#include <algorithm>
#include <cstring>
#include <map>

namespace cs336::runtime::testing {

namespace {

template <typename T>
T *Operand(void *const *operands, size_t index) {
  return reinterpret_cast<T *>(ToHostUnified(*static_cast<CUdeviceptr *>(operands[index])));
}

void ScaleRows(void *const *operands) {
  for (int i = 0; i != 12; ++i)
    Operand<float>(operands, 2)[i] = Operand<float>(operands, 0)[i] * Operand<float>(operands, 1)[i % 4];
}

/// Same as ScaleRows, but reads its first operand through a tensor map.
void ScaleMappedRows(void *const *operands) {
  FakeTensorMap map;
  std::memcpy(&map, operands[3], sizeof(map));
  for (uint64_t row = 0; row != map.rows; ++row)
    for (uint64_t column = 0; column != map.columns; ++column) {
      auto *x = reinterpret_cast<const float *>(ToHostUnified(map.address + row * map.row_bytes));
      Operand<float>(operands, 2)[row * map.columns + column] = x[column] * Operand<float>(operands, 1)[column];
    }
}

/// Same as the runtime's own kernel of this name, for i64.
void CheckBound(void *const *operands) {
  auto number = [&](size_t index) { return *static_cast<uint64_t *>(operands[index]); };
  uint64_t *report = Operand<uint64_t>(operands, 4);
  for (uint64_t place = 0; place != number(2); ++place) {
    uint64_t integer = Operand<uint64_t>(operands, 0)[place];
    bool is_outside = integer >= number(3);
    Operand<uint64_t>(operands, 1)[place] = is_outside ? 0 : integer;
    if (!is_outside || report[0] != 0)
      continue;
    report[1] = place;
    report[2] = integer;
    report[0] = 1;
  }
}

uint64_t Number(void *const *operands, size_t index) { return *static_cast<uint64_t *>(operands[index]); }

/// Returns a rank's signals of the barrier, then its number of calls.
uint64_t *Signals(void *const *operands, uint64_t rank) {
  CUdeviceptr block = Operand<uint64_t>(operands, 0)[rank];
  return reinterpret_cast<uint64_t *>(ToHostUnified(block + Number(operands, 3)));
}

/// Together the same as the runtime's own kernel of this name.
void SignalRanks(void *const *operands) {
  uint64_t own = Number(operands, 1), ranks = Number(operands, 2);
  uint64_t call = ++Signals(operands, own)[ranks];
  for (uint64_t rank = 0; rank != ranks; ++rank)
    Signals(operands, rank)[own] = call;
}
bool HaveSignalled(void *const *operands) {
  uint64_t ranks = Number(operands, 2), *signals = Signals(operands, Number(operands, 1));
  return std::all_of(signals, signals + ranks, [&](uint64_t call) { return call >= signals[ranks]; });
}
void Synchronise(void *const *operands) {
  auto number = [&](size_t index) { return Number(operands, index); };
  if (number(5) != 0)
    __atomic_fetch_add(reinterpret_cast<int64_t *>(ToHostUnified(number(5))), 1, __ATOMIC_RELEASE);
  FakeCuda &fake = TheFakeCuda();
  ++fake.barriers;
  if (fake.at_barrier)
    fake.at_barrier(fake.barriers);
}

/// The sample program's kernels. "fault" simulates an access to a bad address.
std::map<std::string, CUfunc_st> &Functions() {
  static std::map<std::string, CUfunc_st> functions = {
      {"scale_rows", {3, ScaleRows}},
      {"scale_rows_structure", {3, ScaleRows, /*takes_structure=*/true}},
      {"scale_mapped_rows", {3, ScaleMappedRows, /*takes_structure=*/false, /*tensor_maps=*/1}},
      {"increment", {1, [](void *const *operands) { ++*Operand<int64_t>(operands, 0); }}},
      {"advance",
       {1, [](void *const *operands) { __atomic_fetch_add(Operand<int64_t>(operands, 0), 1, __ATOMIC_RELEASE); }}},
      {"check_bound", {5, CheckBound}},
      {"synchronise", {6, Synchronise, /*takes_structure=*/false, /*tensor_maps=*/0, SignalRanks, HaveSignalled}},
      {"fault", {1, [](void *const *) { TheFakeCuda().faulted = true; }}},
  };
  return functions;
}

/// The most shared memory of a block from compute capability 8.0 on.
constexpr unsigned kMostSharedBytes = 163 << 10;

} // namespace

CUfunc_st *FindKernel(CUmod_st &module, const std::string &name) {
  if (auto found = Functions().find(name); found != Functions().end())
    return &found->second;
  absl::StatusOr<PtxProgram> program = ParsePtx(module.text);
  if (!program.ok())
    TheFakeCuda().fault = std::string(program.status().message());
  if (!program.ok() || program->name != name)
    return nullptr;
  module.function.parameters = program->parameters.size();
  module.function.most_shared_bytes = kMostSharedBytes;
  module.function.program = std::make_shared<const PtxProgram>(*std::move(program));
  return &module.function;
}

void Interpret(const PtxProgram &program, const CUlaunchConfig &launch, std::vector<uint64_t> parameters) {
  absl::Status status =
      RunPtx(program, {launch.gridDimX, launch.blockDimX, launch.sharedMemBytes, std::move(parameters)},
             DeviceBlocks::Get().Reached());
  if (status.ok())
    return;
  TheFakeCuda().faulted = true;
  TheFakeCuda().fault = std::string(status.message());
}

} // namespace cs336::runtime::testing
