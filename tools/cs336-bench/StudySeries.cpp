//===- StudySeries.cpp - Every study into one folder ----------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StudySeries.h"

#include "StudyForecast.h"
#include "StudyPlots.h"
#include "StudyProcess.h"
#include "StudyReport.h"
#include "cs336/Bench/Peer/PeerFailure.h"
#include "cs336/Bench/Progress/Interruption.h"
#include "cs336/Driver/Tool/Version.h"
#include "cs336/Support/BuildId.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

#include "absl/strings/str_cat.h"

using namespace cs336;
using namespace cs336::bench;
using State = StudyEntry::State;

/// The folder of the pictures, within the folder of the series.
static constexpr llvm::StringLiteral kPictures = "plots";

/// The file that the process of a series locks.
static constexpr llvm::StringLiteral kLock = ".studies.lock";

StudySeries::StudySeries(std::string program, llvm::ArrayRef<Command *> commands, llvm::StringRef folder)
    : program(std::move(program)), commands(commands.begin(), commands.end()), folder(folder.str()) {}

/// Describes this build. Builds with different machine code have different descriptions.
static std::string describeBuild() {
  return (getProjectVersion() + " " + getCommit() + " " + getCompilerBuildId().value_or("")).str();
}

void StudySeries::list(const StudyArguments &arguments) {
  std::string build = describeBuild();
  for (const Study &study : getStudies()) {
    std::vector<const StudyStep *> steps = study.getSteps(arguments.isOnGPU(), arguments.getEdition());
    for (auto [index, line] :
         llvm::enumerate(arguments.expand(study, commands, arguments.isOnGPU(), arguments.isSmall()))) {
      std::string document =
          study.name.str() + "-" + std::to_string(index + 1) + "-" + llvm::StringRef(line.front()).str() + ".json";
      entries.push_back({study.name.str(), describeLine(line), document, build, State::Waiting, ""});
      tasks.push_back({&study, std::move(line), steps[index]->hasTimeline, arguments.mayLeaveOut(*steps[index])});
    }
  }
}

/// Returns "memory_profiling-2-plan-timeline.json" for the document "memory_profiling-2-plan.json".
static std::string getTimelineName(llvm::StringRef document) {
  document.consume_back(".json");
  return document.str() + "-timeline.json";
}

/// Returns how many rows a results document has. Returns 0 if the file is not a results document.
static size_t countRows(const std::string &path) {
  std::optional<llvm::json::Object> document = readDocument(path);
  return document ? document->getArray("results")->size() : 0;
}

namespace {
/// Keeps the document of an interrupted command while the command runs again, until the new one has as many rows. A
/// process that is killed leaves the kept document, and the next one takes it back.
class KeptDocument {
public:
  /// The document is of the same command if `isOfSameCommand`; otherwise it is not kept.
  KeptDocument(std::string path, bool isOfSameCommand) : document(std::move(path)), kept(document + ".before") {
    if (!isOfSameCommand) {
      drop();
      return;
    }
    takeBackIfFuller();
    (void)llvm::sys::fs::rename(document, kept);
  }
  ~KeptDocument() { takeBackIfFuller(); }
  KeptDocument(const KeptDocument &) = delete;
  KeptDocument &operator=(const KeptDocument &) = delete;

  /// Called if the command ended with all of its rows.
  void drop() { (void)llvm::sys::fs::remove(kept); }

private:
  void takeBackIfFuller() {
    if (countRows(kept) > countRows(document))
      (void)llvm::sys::fs::rename(kept, document);
    else
      drop();
  }

  std::string document, kept;
};
} // namespace

void StudySeries::runTask(const Task &task, StudyEntry &entry) const {
  absl::Status check = task.mayBeLeftOut ? forecastLine(program, commands, task.line).status : absl::OkStatus();
  if (!check.ok()) {
    entry.error = std::string(check.message());
    entry.state = State::LeftOut;
    return;
  }
  StudyLine line = task.line;
  line.insert(line.end(), {"--format", "json", "--output", StudyRecord(folder).getPath(entry.document)});
  // With lists in the user's flags, the line is a sweep, which has no timeline.
  if (task.hasTimeline && llvm::none_of(task.line, [](llvm::StringRef word) { return word.contains(','); }))
    line.insert(line.end(), {"--timeline", StudyRecord(folder).getPath(getTimelineName(entry.document))});
  KeptDocument before(StudyRecord(folder).getPath(entry.document), task.wasBegun);
  absl::Status status = runStudyLine(program, line, std::nullopt);
  entry.error = status.ok() ? "" : std::string(status.message());
  entry.state = getInterruption() != 0  ? State::Interrupted
                : isPeerMissing(status) ? State::PeerMissing
                : status.ok()           ? State::Complete
                                        : State::Failed;
  if (entry.state == State::Complete || entry.state == State::PeerMissing)
    before.drop();
}

