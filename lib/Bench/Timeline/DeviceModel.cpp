//===- DeviceModel.cpp - Predicted times of commands ----------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Bench/Timeline/DeviceModel.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace cs336;
using namespace cs336::bench;

/// Hosts of 8 H200s. The start and the bandwidth of NVLink are a fit to all-reduces by NCCL between 2 and 4 H200s of
/// one host, which minimises the sum of squared logarithms of predicted by measured times. GB/s of bus bandwidth:
///
///   ranks  MiB   measured    predicted
///   2         1   17 to 33     23
///   2         4   56           76
///   2         8   98          122
///   2        32  192          223
///   2       100  244 to 266   274
///   2      1000  324          304
///   4         1   43           29
///   4        10  172          157
///   4       100  312          281
///   4      1000  353          305
///
/// Predicted times deviate from measured ones by -27% to +49% up to 10 MiB, and by -14% to +16% above. 4 ranks, with 6
/// steps, take no longer for 1 MiB than 2 ranks with 2 steps, so these measurements do not determine the time of a
/// step: steps of both links have the values of NCCL's cost model (src/graph/tuning.cc, ring, LL128). The bandwidth of
/// the network is the data sheet's: 400 Gb/s InfiniBand per GPU. Nothing between hosts was measured.
static constexpr Interconnect kH200Links = {38e-6, {1.9e-6, 308e9}, {4e-6, 50e9}, 8};
/// Data sheet: third-generation NVLink, and 200 Gb/s InfiniBand per GPU. The times are those of "h200".
static constexpr Interconnect kA100Links = {38e-6, {1.9e-6, 300e9}, {4e-6, 25e9}, 8};
/// Processes of one host that exchange data by TCP: 3 to 4 GB/s in large all-reduces, measured with Gloo. The fastest
/// all-reduces of 4 bytes by `cs336-bench allreduce` on two cores take 45 us between 2 ranks and 72 us between 4. The
/// network, 10 Gb/s Ethernet, was not measured.
static constexpr Interconnect kCPULinks = {32e-6, {7e-6, 3.5e9}, {50e-6, 1.25e9}, 8};

/// The rates of "h200" were measured on one with a copy and with large GEMMs of random numbers. Those of "a100" are the
/// data sheet's (SXM, 80 GB). "cpu" stands for two cores of a laptop.
static constexpr DeviceModel kModels[] = {
    {"h200", 4.24e12, 60e12, 47e12, 340e12, 700e12, 2e-6, kH200Links},
    {"a100", 2.04e12, 9.7e12, 19.5e12, 156e12, 312e12, 3e-6, kA100Links},
    {"cpu", 1e10, 1e10, 2e10, 2e10, 2e10, 5e-6, kCPULinks},
};

llvm::ArrayRef<DeviceModel> cs336::bench::getDeviceModels() { return kModels; }

const DeviceModel *cs336::bench::findDeviceModel(llvm::StringRef name) {
  const auto *found = llvm::find_if(kModels, [&](const DeviceModel &model) { return model.name == name; });
  return found == std::end(kModels) ? nullptr : found;
}

const DeviceModel &cs336::bench::getDefaultDeviceModel(bool isForGPU) {
  return *findDeviceModel(isForGPU ? "h200" : "cpu");
}

static double getRate(const DeviceModel &model, format::Arithmetic arithmetic) {
  switch (arithmetic) {
  case format::Arithmetic::none:
    break;
  case format::Arithmetic::f64:
    return model.flops64;
  case format::Arithmetic::f32:
    return model.flops32;
  case format::Arithmetic::tf32:
    return model.flopsTF32;
  case format::Arithmetic::tf32x3:
    return model.flopsTF32 / 3;
  case format::Arithmetic::bf16:
  case format::Arithmetic::f16:
    return model.flops16;
  }
  llvm_unreachable("every arithmetic has a rate");
}

PredictedTime DeviceModel::predict(const exec::Work &work, format::Arithmetic arithmetic) const {
  if (work.getCommands() == 0)
    return {};
  PredictedTime time{work.bytes / memoryBytes, 0, commandSeconds};
  if (arithmetic != format::Arithmetic::none)
    time.compute = work.flops / getRate(*this, arithmetic);
  return time;
}

Bound PredictedTime::getBound() const {
  if (launch > std::max(memory, compute))
    return Bound::Launch;
  return compute > memory ? Bound::Compute : Bound::Memory;
}

llvm::StringRef cs336::bench::stringifyBound(Bound bound) {
  switch (bound) {
  case Bound::Memory:
    return "memory";
  case Bound::Compute:
    return "compute";
  case Bound::Launch:
    return "launch";
  }
  llvm_unreachable("every bound has a name");
}
