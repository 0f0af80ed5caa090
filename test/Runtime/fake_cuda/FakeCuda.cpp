//===- FakeCuda.cpp - A CUDA driver for machines without a GPU ------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fake_cuda/FakeCuda.h"
#include "fake_cuda/DeviceBlocks.h"
#include "fake_cuda/Kernels.h"
#include "fake_cuda/PendingWork.h"
#include "fake_cuda/Streams.h"
#include "fake_cuda/WorkQueue.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <cuda.h>
#include <elf.h>
#include <functional>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

using cs336::runtime::testing::AreDone;
using cs336::runtime::testing::CapturingStreams;
using cs336::runtime::testing::DeviceBlocks;
using cs336::runtime::testing::FakeCuda;
using cs336::runtime::testing::FakeTensorMap;
using cs336::runtime::testing::IsReached;
using cs336::runtime::testing::PendingWork;
using cs336::runtime::testing::Piece;
using cs336::runtime::testing::Pieces;
using cs336::runtime::testing::TheFakeCuda;
using cs336::runtime::testing::ToDevice;
using cs336::runtime::testing::ToHost;
using cs336::runtime::testing::ToHostUnified;
using cs336::runtime::testing::WorkQueue;

using Work = std::function<void()>;

struct CUctx_st {};

FakeCuda &cs336::runtime::testing::TheFakeCuda() {
  static FakeCuda fake;
  return fake;
}

std::recursive_mutex &cs336::runtime::testing::DriverMutex() {
  static std::recursive_mutex mutex;
  return mutex;
}

std::set<CUstream> &cs336::runtime::testing::CapturingStreams() {
  static std::set<CUstream> streams;
  return streams;
}

namespace {

CUctx_st the_context;

PendingWork &ThePendingWork() {
  static PendingWork work;
  return work;
}

/// Does the work now or later.
void Start(const std::shared_ptr<Piece> &piece) {
  if (TheFakeCuda().faulted || TheFakeCuda().drops_work) {
    piece->is_done = true;
  } else if (TheFakeCuda().delays_work) {
    ThePendingWork().Add(piece);
  } else {
    Work run = [piece] {
      if (!TheFakeCuda().faulted)
        piece->Run();
    };
    if (!WorkQueue::Get().AddBehind(run))
      run();
  }
  if (TheFakeCuda().at_enqueue)
    TheFakeCuda().at_enqueue();
}

/// Does the work, or records it while the stream is captured.
CUresult Enqueue(CUstream stream, Work work, std::function<bool()> is_ready = nullptr) {
  if (TheFakeCuda().contexts_pushed <= 0)
    return CUDA_ERROR_INVALID_CONTEXT;
  if (stream->capture && TheFakeCuda().refuses_capture)
    return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  Piece piece = {stream, std::move(work), std::move(is_ready), stream->last()};
  stream->last() = {std::make_shared<Piece>(std::move(piece))};
  if (stream->capture) {
    stream->capture->nodes.push_back({stream->capture, stream->last().front(), std::nullopt});
    stream->is_joined = false;
  } else {
    Start(stream->last().front());
  }
  return CUDA_SUCCESS;
}

CUresult State() { return TheFakeCuda().faulted ? CUDA_ERROR_ILLEGAL_ADDRESS : CUDA_SUCCESS; }

/// Waits until the pieces are done. Work of other threads cannot be enqueued meanwhile.
CUresult Wait(const Pieces &pieces) {
  WorkQueue::Get().WaitUntilDone();
  while (!TheFakeCuda().faulted && !AreDone(pieces))
    if (ThePendingWork().Run(1) == 0)
      return CUDA_ERROR_LAUNCH_TIMEOUT;
  return State();
}
CUresult Query(const Pieces &pieces) {
  if (TheFakeCuda().is_busy || !WorkQueue::Get().IsDone())
    return CUDA_ERROR_NOT_READY;
  ThePendingWork().RunSome();
  return !TheFakeCuda().faulted && !AreDone(pieces) ? CUDA_ERROR_NOT_READY : State();
}

template <typename T>
CUresult Make(T **handle, T value = {}) {
  if (TheFakeCuda().contexts_pushed <= 0)
    return CUDA_ERROR_INVALID_CONTEXT;
  ++TheFakeCuda().objects;
  *handle = new T(std::move(value));
  return CUDA_SUCCESS;
}

template <typename T>
CUresult Destroy(T *handle) {
  --TheFakeCuda().objects;
  delete handle;
  return CUDA_SUCCESS;
}

} // namespace

