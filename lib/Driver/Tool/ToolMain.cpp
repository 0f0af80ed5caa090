//===- ToolMain.cpp - How every tool starts and ends ----------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// This file is compiled with exceptions, the compiler without: std::bad_alloc passes through the compiler's functions
// without running destructors. So the handlers here end the process, and no state of the compiler is used again.
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

#include <csignal>
#include <cstdlib>
#include <exception>
#include <execinfo.h>
#include <fcntl.h>
#include <new>
#include <system_error>
#include <unistd.h>

using namespace llvm;

/// Writes without streams, which may allocate memory.
static void writeError(StringRef text) { (void)!::write(STDERR_FILENO, text.data(), text.size()); }

/// Ends the process without running destructors, because interrupted functions may have left their objects in an
/// inconsistent state.
[[noreturn]] static void exitAtOnce() {
  sys::RunInterruptHandlers(); // Removes incomplete files.
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

/// Reports the LLVM fatal error that the system causes. All others are bugs of ours, which LLVM reports itself.
static void onFatalError(void *, const char *reason, bool) {
  if (StringRef(reason).starts_with("pthread_create failed"))
    exitOutOfThreads(reason);
  writeError("LLVM ERROR: ");
  writeError(reason);
  writeError("\n");
}

/// Ends the process if the exception reports exhausted system resources.
static void exitIfOutOfResources(std::exception_ptr exception) {
  try {
    if (exception)
      std::rethrow_exception(std::move(exception));
  } catch (const std::bad_alloc &) {
    exitOutOfMemory();
  } catch (const std::system_error &error) {
    if (error.code() == std::errc::resource_unavailable_try_again) // Thrown by std::thread.
      exitOutOfThreads(error.what());
  } catch (...) {
  }
}

/// Called if an exception leaves a thread or a noexcept function.
[[noreturn]] static void onTerminate() {
  exitIfOutOfResources(std::current_exception());
  std::abort();
}

/// Flushes standard output. Prints an error and returns false if that fails. The destructors of LLVM's streams end the
/// process if it has not checked their errors.
static bool finishStreams() {
  outs().flush();
  std::error_code error = outs().error();
  outs().clear_error();
  if (error)
    WithColor::error(errs()) << "cannot write to standard output: " << error.message() << "\n";
  errs().clear_error();
  return !error;
}

/// For `--help` and errors in flags, after which LLVM calls exit. OpenMP's library calls it on any thread if it has no
/// memory: the other threads still use what destructors would destroy.
static void onExit() {
  if (gettid() != getpid())
    exitAtOnce();
  if (!finishStreams())
    _exit(EXIT_FAILURE);
}

/// Opens a descriptor in place of each of standard input, output and error that is closed. Otherwise, a file that is
/// opened later would get its number, and the output would be written to this file. Reading from a descriptor with
/// O_PATH fails, and so does writing to it, as with a closed descriptor.
static void occupyClosedStreams() {
  for (int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (fcntl(descriptor, F_GETFD) < 0)
      (void)open("/", O_PATH); // Gets the lowest number that is free.
}

/// Makes the C library load its unwinder now. It would load it on first use, which fails if memory is exhausted.
static void prepareUnwinding() {
  void *frame;
  (void)backtrace(&frame, 1);
}

int cs336::toolMain(int argc, char **argv, function_ref<int()> body) {
  occupyClosedStreams();
  std::set_terminate(onTerminate);
  install_bad_alloc_error_handler(onBadAlloc);
  install_fatal_error_handler(onFatalError);
  InitLLVM init(argc, argv);
  // LLVM's handler would print a stack trace. Without one, writing beyond a limit of file sizes is an error.
  std::signal(SIGXFSZ, SIG_IGN);
  // LLVM's handler would end the process even if the caller requested a null pointer on failure.
  std::set_new_handler(nullptr);
  prepareUnwinding();
  // The streams are created before the function is registered, so they are destroyed after it ran.
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
