//===- FakeCuda.h - A CUDA driver for machines without a GPU ----*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A library with the name libcuda.so.1 that implements, on the host, the driver
// functions that the runtime uses. In programs that link it, the runtime finds
// it in place of the driver. Addresses of "device" memory are useless to the
// host, captured work does not run, modules contain a few kernels of our own
// or the text of one, which is interpreted,
// a capture includes the streams that wait for events of it and must be joined,
// only the default stream makes others wait, and a fault stays with the
// context, as on a GPU. Work is done when it is enqueued, unless a test delays
// it, and except work behind a host function, which waits for it. Between two
// events, a host function takes 100 ms.
//
//===----------------------------------------------------------------------===//

#ifndef CS336_TEST_RUNTIME_FAKECUDA_H
#define CS336_TEST_RUNTIME_FAKECUDA_H

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <vector>

struct CUstream_st;

namespace cs336::runtime::testing {

/// A value that several threads use, and that can be copied.
template <typename T>
class Shared {
public:
  Shared(T value = {}) : value_(value) {}
  Shared(const Shared &other) : value_(other.value_.load()) {}
  Shared &operator=(const Shared &other) {
    value_ = other.value_.load();
    return *this;
  }
  operator T() const { return value_; }
  void operator++() { ++value_; }

private:
  std::atomic<T> value_;
};

/// The simulated machine, and the work that the driver was given.
struct FakeCuda {
  int driver_version = 13000;
  int devices = 1;
  int major = 9, minor = 0;
  int64_t memory_bytes = int64_t{1} << 30;
  int broken_device = -1;       // A device that does not start, like one that fell off the bus.
  bool refuses_capture = false; // Like a command that cannot be captured.
  bool refuses_pinning = false; // Like a limit on locked memory.
  bool refuses_sharing = true;  // Like a container that does not share memory with others.
  uint64_t pinned_offset = 0;   // From the host's address of pinned memory to the device's.

  int64_t allocated_bytes = 0;
  /// The bytes of the driver itself, and how many each module, each graph and each allocation adds to them.
  int64_t driver_bytes = 0, module_bytes = 0, graph_bytes = 0, rounding_bytes = 0;
  std::map<void *, int64_t> pinned; // Bytes by address.
  int allocations = 0;
  int contexts_pushed = 0; // Minus those popped.
  int graphs_launched = 0, objects = 0;
  Shared<unsigned long long> graph_flags; // Flags of the last graph that was instantiated.
  Shared<int> kernels_run;
  int host_functions = 0;                // Enqueued so far.
  Shared<int> calls_from_host_functions; // Each fails, as CUDA forbids them.
  int tensor_maps_encoded = 0;
  unsigned cluster = 0; // Blocks per cluster of the last kernel that was enqueued.
  Shared<bool> faulted;
  std::string fault; // The error of an interpreted kernel.
  /// Bytes by address of the host: memory of other GPUs that kernels access.
  std::map<void *, int64_t> lent;
  /// When tools were told to begin and to end recording: "start after 2 kernels".
  std::vector<std::string> recorded;

  int calls = 0;        // Calls of all functions.
  int failing_call = 0; // The number of the failing call, from 1 on.
  int error = 999;      // The CUresult that it returns.
  std::string failed;   // The failed function.
  /// Counts a call of `name`. Returns true if it must fail.
  bool Fails(const char *name);

  /// Adds work of another library to the legacy default stream. It runs when a
  /// stream waits for that stream.
  std::function<void()> default_stream_work;
  /// The device does not get done, like one that waits for another rank forever.
  Shared<bool> is_busy;
  bool drops_work = false; // Work that is enqueued does not run.
  /// Called by the thread that enqueues work, after each piece outside of a capture.
  std::function<void()> at_enqueue;
  /// Work runs later, in a random order that streams and events allow, and barriers of ranks wait for the ranks. For
  /// sessions that are ranks of one group, each on its own thread. Otherwise barriers do not wait.
  bool delays_work = false;
  /// Bytes of copies within device memory, by stream.
  std::map<CUstream_st *, int64_t> copied_bytes;
  /// Copies of several rows within device memory, by stream.
  std::map<CUstream_st *, int> pitched_copies;
  /// Waits for events, by stream.
  std::map<CUstream_st *, int> waits;
  /// Does what other ranks have done when a barrier of ranks is reached. Its argument counts the calls, from 1 on.
  std::function<void(int)> at_barrier;
  int barriers = 0;
  /// Streams that were created with the highest priority.
  int urgent_streams = 0;
};

/// The driver of this process.
FakeCuda &TheFakeCuda();
/// Locked by the driver's calls, which ranks make at the same time.
std::recursive_mutex &DriverMutex();

/// Enqueues work of another library, and returns the CUresult. Addresses are those of the device:
/// ToHostAddress() converts them.
int EnqueueWork(CUstream_st *stream, std::function<void()> work);
char *ToHostAddress(const void *device);
/// Makes memory of the host accessible to the device, as memory of another GPU. Returns its address.
uint64_t LendMemory(void *host, int64_t bytes);

} // namespace cs336::runtime::testing

#endif // CS336_TEST_RUNTIME_FAKECUDA_H