int cs336::runtime::testing::EnqueueWork(CUstream stream, std::function<void()> work) {
  return Enqueue(stream, std::move(work));
}
char *cs336::runtime::testing::ToHostAddress(const void *device) {
  return ToHostUnified(reinterpret_cast<CUdeviceptr>(device));
}

uint64_t cs336::runtime::testing::LendMemory(void *host, int64_t bytes) {
  TheFakeCuda().lent[host] = bytes;
  return ToDevice(host);
}

extern "C" {

CUresult cuDriverGetVersion(int *version) {
  *version = TheFakeCuda().driver_version;
  return TheFakeCuda().Fails("cuDriverGetVersion") ? static_cast<CUresult>(TheFakeCuda().error) : CUDA_SUCCESS;
}
CUresult cuGetErrorName(CUresult error, const char **text) {
  *text = error == CUDA_ERROR_ILLEGAL_ADDRESS ? "CUDA_ERROR_ILLEGAL_ADDRESS" : "CUDA_ERROR_OF_THE_FAKE";
  return CUDA_SUCCESS;
}
CUresult cuGetErrorString(CUresult error, const char **text) {
  static std::string fault;
  fault = TheFakeCuda().fault;
  *text = fault.empty() ? "the fake driver's text" : fault.c_str();
  return CUDA_SUCCESS;
}

CUresult cuInit(unsigned) { return TheFakeCuda().devices > 0 ? CUDA_SUCCESS : CUDA_ERROR_NO_DEVICE; }
CUresult cuDeviceGetCount(int *count) {
  *count = TheFakeCuda().devices;
  return CUDA_SUCCESS;
}
CUresult cuDeviceGet(CUdevice *device, int ordinal) {
  *device = ordinal;
  return CUDA_SUCCESS;
}
CUresult cuDeviceGetName(char *name, int size, CUdevice) {
  std::strncpy(name, "Fake GPU", size);
  return CUDA_SUCCESS;
}
CUresult cuDeviceGetAttribute(int *value, CUdevice_attribute attribute, CUdevice) {
  *value = attribute == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR ? TheFakeCuda().major
           : attribute == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR
               ? TheFakeCuda().minor
               : static_cast<int>(CUfunc_st().most_shared_bytes);
  return CUDA_SUCCESS;
}
CUresult cuDeviceTotalMem(size_t *bytes, CUdevice) {
  *bytes = TheFakeCuda().memory_bytes;
  return CUDA_SUCCESS;
}
CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device) {
  if (device == TheFakeCuda().broken_device)
    return CUDA_ERROR_OPERATING_SYSTEM;
  *context = &the_context;
  ++TheFakeCuda().objects;
  return CUDA_SUCCESS;
}
CUresult cuDevicePrimaryCtxRelease(CUdevice) {
  --TheFakeCuda().objects;
  return CUDA_SUCCESS;
}
CUresult cuCtxPushCurrent(CUcontext) {
  ++TheFakeCuda().contexts_pushed;
  return CUDA_SUCCESS;
}
CUresult cuCtxPopCurrent(CUcontext *context) {
  *context = &the_context;
  --TheFakeCuda().contexts_pushed;
  return CUDA_SUCCESS;
}

