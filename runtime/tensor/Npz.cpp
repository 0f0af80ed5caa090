//===- Npz.cpp - NumPy's .npz format: a zip of .npy files -----------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/runtime/ReplaceFile.h"
#include "cs336/runtime/Storage.h"
#include "file/FileDescriptor.h"
#include "status/StatusMacros.h"
#include "tensor/FileFormats.h"

#include "absl/cleanup/cleanup.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

#include <cerrno>
#include <cstdio>
#include <memory>
#include <unistd.h>
#include <vector>
#include <zip.h>

namespace cs336::runtime {

namespace {

absl::Status MalformedNpz(absl::string_view what) {
  return absl::DataLossError(absl::StrCat("malformed .npz: ", what));
}

/// Returns the status of a failed libzip call on an archive that is read.
absl::Status ReadError(zip_error_t *error) {
  if (zip_error_code_zip(error) == ZIP_ER_MEMORY)
    return absl::ResourceExhaustedError("there is not enough host memory to read the .npz file");
  return MalformedNpz(zip_error_strerror(error));
}

/// Returns the status of a failed libzip call on an archive that is written.
absl::Status WriteError(zip_error_t *error) {
  // If zip_close cannot allocate its own records, it fails without setting an
  // error.
  if (int code = zip_error_code_zip(error); code == ZIP_ER_MEMORY || code == ZIP_ER_OK)
    return absl::ResourceExhaustedError("there is not enough host memory to write the .npz file");
  return absl::UnavailableError(absl::StrCat("cannot write: ", zip_error_strerror(error)));
}

struct DiscardArchive {
  void operator()(zip_t *archive) const { zip_discard(archive); }
};
using Archive = std::unique_ptr<zip_t, DiscardArchive>;

/// Opens the archive that `make_source` returns, which takes an argument for errors
/// and may return null.
template <typename MakeSource>
absl::StatusOr<Archive> OpenArchive(MakeSource make_source) {
  zip_error_t error;
  zip_error_init(&error);
  absl::Cleanup finish = [&] { zip_error_fini(&error); };
  zip_source_t *source = make_source(&error);
  if (!source)
    return ReadError(&error);
  Archive archive(zip_open_from_source(source, ZIP_RDONLY | ZIP_CHECKCONS, &error));
  if (!archive) {
    zip_source_free(source);
    return ReadError(&error);
  }
  return archive;
}

/// Returns a member's bytes, uncompressed and verified against its checksum.
absl::StatusOr<Storage> ReadMember(zip_t *archive, uint64_t index, const zip_stat_t &info) {
  if (info.comp_method != ZIP_CM_STORE && info.comp_method != ZIP_CM_DEFLATE)
    return absl::InvalidArgumentError(absl::StrCat("compression method ", info.comp_method, " is not supported"));
  // Deflate makes at most 1032 bytes of one. A larger size is wrong and must
  // not cause a large allocation.
  constexpr uint64_t kMostExpansion = 1032;
  uint64_t most = info.comp_method == ZIP_CM_STORE ? info.comp_size : info.comp_size * kMostExpansion;
  if (info.comp_size > UINT64_MAX / kMostExpansion || info.size > most)
    return MalformedNpz("its size is more than its data can hold");
  std::unique_ptr<zip_file_t, int (*)(zip_file_t *)> file(zip_fopen_index(archive, index, 0), zip_fclose);
  if (!file)
    return ReadError(zip_get_error(archive));
  if (info.size > static_cast<uint64_t>(INT64_MAX))
    return MalformedNpz("its size is too large for a file");
  CS336_ASSIGN_OR_RETURN(Storage bytes, Storage::Allocate(static_cast<int64_t>(info.size)));
  uint64_t done = 0;
  while (done < info.size) {
    zip_int64_t read = zip_fread(file.get(), static_cast<char *>(bytes.data()) + done, info.size - done);
    if (read < 0)
      return ReadError(zip_file_get_error(file.get()));
    if (read == 0)
      return MalformedNpz("truncated data");
    done += read;
  }
  // libzip compares the checksum when a read reaches the end of the data.
  uint8_t beyond;
  if (zip_fread(file.get(), &beyond, 1) != 0)
    return MalformedNpz("its data do not match its size or checksum");
  return bytes;
}

/// Adds a member's tensor, unless the member contains text.
absl::Status ReadTensor(zip_t *archive, uint64_t index, TensorMap &tensors) {
  zip_stat_t info;
  zip_stat_init(&info);
  if (zip_stat_index(archive, index, 0, &info) != 0 || !info.name)
    return MalformedNpz(zip_strerror(archive));
  std::string member = absl::StrCat("member '", info.name, "'");
  constexpr zip_uint64_t kNeeded = ZIP_STAT_SIZE | ZIP_STAT_COMP_SIZE | ZIP_STAT_COMP_METHOD;
  if ((info.valid & kNeeded) != kNeeded)
    return MalformedNpz(absl::StrCat(member, " has no size"));
  absl::string_view name = info.name;
  if (!absl::ConsumeSuffix(&name, ".npy"))
    return MalformedNpz(absl::StrCat(member, " is not a .npy file"));
  absl::StatusOr<Storage> bytes = ReadMember(archive, index, info);
  if (!bytes.ok())
    return Annotate(bytes.status(), member);
  MemorySource npy({static_cast<const uint8_t *>(bytes->data()), static_cast<size_t>(bytes->size())});
  if (HoldsText(npy))
    return absl::OkStatus();
  absl::StatusOr<Tensor> tensor = ReadNpy(npy);
  if (!tensor.ok())
    return Annotate(tensor.status(), member);
  if (!tensors.emplace(std::string(name), *std::move(tensor)).second)
    return MalformedNpz(absl::StrCat("two members named '", name, "'"));
  return absl::OkStatus();
}

absl::StatusOr<TensorMap> ReadMembers(zip_t *archive) {
  TensorMap tensors;
  zip_int64_t members = zip_get_num_entries(archive, 0);
  for (zip_int64_t i = 0; i < members; ++i)
    CS336_RETURN_IF_ERROR(ReadTensor(archive, i, tensors));
  return tensors;
}

/// The new file that receives an archive.
struct Sink {
  int descriptor;
  absl::Status status;
  zip_error_t error = {};
};

/// Handles libzip's requests to a sink. libzip never reads from it.
zip_int64_t HandleSink(void *state, void *data, zip_uint64_t size, zip_source_cmd_t command) {
  auto &sink = *static_cast<Sink *>(state);
  auto check = [&](zip_int64_t result, int zip_code) {
    if (result < 0)
      zip_error_set(&sink.error, zip_code, errno);
    return result;
  };
  switch (command) {
  case ZIP_SOURCE_SUPPORTS:
    return ZIP_SOURCE_SUPPORTS_WRITABLE;
  case ZIP_SOURCE_STAT: // The error tells libzip that there is no archive yet.
    errno = ENOENT;
    return check(-1, ZIP_ER_READ);
  case ZIP_SOURCE_ERROR:
    return zip_error_to_data(&sink.error, data, size);
  case ZIP_SOURCE_WRITE:
    sink.status = WriteBytes(sink.descriptor, {static_cast<const char *>(data), size});
    return check(sink.status.ok() ? static_cast<zip_int64_t>(size) : -1, ZIP_ER_WRITE);
  case ZIP_SOURCE_SEEK_WRITE: {
    auto *seek = ZIP_SOURCE_GET_ARGS(zip_source_args_seek_t, data, size, &sink.error);
    return seek ? check(lseek(sink.descriptor, seek->offset, seek->whence) < 0 ? -1 : 0, ZIP_ER_SEEK) : -1;
  }
  case ZIP_SOURCE_TELL_WRITE:
    return check(lseek(sink.descriptor, 0, SEEK_CUR), ZIP_ER_TELL);
  case ZIP_SOURCE_BEGIN_WRITE:
  case ZIP_SOURCE_COMMIT_WRITE:
  case ZIP_SOURCE_ROLLBACK_WRITE:
  case ZIP_SOURCE_FREE:
    return 0;
  default:
    errno = 0;
    return check(-1, ZIP_ER_OPNOTSUPP);
  }
}

/// Creates an empty archive to write to the sink, which must outlive it.
absl::StatusOr<Archive> CreateArchive(Sink &sink) {
  zip_error_t error;
  zip_error_init(&error);
  absl::Cleanup finish = [&] { zip_error_fini(&error); };
  zip_source_t *source = zip_source_function_create(HandleSink, &sink, &error);
  Archive archive(source ? zip_open_from_source(source, ZIP_CREATE | ZIP_TRUNCATE, &error) : nullptr);
  if (!archive) {
    zip_source_free(source); // May be null.
    return WriteError(&error);
  }
  return archive;
}

} // namespace

absl::StatusOr<TensorMap> ParseNpz(absl::Span<const uint8_t> bytes) {
  if (bytes.empty()) // libzip reads it as an archive without members.
    return MalformedNpz("an empty file");
  CS336_ASSIGN_OR_RETURN(Archive archive, OpenArchive([&](zip_error_t *error) {
                           return zip_source_buffer_create(bytes.data(), bytes.size(), 0, error);
                         }));
  return ReadMembers(archive.get());
}

absl::StatusOr<TensorMap> ReadNpz(const InputFile &file) {
  if (file.size() == 0)
    return MalformedNpz("an empty file");
  FileDescriptor copy(dup(file.descriptor()));
  FILE *stream = copy.is_open() ? fdopen(copy.get(), "rb") : nullptr;
  if (!stream)
    return FileError(errno, "cannot read");
  copy.Release(); // The stream closes it.
  CS336_ASSIGN_OR_RETURN(Archive archive, OpenArchive([&](zip_error_t *error) {
                           zip_source_t *source = zip_source_filep_create(stream, 0, -1, error);
                           if (!source)
                             fclose(stream);
                           return source;
                         }));
  return ReadMembers(archive.get());
}

absl::Status WriteNpz(int descriptor, const TensorMap &tensors) {
  if (tensors.empty())
    // libzip would not write an archive without members.
    return absl::InvalidArgumentError("there is no tensor to write");
  // libzip reads the tensors' memory when it closes the archive.
  std::vector<std::string> headers;
  headers.reserve(tensors.size());
  Sink sink{descriptor, absl::OkStatus()};
  CS336_ASSIGN_OR_RETURN(Archive archive, CreateArchive(sink));
  auto failed = [&] { return sink.status.ok() ? WriteError(zip_get_error(archive.get())) : sink.status; };
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
    // A fixed time, so that equal tensors give equal bytes: 1 January 1980, the earliest possible, as NumPy
    // writes it.
    constexpr zip_uint16_t kTime = 0, kDate = 1 << 5 | 1;
    if (zip_set_file_compression(archive.get(), index, ZIP_CM_STORE, 0) != 0 ||
        zip_file_set_dostime(archive.get(), index, kTime, kDate, 0) != 0)
      return failed();
  }
  if (zip_close(archive.get()) != 0)
    return failed();
  archive.release();
  return absl::OkStatus();
}

} // namespace cs336::runtime
