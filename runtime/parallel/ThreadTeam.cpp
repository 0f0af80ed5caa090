//===- ThreadTeam.cpp - Threads that share a loop -------------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "parallel/ThreadTeam.h"

#include "parallel/SignalsBlocked.h"
#include "status/StatusMacros.h"

#include "absl/cleanup/cleanup.h"
#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

#include <algorithm>
#include <cstdlib>
#include <pthread.h>
#include <sched.h>
#include <unistd.h>
#include <utility>

// The OpenMP runtime that oneDNN was built for. The loops of this project do
// not use it.
extern "C" {
void omp_set_num_threads(int threads);
int omp_get_max_threads(void);
}

namespace cs336::runtime {

namespace {

thread_local ThreadTeam *current_team = nullptr;

/// The stack size of workers: kernels keep rows of up to 1 MiB on the stack, and Eigen packs blocks
/// there, but `ulimit -s` may be smaller.
constexpr size_t kStackBytes = size_t{8} << 20;

/// About 50 microseconds: longer than the gap between two commands of a step, and short compared with a
/// time slice.
constexpr int kSpins = 1500;

/// Returns the number of processors that this process may use.
int CountProcessors() {
  constexpr int kMostProcessors = 1 << 14;
  cpu_set_t *set = CPU_ALLOC(kMostProcessors);
  absl::Cleanup free_set = [set] { CPU_FREE(set); };
  size_t size = CPU_ALLOC_SIZE(kMostProcessors);
  if (set && sched_getaffinity(0, size, set) == 0)
    return std::max(CPU_COUNT_S(size, set), 1);
  return static_cast<int>(std::max(sysconf(_SC_NPROCESSORS_ONLN), 1L));
}

void Pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("isb");
#endif
}

/// Calls `is_done` up to `spins` times. Returns true as soon as it returns
/// true.
template <typename Predicate>
bool SpinUntil(int spins, const Predicate &is_done) {
  for (int i = 0; i != spins; ++i) {
    if (is_done())
      return true;
    Pause();
  }
  return is_done();
}

} // namespace

int DefaultThreadCount() {
  // A list has the numbers of threads per level of nested regions.
  absl::string_view text = std::getenv("OMP_NUM_THREADS") ? std::getenv("OMP_NUM_THREADS") : "";
  int threads;
  if (absl::SimpleAtoi(text.substr(0, text.find(',')), &threads) && threads > 0)
    return std::min(threads, kMostThreads);
  return std::min(CountProcessors(), kMostThreads);
}

ThreadTeam::ThreadTeam(int threads)
    : process_(getpid()), spins_(threads > CountProcessors() ? 0 : kSpins), workers_(threads - 1), taken_(threads) {}

absl::StatusOr<std::unique_ptr<ThreadTeam>> ThreadTeam::Create(int threads) {
  if (threads < 0 || threads > kMostThreads)
    return absl::InvalidArgumentError(
        absl::StrCat("num_threads is ", threads, ", must be from 1 to ", kMostThreads, ", or 0 for the default"));
  std::unique_ptr<ThreadTeam> team(new ThreadTeam(threads == 0 ? DefaultThreadCount() : threads));
  CS336_RETURN_IF_ERROR(team->Start());
  return team;
}

absl::Status ThreadTeam::Start() {
  // The program's own threads handle signals.
  SignalsBlocked inherited;
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  absl::Cleanup destroy = [&] { pthread_attr_destroy(&attributes); };
  pthread_attr_setstacksize(&attributes, kStackBytes);
  for (size_t i = 0; i != workers_.size(); ++i) {
    workers_[i].team = this;
    workers_[i].index = static_cast<int>(i) + 1;
    if (int error = pthread_create(&workers_[i].thread, &attributes, Work, &workers_[i])) {
      int wanted = size();
      workers_.resize(i); // First, because the destructor joins them even if a message cannot be allocated.
      absl::Status reason = absl::ErrnoToStatus(error, absl::StrCat("cannot start thread ", i + 2, " of ", wanted));
      return absl::ResourceExhaustedError(
          absl::StrCat(reason.message(), ": use fewer (num_threads, --num-threads), or raise the limit (ulimit -u)"));
    }
  }
  // A thread's first call of OpenMP's library allocates memory, and ends the process if it gets none. That must not
  // happen while another thread writes a file.
  for (size_t started; (started = started_.load()) != workers_.size();)
    started_.wait(started);
  return absl::OkStatus();
}

