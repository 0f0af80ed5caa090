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

/// Returns the number of threads of a session whose options name none: what the environment variable OMP_NUM_THREADS
/// says, as OpenMP programs take it (torchrun sets it for each rank), otherwise the processors that this process may
/// use.
int DefaultThreadCount();

/// The calling thread and workers that wait for loops of it.
///
/// A loop is a number of parts. Each thread takes the part of its own number first, then whatever parts are left, so
/// that the loop is complete however many workers the system lets run, and the caller never waits for a worker that
/// has not begun. Workers wait actively for some microseconds after a loop, then sleep.
class ThreadTeam {
public:
  /// Starts `threads` - 1 workers; `threads` of 0 means DefaultThreadCount(). INVALID_ARGUMENT if `threads` is negative
  /// or above kMostThreads; RESOURCE_EXHAUSTED if the system does not start that many.
  static absl::StatusOr<std::unique_ptr<ThreadTeam>> Create(int threads);
  /// Stops the workers. Not to be called while Run() is.
  ~ThreadTeam();
  ThreadTeam(const ThreadTeam &) = delete;
  ThreadTeam &operator=(const ThreadTeam &) = delete;

  /// The number of threads, with the caller of Run().
  int size() const { return static_cast<int>(workers_.size()) + 1; }

  /// Returns true if the team was made by a process that this one is a fork of. Its workers do not exist here, and it
  /// can only be destroyed.
  bool IsFromAnotherProcess() const;

  /// Calls `body` once with every number in [0, `parts`), at most size(), on this thread and workers, and returns when
  /// all calls have. One thread at a time calls this.
  void Run(int parts, absl::FunctionRef<void(int)> body);

private:
  /// The word that workers read to join a loop: its number in the upper bits, its parts in the lower.
  struct Loop {
    explicit Loop(uint64_t word) : word(word) {}
    Loop(uint64_t number, int parts) : word(number << 16 | static_cast<uint64_t>(parts)) {}
    uint64_t number() const { return word >> 16; }
    int parts() const { return static_cast<int>(word & 0xFFFF); }
    uint64_t word;
  };
  /// The number of the last loop in which a part was taken, alone in its cache line.
  struct alignas(64) Taken {
    std::atomic<uint64_t> loop{0};
  };
  struct Worker {
    ThreadTeam *team;
    int index; // Number of the part that it takes first; the caller's is 0.
    pthread_t thread;
  };

  explicit ThreadTeam(int threads);

  absl::Status Start();
  static void *Work(void *worker);
  /// Takes parts of the loop from part `first` on, round about, until none is left.
  void TakeParts(Loop loop, int first);
  /// Waits for a loop after `seen`, or for the end.
  Loop WaitForLoop(Loop seen);
  void WakeWorkers(int count);
  void WaitForParts();

  const pid_t process_;
  const int spins_; // How often a waiting thread looks again before it sleeps.
  std::vector<Worker> workers_;
  std::vector<Taken> taken_;

  const absl::FunctionRef<void(int)> *body_ = nullptr; // The present loop's.
  alignas(64) std::atomic<uint64_t> loop_{0};
  std::atomic<bool> stops_{false};
  alignas(64) std::atomic<int> unfinished_{0}; // Parts of the present loop.
  /// Changes when workers that sleep are to look again.
  alignas(64) std::atomic<int> wakeups_{0};
  std::atomic<int> sleepers_{0};
};

/// While it lives, parallel loops of this thread run on `team`, and libraries that this thread calls use no threads of
/// their own. Without one, loops run on this thread alone.
class TeamScope {
public:
  explicit TeamScope(ThreadTeam *team);
  ~TeamScope();
  TeamScope(const TeamScope &) = delete;
  TeamScope &operator=(const TeamScope &) = delete;

  /// The team of this thread's innermost scope, or null.
  static ThreadTeam *Current();

private:
  ThreadTeam *previous_;
  int previous_library_threads_;
};

} // namespace cs336::runtime

#endif // CS336_RUNTIME_PARALLEL_THREADTEAM_H