CUresult cuMemGetInfo(size_t *free, size_t *total) {
  *total = TheFakeCuda().memory_bytes;
  *free = TheFakeCuda().memory_bytes - TheFakeCuda().allocated_bytes - TheFakeCuda().driver_bytes;
  return CUDA_SUCCESS;
}
CUresult cuMemAlloc(CUdeviceptr *address, size_t bytes) {
  ++TheFakeCuda().allocations;
  TheFakeCuda().driver_bytes += TheFakeCuda().rounding_bytes;
  TheFakeCuda().allocated_bytes += static_cast<int64_t>(bytes);
  *address = DeviceBlocks::Get().Allocate(bytes);
  return CUDA_SUCCESS;
}
CUresult cuMemFree(CUdeviceptr address) {
  TheFakeCuda().allocated_bytes -= static_cast<int64_t>(DeviceBlocks::Get().Free(address));
  return CUDA_SUCCESS;
}
CUresult cuMemGetAddressRange(CUdeviceptr *start, size_t *bytes, CUdeviceptr address) {
  if (TheFakeCuda().refuses_sharing)
    return CUDA_ERROR_NOT_SUPPORTED;
  *start = DeviceBlocks::Get().FindStart(address);
  *bytes = 0;
  return *start == 0 ? CUDA_ERROR_NOT_FOUND : CUDA_SUCCESS;
}
CUresult cuIpcGetMemHandle(CUipcMemHandle *, CUdeviceptr) { return CUDA_SUCCESS; }
CUresult cuIpcOpenMemHandle(CUdeviceptr *, CUipcMemHandle, unsigned) { return CUDA_ERROR_NOT_SUPPORTED; }
CUresult cuIpcCloseMemHandle(CUdeviceptr) { return CUDA_ERROR_NOT_SUPPORTED; }
CUresult cuCtxEnablePeerAccess(CUcontext, unsigned) { return CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED; }
CUresult cuMemHostRegister(void *address, size_t bytes, unsigned) {
  if (TheFakeCuda().refuses_pinning)
    return CUDA_ERROR_OPERATING_SYSTEM;
  TheFakeCuda().pinned[address] = static_cast<int64_t>(bytes);
  return CUDA_SUCCESS;
}
CUresult cuMemHostUnregister(void *address) {
  return TheFakeCuda().pinned.erase(address) == 1 ? CUDA_SUCCESS : CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED;
}
CUresult cuMemHostGetDevicePointer(CUdeviceptr *device, void *address, unsigned) {
  *device = reinterpret_cast<CUdeviceptr>(address) + TheFakeCuda().pinned_offset;
  return CUDA_SUCCESS;
}
CUresult cuMemcpyHtoDAsync(CUdeviceptr dst, const void *src, size_t bytes, CUstream stream) {
  return Enqueue(stream, [=] { std::memcpy(ToHost(dst), src, bytes); });
}
CUresult cuMemcpyDtoHAsync(void *dst, CUdeviceptr src, size_t bytes, CUstream stream) {
  return Enqueue(stream, [=] { std::memcpy(dst, ToHost(src), bytes); });
}
CUresult cuMemcpyAsync(CUdeviceptr dst, CUdeviceptr src, size_t bytes, CUstream stream) {
  // This much is also checked now for a captured copy.
  if (!IsReached(dst) || !IsReached(src))
    return CUDA_ERROR_INVALID_VALUE;
  TheFakeCuda().copied_bytes[stream] += static_cast<int64_t>(bytes);
  return Enqueue(stream, [=] { std::memcpy(ToHostUnified(dst), ToHostUnified(src), bytes); });
}
/// Returns whether rows of memory begin in one block.
static bool IsInOneBlock(CUdeviceptr address, size_t pitch, size_t rows) {
  DeviceBlocks &blocks = DeviceBlocks::Get();
  return blocks.FindStart(address) == blocks.FindStart(address + pitch * (rows - 1));
}
CUresult cuMemcpy2DAsync(const CUDA_MEMCPY2D *copy, CUstream stream) {
  bool is_valid = copy->srcMemoryType == CU_MEMORYTYPE_UNIFIED && copy->dstMemoryType == CU_MEMORYTYPE_UNIFIED &&
                  copy->srcPitch >= copy->WidthInBytes && copy->dstPitch >= copy->WidthInBytes &&
                  IsReached(copy->srcDevice) && IsReached(copy->dstDevice) &&
                  IsInOneBlock(copy->srcDevice, copy->srcPitch, copy->Height) &&
                  IsInOneBlock(copy->dstDevice, copy->dstPitch, copy->Height);
  if (!is_valid)
    return CUDA_ERROR_INVALID_VALUE;
  TheFakeCuda().copied_bytes[stream] += static_cast<int64_t>(copy->WidthInBytes * copy->Height);
  TheFakeCuda().pitched_copies[stream] += 1;
  return Enqueue(stream, [copy = *copy] {
    for (size_t row = 0; row != copy.Height; ++row)
      std::memcpy(ToHostUnified(copy.dstDevice + row * copy.dstPitch),
                  ToHostUnified(copy.srcDevice + row * copy.srcPitch), copy.WidthInBytes);
  });
}
CUresult cuMemsetD8Async(CUdeviceptr dst, unsigned char byte, size_t bytes, CUstream stream) {
  CUresult result = Enqueue(stream, [=] { std::memset(ToHost(dst), byte, bytes); });
  if (result == CUDA_SUCCESS && stream->capture)
    stream->capture->nodes.back().fill = {dst, bytes, byte, 1, bytes, 1};
  return result;
}

