//===- ThreadTeam.h - Threads that share a loop -----------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_RUNTIME_PARALLEL_THREADTEAM_H
#define CS336_RUNTIME_PARALLEL_THREADTEAM_H

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"

#include <atomic>
#include <cstdint>
#include <memory>
#include <sys/types.h>
#include <vector>

namespace cs336::runtime {

/// The most threads of a team: more than any machine has cores.
inline constexpr int kMostThreads = 4096;

/// Returns the number of threads of a session whose options do not set it: the value of the environment variable
/// OMP_NUM_THREADS, as OpenMP programs read it (torchrun sets it per rank), otherwise the number of processors that
/// this process may use.
int DefaultThreadCount();

/// The calling thread and workers that wait for its loops.
///
/// A loop is a number of parts. Each thread first takes the part with its own number, then any remaining parts. The
/// loop is therefore complete however many workers the system runs, and the caller never waits for a worker that has
/// not started. Workers poll for some microseconds after a loop, then sleep.
class ThreadTeam {
public:
  /// Starts `threads` - 1 workers; 0 stands for DefaultThreadCount(). Returns INVALID_ARGUMENT if `threads` is negative
  /// or above kMostThreads, RESOURCE_EXHAUSTED if the system cannot start that many.
  static absl::StatusOr<std::unique_ptr<ThreadTeam>> Create(int threads);
  /// Stops the workers. Must not be called during Run().
  ~ThreadTeam();
  ThreadTeam(const ThreadTeam &) = delete;
  ThreadTeam &operator=(const ThreadTeam &) = delete;

  /// Returns the number of threads, including the caller of Run().
  int size() const { return static_cast<int>(workers_.size()) + 1; }

  /// Returns true if this process is a fork of the one that created the team. The workers do not exist here, and the
  /// team can only be destroyed.
  bool IsFromAnotherProcess() const;

  /// Calls `body` once per number in [0, `parts`), at most size(), on this thread and the workers. Returns when all
  /// calls have returned. One thread at a time may call this.
  void Run(int parts, absl::FunctionRef<void(int)> body);

private:
  /// The word that workers read to join a loop: the loop's number in the upper bits, its number of
  /// parts in the lower.
  struct Loop {
    explicit Loop(uint64_t word) : word(word) {}
    Loop(uint64_t number, int parts) : word(number << 16 | static_cast<uint64_t>(parts)) {}
    uint64_t number() const { return word >> 16; }
    int parts() const { return static_cast<int>(word & 0xFFFF); }
    uint64_t word;
  };
  /// The number of the last loop in which a part was taken, in a cache line of its
  /// own.
  struct alignas(64) Taken {
    std::atomic<uint64_t> loop{0};
  };
  struct Worker {
    ThreadTeam *team;
    int index; // The part that this worker takes first; the caller's is 0.
    pthread_t thread;
  };

  explicit ThreadTeam(int threads);

  absl::Status Start();
  static void *Work(void *worker);
  /// Takes parts of the loop, cyclically from part `first` on, until none is left.
  void TakeParts(Loop loop, int first);
  /// Waits for a loop after `seen`, or for the end of the team.
  Loop WaitForLoop(Loop seen);
  void WakeWorkers(int count);
  void WaitForParts();

  const pid_t process_;
  const int spins_; // The number of polls of a waiting thread before it sleeps.
  std::vector<Worker> workers_;
  std::vector<Taken> taken_;

  const absl::FunctionRef<void(int)> *body_ = nullptr; // Body of the present loop.
  alignas(64) std::atomic<uint64_t> loop_{0};
  std::atomic<size_t> started_{0}; // Workers that need no memory of the OpenMP library any more.
  std::atomic<bool> stops_{false};
  alignas(64) std::atomic<int> unfinished_{0}; // Unfinished parts of the present loop.
  /// Changes when sleeping workers must look again.
  alignas(64) std::atomic<int> wakeups_{0};
  std::atomic<int> sleepers_{0};
};

/// During its lifetime, parallel loops of this thread run on `team`, and libraries that this thread calls use no
/// threads of their own. Without a scope, loops run on this thread only.
class TeamScope {
public:
  explicit TeamScope(ThreadTeam *team);
  ~TeamScope();
  TeamScope(const TeamScope &) = delete;
  TeamScope &operator=(const TeamScope &) = delete;

  /// Returns the team of this thread's innermost scope, or null.
  static ThreadTeam *Current();

private:
  ThreadTeam *previous_;
  int previous_library_threads_;
};

} // namespace cs336::runtime

#endif // CS336_RUNTIME_PARALLEL_THREADTEAM_H
