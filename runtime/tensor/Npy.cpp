//===- Npy.cpp - NumPy's .npy format --------------------------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html
//
//===----------------------------------------------------------------------===//

#include "cs336/runtime/ReplaceFile.h"
#include "status/StatusMacros.h"
#include "tensor/FileFormats.h"
#include "tensor/StoredElements.h"

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"

#include <algorithm>
#include <cstring>

namespace cs336::runtime {

namespace {

constexpr absl::string_view kMagic("\x93NUMPY", 6);

absl::Status MalformedNpy(absl::string_view what) {
  return absl::DataLossError(absl::StrCat("malformed .npy: ", what));
}

/// Parses the header: a Python dict literal with strings, booleans and one
/// tuple of integers.
class HeaderParser {
public:
  explicit HeaderParser(absl::string_view text) : text_(text) {}

  absl::Status Parse() {
    if (!Take("{"))
      return MalformedNpy("its header is not a dict");
    while (!Take("}")) {
      CS336_ASSIGN_OR_RETURN(absl::string_view key, String());
      if (!Take(":"))
        return MalformedNpy("':' expected in its header");
      if (key == "descr") {
        CS336_ASSIGN_OR_RETURN(descr, String());
      } else if (key == "fortran_order") {
        fortran_order = Take("True");
        if (!fortran_order && !Take("False"))
          return MalformedNpy("'fortran_order' is not a bool");
      } else if (key == "shape") {
        CS336_RETURN_IF_ERROR(Shape());
        has_shape_ = true;
      } else {
        return MalformedNpy(absl::StrCat("unknown key '", key, "' in its header"));
      }
      if (!Take(",") && Peek() != '}')
        return MalformedNpy("',' expected in its header");
    }
    if (descr.empty() || !has_shape_)
      return MalformedNpy("its header lacks 'descr' or 'shape'");
    return absl::OkStatus();
  }

  absl::string_view descr;
  bool fortran_order = false;
  Dims shape;

private:
  char Peek() {
    while (!text_.empty() && (text_[0] == ' ' || text_[0] == '\n'))
      text_.remove_prefix(1);
    return text_.empty() ? '\0' : text_[0];
  }

  bool Take(absl::string_view token) {
    Peek();
    return absl::ConsumePrefix(&text_, token);
  }

  absl::StatusOr<absl::string_view> String() {
    char quote = Peek();
    size_t end = quote == '\'' || quote == '"' ? text_.find(quote, 1) : absl::string_view::npos;
    if (end == absl::string_view::npos)
      return MalformedNpy("its header lacks a string");
    absl::string_view value = text_.substr(1, end - 1);
    text_.remove_prefix(end + 1);
    return value;
  }

  absl::Status Shape() {
    if (!Take("("))
      return MalformedNpy("'shape' is not a tuple");
    shape.clear();
    while (!Take(")")) {
      Peek();
      size_t digits = std::min(text_.find_first_not_of("0123456789"), text_.size());
      int64_t size;
      if (!absl::SimpleAtoi(text_.substr(0, digits), &size))
        return MalformedNpy("'shape' contains something other than sizes");
      text_.remove_prefix(digits);
      absl::ConsumePrefix(&text_, "L"); // Python 2's long.
      constexpr size_t kMostDims = 64;  // NumPy's own limit.
      if (shape.size() == kMostDims)
        return MalformedNpy("'shape' has too many dimensions");
      shape.push_back(size);
      if (!Take(",") && Peek() != ')')
        return MalformedNpy("',' expected in 'shape'");
    }
    return absl::OkStatus();
  }

