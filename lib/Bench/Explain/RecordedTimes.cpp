//===- RecordedTimes.cpp - Measured times of kernels ----------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Bench/Explain/RecordedTimes.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

#include "absl/strings/str_cat.h"

#include <set>

using namespace cs336;
using namespace cs336::bench;
namespace json = llvm::json;

static absl::Status makeError(llvm::StringRef path, const llvm::Twine &reason) {
  return absl::InvalidArgumentError(("--profile-json '" + path + "': " + reason).str());
}

/// Returns the first setting in which the row differs, as "context_length is 16, expected 8", or "". A row without a
/// setting is older than this setting.
static std::string describeDifference(const json::Object &row, const json::Object &settings) {
  for (const auto &[key, expected] : settings) {
    const json::Value *value = row.get(key);
    if (value && *value != expected)
      return llvm::formatv("{0} is {1}, expected {2}", llvm::StringRef(key), *value, expected);
  }
  return "";
}

static absl::StatusOr<ResultsFile> readResults(llvm::StringRef path, FindColumns findColumns) {
  absl::StatusOr<ResultsFile> file = readResultsFile(path, findColumns);
  if (!file.ok())
    return absl::Status(file.status().code(), absl::StrCat("--profile-json ", file.status().message()));
  return file;
}

/// Adds the rows of a profile by name. Null, the profile of an older record, has no rows.
absl::Status RecordedTimes::addProfile(llvm::StringRef path, const json::Array *profile,
                                       std::map<std::string, Time> &times) {
  for (const json::Value &value : profile ? *profile : json::Array()) {
    const json::Object *row = value.getAsObject();
    std::optional<llvm::StringRef> name = row ? row->getString("name") : std::nullopt;
    std::optional<double> total = row ? row->getNumber("total_ns") : std::nullopt;
    std::optional<int64_t> instances = row ? row->getInteger("instances") : std::nullopt;
    if (!name || !total || !instances)
      return makeError(path, "a row of a profile lacks 'name', 'total_ns' or 'instances'");
    Time &time = times[name->str()];
    time.nanoseconds += *total;
    time.instances += *instances;
  }
  return absl::OkStatus();
}

absl::StatusOr<RecordedTimes> RecordedTimes::read(llvm::StringRef path, Target target, const json::Object &settings,
                                                  FindColumns findColumns) {
  absl::StatusOr<ResultsFile> file = readResults(path, findColumns);
  if (!file.ok())
    return file.status();
  std::vector<const json::Object *> profiled;
  std::optional<llvm::StringRef> failure;
  llvm::StringRef kind = target == Target::CUDA ? "cuda" : "cpu";
  for (const ResultsDocument &document : file->documents) {
    if (document.benchmark != "model")
      continue;
    for (const json::Object &row : document.rows)
      if (row.getArray("profile"))
        profiled.push_back(&row);
      else if (llvm::StringRef status = row.getString("status").value_or("ok"); !failure && status != "ok")
        failure = status;
    std::optional<llvm::StringRef> measured = document.device.getString("kind");
    if (measured && *measured != kind)
      return makeError(path, "it was measured on " + *measured + ", and the program is for " + kind);
  }
  if (profiled.empty() && failure)
    return makeError(path, "it has no profile, because the run failed: " + *failure);
  if (profiled.empty())
    return makeError(path, "it has no profile: pass results of cs336-bench model --profile --format json");
  std::vector<const json::Object *> matching = profiled;
  llvm::erase_if(matching, [&](const json::Object *row) { return !describeDifference(*row, settings).empty(); });
  if (matching.empty())
    return makeError(path, llvm::formatv("none of its {0} profiled rows is of this program: {1}", profiled.size(),
                                         describeDifference(*profiled.front(), settings)));
  if (matching.size() > 1)
    return makeError(path, llvm::formatv("{0} of its profiled rows may be of this program: pass results with one row",
                                         matching.size()));
  RecordedTimes recorded;
  recorded.path = path.str();
  recorded.entry = matching.front()->getString("mode").value_or("").str();
  recorded.steps = matching.front()->getInteger("steps").value_or(0);
  absl::Status status = addProfile(path, matching.front()->getArray("profile"), recorded.times);
  status.Update(addProfile(path, matching.front()->getArray("profile_commands"), recorded.commandTimes));
  if (!status.ok())
    return status;
  return recorded;
}

absl::StatusOr<std::vector<std::string>> RecordedTimes::findCommands(llvm::StringRef path, llvm::StringRef kernel,
                                                                     FindColumns findColumns) {
  absl::StatusOr<ResultsFile> file = readResults(path, findColumns);
  if (!file.ok())
    return file.status();
  std::set<std::string> names;
  for (const ResultsDocument &document : file->documents)
    for (const json::Object &row : document.rows) {
      const json::Array *profile = row.getArray("profile");
      for (const json::Value &value : profile ? *profile : json::Array()) {
        const json::Object *one = value.getAsObject();
        const json::Array *commands = one && one->getString("name") == kernel ? one->getArray("commands") : nullptr;
        for (const json::Value &command : commands ? *commands : json::Array())
          if (std::optional<llvm::StringRef> name = command.getAsString())
            names.insert(name->str());
      }
    }
  return std::vector<std::string>(names.begin(), names.end());
}

/// Sets the mean time of GEMMs or copies of one name in the profiled entry.
void RecordedTimes::addCommand(KernelFacts &command) const {
  int64_t launches = 0;
  for (const LaunchGroup &group : command.launches)
    if (group.entry == entry)
      launches += group.count;
  auto time = commandTimes.find(command.name);
  if (time == commandTimes.end() || launches * steps == 0)
    return;
  command.measured = {time->second.nanoseconds * 1e-9 / static_cast<double>(launches * steps), launches * steps};
}

absl::Status RecordedTimes::addTo(ExplainedProgram &program) const {
  if (!llvm::is_contained(program.entries, entry))
    return makeError(path,
                     llvm::formatv("it is of another program: it measured the entry '{0}', and this program has {1}",
                                   entry, llvm::join(program.entries, ", ")));
  for (KernelFacts &kernel : program.kernels) {
    if (kernel.kind != kKernel) {
      addCommand(kernel);
      continue;
    }
    std::vector<std::string> symbols{kernel.name};
    for (const FunctionFacts &function : kernel.functions)
      if (!llvm::is_contained(symbols, function.function.symbol))
        symbols.push_back(function.function.symbol);
    MeasuredTime measured;
    for (const std::string &symbol : symbols) {
      auto time = times.find(symbol);
      if (time == times.end() || time->second.instances == 0)
        continue;
      measured.seconds += time->second.nanoseconds * 1e-9 / static_cast<double>(time->second.instances);
      measured.launches = std::max(measured.launches, time->second.instances);
    }
    if (measured.launches > 0) {
      kernel.measured = measured;
      continue;
    }
    bool isLaunched = llvm::any_of(kernel.launches, [&](const LaunchGroup &group) { return group.entry == entry; });
    if (isLaunched)
      return makeError(path, llvm::formatv("it is of another program: its step '{0}' has no kernel '{1}', which this "
                                           "program launches there",
                                           entry, kernel.name));
  }
  return absl::OkStatus();
}
