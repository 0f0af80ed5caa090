//===- NcclApi.h - NCCL's functions -----------------------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The library is loaded when it is first used. Its header comes only with the
// library, of 400 MB, so this header declares the parts in use, as NCCL 2.28
// defines them. Names are those of NCCL without their prefix.
//
//===----------------------------------------------------------------------===//

#ifndef CS336_RUNTIME_DEVICE_CUDA_NCCLAPI_H
#define CS336_RUNTIME_DEVICE_CUDA_NCCLAPI_H

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include <climits>
#include <cstddef>
#include <cuda.h>
#include <memory>
#include <string>

namespace cs336::runtime {

namespace nccl {

using Comm = struct CommBody *;

struct UniqueId {
  char bytes[128];
};

enum Result : int { kSuccess = 0, kInProgress = 7 };
enum DataType : int {
  kUint8 = 1,
  kInt32 = 2,
  kInt64 = 4,
  kFloat16 = 6,
  kFloat32 = 7,
  kFloat64 = 8,
  kBfloat16 = 9,
};
enum RedOp : int { kSum = 0, kMax = 2, kMin = 3, kAvg = 4 };

/// The options of a communicator. A member that is left alone has NCCL's
/// default. A newer library reads as many members as `size` says.
struct Config {
  static constexpr int kDefault = INT_MIN;

  size_t size = sizeof(Config);
  unsigned magic = 0xcafebeef;
  unsigned version = 22800;
  int blocking = kDefault;
  int cga_cluster_size = kDefault;
  int min_ctas = kDefault;
  int max_ctas = kDefault;
  const char *net_name = nullptr;
  int split_share = kDefault;
  int traffic_class = kDefault;
  const char *comm_name = nullptr;
  int collnet_enable = kDefault;
  int cta_policy = kDefault;
  int shrink_share = kDefault;
  int nvls_ctas = kDefault;
  int n_channels_per_net_peer = kDefault;
  int nvlink_centric_sched = kDefault;
};

} // namespace nccl

/// The functions of libnccl.so.2. All but CommAbort and CommGetAsyncError must
/// be called by one thread at a time per communicator.
class NcclApi {
public:
  /// NCCL 2.28.3, as GetVersion counts.
  static constexpr int kRequiredVersion = 22803;

  /// Loads the library. Returns NOT_FOUND if the library does not exist,
  /// FAILED_PRECONDITION if it is older than NCCL 2.28.3.
  static absl::StatusOr<std::shared_ptr<const NcclApi>> Load(const std::string &library = "libnccl.so.2");

  /// Returns OK, or INTERNAL with the call, NCCL's reason and its last message.
  absl::Status ToStatus(int result, const char *call) const;

  int (*GetVersion)(int *);
  const char *(*GetErrorString)(int);
  const char *(*GetLastError)(nccl::Comm);
  int (*GetUniqueId)(nccl::UniqueId *);
  int (*CommInitRankConfig)(nccl::Comm *, int ranks, nccl::UniqueId, int rank, nccl::Config *);
  int (*CommFinalize)(nccl::Comm);
  int (*CommDestroy)(nccl::Comm);
  int (*CommAbort)(nccl::Comm);
  int (*CommGetAsyncError)(nccl::Comm, int *);
  int (*GroupStart)();
  int (*GroupEnd)();
  int (*AllReduce)(const void *, void *, size_t, nccl::DataType, nccl::RedOp, nccl::Comm, CUstream);
  int (*AllGather)(const void *, void *, size_t, nccl::DataType, nccl::Comm, CUstream);
  int (*ReduceScatter)(const void *, void *, size_t, nccl::DataType, nccl::RedOp, nccl::Comm, CUstream);
  int (*Broadcast)(const void *, void *, size_t, nccl::DataType, int root, nccl::Comm, CUstream);
  int (*AllToAll)(const void *, void *, size_t, nccl::DataType, nccl::Comm, CUstream);

private:
  NcclApi() = default;
};

} // namespace cs336::runtime

#endif // CS336_RUNTIME_DEVICE_CUDA_NCCLAPI_H
