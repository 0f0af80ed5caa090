//===- FileFaults.cpp - Calls on files that fail on demand ----------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The calls on files of one folder.
//
//===----------------------------------------------------------------------===//

#include "Faults.h"

#include <cerrno>
#include <csignal>
#include <cstdarg>
#include <cstring>
#include <fcntl.h>
#include <string>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

using namespace cs336::fault_injection;

Plan cs336::fault_injection::plan;

void cs336::fault_injection::choose(const char *function, long number, Fault fault, const char *folder) {
  plan.fault = Fault::None;
  plan.function = function;
  plan.folder = folder;
  plan.number = number;
  plan.progress->calls = 0;
  plan.isAboutMemory = plan.function == "malloc";
  plan.fault = fault;
}

Fault cs336::fault_injection::countCall() {
  long call = ++plan.progress->calls;
  if (call != plan.number)
    return call > plan.number && plan.fault == Fault::FailFromThen ? Fault::Fail : Fault::None;
  if (plan.fault == Fault::Kill)
    kill(getpid(), SIGKILL);
  return plan.fault == Fault::FailFromThen ? Fault::Fail : plan.fault;
}

namespace {

std::string getPath(int descriptor) {
  char path[4096];
  ssize_t size = readlink(("/proc/self/fd/" + std::to_string(descriptor)).c_str(), path, sizeof(path));
  return std::string(path, size < 0 ? 0 : size);
}

std::string getPath(int directory, const char *name) {
  if (name[0] == '/' || directory == AT_FDCWD)
    return name;
  return getPath(directory) + "/" + name;
}

/// The path is a function's result because a call that is not chosen must not allocate.
template <typename Path>
Fault chooseFault(const char *name, const Path &getPath) {
  if (plan.fault == Fault::None || plan.function != name)
    return Fault::None;
  int error = errno;
  Fault fault = getPath().rfind(plan.folder, 0) == 0 ? countCall() : Fault::None;
  errno = error;
  return fault;
}

Fault chooseFault(const char *name, int descriptor) {
  return chooseFault(name, [=] { return getPath(descriptor); });
}

Fault chooseFault(const char *name, int directory, const char *path) {
  return chooseFault(name, [=] { return getPath(directory, path); });
}

int fail(int error) {
  errno = error;
  return -1;
}

mode_t getMode(int flags, va_list arguments) {
  return (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(arguments, mode_t) : 0;
}

} // namespace

extern "C" {

/// Chooses the `number`-th call of `name` on files below `path`; `kind` is an enumerator of Fault.
void cs336_inject_fault(const char *name, long number, int kind, const char *path) {
  choose(name, number, static_cast<Fault>(kind), path);
}

/// Returns how many such calls there were.
long cs336_count_calls() { return plan.progress->calls; }

#define DEFINE_OPEN(NAME)                                                                                              \
  int NAME(const char *path, int flags, ...) {                                                                         \
    va_list arguments;                                                                                                 \
    va_start(arguments, flags);                                                                                        \
    mode_t mode = getMode(flags, arguments);                                                                           \
    va_end(arguments);                                                                                                 \
    static auto *next = findNext(&NAME, #NAME);                                                                        \
    return chooseFault("open", AT_FDCWD, path) == Fault::None ? next(path, flags, mode) : fail(ENOSPC);                \
  }
#define DEFINE_OPENAT(NAME)                                                                                            \
  int NAME(int directory, const char *path, int flags, ...) {                                                          \
    va_list arguments;                                                                                                 \
    va_start(arguments, flags);                                                                                        \
    mode_t mode = getMode(flags, arguments);                                                                           \
    va_end(arguments);                                                                                                 \
    static auto *next = findNext(&NAME, #NAME);                                                                        \
    bool isOk = chooseFault("open", directory, path) == Fault::None;                                                   \
    return isOk ? next(directory, path, flags, mode) : fail(ENOSPC);                                                   \
  }
DEFINE_OPEN(open)
DEFINE_OPEN(open64)
DEFINE_OPENAT(openat)
DEFINE_OPENAT(openat64)

ssize_t write(int descriptor, const void *data, size_t size) {
  static auto *next = findNext(&write, "write");
  switch (chooseFault("write", descriptor)) {
  case Fault::Fail:
    return fail(ENOSPC);
  case Fault::Short:
    return next(descriptor, data, (size + 1) / 2);
  default:
    return next(descriptor, data, size);
  }
}

int fsync(int descriptor) {
  static auto *next = findNext(&fsync, "fsync");
  return chooseFault("fsync", descriptor) == Fault::None ? next(descriptor) : fail(EIO);
}

int renameat(int fromFolder, const char *from, int toFolder, const char *to) {
  static auto *next = findNext(&renameat, "renameat");
  bool isOk = chooseFault("rename", toFolder, to) == Fault::None;
  return isOk ? next(fromFolder, from, toFolder, to) : fail(EIO);
}

int unlink(const char *path) {
  static auto *next = findNext(&unlink, "unlink");
  return chooseFault("unlink", AT_FDCWD, path) == Fault::None ? next(path) : fail(EIO);
}

int unlinkat(int directory, const char *path, int flags) {
  static auto *next = findNext(&unlinkat, "unlinkat");
  return chooseFault("unlink", directory, path) == Fault::None ? next(directory, path, flags) : fail(EIO);
}

int flock(int descriptor, int operation) {
  static auto *next = findNext(&flock, "flock");
  return chooseFault("flock", descriptor) == Fault::None ? next(descriptor, operation) : fail(ENOLCK);
}

ssize_t pread(int descriptor, void *data, size_t size, off_t offset) {
  static auto *next = findNext(&pread, "pread");
  switch (chooseFault("pread", descriptor)) {
  case Fault::Fail:
    return fail(EIO);
  case Fault::Short:
    return next(descriptor, data, (size + 1) / 2, offset);
  default:
    return next(descriptor, data, size, offset);
  }
}

ssize_t read(int descriptor, void *data, size_t size) {
  static auto *next = findNext(&read, "read");
  switch (chooseFault("read", descriptor)) {
  case Fault::Fail:
    return fail(EIO);
  case Fault::Short:
    return next(descriptor, data, (size + 1) / 2);
  default:
    return next(descriptor, data, size);
  }
}

int mkdir(const char *path, mode_t mode) {
  static auto *next = findNext(&mkdir, "mkdir");
  return chooseFault("mkdir", AT_FDCWD, path) == Fault::None ? next(path, mode) : fail(ENOSPC);
}

int fstat(int descriptor, struct stat *info) {
  static auto *next = findNext(&fstat, "fstat");
  return chooseFault("fstat", descriptor) == Fault::None ? next(descriptor, info) : fail(EIO);
}

int close(int descriptor) {
  static auto *next = findNext(&close, "close");
  // A descriptor is closed also where closing it fails.
  Fault fault = chooseFault("close", descriptor);
  int result = next(descriptor);
  return fault == Fault::None ? result : fail(EIO);
}
}
