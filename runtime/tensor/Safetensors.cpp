//===- Safetensors.cpp - The safetensors format ---------------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/runtime/ReplaceFile.h"
#include "status/StatusMacros.h"
#include "tensor/FileFormats.h"
#include "tensor/SafetensorsHeader.h"
#include "tensor/StoredElements.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

#include <algorithm>
#include <vector>

namespace cs336::runtime {

namespace {

/// A tensor that the header describes, and the position of its elements in the data.
struct StoredTensor {
  absl::string_view name;
  const SafetensorsEntry *entry;
  const StoredElement *element;
  int64_t begin, end;
};

/// Checks an entry of the header of a file with `data_size` bytes of data.
absl::StatusOr<StoredTensor> FindTensor(absl::string_view name, const SafetensorsEntry &entry, int64_t data_size) {
  CS336_RETURN_IF_ERROR(entry.status);
  const StoredElement *element = FindSafetensorsElement(entry.dtype);
  if (!element)
    return absl::InvalidArgumentError(absl::StrCat("elements of type '", entry.dtype, "' are not supported"));
  const Dims &offsets = entry.data_offsets;
  absl::optional<int64_t> size = StoredBytes(*element, entry.shape);
  if (!size)
    return MalformedSafetensors("the size of its shape overflows");
  if (offsets.size() != 2 || offsets[0] > offsets[1])
    return MalformedSafetensors("its 'data_offsets' are not a range");
  if (offsets[1] > data_size)
    return MalformedSafetensors(absl::StrCat("truncated: its data end at byte ", offsets[1], " of ", data_size));
  if (offsets[1] - offsets[0] != *size)
    return MalformedSafetensors(
        absl::StrCat("its shape takes ", *size, " bytes, but its 'data_offsets' hold ", offsets[1] - offsets[0]));
  return StoredTensor{name, &entry, element, offsets[0], offsets[1]};
}

/// Checks that tensors cover all data exactly once, as the format requires.
absl::Status CheckCoverage(const std::vector<StoredTensor> &stored, int64_t data_size) {
  std::vector<std::pair<int64_t, int64_t>> ranges;
  for (const StoredTensor &each : stored)
    ranges.emplace_back(each.begin, each.end);
  std::sort(ranges.begin(), ranges.end());
  int64_t next = 0;
  for (auto [begin, end] : ranges) {
    if (begin != next)
      return MalformedSafetensors(absl::StrCat("its tensors overlap or leave a gap at byte ", std::min(next, begin)));
    next = end;
  }
  if (next != data_size)
    return MalformedSafetensors(absl::StrCat(data_size - next, " bytes follow its last tensor"));
  return absl::OkStatus();
}

/// A file's header, and the offset of the data.
struct FileHeader {
  SafetensorsHeader contents;
  int64_t data_begin;
};

absl::StatusOr<FileHeader> ReadFileHeader(const ByteSource &source) {
  uint64_t header_bytes;
  constexpr int64_t kPrefix = sizeof(header_bytes);
  if (source.size() < kPrefix)
    return MalformedSafetensors("truncated before its header");
  CS336_RETURN_IF_ERROR(source.Read(0, kPrefix, &header_bytes));
  constexpr uint64_t kMostHeaderBytes = 100'000'000; // The format's own limit.
  if (header_bytes > kMostHeaderBytes || header_bytes > static_cast<uint64_t>(source.size() - kPrefix))
    return MalformedSafetensors(
        absl::StrCat("truncated: a header of ", header_bytes, " bytes where ", source.size() - kPrefix, " follow"));
  std::string text(header_bytes, '\0');
  CS336_RETURN_IF_ERROR(source.Read(kPrefix, text.size(), text.data()));
  CS336_ASSIGN_OR_RETURN(SafetensorsHeader contents, ParseSafetensorsHeader(text));
  return FileHeader{std::move(contents), kPrefix + static_cast<int64_t>(header_bytes)};
}

} // namespace

absl::StatusOr<FileNotes> ReadSafetensorsNotes(const ByteSource &source) {
  CS336_ASSIGN_OR_RETURN(FileHeader header, ReadFileHeader(source));
  return std::move(header.contents.notes);
}

absl::StatusOr<TensorMap> ReadSafetensors(const ByteSource &source) {
  CS336_ASSIGN_OR_RETURN(FileHeader header, ReadFileHeader(source));
  int64_t data_size = source.size() - header.data_begin;
  std::vector<StoredTensor> stored;
  for (const auto &[name, entry] : header.contents.entries) {
    absl::StatusOr<StoredTensor> found = FindTensor(name, entry, data_size);
    if (!found.ok())
      return Annotate(found.status(), absl::StrCat("tensor '", name, "'"));
    stored.push_back(*found);
  }
  // Memory is allocated only after that: tensors that share bytes could take any multiple of the file's size.
  CS336_RETURN_IF_ERROR(CheckCoverage(stored, data_size));
  TensorMap tensors;
  for (const StoredTensor &each : stored) {
    absl::StatusOr<Tensor> tensor =
        ReadElements(*each.element, each.entry->shape, source, header.data_begin + each.begin);
    if (!tensor.ok())
      return Annotate(tensor.status(), absl::StrCat("tensor '", each.name, "'"));
    tensors.emplace(each.name, *std::move(tensor));
  }
  return tensors;
}

absl::StatusOr<TensorMap> ParseSafetensors(absl::Span<const uint8_t> bytes) {
  return ReadSafetensors(MemorySource(bytes));
}

absl::Status WriteSafetensors(int descriptor, const TensorMap &tensors, const FileNotes &notes) {
  // Wider elements come first, so that all are aligned.
  std::vector<const TensorMap::value_type *> order;
  for (const auto &tensor : tensors)
    order.push_back(&tensor);
  std::sort(order.begin(), order.end(), [](auto *a, auto *b) {
    int64_t a_size = ByteSize(a->second.dtype());
    int64_t b_size = ByteSize(b->second.dtype());
    return std::tie(b_size, a->first) < std::tie(a_size, b->first);
  });
  SafetensorsHeader header = {.notes = notes};
  std::vector<absl::string_view> pieces(2);
  int64_t offset = 0;
  for (const auto *named : order) {
    const auto &[name, tensor] = *named;
    SafetensorsEntry entry = {.dtype = std::string(WrittenElement(tensor.dtype()).safetensors),
                              .shape = tensor.shape(),
                              .data_offsets = {offset, offset + tensor.num_bytes()}};
    offset = entry.data_offsets.back();
    header.entries.emplace_back(name, std::move(entry));
    pieces.push_back(ElementBytes(tensor));
  }
  CS336_ASSIGN_OR_RETURN(std::string text, PrintSafetensorsHeader(header));
  text.append((8 - text.size() % 8) % 8, ' ');
  uint64_t header_bytes = text.size();
  pieces[0] = {reinterpret_cast<const char *>(&header_bytes), sizeof(header_bytes)};
  pieces[1] = text;
  for (absl::string_view piece : pieces)
    CS336_RETURN_IF_ERROR(WriteBytes(descriptor, piece));
  return absl::OkStatus();
}

} // namespace cs336::runtime
