//===- Npz.cpp - NumPy's .npz format: a zip of .npy files -----------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "status/StatusMacros.h"
#include "tensor/FileFormats.h"

#include "absl/cleanup/cleanup.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

#include <algorithm>
#include <memory>
#include <vector>
#include <zip.h>

namespace cs336::runtime {

namespace {

absl::Status Malformed(absl::string_view what) { return absl::DataLossError(absl::StrCat("malformed .npz: ", what)); }

struct DiscardArchive {
  void operator()(zip_t *archive) const { zip_discard(archive); }
};
using Archive = std::unique_ptr<zip_t, DiscardArchive>;

absl::StatusOr<Archive> OpenArchive(absl::Span<const uint8_t> bytes) {
  zip_error_t error;
  zip_error_init(&error);
  absl::Cleanup finish = [&] { zip_error_fini(&error); };
  zip_source_t *source = zip_source_buffer_create(bytes.data(), bytes.size(), 0, &error);
  if (!source)
    return Malformed(zip_error_strerror(&error));
  Archive archive(zip_open_from_source(source, ZIP_RDONLY | ZIP_CHECKCONS, &error));
  if (!archive) {
    zip_source_free(source);
    return Malformed(zip_error_strerror(&error));
  }
  return archive;
}

/// A member's bytes, uncompressed and compared with its checksum.
absl::StatusOr<std::vector<uint8_t>> ReadMember(zip_t *archive, uint64_t index, const zip_stat_t &info) {
  if (info.comp_method != ZIP_CM_STORE && info.comp_method != ZIP_CM_DEFLATE)
    return absl::InvalidArgumentError(absl::StrCat("compression method ", info.comp_method, " is not supported"));
  // Deflate makes at most 1032 bytes of one: a larger claim is a lie that must
  // not become an allocation.
  constexpr uint64_t kMostExpansion = 1032;
  uint64_t most = info.comp_method == ZIP_CM_STORE ? info.comp_size : info.comp_size * kMostExpansion;
  if (info.comp_size > UINT64_MAX / kMostExpansion || info.size > most)
    return Malformed("its size is more than its data can hold");
  std::unique_ptr<zip_file_t, int (*)(zip_file_t *)> file(zip_fopen_index(archive, index, 0), zip_fclose);
  if (!file)
    return Malformed(zip_strerror(archive));
  std::vector<uint8_t> bytes(info.size);
  uint64_t done = 0;
  while (done < bytes.size()) {
    zip_int64_t read = zip_fread(file.get(), bytes.data() + done, bytes.size() - done);
    if (read < 0)
      return Malformed(zip_file_strerror(file.get()));
    if (read == 0)
      return Malformed("truncated data");
    done += read;
  }
  // The checksum is compared at the end of the data, once that was seen.
  uint8_t beyond;
  if (zip_fread(file.get(), &beyond, 1) != 0)
    return Malformed("its data do not match its size or checksum");
  return bytes;
}

/// Adds a member's tensor, unless it holds text.
absl::Status ReadTensor(zip_t *archive, uint64_t index, TensorMap &tensors) {
  zip_stat_t info;
  zip_stat_init(&info);
  if (zip_stat_index(archive, index, 0, &info) != 0 || !info.name)
    return Malformed(zip_strerror(archive));
  std::string member = absl::StrCat("member '", info.name, "'");
  constexpr zip_uint64_t kNeeded = ZIP_STAT_SIZE | ZIP_STAT_COMP_SIZE | ZIP_STAT_COMP_METHOD;
  if ((info.valid & kNeeded) != kNeeded)
    return Malformed(absl::StrCat(member, " has no size"));
  absl::string_view name = info.name;
  if (!absl::ConsumeSuffix(&name, ".npy"))
    return Malformed(absl::StrCat(member, " is no .npy file"));
  absl::StatusOr<std::vector<uint8_t>> bytes = ReadMember(archive, index, info);
  if (!bytes.ok())
    return Annotate(bytes.status(), member);
  if (HoldsText(*bytes))
    return absl::OkStatus();
  absl::StatusOr<Tensor> tensor = ParseNpy(*bytes);
  if (!tensor.ok())
    return Annotate(tensor.status(), member);
  if (!tensors.emplace(std::string(name), *std::move(tensor)).second)
    return Malformed(absl::StrCat("two members named '", name, "'"));
  return absl::OkStatus();
}

} // namespace

absl::StatusOr<TensorMap> ParseNpz(absl::Span<const uint8_t> bytes) {
  if (bytes.empty()) // An archive without members, to libzip.
    return Malformed("an empty file");
  CS336_ASSIGN_OR_RETURN(Archive archive, OpenArchive(bytes));
  TensorMap tensors;
  zip_int64_t members = zip_get_num_entries(archive.get(), 0);
  for (zip_int64_t i = 0; i < members; ++i)
    CS336_RETURN_IF_ERROR(ReadTensor(archive.get(), i, tensors));
  return tensors;
}

absl::Status WriteNpz(const std::string &path, const TensorMap &tensors) {
  // libzip reads what it was given when it closes the archive.
  std::vector<std::string> headers;
  headers.reserve(tensors.size());
  int code = 0;
  Archive archive(zip_open(path.c_str(), ZIP_CREATE | ZIP_TRUNCATE, &code));
  if (!archive)
    return absl::UnavailableError(absl::StrCat("cannot create a zip file: libzip's error ", code));
  auto failed = [&] { return absl::UnavailableError(absl::StrCat("cannot write: ", zip_strerror(archive.get()))); };
  for (const auto &[name, tensor] : tensors) {
    absl::StatusOr<std::string> header = NpyHeader(tensor);
    if (!header.ok())
      return Annotate(header.status(), absl::StrCat("tensor '", name, "'"));
    headers.push_back(*std::move(header));
    absl::string_view elements = ElementBytes(tensor);
    zip_buffer_fragment_t fragments[] = {
        {reinterpret_cast<zip_uint8_t *>(headers.back().data()), headers.back().size()},
        {const_cast<zip_uint8_t *>(reinterpret_cast<const zip_uint8_t *>(elements.data())), elements.size()}};
    zip_source_t *source = zip_source_buffer_fragment(archive.get(), fragments, elements.empty() ? 1 : 2, 0);
    if (!source)
      return failed();
    std::string member = absl::StrCat(name, ".npy");
    zip_int64_t index = zip_file_add(archive.get(), member.c_str(), source, ZIP_FL_ENC_UTF_8);
    if (index < 0) {
      zip_source_free(source);
      return failed();
    }
    if (zip_set_file_compression(archive.get(), index, ZIP_CM_STORE, 0) != 0)
      return failed();
  }
  if (tensors.empty())
    // An archive without members would not be written at all.
    return absl::InvalidArgumentError("there is no tensor to write");
  if (zip_close(archive.get()) != 0)
    return failed();
  archive.release();
  return absl::OkStatus();
}

} // namespace cs336::runtime
