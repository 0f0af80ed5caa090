//===- KernelImage.cpp - Compiled code in memory --------------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "device/cpu/KernelImage.h"

#include "cs336/runtime/ReplaceFile.h"
#include "file/FileDescriptor.h"
#include "status/StatusMacros.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

#include <cerrno>
#include <cstring>
#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <string>
#include <sys/mman.h>
#include <unistd.h>
#include <vector>

namespace cs336::runtime {

namespace {

absl::Status CheckMachine(const format::CodeObjectT &object, const CpuFeatures &features) {
  if (object.target != HostTarget())
    return absl::FailedPreconditionError(absl::StrCat("its kernels are for ", object.target, ", but this host is ",
                                                      HostTarget(), ": compile it for this target"));
  std::vector<absl::string_view> missing;
  for (const std::string &feature : object.features)
    if (!features.Has(feature))
      missing.push_back(feature);
  if (!missing.empty())
    return absl::FailedPreconditionError(absl::StrCat("its kernels use instructions that this processor lacks: ",
                                                      absl::StrJoin(missing, ", "), ": compile it for this processor"));
  return absl::OkStatus();
}

/// Checks that a file contains the bytes that its segments map: the dynamic
/// linker does not check it.
absl::Status CheckElf(const std::vector<uint8_t> &image) {
  absl::Status malformed = absl::DataLossError("a code object is not an ELF shared object");
  Elf64_Ehdr header;
  if (image.size() < sizeof(header))
    return malformed;
  std::memcpy(&header, image.data(), sizeof(header));
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64 ||
      header.e_type != ET_DYN || header.e_phentsize != sizeof(Elf64_Phdr) || header.e_phoff > image.size() ||
      header.e_phnum * sizeof(Elf64_Phdr) > image.size() - header.e_phoff)
    return malformed;
  for (size_t i = 0; i != header.e_phnum; ++i) {
    Elf64_Phdr segment;
    std::memcpy(&segment, image.data() + header.e_phoff + i * sizeof(segment), sizeof(segment));
    if (segment.p_offset > image.size() || segment.p_filesz > image.size() - segment.p_offset)
      return absl::DataLossError("a code object is truncated");
  }
  return absl::OkStatus();
}

} // namespace

void KernelImage::Close::operator()(void *library) const {
  dlclose(library);
  close(descriptor);
}

absl::StatusOr<KernelImage> KernelImage::Load(const format::CodeObjectT &object, const CpuFeatures &features) {
  if (absl::Status status = CheckMachine(object, features); !status.ok())
    return status;
  if (absl::Status status = CheckElf(object.image); !status.ok())
    return status;
  FileDescriptor file(memfd_create("cs336-kernels", MFD_CLOEXEC));
  if (!file.is_open())
    return absl::ErrnoToStatus(errno, "cannot hold kernels in memory");
  CS336_RETURN_IF_ERROR(
      Annotate(WriteBytes(file.get(), {reinterpret_cast<const char *>(object.image.data()), object.image.size()}),
               "cannot hold kernels in memory"));
  std::string path = absl::StrCat("/proc/self/fd/", file.get());
  void *library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library)
    return absl::DataLossError(absl::StrCat("a code object cannot be linked: ", dlerror()));
  KernelImage image;
  image.library_ = {library, Close{file.Release()}};
  return image;
}

absl::StatusOr<KernelFunction> KernelImage::Find(absl::string_view symbol) const {
  void *address = dlsym(library_.get(), std::string(symbol).c_str());
  // dlsym() also finds symbols of the libraries that the code object needs.
  Dl_info info;
  link_map *own = nullptr, *owner = nullptr;
  if (!address || dlinfo(library_.get(), RTLD_DI_LINKMAP, &own) != 0 ||
      dladdr1(address, &info, reinterpret_cast<void **>(&owner), RTLD_DL_LINKMAP) == 0 || owner != own)
    return absl::DataLossError(absl::StrCat("its code object has no symbol '", symbol, "'"));
  return reinterpret_cast<KernelFunction>(address);
}

} // namespace cs336::runtime
