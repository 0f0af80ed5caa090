//===- RankTraceFile.cpp - Traces that ranks hand over --------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Driver/Run/RankTraceFile.h"

#include "cs336/Support/WriteOutput.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"

#include "absl/strings/str_cat.h"

using namespace cs336;
namespace json = llvm::json;

// Found by argument-dependent lookup.
namespace cs336::runtime {

static json::Value toJSON(const TracedCommand &command) {
  return json::Object{{"index", command.index},          {"stream", command.stream},
                      {"entry", command.entry},          {"name", command.name},
                      {"source", command.source},        {"layer", command.layer},
                      {"phase", command.phase},          {"kind", command.kind},
                      {"location", command.location},    {"flops", command.flops},
                      {"bytes", command.bytes},          {"live_bytes", command.live_bytes},
                      {"arithmetic", command.arithmetic}};
}

static bool fromJSON(const json::Value &value, TracedCommand &command, json::Path path) {
  json::ObjectMapper map(value, path);
  return map && map.map("index", command.index) && map.map("stream", command.stream) &&
         map.map("entry", command.entry) && map.map("name", command.name) && map.map("source", command.source) &&
         map.map("layer", command.layer) && map.map("phase", command.phase) && map.map("kind", command.kind) &&
         map.map("location", command.location) && map.map("flops", command.flops) && map.map("bytes", command.bytes) &&
         map.map("live_bytes", command.live_bytes) && map.map("arithmetic", command.arithmetic);
}

static json::Value toJSON(const TraceSpan &span) {
  return json::Array{span.start_ns, span.duration_ns,     int64_t{span.name},
                     span.command,  int64_t{span.stream}, static_cast<int64_t>(span.graph_node)};
}

static bool fromJSON(const json::Value &value, TraceSpan &span, json::Path path) {
  std::vector<int64_t> numbers;
  constexpr size_t kMembers = 6;
  if (!json::fromJSON(value, numbers, path))
    return false;
  if (numbers.size() != kMembers) {
    path.report("expected six numbers");
    return false;
  }
  span.start_ns = numbers[0];
  span.duration_ns = numbers[1];
  span.name = static_cast<uint32_t>(numbers[2]);
  span.command = static_cast<int32_t>(numbers[3]);
  span.stream = static_cast<uint32_t>(numbers[4]);
  span.graph_node = static_cast<uint64_t>(numbers[5]);
  return true;
}

} // namespace cs336::runtime

namespace cs336 {

/// Returns all but the spans.
static json::Value toJSON(const RankTrace &trace) {
  return json::Object{{"rank", trace.rank},
                      {"device", trace.device},
                      {"omitted", trace.omitted},
                      {"commands", trace.trace.commands},
                      {"names", trace.trace.names}};
}

static bool fromJSON(const json::Value &value, RankTrace &trace, json::Path path) {
  json::ObjectMapper map(value, path);
  return map && map.map("rank", trace.rank) && map.map("device", trace.device) && map.map("omitted", trace.omitted) &&
         map.map("commands", trace.trace.commands) && map.map("names", trace.trace.names);
}

} // namespace cs336

static std::string getPath(llvm::StringRef folder, int rank) {
  return absl::StrCat(folder.str(), "/trace-", rank, ".jsonl");
}

absl::Status cs336::writeRankTrace(const RankTrace &trace, llvm::StringRef folder) {
  std::string path = getPath(folder, trace.rank);
  llvm::Error error = writeOutput(path,
                                  [&](llvm::raw_ostream &stream) {
                                    stream << toJSON(trace) << "\n";
                                    for (const runtime::TraceSpan &span : trace.trace.spans)
                                      stream << toJSON(span) << "\n";
                                    return llvm::Error::success();
                                  },
                                  {.durable = false});
  if (!error)
    return absl::OkStatus();
  return absl::UnavailableError(absl::StrCat("cannot write '", path, "': ", llvm::toString(std::move(error))));
}

absl::StatusOr<RankTrace> cs336::readRankTrace(llvm::StringRef folder, int rank) {
  std::string path = getPath(folder, rank);
  llvm::ErrorOr<std::unique_ptr<llvm::MemoryBuffer>> file =
      llvm::MemoryBuffer::getFile(path, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  if (file.getError() == std::errc::no_such_file_or_directory)
    return absl::NotFoundError(absl::StrCat("rank ", rank, " wrote no trace"));
  if (!file)
    return absl::UnavailableError(absl::StrCat("cannot read '", path, "': ", file.getError().message()));
  auto describe = [&](llvm::Error error) {
    return absl::InvalidArgumentError(absl::StrCat("'", path, "': ", llvm::toString(std::move(error))));
  };
  auto [first, rest] = (*file)->getBuffer().split('\n');
  llvm::Expected<RankTrace> trace = json::parse<RankTrace>(first);
  if (!trace)
    return describe(trace.takeError());
  while (!rest.empty()) {
    auto [line, next] = rest.split('\n');
    llvm::Expected<runtime::TraceSpan> span = json::parse<runtime::TraceSpan>(line);
    if (!span)
      return describe(span.takeError());
    auto commands = static_cast<int64_t>(trace->trace.commands.size());
    if (span->name >= trace->trace.names.size() || span->command < -1 || span->command >= commands)
      return describe(llvm::createStringError("a span has name %u and command %d, but there are %zu names and %zu "
                                              "commands",
                                              span->name, span->command, trace->trace.names.size(),
                                              trace->trace.commands.size()));
    trace->trace.spans.push_back(*span);
    rest = next;
  }
  return *std::move(trace);
}
