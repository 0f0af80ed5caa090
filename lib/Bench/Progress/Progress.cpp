//===- Progress.cpp - How far long work is --------------------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Bench/Progress/Progress.h"

#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/WithColor.h"
#include "llvm/Support/raw_ostream.h"

using namespace cs336::bench;

static constexpr int kBarWidth = 24;
static constexpr llvm::StringLiteral kClearLine = "\r\033[K";

Progress::Progress(int64_t tasks, std::vector<double> expectedSeconds)
    : tasks(tasks), remaining(std::move(expectedSeconds)), isTerminal(llvm::sys::Process::StandardErrIsDisplayed()) {}

Progress::~Progress() {
  if (isTerminal)
    llvm::errs() << kClearLine;
}

void Progress::start(const llvm::Twine &task) {
  constexpr double kWorthSaying = 5;
  Clock::time_point now = Clock::now();
  if (started > 0)
    remaining.finish(std::chrono::duration<double>(now - taskStart).count());
  taskStart = now;
  ++started;
  current = task.str();
  if (std::optional<double> seconds = remaining.getSeconds(); seconds && *seconds >= kWorthSaying)
    current += " (about " + formatDuration(*seconds) + " left)";
  if (isTerminal)
    draw("compiling", 0);
  else
    llvm::errs() << "[" << started << "/" << tasks << "] " << current << "\n";
}

void Progress::update(llvm::StringRef stage, double fraction) {
  if (isTerminal)
    draw(stage, fraction);
}

void Progress::warn(llvm::StringRef text) {
  if (isTerminal)
    llvm::errs() << kClearLine;
  llvm::WithColor::warning(llvm::errs(), "cs336-bench") << text << "\n";
}

void Progress::draw(llvm::StringRef stage, double fraction) {
  double done = (static_cast<double>(started - 1) + fraction) / static_cast<double>(tasks);
  int filled = static_cast<int>(done * kBarWidth);
  llvm::errs() << kClearLine << "[" << std::string(filled, '#') << std::string(kBarWidth - filled, '.') << "] "
               << llvm::formatv("{0:P0} ", done) << current << ": " << stage;
}
