//===- TensorFile.cpp - Tensor files by extension -------------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/runtime/TensorFile.h"

#include "memory/MappedFile.h"
#include "status/StatusMacros.h"
#include "tensor/FileFormats.h"

#include "absl/cleanup/cleanup.h"
#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

#include <cerrno>
#include <cstdio>
#include <fcntl.h>
#include <filesystem>
#include <sys/stat.h>
#include <unistd.h>

namespace cs336::runtime {

namespace {

using TensorReader = absl::StatusOr<TensorMap> (*)(absl::Span<const uint8_t>, const std::string &stem);

absl::StatusOr<TensorMap> ReadNpy(absl::Span<const uint8_t> bytes, const std::string &stem) {
  CS336_ASSIGN_OR_RETURN(Tensor tensor, ParseNpy(bytes));
  TensorMap tensors;
  tensors.emplace(stem, std::move(tensor));
  return tensors;
}

struct Format {
  absl::string_view extension;
  TensorReader read;
  absl::Status (*write)(const std::string &path, const TensorMap &tensors);
};

const Format kFormats[] = {
    {".npy", ReadNpy, WriteNpy},
    {".npz", [](absl::Span<const uint8_t> bytes, const std::string &) { return ParseNpz(bytes); }, WriteNpz},
    {".safetensors", [](absl::Span<const uint8_t> bytes, const std::string &) { return ParseSafetensors(bytes); },
     WriteSafetensors},
};

absl::StatusOr<const Format *> FormatOf(absl::string_view path) {
  for (const Format &format : kFormats)
    if (absl::EndsWith(path, format.extension))
      return &format;
  return absl::InvalidArgumentError(absl::StrCat("'", path, "': the extension must be .npy, .npz or .safetensors"));
}

absl::Status ErrnoStatus(absl::string_view what) { return absl::ErrnoToStatus(errno, what); }

absl::Status WriteAll(int descriptor, absl::string_view bytes) {
  while (!bytes.empty()) {
    ssize_t written = write(descriptor, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR)
      continue;
    if (written < 0)
      return ErrnoStatus("cannot write");
    bytes.remove_prefix(written);
  }
  return absl::OkStatus();
}

} // namespace

absl::Status WriteBytes(const std::string &path, absl::Span<const absl::string_view> pieces) {
  int descriptor = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (descriptor < 0)
    return ErrnoStatus("cannot create it");
  absl::Cleanup close_descriptor = [descriptor] { close(descriptor); };
  for (absl::string_view piece : pieces)
    CS336_RETURN_IF_ERROR(WriteAll(descriptor, piece));
  if (fsync(descriptor) != 0)
    return ErrnoStatus("cannot write");
  return absl::OkStatus();
}

absl::StatusOr<TensorMap> ReadTensors(absl::string_view path) {
  CS336_ASSIGN_OR_RETURN(const Format *format, FormatOf(path));
  CS336_ASSIGN_OR_RETURN(MappedFile file, MappedFile::Open(path));
  std::string stem = std::filesystem::path(std::string(path)).stem().string();
  absl::StatusOr<TensorMap> tensors = format->read(file.bytes(), stem);
  if (!tensors.ok())
    return Annotate(tensors.status(), absl::StrCat("'", path, "'"));
  return tensors;
}

absl::Status WriteTensors(absl::string_view path, const TensorMap &tensors) {
  CS336_ASSIGN_OR_RETURN(const Format *format, FormatOf(path));
  std::string target(path);
  std::string temporary = absl::StrCat(target, ".", getpid(), ".tmp");
  std::string where = absl::StrCat("'", path, "'");
  // Renaming would replace a pipe or a device by a file.
  struct stat info;
  if (stat(target.c_str(), &info) == 0 && !S_ISREG(info.st_mode))
    return absl::InvalidArgumentError(absl::StrCat(where, " exists and is not a regular file"));
  absl::Cleanup remove_temporary = [&] { unlink(temporary.c_str()); };
  CS336_RETURN_IF_ERROR(Annotate(format->write(temporary, tensors), where));
  if (rename(temporary.c_str(), target.c_str()) != 0)
    return absl::ErrnoToStatus(errno, absl::StrCat(where, ": cannot replace it"));
  std::move(remove_temporary).Cancel();
  return absl::OkStatus();
}

} // namespace cs336::runtime