CUresult cuCtxGetStreamPriorityRange(int *lowest, int *highest) {
  *lowest = 0;
  *highest = -5;
  return CUDA_SUCCESS;
}
CUresult cuStreamCreateWithPriority(CUstream *stream, unsigned, int priority) {
  TheFakeCuda().urgent_streams += priority == -5;
  return Make(stream);
}
CUresult cuStreamDestroy(CUstream stream) { return Destroy(stream); }
CUresult cuStreamSynchronize(CUstream stream) { return Wait(stream->latest); }
CUresult cuStreamQuery(CUstream stream) { return Query(stream->latest); }
CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned) {
  ++TheFakeCuda().waits[stream];
  if (event->in_default_stream && TheFakeCuda().default_stream_work)
    std::exchange(TheFakeCuda().default_stream_work, nullptr)();
  if (event->capture) {
    // A stream that is not captured may not wait for a capture that has ended.
    if (CapturingStreams().count(event->stream) == 0 || event->stream->capture != event->capture)
      return CUDA_ERROR_CAPTURED_EVENT;
    stream->capture = event->capture;
    stream->is_joined = false;
    CapturingStreams().insert(stream);
    event->stream->is_joined = true;
  }
  if (event->capture == stream->capture)
    stream->last().insert(stream->last().end(), event->last.begin(), event->last.end());
  return State();
}
CUresult cuStreamBeginCapture(CUstream stream, CUstreamCaptureMode) {
  CapturingStreams().insert(stream);
  return Make(&stream->capture);
}
CUresult cuStreamEndCapture(CUstream stream, CUgraph *graph) {
  *graph = stream->capture;
  bool are_joined = true;
  for (CUstream each : std::set<CUstream>(CapturingStreams())) {
    if (each->capture != *graph)
      continue;
    are_joined = are_joined && (each == stream || each->is_joined);
    each->capture = nullptr;
    each->captured.clear();
    CapturingStreams().erase(each);
  }
  return are_joined ? CUDA_SUCCESS : CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
}
CUresult cuEventCreate(CUevent *event, unsigned) { return Make(event); }
CUresult cuEventDestroy(CUevent event) { return Destroy(event); }
CUresult cuEventRecord(CUevent event, CUstream stream) {
  event->in_default_stream = stream == CU_STREAM_LEGACY;
  event->stream = event->in_default_stream ? nullptr : stream;
  event->capture = event->stream ? stream->capture : nullptr;
  event->last = event->stream ? stream->last() : Pieces();
  event->is_of_graph = false;
  event->host_functions = TheFakeCuda().host_functions;
  return CUDA_SUCCESS;
}
CUresult cuEventRecordWithFlags(CUevent event, CUstream stream, unsigned flags) {
  if (flags == CU_EVENT_RECORD_DEFAULT)
    return cuEventRecord(event, stream);
  if (!stream->capture)
    return CUDA_ERROR_INVALID_VALUE;
  event->is_of_graph = true;
  return CUDA_SUCCESS;
}
CUresult cuEventSynchronize(CUevent event) { return Wait(event->capture ? Pieces() : event->last); }
CUresult cuEventQuery(CUevent event) { return Query(event->capture ? Pieces() : event->last); }
CUresult cuEventElapsedTime(float *milliseconds, CUevent start, CUevent end) {
  // Without the launch of the graph.
  *milliseconds = start->is_of_graph && end->is_of_graph
                      ? 1.25F
                      : 1.5F + 100 * static_cast<float>(end->host_functions - start->host_functions);
  return CUDA_SUCCESS;
}

