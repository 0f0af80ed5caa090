//===- SafetensorsHeader.cpp - Headers of .safetensors files --------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The JSON library's tree is not used: its destructor allocates, and ends the
// process if that fails. Events of the parser need no tree, and a header is
// printed string by string.
//
//===----------------------------------------------------------------------===//

#include "tensor/SafetensorsHeader.h"

#include "status/StatusMacros.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/types/optional.h"

#include <map>
#include <nlohmann/json.hpp>
#include <set>

namespace cs336::runtime {

namespace {

using Json = nlohmann::json;

constexpr absl::string_view kMetadataKey = "__metadata__";

/// Builds a header from the parser's events.
class HeaderReader final : public Json::json_sax_t {
public:
  absl::StatusOr<SafetensorsHeader> Finish() && {
    if (repeated_)
      return MalformedSafetensors(absl::StrCat("the key '", *repeated_, "' occurs twice in its header"));
    for (auto &[name, entry] : header_.entries)
      if (fields_[name].size() != kFields)
        entry.status.Update(MissingFields());
    return std::move(header_);
  }

  bool null() override { return OtherValue(); }
  bool boolean(bool) override { return OtherValue(); }
  bool number_integer(number_integer_t) override { return OtherValue(); }
  bool number_float(number_float_t, const string_t &) override { return OtherValue(); }
  bool binary(binary_t &) override { return OtherValue(); }
  bool number_unsigned(number_unsigned_t value) override {
    if (!sizes_ || depth_ != kFieldDepth + 1 || value > static_cast<uint64_t>(INT64_MAX))
      return OtherValue();
    sizes_->push_back(static_cast<int64_t>(value));
    return true;
  }
  bool string(string_t &value) override {
    if (!IsField() || (!in_metadata_ && field_ != "dtype"))
      return OtherValue();
    (in_metadata_ ? header_.notes[field_] : entry().dtype) = value;
    Found();
    return true;
  }

  bool start_object(size_t) override {
    // An entry, or something else that stands in one.
    if (depth_ == kFieldDepth - 1)
      in_object_ = true;
    else if (depth_ >= kFieldDepth)
      OtherValue();
    ++depth_;
    keys_.emplace_back();
    return true;
  }
  bool end_object() override {
    keys_.pop_back();
    return End();
  }
  bool start_array(size_t) override {
    if (IsField() && !in_metadata_ && (field_ == "shape" || field_ == "data_offsets")) {
      sizes_ = field_ == "shape" ? &entry().shape : &entry().data_offsets;
      Found();
    } else {
      OtherValue();
    }
    ++depth_;
    return true;
  }
  bool end_array() override { return End(); }

  bool key(string_t &key) override {
    if (!keys_.back().insert(key).second && !repeated_)
      repeated_ = key;
    if (depth_ == kFieldDepth - 1) {
      in_metadata_ = key == kMetadataKey;
      if (!in_metadata_)
        header_.entries.emplace_back(key, SafetensorsEntry());
    } else if (depth_ == kFieldDepth) {
      field_ = key;
    }
    return true;
  }
  bool parse_error(size_t, const std::string &, const Json::exception &) override { return false; }

private:
  /// The number of open objects and arrays at the fields of an entry.
  static constexpr size_t kFieldDepth = 2;
  /// The number of an entry's fields: a type, a shape and offsets.
  static constexpr size_t kFields = 3;

  static absl::Status MissingFields() { return MalformedSafetensors("'dtype', 'shape' and 'data_offsets' expected"); }

  SafetensorsEntry &entry() { return header_.entries.back().second; }
  bool IsField() const { return depth_ == kFieldDepth && in_object_; }
  void Found() {
    if (!in_metadata_)
      fields_[header_.entries.back().first].insert(field_);
  }

  bool End() {
    if (--depth_ == kFieldDepth)
      sizes_ = nullptr;
    if (depth_ == kFieldDepth - 1)
      in_object_ = false;
    return true;
  }

  /// Records an error if no tensor's entry can have this value here. Other fields may have any value.
  bool OtherValue() {
    if (in_metadata_ || depth_ == 0)
      return true;
    absl::Status fault;
    if (sizes_)
      fault = MalformedSafetensors("an array holds something other than sizes");
    else if (!in_object_)
      fault = MissingFields();
    else if (depth_ == kFieldDepth && (field_ == "shape" || field_ == "data_offsets"))
      fault = MalformedSafetensors("an array of integers expected");
    entry().status.Update(fault);
    return true;
  }

  SafetensorsHeader header_;
  size_t depth_ = 0;
  /// True if the value of the file's last key is the metadata; true if it is an object.
  bool in_metadata_ = false, in_object_ = false;
  /// The last key of an entry, and the destination of its sizes.
  std::string field_;
  Dims *sizes_ = nullptr;
  /// The fields that each entry has.
  std::map<std::string, std::set<std::string>> fields_;
  /// The keys of the objects that are open, and one that occurs twice.
  std::vector<std::set<std::string>> keys_;
  absl::optional<std::string> repeated_;
};

/// Returns a string of JSON.
std::string Quote(const std::string &text) {
  return Json(text).dump(-1, ' ', /*ensure_ascii=*/false, Json::error_handler_t::replace);
}

} // namespace

absl::Status MalformedSafetensors(absl::string_view what) {
  return absl::DataLossError(absl::StrCat("malformed .safetensors: ", what));
}

absl::StatusOr<SafetensorsHeader> ParseSafetensorsHeader(absl::string_view text) {
  // The parser skips a byte order mark.
  if (text.empty() || text.front() != '{')
    return MalformedSafetensors("its header does not begin with '{'");
  HeaderReader reader;
  if (!Json::sax_parse(text.begin(), text.end(), &reader))
    return MalformedSafetensors("its header is not a JSON object");
  return std::move(reader).Finish();
}

absl::StatusOr<std::string> PrintSafetensorsHeader(const SafetensorsHeader &header) {
  std::vector<std::string> members;
  if (!header.notes.empty()) {
    std::string notes = absl::StrJoin(header.notes, ",", [](std::string *text, const auto &note) {
      absl::StrAppend(text, Quote(note.first), ":", Quote(note.second));
    });
    members.push_back(absl::StrCat(Quote(std::string(kMetadataKey)), ":{", notes, "}"));
  }
  for (const auto &[name, entry] : header.entries) {
    if (name == kMetadataKey)
      return absl::InvalidArgumentError(absl::StrCat("'", name, "' cannot be a tensor's name in a .safetensors file"));
    members.push_back(absl::StrCat(Quote(name), ":{\"dtype\":", Quote(entry.dtype), ",\"shape\":[",
                                   absl::StrJoin(entry.shape, ","), "],\"data_offsets\":[",
                                   absl::StrJoin(entry.data_offsets, ","), "]}"));
  }
  return absl::StrCat("{", absl::StrJoin(members, ","), "}");
}

} // namespace cs336::runtime