ThreadTeam::~ThreadTeam() {
  if (IsFromAnotherProcess())
    return;
  stops_ = true;
  ++wakeups_;
  wakeups_.notify_all();
  for (Worker &worker : workers_)
    pthread_join(worker.thread, nullptr);
}

bool ThreadTeam::IsFromAnotherProcess() const { return process_ != getpid(); }

void ThreadTeam::Run(int parts, absl::FunctionRef<void(int)> body) {
  // A nested loop within the body runs on the current thread only.
  ThreadTeam *outer = std::exchange(current_team, nullptr);
  body_ = &body;
  unfinished_.store(parts, std::memory_order_relaxed);
  Loop loop(Loop(loop_.load(std::memory_order_relaxed)).number() + 1, parts);
  loop_.store(loop.word);
  WakeWorkers(parts - 1);
  TakeParts(loop, 0);
  WaitForParts();
  current_team = outer;
}

void ThreadTeam::TakeParts(Loop loop, int first) {
  for (int i = 0; i != loop.parts(); ++i) {
    int part = (first + i) % loop.parts();
    // The loop cannot end, and the next one cannot begin, while a part is not taken. So a late thread that still has an
    // earlier loop finds no part.
    uint64_t last = taken_[part].loop.load(std::memory_order_relaxed);
    if (last >= loop.number() || !taken_[part].loop.compare_exchange_strong(last, loop.number()))
      continue;
    (*body_)(part);
    if (unfinished_.fetch_sub(1) == 1)
      unfinished_.notify_one();
  }
}

void ThreadTeam::WaitForParts() {
  SpinUntil(spins_, [this] { return unfinished_.load() == 0; });
  for (int left; (left = unfinished_.load()) != 0;)
    unfinished_.wait(left);
}

void ThreadTeam::WakeWorkers(int count) {
  int sleepers = sleepers_.load();
  if (sleepers == 0)
    return;
  ++wakeups_;
  if (count >= sleepers) {
    wakeups_.notify_all();
    return;
  }
  for (int i = 0; i != count; ++i)
    wakeups_.notify_one();
}

ThreadTeam::Loop ThreadTeam::WaitForLoop(Loop seen) {
  auto is_over = [&] { return loop_.load() != seen.word || stops_.load(); };
  SpinUntil(spins_, is_over);
  while (!is_over()) {
    ++sleepers_;
    int wakeups = wakeups_.load();
    // Run() publishes its loop before it looks for sleeping workers.
    if (!is_over())
      wakeups_.wait(wakeups);
    --sleepers_;
  }
  return Loop(loop_.load());
}

void *ThreadTeam::Work(void *worker) {
  auto [team, index, thread] = *static_cast<Worker *>(worker);
  TeamScope no_team(nullptr);
  ++team->started_;
  team->started_.notify_one();
  for (Loop loop(0); !team->stops_;) {
    loop = team->WaitForLoop(loop);
    if (loop.parts() != 0)
      team->TakeParts(loop, index % loop.parts());
  }
  return nullptr;
}

TeamScope::TeamScope(ThreadTeam *team) : previous_(current_team), previous_library_threads_(omp_get_max_threads()) {
  current_team = team;
  omp_set_num_threads(1);
}

TeamScope::~TeamScope() {
  current_team = previous_;
  omp_set_num_threads(previous_library_threads_);
}

ThreadTeam *TeamScope::Current() { return current_team; }

} // namespace cs336::runtime
