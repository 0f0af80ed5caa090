//===- FakeCuda.h - A CUDA driver for machines without a GPU ----*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A library of the name libcuda.so.1 that does what the driver promises of the
// functions that the runtime uses, on the host: whoever links it has the
// runtime find it in place of the driver. Addresses of "device" memory are
// useless to the host, work that is captured does not run, modules hold three
// kernels of our own, nobody waits but for the default stream, and a fault stays
// with the context, as on a GPU.
//
//===----------------------------------------------------------------------===//

#ifndef CS336_TEST_RUNTIME_FAKECUDA_H
#define CS336_TEST_RUNTIME_FAKECUDA_H

#include <cstdint>
#include <functional>
#include <map>
#include <string>

namespace cs336::runtime::testing {

/// The machine that the driver is asked about, and what it was asked to do.
struct FakeCuda {
  int driver_version = 13000;
  int devices = 1;
  int major = 9, minor = 0;
  int64_t memory_bytes = int64_t{1} << 30;
  int broken_device = -1;       // As one that fell off the bus: it does not start.
  bool refuses_capture = false; // As with a command that cannot be captured.
  bool refuses_pinning = false; // As where a limit on locked memory is reached.
  uint64_t pinned_offset = 0;   // From the host's address of pinned memory to the device's.

  int64_t allocated_bytes = 0;
  std::map<void *, int64_t> pinned; // Bytes by address.
  int allocations = 0;
  int contexts_pushed = 0; // Minus those popped.
  int kernels_run = 0, graphs_launched = 0, objects = 0;
  bool faulted = false;

  int calls = 0;        // Of all functions.
  int failing_call = 0; // The number of the one that fails, from 1 on.
  int error = 999;      // What it returns, a CUresult.
  std::string failed;   // Its function.
  /// Counts a call of `name`. Returns whether it fails.
  bool Fails(const char *name);

  /// Of another library in the legacy default stream: done once a stream has to
  /// wait for that.
  std::function<void()> default_stream_work;
};

/// The one of this process.
FakeCuda &TheFakeCuda();

} // namespace cs336::runtime::testing

#endif // CS336_TEST_RUNTIME_FAKECUDA_H
