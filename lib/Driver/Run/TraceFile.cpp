//===- TraceFile.cpp - Traces for ui.perfetto.dev -------------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Driver/Run/TraceFile.h"

#include "cs336/Driver/Run/ProfileKey.h"
#include "cs336/Support/WriteOutput.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallSet.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"

#include "absl/strings/str_cat.h"

#include <algorithm>
#include <limits>
#include <map>
#include <vector>

using namespace cs336;
using runtime::Trace;
using runtime::TracedCommand;
using runtime::TraceSpan;
namespace json = llvm::json;

namespace {

/// The threads of the model's ranges: one for each stream of the program. Threads of the device's streams follow.
constexpr int64_t kFirstModelThread = 1;

/// A range of the model's operations: a step, a phase, a layer, or an operation.
struct Range {
  std::string name;
  int64_t begin, end; // In nanoseconds.
};

/// The place of a span in the model.
struct SpanPlace {
  /// The beginning of the operation around it.
  int64_t operationBegin = 0;
  /// The time of its command, if it is the first span of this run of the command; 0 otherwise.
  int64_t commandNanoseconds = 0;
};

/// Returns the number of the step of each span that has a command, from 1 on. A step is one run of an entry. A graph
/// runs each of its nodes once. Outside of graphs, a step begins where the commands of an entry start again.
std::vector<int64_t> findSteps(const Trace &trace) {
  struct EntryRun {
    int64_t count = 0;
    const TracedCommand *last = nullptr;
  };
  std::map<std::string, EntryRun> entries;
  std::map<uint64_t, int64_t> runsOfNodes;
  std::map<std::pair<std::string, int64_t>, int64_t> numbers; // The step of the n-th run of an entry.
  std::vector<int64_t> steps;
  for (const TraceSpan &span : trace.spans) {
    const TracedCommand *command = trace.FindCommand(span);
    if (!command) {
      steps.push_back(0);
      continue;
    }
    EntryRun &entry = entries[command->entry];
    if (span.graph_node == 0 && (!entry.last || command->index <= entry.last->index))
      ++entry.count;
    entry.last = command;
    int64_t run = span.graph_node == 0 ? entry.count : ++runsOfNodes[span.graph_node];
    auto number = static_cast<int64_t>(numbers.size()) + 1;
    steps.push_back(numbers.try_emplace({command->entry, run}, number).first->second);
  }
  return steps;
}

/// Prints the events of one rank.
class RankPrinter {
public:
  RankPrinter(const RankTrace &rank, int64_t origin, uint64_t &numArrows, llvm::function_ref<void()> report,
              json::OStream &os)
      : rank(rank), trace(rank.trace), origin(origin), numArrows(numArrows), report(report), os(os),
        steps(findSteps(trace)) {
    for (const TracedCommand &command : trace.commands)
      numProgramStreams = std::max(numProgramStreams, command.stream + 1);
  }

  void print() {
    findCommandTimes();
    printNames();
    for (int64_t stream = 0; stream < numProgramStreams; ++stream)
      printRanges(stream);
    printSpans();
  }

private:
  void findCommandTimes();
  void printNames();
  void printRanges(int64_t programStream);
  void printSpans();
  llvm::SmallVector<std::string> getRanges(const TraceSpan &span, const TracedCommand &command, int64_t step) const;
  void printArguments(const TracedCommand &command);
  void printArrow(int64_t from, int64_t modelThread, int64_t to, uint32_t stream);
  static int64_t getModelThread(int64_t programStream) { return kFirstModelThread + programStream; }
  int64_t getThread(uint32_t stream) const { return kFirstModelThread + numProgramStreams + stream; }
  void printCounter(const char *name, const char *unit, int64_t time, double value);

  /// Prints the members that all events have.
  void printHead(llvm::StringRef type, llvm::StringRef name, int64_t thread) {
    os.attribute("ph", type);
    os.attribute("name", name);
    os.attribute("pid", rank.rank);
    os.attribute("tid", thread);
  }
  void printTime(llvm::StringRef member, int64_t nanoseconds) {
    os.attributeBegin(member);
    os.rawValue([&](llvm::raw_ostream &stream) {
      stream << llvm::format("%lld.%03lld", static_cast<long long>(nanoseconds / 1000),
                             static_cast<long long>(nanoseconds % 1000));
    });
    os.attributeEnd();
  }

