//===- FaultInjection.cpp - System calls that fail on demand --------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A library to be preloaded (LD_PRELOAD). The n-th call of one function on files
// of one folder fails, writes less than it was given, or does not happen because
// the process is killed before it. All other calls are the C library's.
//
//===----------------------------------------------------------------------===//

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdarg>
#include <cstring>
#include <dlfcn.h>
#include <fcntl.h>
#include <string>
#include <sys/file.h>
#include <sys/types.h>
#include <unistd.h>

namespace {

enum class Fault { None, Fail, Short, Kill };

// An interposed function has nothing but globals.
std::string function, folder;
std::atomic<long> counted = 0;
long chosen = 0;
Fault chosenFault = Fault::None;

template <typename Function>
Function *findNext(Function *, const char *name) {
  return reinterpret_cast<Function *>(dlsym(RTLD_NEXT, name));
}

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

/// What happens to this call. Does not return where the process ends before it.
Fault chooseFault(const char *name, const std::string &path) {
  int error = errno;
  Fault fault = Fault::None;
  if (chosenFault != Fault::None && function == name && path.rfind(folder, 0) == 0 && ++counted == chosen)
    fault = chosenFault;
  if (fault == Fault::Kill)
    kill(getpid(), SIGKILL);
  errno = error;
  return fault;
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

/// Chooses the `number`-th call, from 1 on, of `name` on files below `path`; `kind` is an enumerator of Fault.
void cs336_inject_fault(const char *name, long number, int kind, const char *path) {
  function = name;
  folder = path;
  counted = 0;
  chosen = number;
  chosenFault = static_cast<Fault>(kind);
}

/// How many such calls there were.
long cs336_count_calls() { return counted; }

#define DEFINE_OPEN(NAME)                                                                                              \
  int NAME(const char *path, int flags, ...) {                                                                         \
    va_list arguments;                                                                                                 \
    va_start(arguments, flags);                                                                                        \
    mode_t mode = getMode(flags, arguments);                                                                           \
    va_end(arguments);                                                                                                 \
    static auto *next = findNext(&NAME, #NAME);                                                                        \
    return chooseFault("open", path) == Fault::None ? next(path, flags, mode) : fail(ENOSPC);                          \
  }
#define DEFINE_OPENAT(NAME)                                                                                            \
  int NAME(int directory, const char *path, int flags, ...) {                                                          \
    va_list arguments;                                                                                                 \
    va_start(arguments, flags);                                                                                        \
    mode_t mode = getMode(flags, arguments);                                                                           \
    va_end(arguments);                                                                                                 \
    static auto *next = findNext(&NAME, #NAME);                                                                        \
    bool isOk = chooseFault("open", getPath(directory, path)) == Fault::None;                                          \
    return isOk ? next(directory, path, flags, mode) : fail(ENOSPC);                                                   \
  }
DEFINE_OPEN(open)
DEFINE_OPEN(open64)
DEFINE_OPENAT(openat)
DEFINE_OPENAT(openat64)

ssize_t write(int descriptor, const void *data, size_t size) {
  static auto *next = findNext(&write, "write");
  switch (chooseFault("write", getPath(descriptor))) {
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
  return chooseFault("fsync", getPath(descriptor)) == Fault::None ? next(descriptor) : fail(EIO);
}

int renameat(int fromFolder, const char *from, int toFolder, const char *to) {
  static auto *next = findNext(&renameat, "renameat");
  bool isOk = chooseFault("rename", getPath(toFolder, to)) == Fault::None;
  return isOk ? next(fromFolder, from, toFolder, to) : fail(EIO);
}

int unlink(const char *path) {
  static auto *next = findNext(&unlink, "unlink");
  return chooseFault("unlink", path) == Fault::None ? next(path) : fail(EIO);
}

int unlinkat(int directory, const char *path, int flags) {
  static auto *next = findNext(&unlinkat, "unlinkat");
  return chooseFault("unlink", getPath(directory, path)) == Fault::None ? next(directory, path, flags) : fail(EIO);
}

int flock(int descriptor, int operation) {
  static auto *next = findNext(&flock, "flock");
  return chooseFault("flock", getPath(descriptor)) == Fault::None ? next(descriptor, operation) : fail(ENOLCK);
}

ssize_t pread(int descriptor, void *data, size_t size, off_t offset) {
  static auto *next = findNext(&pread, "pread");
  switch (chooseFault("pread", getPath(descriptor))) {
  case Fault::Fail:
    return fail(EIO);
  case Fault::Short:
    return next(descriptor, data, (size + 1) / 2, offset);
  default:
    return next(descriptor, data, size, offset);
  }
}
}