std::vector<std::string> StudySeries::draw() const {
  std::string path = StudyRecord(folder).getPath(kPictures);
  absl::StatusOr<std::vector<std::string>> drawn = drawPlots(program, folder, path);
  if (!drawn.ok()) {
    llvm::errs() << "note: pictures are missing: " << std::string(drawn.status().message()) << "; '"
                 << describePlotCommand(folder, path) << "' draws them\n";
    return {};
  }
  std::vector<std::string> pictures;
  for (const std::string &picture : *drawn)
    pictures.push_back((kPictures + "/" + llvm::sys::path::filename(picture)).str());
  return pictures;
}

absl::Status StudySeries::summarize() const {
  auto count = [&](State state) {
    return static_cast<size_t>(llvm::count_if(entries, [&](const StudyEntry &entry) { return entry.state == state; }));
  };
  if (getInterruption() != 0)
    return describeEarlyEnd(checkInterruption(),
                            count(State::Complete) + count(State::PeerMissing) + count(State::LeftOut), entries.size(),
                            "commands are not complete; the same command goes on with them");
  if (size_t failed = count(State::Failed))
    return absl::InternalError(absl::StrCat(
        failed, " of ", entries.size(), " commands failed: ", StudyRecord(folder).getPath("report.md"), " lists them"));
  if (count(State::PeerMissing) > 0)
    return makePeerMissing(absl::UnavailableError("see the warnings of the commands on the standard error stream"));
  return absl::OkStatus();
}

absl::StatusOr<std::optional<runtime::LockFile>> StudySeries::lock() const {
  std::string path = StudyRecord(folder).getPath(kLock);
  absl::StatusOr<runtime::LockFile> lock = runtime::LockFile::TryLock(path);
  if (lock.ok())
    return *std::move(lock);
  const absl::Status &status = lock.status();
  if (absl::IsUnimplemented(status)) {
    llvm::errs() << "note: " << std::string(status.message()) << ": run only one series in '" << folder
                 << "' at a time\n";
    return std::nullopt;
  }
  if (absl::IsAlreadyExists(status))
    return absl::FailedPreconditionError(absl::StrCat("--out: another series writes to '", folder,
                                                      "': ", status.message(),
                                                      "; wait until it ends, or give another folder"));
  return absl::UnavailableError(absl::StrCat("--out: cannot lock '", path, "': ", status.message()));
}

absl::Status StudySeries::run(const StudyArguments &arguments) {
  if (std::error_code error = llvm::sys::fs::create_directories(folder))
    return absl::UnavailableError(absl::StrCat("--out: cannot create '", folder, "': ", error.message()));
  absl::StatusOr<std::optional<runtime::LockFile>> held = lock();
  if (!held.ok())
    return held.status();
  list(arguments);
  StudyRecord record(folder);
  std::vector<bool> isFinished;
  for (StudyEntry &entry : entries)
    isFinished.push_back(record.findFinished(entry));
  for (auto [task, entry] : llvm::zip_equal(tasks, entries))
    task.wasBegun = record.wasBegun(entry);
  absl::Status written = record.write(entries);
  if (!written.ok())
    return written;
  for (auto [index, task] : llvm::enumerate(tasks)) {
    StudyEntry &entry = entries[index];
    llvm::errs() << "[" << index + 1 << "/" << tasks.size() << "] " << entry.study
                 << (isFinished[index] ? ": finished before: " + entry.document : "") << "\n";
    if (isFinished[index])
      continue;
    runTask(task, entry);
    written = record.write(entries);
    if (entry.state == State::Failed || entry.state == State::LeftOut)
      llvm::errs() << stringifyState(entry.state) << ": " << entry.error << "\n";
    if (getInterruption() != 0)
      break;
    // The next commands could not be kept either.
    if (!written.ok())
      return written;
  }
  std::vector<std::string> pictures = getInterruption() == 0 ? draw() : std::vector<std::string>();
  absl::Status reported = writeStudyReport(folder, entries, pictures, arguments.getEdition());
  absl::Status status = summarize();
  if (!reported.ok() && getInterruption() == 0)
    return reported;
  if (!status.ok() && !isPeerMissing(status))
    return status;
  llvm::errs() << "next: " << record.getPath("report.md") << ", report.html, report.tex and report.typ show all"
               << (pictures.empty() ? "" : "; " + record.getPath(kPictures) + " has pictures") << "\n";
  return status;
}
