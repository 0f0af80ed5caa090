//===- host_block.h - The threads of a block as fibers ----------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_TEST_PYTHON_HOST_BLOCK_H
#define CS336_TEST_PYTHON_HOST_BLOCK_H

#include <csetjmp>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <ucontext.h>
#include <vector>

/// A function with a stack of its own, which runs in turns with its caller. A switch takes no system call:
/// swapcontext() would set the mask of signals each time, so a context is used for the first turn only.
class HostFiber {
public:
  /// Prepares the function for the first turn. It must not return.
  void prepare(void (*function)()) {
    stack.reset(new char[stackBytes]);
    getcontext(&first);
    first.uc_stack.ss_sp = stack.get();
    first.uc_stack.ss_size = stackBytes;
    first.uc_link = nullptr;
    makecontext(&first, function, 0);
  }

  /// Runs the function until it calls suspend().
  void resume() {
    if (_setjmp(caller) != 0)
      return;
    if (hasBegun)
      _longjmp(place, 1);
    hasBegun = true;
    setcontext(&first);
  }

  /// Returns to the caller of resume() until the next turn.
  void suspend() {
    if (_setjmp(place) == 0)
      _longjmp(caller, 1);
  }

private:
  static constexpr size_t stackBytes = 64 * 1024;

  std::unique_ptr<char[]> stack;
  ucontext_t first;
  jmp_buf caller, place;
  bool hasBegun = false;
};

/// The threads of a block, which take turns.
class HostBlock {
public:
  explicit HostBlock(unsigned threads) : fibers(threads), threads(threads), warps((threads + 31) / 32) {
    for (HostFiber &fiber : fibers)
      fiber.prepare(&HostBlock::runThreads);
  }

  /// The running block.
  static inline HostBlock *current = nullptr;

  template <typename Body>
  void run(const Body &body) {
    current = this;
    entry = [](const void *body) { (*static_cast<const Body *>(body))(); };
    argument = &body;
    all = {};
    warps.assign(warps.size(), {});
    for (running = 0; running < threads.size(); ++running) {
      threads[running] = {};
      all.join();
      warps[running / 32].join();
    }
    for (size_t ended = 0; ended < threads.size();) {
      hasProgressed = false;
      for (running = 0; running < threads.size(); ++running) {
        if (threads[running].hasEnded)
          continue;
        threadIdx = {running, 0, 0};
        fibers[running].resume();
        if (threads[running].hasEnded) {
          ++ended;
          hasProgressed = true;
        }
      }
      if (!hasProgressed) {
        std::fprintf(stderr, "the threads of a block wait for each other at different places\n");
        std::abort();
      }
    }
  }

  /// Waits for all threads of the block that have not ended.
  void synchronize() { meet(all); }

  /// Waits for what other threads do.
  template <typename Condition>
  void waitUntil(Condition isTrue) {
    hasProgressed = true;
    unsigned self = running;
    while (!isTrue())
      fibers[self].suspend();
    hasProgressed = true;
  }

  /// The values that the lanes of a warp passed to one exchange.
  template <typename T>
  struct Passed {
    T values[32];
    unsigned count;
  };

  /// Exchanges the values of those lanes of the caller's warp that have not ended.
  template <typename T>
  Passed<T> pass(T value) {
    // Two slots suffice: a lane starts the next exchange but one only after all lanes have read this one.
    static T values[2][maxThreads];
    unsigned self = running, number = ++threads[self].exchanges, first = self / 32 * 32;
    values[number % 2][self] = value;
    meet(warps[self / 32]);
    Passed<T> passed{};
    for (; passed.count < 32 && first + passed.count < threads.size(); ++passed.count)
      if (threads[first + passed.count].exchanges >= number)
        passed.values[passed.count] = values[number % 2][first + passed.count];
    return passed;
  }

  /// Returns the value of `lane` of the caller's warp.
  template <typename T>
  T exchange(T value, unsigned lane) {
    return pass(value).values[lane];
  }

  /// Returns one bit per lane of the caller's warp that passes true.
  unsigned ballot(bool value) {
    Passed<bool> passed = pass(value);
    unsigned bits = 0;
    for (unsigned lane = 0; lane < 32; ++lane)
      bits |= static_cast<unsigned>(lane < passed.count && passed.values[lane]) << lane;
    return bits;
  }

private:
  static constexpr unsigned maxThreads = 1024;

  struct Thread {
    unsigned exchanges = 0; // With its warp.
    bool hasEnded = false;
  };

  /// Threads that wait for each other again and again, without those that have ended.
  class Meeting {
  public:
    unsigned number = 0; // Meetings that have ended.

    void join() { ++members; }
    void leave() {
      --members;
      endIfAllAreThere();
    }
    void arrive() {
      ++arrivals;
      endIfAllAreThere();
    }

  private:
    void endIfAllAreThere() {
      if (arrivals != members)
        return;
      arrivals = 0;
      ++number;
    }

    unsigned members = 0, arrivals = 0;
  };

  void meet(Meeting &meeting) {
    unsigned own = meeting.number;
    meeting.arrive();
    waitUntil([&] { return meeting.number != own; });
  }

  /// Runs the thread of a fiber, in one block after the other.
  [[noreturn]] static void runThreads() {
    for (;;) {
      current->entry(current->argument);
      unsigned self = current->running;
      current->threads[self].hasEnded = true;
      current->all.leave();
      current->warps[self / 32].leave();
      current->fibers[self].suspend();
    }
  }

  std::vector<HostFiber> fibers;
  std::vector<Thread> threads;
  Meeting all;
  std::vector<Meeting> warps;
  unsigned running = 0;
  bool hasProgressed = false;
  void (*entry)(const void *) = nullptr;
  const void *argument = nullptr;
};

#endif // CS336_TEST_PYTHON_HOST_BLOCK_H