CUresult cuLaunchHostFunc(CUstream stream, CUhostFn function, void *data) {
  FakeCuda &fake = TheFakeCuda();
  if (fake.contexts_pushed <= 0)
    return CUDA_ERROR_INVALID_CONTEXT;
  if (stream->capture)
    return CUDA_ERROR_NOT_SUPPORTED;
  ++fake.host_functions;
  if (!fake.faulted && !fake.drops_work)
    WorkQueue::Get().Add([=] { function(data); });
  return CUDA_SUCCESS;
}

static CUresult AddRecorded(const char *what) {
  FakeCuda &fake = TheFakeCuda();
  if (fake.contexts_pushed <= 0)
    return CUDA_ERROR_INVALID_CONTEXT;
  fake.recorded.push_back(std::string(what) + " after " + std::to_string(fake.kernels_run) + " kernels");
  return CUDA_SUCCESS;
}
CUresult cuProfilerStart() { return AddRecorded("start"); }
CUresult cuProfilerStop() { return AddRecorded("stop"); }

CUresult cuGraphInstantiate(CUgraphExec *executable, CUgraph graph, unsigned long long flags) {
  TheFakeCuda().graph_flags = flags;
  TheFakeCuda().driver_bytes += TheFakeCuda().graph_bytes;
  Pieces pieces;
  for (const CUgraphNode_st &node : graph->nodes)
    pieces.push_back(node.piece);
  return Make(executable, {std::move(pieces)});
}
CUresult cuGraphLaunch(CUgraphExec executable, CUstream stream) {
  if (TheFakeCuda().contexts_pushed <= 0)
    return CUDA_ERROR_INVALID_CONTEXT;
  ++TheFakeCuda().graphs_launched;
  Pieces last;
  std::map<Piece *, std::shared_ptr<Piece>> copies; // By node.
  std::function<std::shared_ptr<Piece>(const std::shared_ptr<Piece> &)> start = [&](const auto &node) {
    std::shared_ptr<Piece> &copy = copies[node.get()];
    if (copy)
      return copy;
    copy = std::make_shared<Piece>(*node);
    copy->after = stream->latest;
    for (const auto &earlier : node->after)
      copy->after.push_back(start(earlier));
    last.push_back(copy);
    Start(copy);
    return copy;
  };
  for (const auto &node : executable->nodes)
    start(node);
  if (!last.empty())
    stream->latest = std::move(last);
  return CUDA_SUCCESS;
}
CUresult cuGraphDestroy(CUgraph graph) { return Destroy(graph); }
CUresult cuGraphExecDestroy(CUgraphExec executable) { return Destroy(executable); }

CUresult cuModuleLoadData(CUmodule *module, const void *image) {
  TheFakeCuda().driver_bytes += TheFakeCuda().module_bytes;
  bool is_text = std::memcmp(image, ELFMAG, SELFMAG) != 0;
  return Make(module, {is_text ? static_cast<const char *>(image) : ""});
}
CUresult cuModuleUnload(CUmodule module) { return Destroy(module); }
CUresult cuModuleGetFunction(CUfunction *function, CUmodule module, const char *name) {
  *function = cs336::runtime::testing::FindKernel(*module, name);
  return *function ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}
CUresult cuFuncGetAttribute(int *value, CUfunction_attribute attribute, CUfunction) {
  *value = attribute == CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK ? 512 : 0;
  return CUDA_SUCCESS;
}
CUresult cuFuncSetAttribute(CUfunction function, CUfunction_attribute, int value) {
  return static_cast<unsigned>(value) > function->most_shared_bytes ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}
