//===- Safetensors.cpp - The safetensors format ---------------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "status/StatusMacros.h"
#include "tensor/FileFormats.h"
#include "tensor/StoredElements.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>
#include <vector>

namespace cs336::runtime {

namespace {

using Json = nlohmann::json;

constexpr absl::string_view kMetadataKey = "__metadata__";

absl::Status Malformed(absl::string_view what) {
  return absl::DataLossError(absl::StrCat("malformed .safetensors: ", what));
}

/// The non-negative integers of a JSON array.
absl::StatusOr<Dims> Integers(const Json &json) {
  if (!json.is_array())
    return Malformed("an array of integers expected");
  Dims values;
  for (const Json &value : json) {
    if (!value.is_number_unsigned() || value.get<uint64_t>() > static_cast<uint64_t>(INT64_MAX))
      return Malformed("an array holds something other than sizes");
    values.push_back(value.get<int64_t>());
  }
  return values;
}

/// Where a tensor's elements lie in the file.
struct Range {
  int64_t begin;
  int64_t end;
};

absl::StatusOr<Tensor> ReadTensor(const Json &entry, absl::Span<const uint8_t> data, Range &range) {
  if (!entry.is_object() || !entry.contains("dtype") || !entry.contains("shape") || !entry.contains("data_offsets") ||
      !entry["dtype"].is_string())
    return Malformed("'dtype', 'shape' and 'data_offsets' expected");
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
    return Malformed("its data_offsets are no range");
  if (static_cast<uint64_t>(offsets[1]) > data.size())
    return Malformed(absl::StrCat("truncated: its data end at byte ", offsets[1], " of ", data.size()));
  if (offsets[1] - offsets[0] != *size)
    return Malformed(absl::StrCat("its shape takes ", *size, " bytes and has ", offsets[1] - offsets[0]));
  range = {offsets[0], offsets[1]};
  return ReadElements(*element, std::move(shape), data.subspan(range.begin, *size));
}

} // namespace

absl::StatusOr<TensorMap> ParseSafetensors(absl::Span<const uint8_t> bytes) {
  uint64_t header_bytes;
  if (bytes.size() < sizeof(header_bytes))
    return Malformed("truncated before its header");
  std::memcpy(&header_bytes, bytes.data(), sizeof(header_bytes));
  bytes.remove_prefix(sizeof(header_bytes));
  constexpr uint64_t kMostHeaderBytes = 100'000'000; // The format's own limit.
  if (header_bytes > kMostHeaderBytes || header_bytes > bytes.size())
    return Malformed(absl::StrCat("truncated: a header of ", header_bytes, " bytes where ", bytes.size(), " follow"));
  const char *text = reinterpret_cast<const char *>(bytes.data());
  Json header = Json::parse(text, text + header_bytes, nullptr,
                            /*allow_exceptions=*/false);
  if (!header.is_object())
    return Malformed("its header is no JSON object");
  bytes.remove_prefix(header_bytes);

  TensorMap tensors;
  std::vector<Range> ranges;
  for (const auto &[name, entry] : header.items()) {
    if (name == kMetadataKey)
      continue;
    absl::StatusOr<Tensor> tensor = ReadTensor(entry, bytes, ranges.emplace_back());
    if (!tensor.ok())
      return Annotate(tensor.status(), absl::StrCat("tensor '", name, "'"));
    tensors.emplace(name, *std::move(tensor));
  }
  // The format demands that tensors cover the data, once each.
  std::sort(ranges.begin(), ranges.end(),
            [](Range a, Range b) { return std::tie(a.begin, a.end) < std::tie(b.begin, b.end); });
  int64_t next = 0;
  for (Range range : ranges) {
    if (range.begin != next)
      return Malformed(absl::StrCat("its tensors overlap or leave a hole at "
                                    "byte ",
                                    std::min(next, range.begin)));
    next = range.end;
  }
  if (static_cast<uint64_t>(next) != bytes.size())
    return Malformed(absl::StrCat(bytes.size() - next, " bytes follow its last tensor"));
  return tensors;
}

absl::Status WriteSafetensors(const std::string &path, const TensorMap &tensors) {
  // Wider elements first, so that all are aligned.
  std::vector<const TensorMap::value_type *> order;
  for (const auto &tensor : tensors)
    order.push_back(&tensor);
  std::sort(order.begin(), order.end(), [](auto *a, auto *b) {
    int64_t a_size = ByteSize(a->second.dtype());
    int64_t b_size = ByteSize(b->second.dtype());
    return std::tie(b_size, a->first) < std::tie(a_size, b->first);
  });
  Json header = Json::object();
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
  // A name that is not UTF-8 is written with replacement characters.
  std::string text = header.dump(-1, ' ', false, Json::error_handler_t::replace);
  text.append((8 - text.size() % 8) % 8, ' ');
  uint64_t header_bytes = text.size();
  pieces[0] = {reinterpret_cast<const char *>(&header_bytes), sizeof(header_bytes)};
  pieces[1] = text;
  return WriteBytes(path, pieces);
}

} // namespace cs336::runtime