  absl::string_view text_;
  bool has_shape_ = false;
};

/// Returns the element type of a NumPy descriptor such as "<f4" or "|b1".
absl::StatusOr<const StoredElement *> ParseDescr(absl::string_view descr) {
  absl::string_view type = descr;
  const StoredElement *element = nullptr;
  if (absl::ConsumePrefix(&type, "<") || absl::ConsumePrefix(&type, "|") || absl::ConsumePrefix(&type, "="))
    element = FindNpyElement(type);
  if (!element)
    return absl::InvalidArgumentError(absl::StrCat("elements of type '", descr,
                                                   "' are not supported: use little-endian f8, f4, f2, i8, i4, i2, i1, "
                                                   "u4, u2, u1 or b1"));
  return element;
}

/// The fields of a header, and the offset of the elements after it.
struct ParsedNpyHeader {
  std::string descr;
  bool fortran_order;
  Dims shape;
  int64_t end;
};

absl::StatusOr<ParsedNpyHeader> ReadNpyHeader(const ByteSource &source) {
  char start[kMagic.size() + 2 + sizeof(uint32_t)]; // Magic, version, size of the header.
  size_t start_bytes = std::min<int64_t>(source.size(), sizeof(start));
  CS336_RETURN_IF_ERROR(source.Read(0, start_bytes, start));
  absl::string_view text(start, start_bytes);
  if (!absl::ConsumePrefix(&text, kMagic))
    return MalformedNpy("its first bytes are not those of a .npy file");
  if (text.size() < 2)
    return MalformedNpy("truncated in its header");
  int major = static_cast<unsigned char>(text[0]);
  if (major < 1 || major > 3)
    return MalformedNpy(absl::StrCat("format version ", major, " is unknown"));
  text.remove_prefix(2);
  size_t length_bytes = major == 1 ? 2 : 4;
  uint32_t header_bytes = 0;
  if (text.size() < length_bytes)
    return MalformedNpy("truncated in its header");
  std::memcpy(&header_bytes, text.data(), length_bytes);
  int64_t begin = start_bytes - text.size() + length_bytes;
  if (source.size() - begin < header_bytes)
    return MalformedNpy("truncated in its header");
  constexpr uint32_t kMostHeaderBytes = 1 << 20; // NumPy's own default is 10,000.
  if (header_bytes > kMostHeaderBytes)
    return MalformedNpy(
        absl::StrCat("its header has ", header_bytes, " bytes, but at most ", kMostHeaderBytes, " are supported"));
  std::string dict(header_bytes, '\0');
  CS336_RETURN_IF_ERROR(source.Read(begin, header_bytes, dict.data()));
  HeaderParser parser(dict);
  CS336_RETURN_IF_ERROR(parser.Parse());
  return ParsedNpyHeader{std::string(parser.descr), parser.fortran_order, parser.shape, begin + header_bytes};
}

/// Returns a tensor whose elements were read in column-major order.
absl::StatusOr<Tensor> FromColumnMajor(const Tensor &reversed) {
  Dims shape(reversed.shape().rbegin(), reversed.shape().rend());
  Dims strides = DenseStrides(reversed.shape());
  std::reverse(strides.begin(), strides.end());
  return Tensor::CopyOf(TensorView({reversed.dtype(), shape}, strides, reversed.data()));
}

} // namespace

absl::StatusOr<Tensor> ReadNpy(const ByteSource &source) {
  CS336_ASSIGN_OR_RETURN(ParsedNpyHeader header, ReadNpyHeader(source));
  CS336_ASSIGN_OR_RETURN(const StoredElement *element, ParseDescr(header.descr));
  absl::optional<int64_t> size = StoredBytes(*element, header.shape);
  if (!size)
    return MalformedNpy("the size of its shape overflows");
  int64_t follow = source.size() - header.end;
  if (*size > follow)
    return MalformedNpy(absl::StrCat("truncated: its shape (", absl::StrJoin(header.shape, ", "), ") takes ", *size,
                                     " bytes, but ", follow, " follow"));
  if (*size < follow)
    return MalformedNpy(absl::StrCat(follow - *size, " bytes follow its last element"));
  if (!header.fortran_order)
    return ReadElements(*element, header.shape, source, header.end);
  Dims reversed(header.shape.rbegin(), header.shape.rend());
  CS336_ASSIGN_OR_RETURN(Tensor tensor, ReadElements(*element, reversed, source, header.end));
  return FromColumnMajor(tensor);
}

absl::StatusOr<Tensor> ParseNpy(absl::Span<const uint8_t> bytes) { return ReadNpy(MemorySource(bytes)); }

bool HoldsText(const ByteSource &npy) {
  absl::StatusOr<ParsedNpyHeader> header = ReadNpyHeader(npy);
  return header.ok() && header->descr.size() > 1 && (header->descr[1] == 'U' || header->descr[1] == 'S');
}

absl::StatusOr<std::string> NpyHeader(const Tensor &tensor) {
  const StoredElement &element = WrittenElement(tensor.dtype());
  if (element.npy.empty())
    return absl::InvalidArgumentError(absl::StrCat("NumPy's formats do not support ", Name(tensor.dtype()),
                                                   ": write .safetensors, or cast to f32 first"));
  std::string dict =
      absl::StrCat("{'descr': '", element.bytes == 1 ? "|" : "<", element.npy, "', 'fortran_order': False, 'shape': (",
                   absl::StrJoin(tensor.shape(), ", "), tensor.shape().size() == 1 ? "," : "", "), }");
  // Elements start at a multiple of 64 bytes, after a newline.
  size_t before = kMagic.size() + 2 + 2 + dict.size() + 1;
  dict.append((64 - before % 64) % 64, ' ');
  dict += '\n';
  std::string header(kMagic);
  header += {'\1', '\0', static_cast<char>(dict.size() & 0xFF), static_cast<char>(dict.size() >> 8)};
  return header + dict;
}

absl::string_view ElementBytes(const Tensor &tensor) {
  return {static_cast<const char *>(tensor.data()), static_cast<size_t>(tensor.num_bytes())};
}

absl::Status WriteNpy(int descriptor, const TensorMap &tensors) {
  if (tensors.size() != 1)
    return absl::InvalidArgumentError(
        absl::StrCat("a .npy file holds one tensor, not ", tensors.size(), ": write .npz or .safetensors"));
  const Tensor &tensor = tensors.begin()->second;
  CS336_ASSIGN_OR_RETURN(std::string header, NpyHeader(tensor));
  CS336_RETURN_IF_ERROR(WriteBytes(descriptor, header));
  return WriteBytes(descriptor, ElementBytes(tensor));
}

} // namespace cs336::runtime
