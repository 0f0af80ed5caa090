//===- Launcher.cpp - Starting ranks as processes -------------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/runtime/Launcher.h"

#include "comm/TimeLimits.h"
#include "cs336/runtime/Cores.h"
#include "launch/ChildProcess.h"
#include "status/StatusMacros.h"
#include "status/SystemError.h"

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

#include <array>
#include <asio/io_context.hpp>
#include <asio/posix/stream_descriptor.hpp>
#include <asio/post.hpp>
#include <asio/signal_set.hpp>
#include <asio/steady_timer.hpp>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <deque>
#include <memory>
#include <unistd.h>

namespace cs336::runtime {

namespace {

/// A line without an end is printed in parts of this size.
constexpr size_t kMaxLineBytes = 1 << 20;

void WriteAll(int file, absl::string_view text) {
  while (!text.empty()) {
    ssize_t written = write(file, text.data(), text.size());
    if (written < 0 && errno != EINTR)
      return; // An error cannot be printed: the standard error stream may be this file.
    text.remove_prefix(written < 0 ? 0 : static_cast<size_t>(written));
  }
}

/// Copies what a rank prints, line by line, with a prefix.
class LinePrinter {
public:
  LinePrinter(asio::io_context &context, int to, std::string prefix)
      : from_(context), to_(to), prefix_(std::move(prefix)) {}

  /// Prints what is read from a descriptor until its end, and then closes it.
  absl::Status Start(int from) {
    asio::error_code error;
    from_.assign(from, error);
    if (error) {
      close(from);
      return SystemError(error, "cannot read what a rank prints");
    }
    has_ended_ = false;
    Read();
    return absl::OkStatus();
  }

  bool has_ended() const { return has_ended_; }

private:
  void Read() {
    from_.async_read_some(asio::buffer(buffer_), [this](asio::error_code error, size_t bytes) {
      line_.append(buffer_.data(), bytes);
      size_t end = line_.rfind('\n');
      if (error || line_.size() > kMaxLineBytes)
        end = line_.size();
      else if (end == std::string::npos)
        return Read();
      has_ended_ = static_cast<bool>(error);
      Print(absl::string_view(line_).substr(0, end));
      line_.erase(0, end + 1);
      if (!error)
        Read();
    });
  }

  /// Prints lines in one piece, so that those of different ranks do not mix.
  void Print(absl::string_view lines) const {
    if (lines.empty() && has_ended_)
      return;
    std::string text;
    for (absl::string_view line : absl::StrSplit(lines, '\n'))
      absl::StrAppend(&text, prefix_, line, "\n");
    WriteAll(to_, text);
  }