  const RankTrace &rank;
  const Trace &trace;
  int64_t origin;
  uint64_t &numArrows;
  llvm::function_ref<void()> report; // Called for each span.
  json::OStream &os;
  int64_t numProgramStreams = 1;
  std::vector<int64_t> steps;    // By span.
  std::vector<SpanPlace> places; // By span.
};

} // namespace

void RankPrinter::printNames() {
  auto printName = [&](llvm::StringRef what, int64_t thread, llvm::StringRef name) {
    os.object([&] {
      printHead("M", what, thread);
      os.attributeObject("args", [&] { os.attribute("name", name); });
    });
  };
  std::string omission = describeOmission(rank);
  printName("process_name", 0,
            llvm::formatv("rank {0}: {1}{2}{3}", rank.rank, rank.device, omission.empty() ? "" : ", ", omission).str());
  printName("thread_name", getModelThread(0), "model");
  for (int64_t stream = 1; stream < numProgramStreams; ++stream)
    printName("thread_name", getModelThread(stream), llvm::formatv("model, stream {0}", stream).str());
  llvm::SmallSet<uint32_t, 8> streams;
  for (const TraceSpan &span : trace.spans)
    if (streams.insert(span.stream).second)
      printName("thread_name", getThread(span.stream), llvm::formatv("stream {0}", span.stream).str());
}

/// Adds the times of the spans of each run of a command at its first span.
void RankPrinter::findCommandTimes() {
  places.assign(trace.spans.size(), {});
  std::map<std::pair<int32_t, int64_t>, SpanPlace *> first;
  for (auto [span, step, place] : llvm::zip_equal(trace.spans, steps, places))
    if (span.command != TraceSpan::kNoCommand)
      first.try_emplace({span.command, step}, &place).first->second->commandNanoseconds += span.duration_ns;
}

/// Returns the ranges around a span, the widest first.
llvm::SmallVector<std::string> RankPrinter::getRanges(const TraceSpan &span, const TracedCommand &command,
                                                      int64_t step) const {
  llvm::SmallVector<std::string> ranges = {llvm::formatv("step {0}: {1}", step, command.entry)};
  for (std::string name : {command.phase, getProfileKey(ProfileKey::Layer, &command, trace.names[span.name]),
                           command.source.empty() ? command.name : command.source})
    if (name != ranges.back())
      ranges.push_back(std::move(name));
  return ranges;
}

/// Prints nested ranges of consecutive spans of one stream of the program. A range ends where the next one begins, also
/// if kernels overlap: a viewer requires nested ranges.
void RankPrinter::printRanges(int64_t programStream) {
  std::vector<Range> open;
  auto close = [&](size_t depth, int64_t end) {
    for (; open.size() > depth; open.pop_back()) {
      const Range &range = open.back();
      os.object([&] {
        printHead("X", range.name, getModelThread(programStream));
        printTime("ts", range.begin - origin);
        printTime("dur", std::min(range.end, end) - range.begin);
      });
    }
  };
  for (auto [span, step, place] : llvm::zip_equal(trace.spans, steps, places)) {
    const TracedCommand *command = trace.FindCommand(span);
    if (!command || command->stream != programStream)
      continue;
    llvm::SmallVector<std::string> names = getRanges(span, *command, step);
    size_t equal = 0;
    while (equal < std::min(open.size(), names.size()) && open[equal].name == names[equal])
      ++equal;
    close(equal, span.start_ns);
    for (Range &range : open)
      range.end = std::max(range.end, span.start_ns + span.duration_ns);
    for (const std::string &name : llvm::drop_begin(names, equal))
      open.push_back({name, span.start_ns, span.start_ns + span.duration_ns});
    place.operationBegin = open.back().begin;
  }
  close(0, std::numeric_limits<int64_t>::max());
}

void RankPrinter::printArguments(const TracedCommand &command) {
  os.attributeObject("args", [&] {
    os.attribute("command", command.name);
    os.attribute("kind", command.kind);
    os.attribute("phase", command.phase);
    os.attribute("range", getRange(command));
    if (!command.source.empty())
      os.attribute("operation", command.source);
    os.attribute("location", command.location);
    os.attribute("flops", command.flops);
    os.attribute("bytes", command.bytes);
    if (!command.arithmetic.empty())
      os.attribute("arithmetic", command.arithmetic);
  });
}

