//===- TensorFile.cpp - Tensor files by extension -------------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/runtime/TensorFile.h"

#include "cs336/runtime/InputFile.h"
#include "cs336/runtime/ReplaceFile.h"
#include "status/StatusMacros.h"
#include "tensor/FileFormats.h"

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

#include <filesystem>

namespace cs336::runtime {

namespace {

using TensorReader = absl::StatusOr<TensorMap> (*)(const InputFile &, const std::string &stem);

absl::StatusOr<TensorMap> ReadOne(const InputFile &file, const std::string &stem) {
  CS336_ASSIGN_OR_RETURN(Tensor tensor, ReadNpy(FileSource(file)));
  TensorMap tensors;
  tensors.emplace(stem, std::move(tensor));
  return tensors;
}

struct Format {
  absl::string_view extension;
  TensorReader read;
  absl::StatusOr<FileNotes> (*read_notes)(const InputFile &);
  absl::Status (*write)(int descriptor, const TensorMap &tensors, const FileNotes &notes);
};

/// Reads the notes of a format without notes.
absl::StatusOr<FileNotes> NoNotes(const InputFile &) { return FileNotes(); }

template <absl::Status (*write)(int, const TensorMap &)>
absl::Status WithoutNotes(int descriptor, const TensorMap &tensors, const FileNotes &) {
  return write(descriptor, tensors);
}

const Format kFormats[] = {
    {".npy", ReadOne, NoNotes, WithoutNotes<WriteNpy>},
    {".npz", [](const InputFile &file, const std::string &) { return ReadNpz(file); }, NoNotes, WithoutNotes<WriteNpz>},
    {".safetensors", [](const InputFile &file, const std::string &) { return ReadSafetensors(FileSource(file)); },
     [](const InputFile &file) { return ReadSafetensorsNotes(FileSource(file)); }, WriteSafetensors},
};

absl::StatusOr<const Format *> FormatOf(absl::string_view path) {
  for (const Format &format : kFormats)
    if (absl::EndsWith(path, format.extension))
      return &format;
  return absl::InvalidArgumentError(absl::StrCat("'", path, "': the extension must be .npy, .npz or .safetensors"));
}

} // namespace

absl::StatusOr<TensorMap> ReadTensors(absl::string_view path) {
  CS336_ASSIGN_OR_RETURN(const Format *format, FormatOf(path));
  CS336_ASSIGN_OR_RETURN(InputFile file, InputFile::Open(path));
  std::string stem = std::filesystem::path(std::string(path)).stem().string();
  absl::StatusOr<TensorMap> tensors = format->read(file, stem);
  // A file that another process is writing may look malformed. This error then
  // gives the cause.
  if (absl::Status unchanged = file.CheckUnchanged(); !unchanged.ok())
    return Annotate(unchanged, absl::StrCat("'", path, "'"));
  if (!tensors.ok())
    return Annotate(tensors.status(), absl::StrCat("'", path, "'"));
  return tensors;
}

absl::StatusOr<FileNotes> ReadNotes(absl::string_view path) {
  CS336_ASSIGN_OR_RETURN(const Format *format, FormatOf(path));
  CS336_ASSIGN_OR_RETURN(InputFile file, InputFile::Open(path));
  absl::StatusOr<FileNotes> notes = format->read_notes(file);
  if (!notes.ok())
    return Annotate(notes.status(), absl::StrCat("'", path, "'"));
  return notes;
}

absl::Status WriteTensors(absl::string_view path, const TensorMap &tensors, const FileNotes &notes) {
  CS336_ASSIGN_OR_RETURN(const Format *format, FormatOf(path));
  auto write = [&](const TemporaryFile &file) { return format->write(file.descriptor, tensors, notes); };
  return Annotate(ReplaceFile(path, write), absl::StrCat("'", path, "'"));
}

} // namespace cs336::runtime
