//===- WriteOutput.cpp - Files as a whole or not at all -------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Support/WriteOutput.h"

#include "llvm/Support/FileSystem.h"

using namespace llvm;
namespace fs = llvm::sys::fs;

using Print = function_ref<Error(raw_ostream &)>;

/// An error that nobody has asked a file's stream for is the end of the process when the stream ends.
static Error printAll(raw_fd_ostream &stream, Print print) {
  Error printed = print(stream);
  stream.flush();
  std::error_code error = stream.error();
  stream.clear_error();
  return joinErrors(std::move(printed), errorCodeToError(error));
}

static Error replaceFile(StringRef path, Print print) {
  Expected<fs::TempFile> file = fs::TempFile::create(path + ".%%%%%%%%.tmp", fs::all_read | fs::all_write);
  if (!file)
    return file.takeError();
  raw_fd_ostream stream(file->FD, /*shouldClose=*/false);
  if (Error error = printAll(stream, print))
    return joinErrors(std::move(error), file->discard());
  return file->keep(path);
}

Error cs336::writeOutput(StringRef path, Print print) {
  if (path == "-")
    return printAll(outs(), print);
  // A device or a pipe has no earlier contents, and a new file cannot take its place.
  if (!fs::exists(path) || fs::is_regular_file(path))
    return replaceFile(path, print);
  std::error_code error;
  raw_fd_ostream stream(path, error);
  return error ? errorCodeToError(error) : printAll(stream, print);
}
