//===- StudyForecast.cpp - What a study is going to take ------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StudyForecast.h"

#include "cs336/Bench/Progress/Interruption.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"

using namespace cs336::bench;

namespace {
/// A temporary file for one stream of a process; removed at the end.
class StreamFile {
public:
  explicit StreamFile(llvm::StringRef suffix)
      : error(llvm::sys::fs::createTemporaryFile("cs336-study", suffix, path)), remover(path) {}

  bool isOpen() const { return !error; }
  llvm::StringRef getPath() const { return path; }
  /// Returns the text that was written, or an empty one.
  std::string read() const {
    llvm::ErrorOr<std::unique_ptr<llvm::MemoryBuffer>> buffer = llvm::MemoryBuffer::getFile(path);
    return buffer ? (*buffer)->getBuffer().str() : "";
  }

private:
  llvm::SmallString<128> path;
  std::error_code error;
  llvm::FileRemover remover;
};
} // namespace

/// Returns the errors among the lines that the program wrote, without its name before each.
static std::string joinErrors(llvm::StringRef program, llvm::StringRef text) {
  std::vector<std::string> errors;
  for (llvm::StringRef line : llvm::split(text, '\n')) {
    if (!line.consume_front(llvm::sys::path::filename(program)) || !line.consume_front(": ") ||
        line.starts_with("warning: "))
      continue;
    line.consume_front("error: ");
    errors.push_back(line.str());
  }
  return llvm::join(errors, " ");
}

LineForecast cs336::bench::forecastLine(const std::string &program, llvm::ArrayRef<Command *> commands,
                                        const StudyLine &line) {
  StreamFile answer("json"), messages("txt");
  if (!hasFlag(commands, line.front(), "forecast") || !answer.isOpen() || !messages.isOpen())
    return {};
  std::vector<llvm::StringRef> command{program};
  command.insert(command.end(), line.begin(), line.end());
  command.emplace_back("--forecast");
  std::optional<llvm::StringRef> redirects[] = {std::nullopt, answer.getPath(), messages.getPath()};
  int code = llvm::sys::ExecuteAndWait(program, command, std::nullopt, redirects);
  if (code == 0)
    return {Forecast::fromJSON(answer.read()), absl::OkStatus()};
  std::string errors = joinErrors(program, messages.read());
  // A signal, which gives another code, does not mean that the command rejects the line.
  return {std::nullopt, code == 1 && !errors.empty() ? absl::InvalidArgumentError(errors) : absl::OkStatus()};
}

std::vector<LineForecast> cs336::bench::forecastLines(const std::string &program, llvm::ArrayRef<Command *> commands,
                                                      llvm::ArrayRef<StudyLine> lines) {
  std::vector<LineForecast> forecasts(lines.size());
  for (auto [line, forecast] : llvm::zip_equal(lines, forecasts)) {
    if (getInterruption() != 0)
      break;
    forecast = forecastLine(program, commands, line);
  }
  return forecasts;
}

Forecast cs336::bench::addForecasts(llvm::ArrayRef<LineForecast> lines) {
  Forecast all;
  bool isTimeKnown = true;
  for (const auto &[forecast, status] : lines) {
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
