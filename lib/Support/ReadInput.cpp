//===- ReadInput.cpp - What tools are given to read -----------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Support/ReadInput.h"

#include "cs336/runtime/InputFile.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/SmallVectorMemoryBuffer.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/vfs.h>
#include <unistd.h>

using namespace llvm;
namespace fs = llvm::sys::fs;

using Buffer = std::unique_ptr<MemoryBuffer>;

/// Most bytes that are read from a pipe or a device, which may have no end. IR with weights in it is smaller.
static constexpr size_t kMostStreamBytes = size_t(1) << 28;

static Error makeError(StringRef path, const Twine &reason) {
  return createStringError("cannot read '" + path + "': " + reason);
}

static Error makeError(StringRef path, const absl::Status &status) {
  return makeError(path, StringRef(status.message().data(), status.message().size()));
}

static Expected<Buffer> readStream(int descriptor, StringRef path, StringRef name) {
  SmallVector<char, 0> text;
  size_t size = 0;
  while (true) {
    constexpr size_t kFirst = 1 << 16;
    text.resize_for_overwrite(size < kFirst ? size + kFirst : 2 * size);
    Expected<size_t> count = fs::readNativeFile(descriptor, MutableArrayRef(text).drop_front(size));
    if (!count)
      return makeError(path, toString(count.takeError()));
    if (*count == 0)
      break;
    size += *count;
    if (size > kMostStreamBytes)
      return makeError(path, "it has more than 256 MiB; give a file");
  }
  text.truncate(size);
  return std::make_unique<SmallVectorMemoryBuffer>(std::move(text), name);
}

/// Opens an anonymous pipe, as a shell creates for `<(command)`. Opening a named pipe could block forever.
static std::optional<int> openUnnamedPipe(const std::string &path) {
  int descriptor = open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  struct statfs system;
  if (descriptor < 0)
    return std::nullopt;
  if (fstatfs(descriptor, &system) == 0 && system.f_type == PIPEFS_MAGIC && fcntl(descriptor, F_SETFL, 0) == 0)
    return descriptor;
  close(descriptor);
  return std::nullopt;
}

static Expected<Buffer> readFile(StringRef path) {
  absl::StatusOr<cs336::runtime::InputFile> file =
      cs336::runtime::InputFile::Open(absl::string_view(path.data(), path.size()));
  if (!file.ok())
    return makeError(path, file.status());
  std::unique_ptr<WritableMemoryBuffer> buffer = WritableMemoryBuffer::getNewUninitMemBuffer(file->size(), path);
  if (!buffer)
    return makeError(path, "out of memory for its " + Twine(file->size()) + " bytes");
  if (absl::Status status = file->Read(0, file->size(), buffer->getBufferStart()); !status.ok())
    return makeError(path, status);
  if (absl::Status status = file->CheckUnchanged(); !status.ok())
    return makeError(path, status);
  return buffer;
}

Expected<Buffer> cs336::readInput(StringRef path) {
  if (path == "-")
    return readStream(STDIN_FILENO, path, "<stdin>");
  fs::file_status status;
  if (std::error_code error = fs::status(path, status))
    return makeError(path, error.message());
  if (status.type() == fs::file_type::fifo_file)
    if (std::optional<int> pipe = openUnnamedPipe(path.str())) {
      llvm::scope_exit closePipe([&] { close(*pipe); });
      return readStream(*pipe, path, path);
    }
  if (status.type() != fs::file_type::regular_file)
    return makeError(path, "it is not a regular file; give '-' and redirect standard input to read a pipe or a device");
  return readFile(path);
}
