//===- StudyForecast.cpp - What a study is going to take ------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StudyForecast.h"

#include "cs336/Bench/Progress/Interruption.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Program.h"

using namespace cs336::bench;

static std::optional<Forecast> forecastLine(const std::string &program, const StudyLine &line) {
  llvm::SmallString<128> path;
  if (llvm::sys::fs::createTemporaryFile("cs336-study", "json", path))
    return std::nullopt;
  llvm::FileRemover remover(path);
  std::vector<llvm::StringRef> command{program};
  command.insert(command.end(), line.begin(), line.end());
  command.emplace_back("--forecast");
  std::optional<llvm::StringRef> redirects[] = {std::nullopt, llvm::StringRef(path), llvm::StringRef("")};
  if (llvm::sys::ExecuteAndWait(program, command, std::nullopt, redirects) != 0)
    return std::nullopt;
  llvm::ErrorOr<std::unique_ptr<llvm::MemoryBuffer>> answer = llvm::MemoryBuffer::getFile(path);
  return answer ? Forecast::fromJSON((*answer)->getBuffer()) : std::nullopt;
}

Forecast cs336::bench::forecastStudy(const std::string &program, llvm::ArrayRef<Command *> commands,
                                     llvm::ArrayRef<StudyLine> lines) {
  Forecast all;
  bool isTimeKnown = true;
  for (const StudyLine &line : lines) {
    if (!hasFlag(commands, line.front(), "forecast"))
      continue;
    if (getInterruption() != 0)
      break;
    std::optional<Forecast> forecast = forecastLine(program, line);
    if (!forecast)
      continue;
    all.cells += forecast->cells;
    if (forecast->memoryBytes.value_or(0) > all.memoryBytes.value_or(0)) {
      all.memoryBytes = forecast->memoryBytes;
      all.largest = forecast->largest;
    }
    std::optional<double> seconds = forecast->getSeconds();
    isTimeKnown &= seconds.has_value();
    all.taskSeconds.push_back(seconds.value_or(0));
    if (!seconds)
      all.timeBasis = forecast->timeBasis;
  }
  if (!isTimeKnown)
    all.taskSeconds.clear();
  return all;
}

std::string cs336::bench::summarize(const Forecast &forecast) {
  if (forecast.cells == 0)
    return "a few seconds";
  std::string text = llvm::StringRef(forecast.describe()).split('\n').first.str();
  return forecast.taskSeconds.empty() ? text + ", time unknown without the device" : text;
}
