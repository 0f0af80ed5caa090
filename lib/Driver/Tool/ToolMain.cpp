//===- ToolMain.cpp - How every tool starts and ends ----------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// This file is compiled with exceptions, the compiler without: std::bad_alloc
// passes through the compiler's functions without running destructors. So what
// catches it here ends the process, and no state of the compiler is used again.
//
//===----------------------------------------------------------------------===//

#include "cs336/Driver/Tool/ToolMain.h"

#include "cs336/Driver/Tool/ToolFlags.h"
#include "cs336/Driver/Tool/Version.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/Signals.h"
#include "llvm/Support/WithColor.h"

#include <cstdlib>
#include <exception>
#include <execinfo.h>
#include <new>
#include <system_error>
#include <unistd.h>

using namespace llvm;

/// Writes past the streams, which may need memory.
static void writeError(StringRef text) { (void)!::write(STDERR_FILENO, text.data(), text.size()); }

/// Ends the process without destructors, whose objects may be in use by functions that an exception left.
[[noreturn]] static void exitAtOnce() {
  sys::RunInterruptHandlers(); // Removes files that are incomplete.
  _exit(EXIT_FAILURE);
}

[[noreturn]] static void exitOutOfMemory() {
  writeError("error: out of memory: the system gives this process no more; free some, raise its limit (ulimit -v), or "
             "use a smaller model\n");
  exitAtOnce();
}

[[noreturn]] static void exitOutOfThreads(StringRef reason) {
  writeError("error: a thread cannot be started: ");
  writeError(reason);
  writeError("; raise the limits of processes (ulimit -u) and memory (ulimit -v), or use fewer threads\n");
  exitAtOnce();
}

static void onBadAlloc(void *, const char *, bool) { exitOutOfMemory(); }

/// Reports the one of LLVM's fatal errors that is about the system; the others are faults of ours, which LLVM goes on
/// to report.
static void onFatalError(void *, const char *reason, bool) {
  if (StringRef(reason).starts_with("pthread_create failed"))
    exitOutOfThreads(reason);
  writeError("LLVM ERROR: ");
  writeError(reason);
  writeError("\n");
}

/// Ends the process if an exception is about the system's resources.
static void exitIfOutOfResources(std::exception_ptr exception) {
  try {
    if (exception)
      std::rethrow_exception(std::move(exception));
  } catch (const std::bad_alloc &) {
    exitOutOfMemory();
  } catch (const std::system_error &error) {
    if (error.code() == std::errc::resource_unavailable_try_again) // By std::thread.
      exitOutOfThreads(error.what());
  } catch (...) {
  }
}

/// Called where an exception leaves a thread or a function that throws none.
[[noreturn]] static void onTerminate() {
  exitIfOutOfResources(std::current_exception());
  std::abort();
}

/// Writes what standard output still holds; false, with an error, if it could not all be written. The destructors of
/// LLVM's streams end a process that has not looked at their errors.
static bool finishStreams() {
  outs().flush();
  std::error_code error = outs().error();
  outs().clear_error();
  if (error)
    WithColor::error(errs()) << "cannot write to standard output: " << error.message() << "\n";
  errs().clear_error();
  return !error;
}

/// For `--help` and errors in flags, after which LLVM calls exit.
static void onExit() {
  if (!finishStreams())
    _exit(EXIT_FAILURE);
}

/// Makes the C library load what it unwinds its own functions with, which it does on first use and not at all where
/// memory is exhausted.
static void prepareUnwinding() {
  void *frame;
  (void)backtrace(&frame, 1);
}

int cs336::toolMain(int argc, char **argv, function_ref<int()> body) {
  std::set_terminate(onTerminate);
  install_bad_alloc_error_handler(onBadAlloc);
  install_fatal_error_handler(onFatalError);
  InitLLVM init(argc, argv);
  // LLVM's handler would end the process also where the caller asked for a null pointer.
  std::set_new_handler(nullptr);
  prepareUnwinding();
  // Made before the function is registered, the streams are destroyed after it ran.
  outs(), errs();
  std::atexit(onExit);
  cl::SetVersionPrinter([](raw_ostream &stream) { stream << describeVersion(); });
  CompleteFlag complete(argc, argv);
  try {
    int code = body();
    return finishStreams() ? code : EXIT_FAILURE;
  } catch (...) {
    exitIfOutOfResources(std::current_exception());
    throw;
  }
}
