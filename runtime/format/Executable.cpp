//===- Executable.cpp - A verified program --------------------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/runtime/Executable.h"

#include "cs336/runtime/InputFile.h"
#include "cs336/runtime/Storage.h"
#include "cs336/runtime/format/ExecutableFile.h"
#include "cs336/runtime/format/ReservedMemory.h"
#include "format/TableContents.h"
#include "format/Verifier.h"
#include "status/StatusMacros.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

#include <algorithm>
#include <cstring>

namespace cs336::runtime {

static_assert(static_cast<int>(DType::kF64) == static_cast<int>(format::DType::f64) &&
              static_cast<int>(DType::kI1) == static_cast<int>(format::DType::i1));

DType ToDType(format::DType dtype) { return static_cast<DType>(dtype); }

TensorType ToTensorType(const format::TensorTypeT &type) {
  return {ToDType(type.dtype), Dims(type.shape.begin(), type.shape.end())};
}

TensorType StoredType(const format::VariableT &variable) {
  TensorType type = ToTensorType(*variable.type);
  if (variable.shards > 1)
    type.shape[0] /= variable.shards;
  return type;
}

TensorType ReservedType(const format::VariableT &variable) {
  return variable.gathered ? ToTensorType(*variable.type) : StoredType(variable);
}

bool IsOfVariable(const format::BufferT &buffer) {
  return buffer.source == format::BufferSource::variable || buffer.source == format::BufferSource::gathered;
}

std::vector<NamedRows> CheckpointNames(const std::string &name, const TensorType &type,
                                       absl::Span<const std::unique_ptr<format::ViewT>> views) {
  if (views.empty())
    return {{name, 0, type}};
  std::vector<NamedRows> names;
  for (const auto &view : views) {
    names.push_back({view->name, view->row_offset, type});
    names.back().type.shape[0] = view->rows;
  }
  return names;
}

const format::EntryT *Executable::FindEntry(absl::string_view name) const {
  for (const auto &entry : description_.entries)
    if (entry->name == name)
      return entry.get();
  return nullptr;
}

absl::StatusOr<std::shared_ptr<const Executable>> Executable::FromBytes(absl::Span<const uint8_t> bytes) {
  format::Frame frame;
  if (bytes.size() < format::kFrameSize)
    return absl::DataLossError(absl::StrCat("truncated executable: ", bytes.size(), " bytes are too few for a frame"));
  if (!format::ReadFrame(bytes.data(), frame))
    return absl::DataLossError(
        "not an executable of cs336-opt: its first bytes differ from those of every .cs336x file");
  if (frame.version != format::kFormatVersion)
    return absl::FailedPreconditionError(absl::StrCat("the executable has format version ", frame.version,
                                                      ", but this runtime reads ", format::kFormatVersion,
                                                      ": compile it again with a matching cs336-translate"));
  bytes.remove_prefix(format::kFrameSize);
  if (frame.table_size != bytes.size())
    return absl::DataLossError(absl::StrCat("truncated executable: the frame announces ", frame.table_size,
                                            " bytes, but ", bytes.size(), " follow"));
  if (frame.checksum != format::Checksum(frame.version, bytes.data(), bytes.size()))
    return absl::DataLossError("damaged executable: its checksum is wrong");

  // FlatBuffers reads in place and requires an aligned table.
  std::vector<uint64_t> aligned;
  if (reinterpret_cast<uintptr_t>(bytes.data()) % alignof(uint64_t) != 0) {
    aligned.resize((bytes.size() + sizeof(uint64_t) - 1) / sizeof(uint64_t));
    std::memcpy(aligned.data(), bytes.data(), bytes.size());
    bytes = {reinterpret_cast<const uint8_t *>(aligned.data()), bytes.size()};
  }
  constexpr flatbuffers::uoffset_t kMostDepth = 16, kMostTables = 1 << 26;
  flatbuffers::Verifier verifier(bytes.data(), bytes.size(), kMostDepth, kMostTables);
  if (bytes.size() >= FLATBUFFERS_MAX_BUFFER_SIZE || !format::VerifyExecutableBuffer(verifier))
    return absl::DataLossError("malformed executable: FlatBuffers' verifier rejects its table");
  TableContents contents = ExamineTable(*format::GetExecutable(bytes.data()), bytes.size());
  if (!contents.is_aligned)
    return absl::DataLossError("malformed executable: a vector of its table is not aligned");
  if (contents.bytes > bytes.size())
    return absl::DataLossError("malformed executable: several parts of its table share their contents");

  std::shared_ptr<Executable> executable(new Executable);
  format::GetExecutable(bytes.data())->UnPackTo(&executable->description_);
  CS336_RETURN_IF_ERROR(Annotate(Verify(executable->description_), "invalid executable"));
  executable->stays_on_host_ = format::FindHostVariables(executable->description_);
  return executable;
}

/// Returns a file's bytes. For a file that is too large to be an executable, returns only its start, which
/// FromBytes() rejects as well.
static absl::StatusOr<Storage> ReadProgram(const InputFile &file) {
  constexpr int64_t kMostBytes = format::kFrameSize + int64_t{FLATBUFFERS_MAX_BUFFER_SIZE};
  int64_t size = file.size() <= kMostBytes ? file.size() : static_cast<int64_t>(format::kFrameSize);
  CS336_ASSIGN_OR_RETURN(Storage bytes, Storage::Allocate(size));
  CS336_RETURN_IF_ERROR(file.Read(0, size, bytes.data()));
  CS336_RETURN_IF_ERROR(file.CheckUnchanged());
  return bytes;
}

absl::StatusOr<std::shared_ptr<const Executable>> Executable::Load(absl::string_view path) {
  CS336_ASSIGN_OR_RETURN(InputFile file, InputFile::Open(path));
  absl::StatusOr<Storage> bytes = ReadProgram(file);
  if (!bytes.ok())
    return Annotate(bytes.status(), path);
  absl::StatusOr<std::shared_ptr<const Executable>> executable =
      FromBytes({static_cast<const uint8_t *>(bytes->data()), static_cast<size_t>(bytes->size())});
  if (!executable.ok())
    return Annotate(executable.status(), path);
  return executable;
}

} // namespace cs336::runtime
