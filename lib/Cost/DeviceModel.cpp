//===- DeviceModel.cpp - Rates of devices and of their links --------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Cost/DeviceModel.h"

#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace cs336;

/// Hosts of 8 H200s. The start and the bandwidth of NVLink are a fit to all-reduces of bf16 in CUDA graphs, by NCCL
/// between 2 and 4 H200s of one host, and through each other's memory ("peers") between 2. The fit minimises the sum of
/// squared logarithms of predicted by measured times. GB/s of bus bandwidth (benchmarks/results/h200x2-allreduce-peers
/// and h200x4-allreduce):
///
///   by    ranks    MiB   measured   predicted
///   NCCL      2      1         66          63
///   NCCL      2      4        121         155
///   NCCL      2      8        174         206
///   NCCL      2     32        231         272
///   NCCL      2    128        288         295
///   NCCL      2    512        316         302
///   NCCL      2   1024        330         303
///   peers     2      1         76          63
///   peers     2      4        167         155
///   peers     2      8        223         206
///   peers     2     32        231         272
///   peers     2    128        298         295
///   NCCL      4      1         79          76
///   NCCL      4      8        211         221
///   NCCL      4     64        304         290
///   NCCL      4    256        334         300
///   NCCL      4   1024        352         303
///
/// Predicted times deviate from measured ones by -22% to +21% up to 32 MiB, and by -2% to +17% above. The time of a
/// step is that of NCCL's cost model for short messages (src/graph/tuning.cc, ring, LL). It agrees with the
/// measurements: 1 MiB by NCCL takes 15.9 us in 2 steps and 19.9 us in 6 steps, and 1.7 us of the difference are the
/// bytes. Steps between hosts have the value of the same file (ring, LL128). The bandwidth of the network is the data
/// sheet's: 400 Gb/s InfiniBand per GPU. Nothing between hosts was measured. Without a graph, PyTorch's all-reduce of 1
/// MiB takes 52 to 56 us.
static constexpr Interconnect kH200Links = {12e-6, {0.6e-6, 304e9}, {4e-6, 50e9}, 8};
/// Data sheet: third-generation NVLink, and 200 Gb/s InfiniBand per GPU. The times are those of "h200".
static constexpr Interconnect kA100Links = {12e-6, {0.6e-6, 300e9}, {4e-6, 25e9}, 8};
/// Processes of one host that exchange data by TCP: 3 to 4 GB/s in large all-reduces, measured with Gloo. The fastest
/// all-reduces of 4 bytes by `cs336-bench allreduce` on two cores take 45 us between 2 ranks and 72 us between 4. The
/// network, 10 Gb/s Ethernet, was not measured.
static constexpr Interconnect kCPULinks = {32e-6, {7e-6, 3.5e9}, {50e-6, 1.25e9}, 8};

/// The rates of "h200" were measured on one with a copy and with large GEMMs of random numbers. An "h100" (SXM, 80 GB)
/// has the multiprocessors and the links of an H200. Its memory has the data sheet's 3.35 TB/s, of which a copy is
/// assumed to reach the same share as on an H200: 4.24 of 4.8. The rates of "a100" are the data sheet's (SXM, 80 GB).
/// "cpu" stands for two cores of a laptop.
static constexpr DeviceModel kModels[] = {
    {"h200", 4.24e12, 60e12, 47e12, 340e12, 700e12, 2e-6, kH200Links},
    {"h100", 2.96e12, 60e12, 47e12, 340e12, 700e12, 2e-6, kH200Links},
    {"a100", 2.04e12, 9.7e12, 19.5e12, 156e12, 312e12, 3e-6, kA100Links},
    {"cpu", 1e10, 1e10, 2e10, 2e10, 2e10, 5e-6, kCPULinks},
};

llvm::ArrayRef<DeviceModel> cs336::getDeviceModels() { return kModels; }

const DeviceModel *cs336::findDeviceModel(llvm::StringRef name) {
  const auto *found = llvm::find_if(kModels, [&](const DeviceModel &model) { return model.name == name; });
  return found == std::end(kModels) ? nullptr : found;
}

const DeviceModel &cs336::getDefaultDeviceModel(bool isForGPU) { return *findDeviceModel(isForGPU ? "h200" : "cpu"); }

double DeviceModel::getFlops(Type elementType, Precision precision) const {
  if (elementType.isF64())
    return flops64;
  if (!elementType.isF32())
    return flops16;
  switch (precision) {
  case Precision::IEEE:
    return flops32;
  case Precision::TF32:
    return flopsTF32;
  case Precision::TF32x3:
    return flopsTF32 / 3;
  }
  llvm_unreachable("every precision has a rate");
}
