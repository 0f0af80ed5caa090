//===- CuptiApi.h - CUPTI's activity records --------------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The library is loaded when it is first used. Its header needs those of CUDA's
// compiler, so this header declares the few parts in use, with their names and
// their layout in CUDA 13. Newer versions only append to records.
//
//===----------------------------------------------------------------------===//

#ifndef CS336_RUNTIME_DEVICE_CUDA_CUPTIAPI_H
#define CS336_RUNTIME_DEVICE_CUDA_CUPTIAPI_H

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include <cstddef>
#include <cstdint>
#include <cuda.h>
#include <memory>
#include <string>

namespace cs336::runtime {

namespace cupti {

enum Result : int {
  kSuccess = 0,
  kMaxLimitReached = 12, // End of a buffer.
  kInsufficientPrivileges = 35,
  kMultipleSubscribers = 39,
};
enum ActivityKind : int { kMemcpy = 1, kMemset = 2, kConcurrentKernel = 10, kMemcpyBetweenDevices = 22 };
enum MemcpyKind : uint8_t { kHostToDevice = 1, kDeviceToHost = 2, kDeviceToDevice = 8 };
constexpr uint32_t kFlushForced = 1;
constexpr int kResourceDomain = 3;
enum ResourceCallback : uint32_t { kGraphNodeCreated = 13, kGraphNodeCloned = 20 };

struct Activity {
  int32_t kind;
};

/// The first fields of CUpti_ActivityKernel10.
struct __attribute__((packed, aligned(8))) ActivityKernel {
  int32_t kind;
  uint8_t cache_config, shared_memory_config;
  uint16_t registers_per_thread;
  int32_t global_cache_requested, global_cache_executed;
  uint64_t start, end, completed; // Nanoseconds.
  uint32_t device, context, stream;
  int32_t grid[3], block[3];
  int32_t static_shared_memory, dynamic_shared_memory;
  uint32_t local_memory_per_thread, local_memory_total;
  uint32_t correlation;
  int64_t grid_id;
  const char *name;
  void *reserved;
  uint64_t queued, submitted;
  uint8_t launch_type, carveout_requested, carveout, padding;
  uint32_t shared_memory_executed;
  uint64_t graph_node;
};

/// The first fields of CUpti_ActivityMemcpy6.
struct __attribute__((packed, aligned(8))) ActivityMemcpy {
  int32_t kind;
  uint8_t copy_kind, source_kind, destination_kind, flags;
  uint64_t bytes, start, end;
  uint32_t device, context, stream, correlation, runtime_correlation;
  uint32_t padding;
  void *reserved;
  uint64_t graph_node;
};

/// The first fields of CUpti_ActivityMemcpyPtoP4.
struct __attribute__((packed, aligned(8))) ActivityMemcpyBetweenDevices {
  int32_t kind;
  uint8_t copy_kind, source_kind, destination_kind, flags;
  uint64_t bytes, start, end;
  uint32_t device, context, stream, source_device, source_context, destination_device, destination_context;
  uint32_t correlation;
  void *reserved;
  uint64_t graph_node;
};

/// The first fields of CUpti_ActivityMemset4.
struct __attribute__((packed, aligned(8))) ActivityMemset {
  int32_t kind;
  uint32_t value;
  uint64_t bytes, start, end;
  uint32_t device, context, stream, correlation;
  uint16_t flags, memory_kind;
  uint32_t padding;
  void *reserved;
  uint64_t graph_node;
};

/// CUpti_GraphData: what the descriptor of the callbacks above points to.
struct GraphData {
  CUgraph graph, original_graph;
  CUgraphNode node, original_node;
  int node_type;
  CUgraphNode dependency;
  CUgraphExec executable;
};

/// CUpti_ResourceData.
struct ResourceData {
  CUcontext context;
  CUstream stream;
  const GraphData *descriptor;
};

struct Subscriber;
using Callback = void (*)(void *user, int domain, uint32_t callback, const ResourceData *data);
using RequestBuffer = void (*)(uint8_t **buffer, size_t *bytes, size_t *max_records);
using CompleteBuffer = void (*)(CUcontext, uint32_t stream, uint8_t *buffer, size_t bytes, size_t valid_bytes);

} // namespace cupti

/// The functions of libcupti.so.13.
class CuptiApi {
public:
  /// Loads the library. Returns NOT_FOUND if the library does not exist,
  /// FAILED_PRECONDITION if it lacks one of these functions.
  static absl::StatusOr<std::shared_ptr<const CuptiApi>> Load(const std::string &library = "libcupti.so.13");

  /// Returns OK, or an error with the call and the reason. FAILED_PRECONDITION:
  /// another tool profiles this process. PERMISSION_DENIED: the driver reserves
  /// profiling for administrators.
  absl::Status ToStatus(int result, const char *call) const;

  int (*GetVersion)(uint32_t *);
  int (*GetResultString)(int, const char **);
  int (*ActivityRegisterCallbacks)(cupti::RequestBuffer, cupti::CompleteBuffer);
  int (*ActivityEnable)(cupti::ActivityKind);
  int (*ActivityDisable)(cupti::ActivityKind);
  int (*ActivityFlushAll)(uint32_t flags);
  int (*ActivityGetNextRecord)(uint8_t *buffer, size_t valid_bytes, cupti::Activity **record);
  int (*ActivityGetNumDroppedRecords)(CUcontext, uint32_t stream, size_t *dropped);
  int (*Subscribe)(cupti::Subscriber **subscriber, cupti::Callback callback, void *user);
  int (*Unsubscribe)(cupti::Subscriber *subscriber);
  int (*EnableCallback)(uint32_t enable, cupti::Subscriber *subscriber, int domain, uint32_t callback);
  int (*GetGraphNodeId)(CUgraphNode node, uint64_t *id);

private:
  CuptiApi() = default;
};

} // namespace cs336::runtime

#endif // CS336_RUNTIME_DEVICE_CUDA_CUPTIAPI_H
