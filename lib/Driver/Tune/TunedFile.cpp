//===- TunedFile.cpp - Tuned schedules on disk ----------------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TunedFile.h"

#include "cs336/runtime/CacheFolder.h"
#include "cs336/runtime/ReplaceFile.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/StringExtras.h"

#include "absl/strings/str_cat.h"

#include <cstring>
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

using namespace mlir;
using namespace cs336;
using namespace cs336::cuda;

/// A file with some hundred problems is below this size.
static constexpr int64_t kMostBytes = int64_t(64) << 20;

/// Returns the name of a GPU as a part of a file's name.
static std::string getFileNamePart(StringRef device) {
  std::string part = device.str();
  for (char &c : part)
    if (!llvm::isAlnum(c))
      c = '-';
  return part;
}

TunedFile::TunedFile(const std::string &folder, const std::string &device, const std::string &architecture,
                     MLIRContext *context)
    : folder(folder), name(absl::StrCat("schedules-", getFileNamePart(device), "-", architecture, ".json")),
      path(absl::StrCat(folder, "/", name)), context(context), schedules(device, architecture) {}

absl::StatusOr<TunedSchedules> TunedFile::load() const {
  absl::StatusOr<std::string> text = runtime::ReadCacheFile(folder, name, kMostBytes);
  if (absl::IsNotFound(text.status()))
    return TunedSchedules(schedules.getDevice().str(), schedules.getArchitecture().str());
  if (!text.ok())
    return text.status();
  llvm::Expected<TunedSchedules> parsed = TunedSchedules::parse(*text, context);
  if (!parsed)
    return absl::DataLossError(absl::StrCat(path, ": ", llvm::toString(parsed.takeError())));
  if (parsed->getDevice() != schedules.getDevice() || parsed->getArchitecture() != schedules.getArchitecture())
    return absl::DataLossError(absl::StrCat(path, ": was written for ", parsed->getDevice().str(), " (",
                                            parsed->getArchitecture().str(), "), and the GPU is ",
                                            schedules.getDevice().str(), " (", schedules.getArchitecture().str(), ")"));
  return std::move(*parsed);
}

absl::Status TunedFile::read() {
  absl::StatusOr<TunedSchedules> loaded = load();
  if (loaded.ok())
    schedules = *std::move(loaded);
  return loaded.status();
}

absl::Status TunedFile::settle(StringRef problem, TunedSchedule schedule) {
  absl::Status status = runtime::MakeCacheFolder(folder);
  status.Update(runtime::CheckCacheFolder(folder));
  if (!status.ok())
    return status;
  std::string lockPath = path + ".lock";
  int lock = open(lockPath.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0644);
  llvm::scope_exit unlock([lock] { close(lock); });
  if (lock < 0 || flock(lock, LOCK_EX) != 0)
    return absl::ErrnoToStatus(errno, absl::StrCat("cannot lock '", lockPath, "'"));
  // A damaged file was reported when it was read, and is replaced.
  absl::StatusOr<TunedSchedules> present = load();
  if (present.ok())
    schedules = *std::move(present);
  if (const TunedSchedule *other = schedules.find(problem); other && other->kernels == schedule.kernels)
    return absl::OkStatus();
  schedules.set(problem, std::move(schedule));
  std::string text = schedules.print();
  absl::string_view pieces[] = {text};
  return runtime::ReplaceFile(path, pieces, {.durable = false});
}