/// Prints an arrow from a thread of the model to a stream.
void RankPrinter::printArrow(int64_t from, int64_t modelThread, int64_t to, uint32_t stream) {
  uint64_t id = ++numArrows;
  for (bool isEnd : {false, true})
    os.object([&] {
      printHead(isEnd ? "f" : "s", "runs", isEnd ? getThread(stream) : modelThread);
      os.attribute("cat", "runs");
      os.attribute("id", id);
      printTime("ts", (isEnd ? to : from) - origin);
      if (isEnd)
        os.attribute("bp", "e"); // The arrow ends at the slice around this time, not at the next one.
    });
}

void RankPrinter::printCounter(const char *name, const char *unit, int64_t time, double value) {
  os.object([&] {
    printHead("C", name, 0);
    printTime("ts", time - origin);
    os.attributeObject("args", [&] { os.attribute(unit, value); });
  });
}

void RankPrinter::printSpans() {
  for (auto [span, place] : llvm::zip(trace.spans, places)) {
    report();
    const TracedCommand *command = trace.FindCommand(span);
    os.object([&] {
      printHead("X", trace.names[span.name], getThread(span.stream));
      printTime("ts", span.start_ns - origin);
      printTime("dur", span.duration_ns);
      if (command)
        printArguments(*command);
    });
    if (!command)
      continue;
    printArrow(place.operationBegin, getModelThread(command->stream), span.start_ns, span.stream);
    if (place.commandNanoseconds == 0)
      continue;
    printCounter("live memory", "MiB", span.start_ns, static_cast<double>(command->live_bytes) / (1 << 20));
    double seconds = static_cast<double>(place.commandNanoseconds) * 1e-9;
    printCounter("memory rate", "GB/s", span.start_ns, command->bytes / seconds * 1e-9);
    printCounter("arithmetic rate", "TFLOP/s", span.start_ns, command->flops / seconds * 1e-12);
  }
}

void RankTrace::add(const Trace &part) {
  trace.commands = part.commands;
  trace.names = part.names;
  size_t kept = std::min(part.spans.size(), kMostSpans - trace.spans.size());
  llvm::append_range(trace.spans, llvm::ArrayRef(part.spans).take_front(kept));
  omitted += static_cast<int64_t>(part.spans.size() - kept);
}

std::string cs336::describeOmission(const RankTrace &rank) {
  if (rank.omitted == 0)
    return "";
  size_t spans = rank.trace.spans.size();
  return llvm::formatv("the first {0} of {1} events", spans, spans + static_cast<size_t>(rank.omitted));
}

void cs336::printTrace(llvm::ArrayRef<RankTrace> ranks, llvm::raw_ostream &stream,
                       llvm::function_ref<void(double)> report) {
  int64_t origin = std::numeric_limits<int64_t>::max();
  for (const RankTrace &rank : ranks)
    if (!rank.trace.spans.empty())
      origin = std::min(origin, rank.trace.spans.front().start_ns);
  size_t numSpans = 0, numPrinted = 0;
  for (const RankTrace &rank : ranks)
    numSpans += rank.trace.spans.size();
  auto reportSpan = [&] {
    constexpr size_t kSpansPerReport = 10'000;
    if (++numPrinted % kSpansPerReport == 0)
      report(static_cast<double>(numPrinted) / static_cast<double>(numSpans));
  };
  uint64_t numArrows = 0;
  json::OStream os(stream);
  os.object([&] {
    os.attribute("displayTimeUnit", "ns");
    os.attributeArray("traceEvents", [&] {
      for (const RankTrace &rank : ranks)
        RankPrinter(rank, origin, numArrows, reportSpan, os).print();
    });
  });
  stream << "\n";
}

absl::Status cs336::writeTrace(llvm::ArrayRef<RankTrace> ranks, llvm::StringRef path,
                               llvm::function_ref<void(double)> report) {
  llvm::Error error = writeOutput(path, [&](llvm::raw_ostream &stream) {
    printTrace(ranks, stream, report);
    return llvm::Error::success();
  });
  if (!error)
    return absl::OkStatus();
  return absl::UnavailableError(
      absl::StrCat("cannot write the trace '", path.str(), "': ", llvm::toString(std::move(error))));
}
