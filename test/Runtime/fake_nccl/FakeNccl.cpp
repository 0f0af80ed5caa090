//===- FakeNccl.cpp - An NCCL for machines without a GPU ------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fake_nccl/FakeNccl.h"

#include "device/cuda/NcclApi.h"
#include "fake_cuda/FakeCuda.h"

#include "absl/time/clock.h"

#include <cstring>
#include <functional>
#include <mutex>
#include <utility>

using namespace cs336::runtime;
using namespace cs336::runtime::testing;

namespace cs336::runtime::nccl {
/// The object behind NCCL's opaque handle.
struct CommBody {
  int ranks = 0;
  int looks_until_done = 0;
};
} // namespace cs336::runtime::nccl

FakeNccl &cs336::runtime::testing::TheFakeNccl() {
  static FakeNccl fake;
  return fake;
}

namespace {

constexpr int kInvalidArgument = 4, kInternalError = 3;
constexpr int kLooks = 2;

size_t Size(nccl::DataType type) {
  switch (type) {
  case nccl::kUint8:
    return 1;
  case nccl::kFloat16:
  case nccl::kBfloat16:
    return 2;
  case nccl::kInt32:
  case nccl::kFloat32:
    return 4;
  case nccl::kInt64:
  case nccl::kFloat64:
    return 8;
  }
  return 0;
}

/// Guards the counts of communicators, which ranks of one process create at the same time.
std::mutex counts_mutex;

int Fails(const char *call) { return TheFakeNccl().failing_call == call ? kInternalError : nccl::kSuccess; }

/// Begins a call that is done after some looks at the communicator.
int Begin(nccl::Comm comm, const char *call) {
  if (comm->looks_until_done > 0)
    return kInvalidArgument;
  if (int result = Fails(call))
    return result;
  comm->looks_until_done = kLooks;
  return nccl::kInProgress;
}

/// The depth of groups, and whether a call of the group has begun.
int depth = 0;
nccl::Comm group_comm = nullptr;

int Enqueue(const char *call, size_t count, nccl::DataType type, nccl::Comm comm, CUstream stream,
            std::function<void()> work) {
  if (depth == 0 || comm->looks_until_done > 0)
    return kInvalidArgument;
  if (int result = Fails(call))
    return result;
  group_comm = comm;
  TheFakeNccl().calls.push_back(std::string(call) + " " + std::to_string(count) + " " + std::to_string(type));
  return EnqueueWork(stream, std::move(work)) == 0 ? nccl::kInProgress : kInternalError;
}

/// Copies blocks of equal contents to all places.
std::function<void()> Repeat(const void *src, void *dst, size_t bytes, int times) {
  return [=] {
    for (int i = 0; i != times; ++i)
      std::memmove(ToHostAddress(dst) + i * bytes, ToHostAddress(src), bytes);
  };
}

} // namespace

extern "C" {

int ncclGetVersion(int *version) {
  *version = TheFakeNccl().version;
  return nccl::kSuccess;
}
const char *ncclGetErrorString(int) { return "the fake NCCL's error"; }
const char *ncclGetLastError(nccl::Comm) { return "its last message"; }
int ncclGetUniqueId(nccl::UniqueId *id) {
  std::memset(id, 1, sizeof(*id));
  return Fails("ncclGetUniqueId");
}
int ncclCommInitRankConfig(nccl::Comm *comm, int ranks, nccl::UniqueId id, int, nccl::Config *config) {
  if (id.bytes[5] != 1 || config->size != sizeof(*config) || config->magic != 0xcafebeef)
    return kInvalidArgument;
  std::lock_guard<std::mutex> lock(counts_mutex);
  TheFakeNccl().blocking = config->blocking;
  ++TheFakeNccl().comms;
  *comm = new nccl::CommBody{ranks};
  return Begin(*comm, "ncclCommInitRankConfig");
}
int ncclCommFinalize(nccl::Comm comm) { return Begin(comm, "ncclCommFinalize"); }
int ncclCommDestroy(nccl::Comm comm) {
  std::lock_guard<std::mutex> lock(counts_mutex);
  --TheFakeNccl().comms;
  delete comm;
  return nccl::kSuccess;
}
int ncclCommAbort(nccl::Comm comm) {
  {
    std::lock_guard<std::mutex> lock(counts_mutex);
    ++TheFakeNccl().aborted;
  }
  if (TheFakeNccl().abort_ends_work)
    TheFakeCuda().is_busy = false;
  while (TheFakeNccl().abort_never_ends)
    absl::SleepFor(absl::Seconds(1));
  return ncclCommDestroy(comm);
}
int ncclCommGetAsyncError(nccl::Comm comm, int *state) {
  bool is_done = !TheFakeNccl().is_stuck && (comm->looks_until_done == 0 || --comm->looks_until_done == 0);
  *state = is_done ? nccl::kSuccess : nccl::kInProgress;
  return nccl::kSuccess;
}
int ncclGroupStart() {
  ++depth;
  return nccl::kSuccess;
}
int ncclGroupEnd() {
  --depth;
  if (nccl::Comm comm = std::exchange(group_comm, nullptr))
    comm->looks_until_done = kLooks;
  return nccl::kInProgress;
}

int ncclAllReduce(const void *src, void *dst, size_t count, nccl::DataType type, nccl::RedOp op, nccl::Comm comm,
                  CUstream stream) {
  if (op != nccl::kSum)
    return Enqueue("ncclAllReduce", count, type, comm, stream, Repeat(src, dst, count * Size(type), 1));
  if (type != nccl::kFloat32)
    return kInvalidArgument;
  return Enqueue("ncclAllReduce", count, type, comm, stream, [=, ranks = comm->ranks] {
    for (size_t i = 0; i != count; ++i)
      reinterpret_cast<float *>(ToHostAddress(dst))[i] =
          static_cast<float>(ranks) * reinterpret_cast<const float *>(ToHostAddress(src))[i];
  });
}
int ncclAllGather(const void *src, void *dst, size_t count, nccl::DataType type, nccl::Comm comm, CUstream stream) {
  return Enqueue("ncclAllGather", count, type, comm, stream, Repeat(src, dst, count * Size(type), comm->ranks));
}
int ncclReduceScatter(const void *src, void *dst, size_t count, nccl::DataType type, nccl::RedOp, nccl::Comm comm,
                      CUstream stream) {
  return Enqueue("ncclReduceScatter", count, type, comm, stream, Repeat(src, dst, count * Size(type), 1));
}
int ncclBroadcast(const void *src, void *dst, size_t count, nccl::DataType type, int, nccl::Comm comm,
                  CUstream stream) {
  return Enqueue("ncclBroadcast", count, type, comm, stream, Repeat(src, dst, count * Size(type), 1));
}
/// Each rank sends its first part to rank 0.
int ncclAlltoAll(const void *src, void *dst, size_t count, nccl::DataType type, nccl::Comm comm, CUstream stream) {
  return Enqueue("ncclAlltoAll", count, type, comm, stream, Repeat(src, dst, count * Size(type), comm->ranks));
}

} // extern "C"