  asio::posix::stream_descriptor from_;
  int to_;
  std::string prefix_;
  std::array<char, 1 << 16> buffer_;
  std::string line_;      // The line that is not complete yet.
  bool has_ended_ = true; // Until Start().
};

/// Returns the cores that this process may use.
cpu_set_t GetCores() {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  sched_getaffinity(0, sizeof(cores), &cores);
  return cores;
}

/// Returns this process's environment, with some variables set.
std::vector<std::string> EnvironmentWith(const std::vector<std::string> &assignments) {
  std::vector<std::string> variables = assignments;
  auto name_of = [](absl::string_view assignment) { return assignment.substr(0, assignment.find('=') + 1); };
  for (char **variable = environ; *variable; ++variable)
    if (absl::c_none_of(assignments, [&](const std::string &set) { return name_of(set) == name_of(*variable); }))
      variables.push_back(*variable);
  return variables;
}

/// The signals that are forwarded to the ranks.
constexpr std::array<int, 5> kForwarded{SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2};

/// Returns true if this process was started to ignore a signal, as nohup and shells do it for jobs in the background.
/// Ranks inherit this.
bool IsIgnored(int signal) {
  struct sigaction action;
  return sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

/// The ranks, from their start until the last has ended.
class Job {
public:
  explicit Job(const LaunchOptions &options) : options_(options), limits_(options.timeout) {
    signals_.add(SIGCHLD);
    for (int signal : kForwarded)
      if (!IsIgnored(signal))
        signals_.add(signal);
  }
  /// Kills ranks that an exception has left running.
  ~Job() { SignalAll(SIGKILL); }

  absl::Status Run() {
    RankEnvironment place;
    place.size = place.local_size = options_.ranks;
    place.token = CreateToken();
    place.is_hosted = true;
    if (place.size > 1) {
      CS336_ASSIGN_OR_RETURN(rendezvous_, Rendezvous::Start({place.address, 0, place.size, place.token,
                                                             options_.timeout, [this](const absl::Status &failure) {
                                                               asio::post(context_, [=, this] { End(failure); });
                                                             }}));
      place.port = rendezvous_->port();
    }
    WaitForSignal();
    absl::Status status = StartAll(place);
    if (!status.ok())
      Fail(status);
    is_started_ = true;
    Poll();
    context_.run();
    rendezvous_.reset(); // Its thread posts to the context.
    if (failure_.ok() || ends_.empty())
      return failure_;
    return absl::Status(failure_.code(), absl::StrCat(failure_.message(), "; ", absl::StrJoin(ends_, ", ")));
  }

private:
  struct Rank {
    Rank(int number, ChildProcess process, asio::io_context &context)
        : number(number), process(process), output(context, STDOUT_FILENO, absl::StrCat("rank ", number, ": ")),
          error(context, STDERR_FILENO, absl::StrCat("rank ", number, ": ")) {}

    int number;
    ChildProcess process;
    LinePrinter output, error;
    bool has_ended = false;
  };

  absl::Status StartAll(RankEnvironment place) {
    cpu_set_t cores = GetCores();
    for (int rank = 0; rank != options_.ranks; ++rank) {
      // A signal or an early failure ends the job before all ranks have started.
      context_.poll();
      if (!failure_.ok())
        return absl::OkStatus();
      place.rank = place.local_rank = rank;
      CS336_ASSIGN_OR_RETURN(ChildProcess process,
                             ChildProcess::Start(options_.command, EnvironmentWith(ToVariables(place)),
                                                 ShareOfCores(cores, rank, options_.ranks)));
      Rank &started = ranks_.emplace_back(rank, process, context_);
      absl::Status status = started.output.Start(process.output);
      status.Update(started.error.Start(process.error));
      CS336_RETURN_IF_ERROR(status);
    }
    return absl::OkStatus();
  }

  void WaitForSignal() {
    signals_.async_wait([this](asio::error_code error, int signal) {
      if (error)
        return;
      if (signal == SIGCHLD)
        Poll();
      else if (signal == SIGUSR1 || signal == SIGUSR2)
        SignalAll(signal);
      else
        PassOn(signal);
      WaitForSignal();
    });
  }

  /// Passes on a signal that ends the job.
  void PassOn(int signal) {
    if (options_.on_signal)
      options_.on_signal(signal);
    SignalAll(failure_.ok() ? signal : SIGKILL);
    Fail(absl::CancelledError(absl::StrCat("ended by signal ", signal, " (", strsignal(signal), ")")));
  }

  void SignalAll(int signal) {
    for (const Rank &rank : ranks_)
      if (!rank.has_ended)
        rank.process.Signal(signal);
  }

  void Poll() {
    for (Rank &rank : ranks_) {
      std::optional<std::string> end = rank.has_ended ? std::nullopt : rank.process.Poll();
      if (!end)
        continue;
      rank.has_ended = true;
      if (end->empty())
        continue;
      ends_.push_back(absl::StrCat("rank ", rank.number, " ended with ", *end));
      Fail(absl::AbortedError(absl::StrCat("rank ", rank.number, " failed")));
    }
    if (!is_started_ || absl::c_any_of(ranks_, [](const Rank &rank) { return !rank.has_ended; }))
      return;
    // The last lines of the ranks are read before the end, unless a process that left their groups holds a pipe open.
    bool all_read =
        absl::c_all_of(ranks_, [](const Rank &rank) { return rank.output.has_ended() && rank.error.has_ended(); });
    if (all_read || ++polls_after_end_ == 100)
      return context_.stop();
    timer_.expires_after(std::chrono::milliseconds(10));
    timer_.async_wait([this](asio::error_code error) {
      if (!error)
        Poll();
    });
  }

  /// Ends the group, and then the ranks.
  void Fail(const absl::Status &failure) {
    if (rendezvous_)
      rendezvous_->Fail(failure);
    End(failure);
  }

  /// Ends the ranks that do not end by themselves after the failure of the group.
  void End(const absl::Status &failure) {
    if (!failure_.ok())
      return;
    failure_ = failure;
    // A stopped rank goes on, so that it receives the failure and ends.
    SignalAll(SIGCONT);
    SignalAfter(limits_.grace, SIGTERM);
  }

  void SignalAfter(absl::Duration grace, int signal) {
    end_timer_.expires_after(absl::ToChronoMilliseconds(grace));
    end_timer_.async_wait([this, signal](asio::error_code error) {
      if (error)
        return;
      SignalAll(signal);
      if (signal != SIGKILL)
        SignalAfter(limits_.last_grace, SIGKILL);
    });
  }

  const LaunchOptions &options_;
  TimeLimits limits_;
  asio::io_context context_{1};
  asio::signal_set signals_{context_};
  asio::steady_timer timer_{context_}, end_timer_{context_};
  std::unique_ptr<Rendezvous> rendezvous_; // Null for one rank, which joins nothing.
  std::deque<Rank> ranks_;                 // A deque, because printers must not move.
  absl::Status failure_;
  std::vector<std::string> ends_; // One text per failed rank, in the order of the failures.
  bool is_started_ = false;       // No further rank will start.
  int polls_after_end_ = 0;
};

/// Restores the handlers of signals at its end. asio sets the default ones.
class SavedHandlers {
public:
  SavedHandlers() {
    for (size_t i = 0; i != kForwarded.size(); ++i)
      sigaction(kForwarded[i], nullptr, &before_[i]);
  }
  ~SavedHandlers() {
    for (size_t i = 0; i != kForwarded.size(); ++i)
      sigaction(kForwarded[i], &before_[i], nullptr);
  }
  SavedHandlers(const SavedHandlers &) = delete;
  SavedHandlers &operator=(const SavedHandlers &) = delete;

private:
  std::array<struct sigaction, kForwarded.size()> before_{};
};

} // namespace

absl::Status LaunchRanks(const LaunchOptions &options) {
  if (options.ranks < 1 || options.ranks > kMostLaunchedRanks)
    return absl::InvalidArgumentError(
        absl::StrCat("cannot start ", options.ranks, " ranks, must be from 1 to ", kMostLaunchedRanks));
  if (options.command.empty())
    return absl::InvalidArgumentError("there is no command to run as ranks");
  SavedHandlers handlers;
  return CatchSystemErrors("cannot start the ranks", [&] { return Job(options).Run(); });
}

} // namespace cs336::runtime