CUresult cuFuncGetParamInfo(CUfunction function, size_t index, size_t *offset, size_t *size) {
  size_t pointers = function->takes_structure ? 1 : function->parameters;
  if (index >= pointers + function->tensor_maps)
    return CUDA_ERROR_INVALID_VALUE;
  if (index >= pointers) {
    *offset = function->MapOffset(index - pointers);
    *size = sizeof(CUtensorMap);
    return CUDA_SUCCESS;
  }
  *offset = 8 * index;
  *size = function->takes_structure ? 8 * function->parameters : 8;
  return CUDA_SUCCESS;
}
CUresult cuFuncLoad(CUfunction) { return CUDA_SUCCESS; }
CUresult cuLaunchKernelEx(const CUlaunchConfig *config, CUfunction function, void **, void **extra) {
  // Parameters are read now, whenever the kernel runs.
  size_t bytes = *static_cast<size_t *>(extra[3]);
  if (extra[0] != CU_LAUNCH_PARAM_BUFFER_POINTER || extra[2] != CU_LAUNCH_PARAM_BUFFER_SIZE ||
      bytes != function->ParameterBytes())
    return CUDA_ERROR_INVALID_VALUE;
  unsigned cluster = 1;
  for (unsigned i = 0; i != config->numAttrs; ++i)
    if (config->attrs[i].id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION)
      cluster = config->attrs[i].value.clusterDim.x;
  if (cluster == 0 || config->gridDimX % cluster != 0)
    return CUDA_ERROR_INVALID_VALUE;
  TheFakeCuda().cluster = cluster;
  if (function->program) {
    std::vector<uint64_t> parameters(function->parameters);
    std::memcpy(parameters.data(), extra[1], bytes);
    return Enqueue(config->hStream, [program = function->program, launch = *config, parameters] {
      ++TheFakeCuda().kernels_run;
      cs336::runtime::testing::Interpret(*program, launch, parameters);
    });
  }
  std::vector<char> block(bytes);
  std::memcpy(block.data(), extra[1], bytes);
  auto call = [function, block](auto *part) mutable {
    std::vector<void *> parameters;
    for (size_t i = 0; i != function->parameters; ++i)
      parameters.push_back(block.data() + 8 * i);
    for (size_t i = 0; i != function->tensor_maps; ++i)
      parameters.push_back(block.data() + function->MapOffset(i));
    return part(parameters.data());
  };
  std::function<bool()> is_ready;
  if (function->begin) {
    if (CUresult result = Enqueue(config->hStream, [=]() mutable { call(function->begin); }); result != CUDA_SUCCESS)
      return result;
    is_ready = [=]() mutable { return call(function->may_go_on); };
  }
  return Enqueue(
      config->hStream,
      [=]() mutable {
        ++TheFakeCuda().kernels_run;
        call(function->body);
      },
      is_ready);
}
CUresult cuLaunchKernel(CUfunction function, unsigned blocks, unsigned, unsigned, unsigned threads, unsigned, unsigned,
                        unsigned shared_bytes, CUstream stream, void **parameters, void **extra) {
  CUlaunchConfig config = {};
  config.gridDimX = blocks;
  config.blockDimX = threads;
  config.sharedMemBytes = shared_bytes;
  config.hStream = stream;
  return cuLaunchKernelEx(&config, function, parameters, extra);
}

CUresult cuTensorMapEncodeTiled(CUtensorMap *encoded, CUtensorMapDataType type, cuuint32_t rank, void *address,
                                const cuuint64_t *sizes, const cuuint64_t *stride_bytes, const cuuint32_t *box,
                                const cuuint32_t *element_strides, CUtensorMapInterleave, CUtensorMapSwizzle swizzle,
                                CUtensorMapL2promotion promotion, CUtensorMapFloatOOBfill) {
  if (TheFakeCuda().contexts_pushed <= 0)
    return CUDA_ERROR_INVALID_CONTEXT;
  if (rank != 2 || element_strides[0] != 1 || element_strides[1] != 1)
    return CUDA_ERROR_INVALID_VALUE;
  FakeTensorMap map = {reinterpret_cast<CUdeviceptr>(address),
                       sizes[0],
                       sizes[1],
                       stride_bytes[0],
                       box[0],
                       box[1],
                       static_cast<uint64_t>(swizzle),
                       static_cast<uint64_t>(promotion),
                       static_cast<uint64_t>(type)};
  if (map.address % 16 != 0 || reinterpret_cast<uintptr_t>(encoded) % 64 != 0)
    return CUDA_ERROR_INVALID_VALUE;
  ++TheFakeCuda().tensor_maps_encoded;
  std::memcpy(encoded, &map, sizeof(map));
  return CUDA_SUCCESS;
}

} // extern "C"
