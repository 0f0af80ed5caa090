//===- WriteOutput.cpp - Files as a whole or not at all -------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Support/WriteOutput.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Signals.h"

#include <sys/stat.h>
#include <unistd.h>

using namespace llvm;
namespace fs = llvm::sys::fs;
using cs336::runtime::ReplaceFileOptions;

using Print = function_ref<Error(raw_ostream &)>;

/// Prints, and checks the stream's error: the destructor of a stream with an unchecked error ends the process.
static Error printAll(raw_fd_ostream &stream, Print print) {
  Error printed = print(stream);
  stream.flush();
  std::error_code error = stream.error();
  stream.clear_error();
  return joinErrors(std::move(printed), errorCodeToError(error));
}

static Error replaceFile(StringRef path, Print print, ReplaceFileOptions options) {
  Error printed = Error::success();
  ErrorAsOutParameter isSetLater(&printed);
  auto write = [&](const cs336::runtime::TemporaryFile &file) {
    // Removes the temporary file if a signal ends the process.
    sys::RemoveFileOnSignal(file.path);
    raw_fd_ostream stream(file.descriptor, /*shouldClose=*/false);
    printed = printAll(stream, print);
    sys::DontRemoveFileOnSignal(file.path);
    return printed ? absl::CancelledError("it is not complete") : absl::OkStatus();
  };
  absl::Status status = cs336::runtime::ReplaceFile({path.data(), path.size()}, write, options);
  if (printed || status.ok())
    return printed;
  return createStringError(StringRef(status.message().data(), status.message().size()));
}

/// Returns the descriptor of standard output or error if the path names the same file, as /dev/stdout does. If such
/// output is redirected to a file, that file must not replace the name /dev/stdout.
static std::optional<int> findStandardStream(const std::string &path) {
  struct stat named, open;
  if (stat(path.c_str(), &named) == 0)
    for (int descriptor : {STDOUT_FILENO, STDERR_FILENO})
      if (fstat(descriptor, &open) == 0 && named.st_dev == open.st_dev && named.st_ino == open.st_ino)
        return descriptor;
  return std::nullopt;
}

Error cs336::writeOutput(StringRef path, Print print, ReplaceFileOptions options) {
  if (path == "-")
    return printAll(outs(), print);
  if (std::optional<int> descriptor = findStandardStream(path.str())) {
    outs().flush();
    raw_fd_ostream stream(*descriptor, /*shouldClose=*/false);
    return printAll(stream, print);
  }
  // A device or a pipe has no earlier contents, and must not be replaced by a new file.
  if (!fs::exists(path) || fs::is_regular_file(path))
    return replaceFile(path, print, options);
  std::error_code error;
  raw_fd_ostream stream(path, error);
  return error ? errorCodeToError(error) : printAll(stream, print);
}

Error cs336::writeDump(StringRef path, function_ref<void(raw_ostream &)> print) {
  if (std::error_code error = fs::create_directories(sys::path::parent_path(path)))
    return errorCodeToError(error);
  auto printInfallibly = [&](raw_ostream &stream) {
    print(stream);
    return Error::success();
  };
  return writeOutput(path, printInfallibly, {.durable = false});
}
