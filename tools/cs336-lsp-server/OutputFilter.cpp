//===- OutputFilter.cpp - Standard output through a function --------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "OutputFilter.h"

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/raw_ostream.h"

#include <cerrno>
#include <optional>
#include <sys/wait.h>
#include <unistd.h>

using namespace llvm;

namespace {
/// A message at the start of the bytes read so far.
struct Frame {
  size_t begin, size;
};
} // namespace

/// Returns the first message's text once all of it was read.
static std::optional<Frame> findFrame(StringRef text) {
  size_t header = text.find("\r\n\r\n");
  size_t size = 0;
  StringRef line = text.take_front(header);
  if (header == StringRef::npos || !line.consume_front("Content-Length: ") || line.getAsInteger(10, size))
    return std::nullopt;
  size_t begin = header + 4;
  return text.size() >= begin + size ? std::optional(Frame{begin, size}) : std::nullopt;
}

/// Copies messages from `input` to standard output until `input` ends. Errors of standard output stay in its stream.
static void copyMessages(int input, function_ref<void(std::string &)> change) {
  std::string waiting;
  char bytes[1 << 16];
  while (true) {
    ssize_t count = ::read(input, bytes, sizeof(bytes));
    if (count < 0 && errno == EINTR)
      continue;
    if (count <= 0)
      break;
    waiting.append(bytes, count);
    while (std::optional<Frame> frame = findFrame(waiting)) {
      std::string message = waiting.substr(frame->begin, frame->size);
      waiting.erase(0, frame->begin + frame->size);
      change(message);
      outs() << "Content-Length: " << message.size() << "\r\n\r\n" << message;
    }
    if (!StringRef("Content-Length: ").starts_with(StringRef(waiting).take_front(16))) {
      outs() << waiting;
      waiting.clear();
    }
    outs().flush();
  }
  outs() << waiting;
}

static Error getSystemError() { return errorCodeToError(std::error_code(errno, std::generic_category())); }

Expected<std::optional<int>> cs336::lsp::filterOutput(function_ref<void(std::string &)> change) {
  outs().flush();
  int ends[2];
  if (::pipe(ends) != 0)
    return getSystemError();
  pid_t child = ::fork();
  if (child < 0)
    return getSystemError();
  if (child == 0) {
    if (::dup2(ends[1], STDOUT_FILENO) < 0)
      return getSystemError();
    ::close(ends[0]);
    ::close(ends[1]);
    return std::nullopt;
  }
  ::close(ends[1]);
  copyMessages(ends[0], change);
  ::close(ends[0]);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  // The exit code that shells report for a process ended by a signal.
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
