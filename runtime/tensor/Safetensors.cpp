//===- Safetensors.cpp - The safetensors format ---------------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/runtime/ReplaceFile.h"
#include "status/StatusMacros.h"
#include "tensor/FileFormats.h"
#include "tensor/StoredElements.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <vector>

namespace cs336::runtime {

namespace {

using Json = nlohmann::json;

constexpr absl::string_view kMetadataKey = "__metadata__";

absl::Status Malformed(absl::string_view what) {
  return absl::DataLossError(absl::StrCat("malformed .safetensors: ", what));
}

/// Parses the header of a file. Unlike the parser alone, rejects repeated keys
/// and a byte order mark, both of which the format forbids.
absl::StatusOr<Json> ParseHeader(absl::string_view text) {
  if (text.empty() || text.front() != '{')
    return Malformed("its header does not begin with '{'");
  std::vector<std::set<std::string>> keys; // Keys of the enclosing objects.
  absl::optional<std::string> repeated;
  auto on_event = [&](int, Json::parse_event_t event, Json &value) {
    if (event == Json::parse_event_t::object_start)
      keys.emplace_back();
    else if (event == Json::parse_event_t::object_end)
      keys.pop_back();
    else if (event == Json::parse_event_t::key && !keys.back().insert(value.get<std::string>()).second && !repeated)
      repeated = value.get<std::string>();
    return true;
  };
  Json header = Json::parse(text.begin(), text.end(), on_event, /*allow_exceptions=*/false);
  if (!header.is_object())
    return Malformed("its header is not a JSON object");
  if (repeated)
    return Malformed(absl::StrCat("the key '", *repeated, "' occurs twice in its header"));
  return header;
}

/// Returns the non-negative integers of a JSON array.
absl::StatusOr<Dims> Integers(const Json &json) {
  if (!json.is_array())
    return Malformed("'shape' or 'data_offsets' is not an array of integers");
  Dims values;
  for (const Json &value : json) {
    if (!value.is_number_unsigned() || value.get<uint64_t>() > static_cast<uint64_t>(INT64_MAX))
      return Malformed("'shape' or 'data_offsets' contains something other than sizes");
    values.push_back(value.get<int64_t>());
  }
  return values;
}

/// The position of a tensor's elements in the file.
struct Range {
  int64_t begin;
  int64_t end;
};

/// Parses a header entry. The file's data start at `begin`.
absl::StatusOr<Tensor> ReadTensor(const Json &entry, const ByteSource &source, int64_t begin, Range &range) {
  if (!entry.is_object() || !entry.contains("dtype") || !entry.contains("shape") || !entry.contains("data_offsets") ||
      !entry["dtype"].is_string())
    return Malformed("'dtype', 'shape' or 'data_offsets' is missing or of a wrong type");
  const std::string &dtype = entry["dtype"].get_ref<const std::string &>();
  const StoredElement *element = FindSafetensorsElement(dtype);
  if (!element)
    return absl::InvalidArgumentError(absl::StrCat("elements of type '", dtype, "' are not supported"));
  CS336_ASSIGN_OR_RETURN(Dims shape, Integers(entry["shape"]));
  CS336_ASSIGN_OR_RETURN(Dims offsets, Integers(entry["data_offsets"]));
  absl::optional<int64_t> size = StoredBytes(*element, shape);
  if (!size)
    return Malformed("the size of its shape overflows");
  if (offsets.size() != 2 || offsets[0] > offsets[1])
    return Malformed("its 'data_offsets' are not a range");
  if (int64_t data_size = source.size() - begin; offsets[1] > data_size)
    return Malformed(absl::StrCat("truncated: its data end at byte ", offsets[1], " of ", data_size));
  if (offsets[1] - offsets[0] != *size)
    return Malformed(
        absl::StrCat("its shape takes ", *size, " bytes, but its 'data_offsets' hold ", offsets[1] - offsets[0]));
  range = {offsets[0], offsets[1]};
  return ReadElements(*element, std::move(shape), source, begin + range.begin);
}

/// A file's header, and the offset of the data.
struct Header {
  Json json;
  int64_t data_begin;
};

absl::StatusOr<Header> ReadHeader(const ByteSource &source) {
  uint64_t header_bytes;
  constexpr int64_t kPrefix = sizeof(header_bytes);
  if (source.size() < kPrefix)
    return Malformed("truncated before its header");
  CS336_RETURN_IF_ERROR(source.Read(0, kPrefix, &header_bytes));
  constexpr uint64_t kMostHeaderBytes = 100'000'000; // The format's own limit.
  if (header_bytes > kMostHeaderBytes || header_bytes > static_cast<uint64_t>(source.size() - kPrefix))
    return Malformed(
        absl::StrCat("truncated: a header of ", header_bytes, " bytes, but ", source.size() - kPrefix, " follow"));
  std::string text(header_bytes, '\0');
  CS336_RETURN_IF_ERROR(source.Read(kPrefix, text.size(), text.data()));
  CS336_ASSIGN_OR_RETURN(Json json, ParseHeader(text));
  return Header{std::move(json), kPrefix + static_cast<int64_t>(header_bytes)};
}

} // namespace

absl::StatusOr<FileNotes> ReadSafetensorsNotes(const ByteSource &source) {
  CS336_ASSIGN_OR_RETURN(Header header, ReadHeader(source));
  FileNotes notes;
  auto metadata = header.json.find(kMetadataKey);
  if (metadata == header.json.end() || !metadata->is_object())
    return notes;
  for (const auto &[name, text] : metadata->items())
    if (text.is_string())
      notes[name] = text.get<std::string>();
  return notes;
}

absl::StatusOr<TensorMap> ReadSafetensors(const ByteSource &source) {
  CS336_ASSIGN_OR_RETURN(Header header, ReadHeader(source));
  TensorMap tensors;
  std::vector<Range> ranges;
  for (const auto &[name, entry] : header.json.items()) {
    if (name == kMetadataKey)
      continue;
    absl::StatusOr<Tensor> tensor = ReadTensor(entry, source, header.data_begin, ranges.emplace_back());
    if (!tensor.ok())
      return Annotate(tensor.status(), absl::StrCat("tensor '", name, "'"));
    tensors.emplace(name, *std::move(tensor));
  }
  // The format requires that tensors cover all data exactly once.
  std::sort(ranges.begin(), ranges.end(),
            [](Range a, Range b) { return std::tie(a.begin, a.end) < std::tie(b.begin, b.end); });
  int64_t next = 0;
  for (Range range : ranges) {
    if (range.begin != next)
      return Malformed(absl::StrCat("its tensors overlap or leave a gap at "
                                    "byte ",
                                    std::min(next, range.begin)));
    next = range.end;
  }
  if (int64_t data_size = source.size() - header.data_begin; next != data_size)
    return Malformed(absl::StrCat(data_size - next, " bytes follow its last tensor"));
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
  Json header = Json::object();
  if (!notes.empty())
    header[kMetadataKey] = notes;
  std::vector<absl::string_view> pieces(2);
  int64_t offset = 0;
  for (const auto *entry : order) {
    const auto &[name, tensor] = *entry;
    if (name == kMetadataKey)
      return absl::InvalidArgumentError(absl::StrCat("'", name, "' cannot be a tensor's name in a .safetensors file"));
    int64_t end = offset + tensor.num_bytes();
    header[name] = {{"dtype", std::string(WrittenElement(tensor.dtype()).safetensors)},
                    {"shape", std::vector<int64_t>(tensor.shape().begin(), tensor.shape().end())},
                    {"data_offsets", {offset, end}}};
    offset = end;
    pieces.push_back(ElementBytes(tensor));
  }
  // Names that are not UTF-8 are written with replacement characters.
  std::string text = header.dump(-1, ' ', false, Json::error_handler_t::replace);
  text.append((8 - text.size() % 8) % 8, ' ');
  uint64_t header_bytes = text.size();
  pieces[0] = {reinterpret_cast<const char *>(&header_bytes), sizeof(header_bytes)};
  pieces[1] = text;
  for (absl::string_view piece : pieces)
    CS336_RETURN_IF_ERROR(WriteBytes(descriptor, piece));
  return absl::OkStatus();
}

} // namespace cs336::runtime
