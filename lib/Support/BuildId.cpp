//===- BuildId.cpp - Which build of the compiler this is ------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Support/BuildId.h"

#include "mlir/IR/Verifier.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/TargetParser/Host.h"

#include <cstring>
#include <link.h>

using namespace llvm;

namespace {
/// A loaded program or library that holds an address.
struct LoadedObject {
  uintptr_t address;
  bool isFound = false;
  ArrayRef<uint8_t> buildId = {};
};
} // namespace

/// Returns the description of the GNU build-id note in a segment. Each note consists of a header, a name and a
/// description, padded to four bytes.
static ArrayRef<uint8_t> findBuildId(ArrayRef<uint8_t> notes) {
  while (notes.size() >= sizeof(ElfW(Nhdr))) {
    ElfW(Nhdr) header;
    std::memcpy(&header, notes.data(), sizeof(header));
    notes = notes.drop_front(sizeof(header));
    size_t nameBytes = alignTo(header.n_namesz, 4), bytes = alignTo(header.n_descsz, 4);
    if (nameBytes + bytes > notes.size())
      return {};
    if (header.n_type == NT_GNU_BUILD_ID && toStringRef(notes.take_front(header.n_namesz)) == StringRef("GNU\0", 4))
      return notes.slice(nameBytes, header.n_descsz);
    notes = notes.drop_front(nameBytes + bytes);
  }
  return {};
}

static int visit(dl_phdr_info *info, size_t, void *data) {
  auto &object = *static_cast<LoadedObject *>(data);
  ArrayRef<ElfW(Phdr)> segments(info->dlpi_phdr, info->dlpi_phnum);
  object.isFound = any_of(segments, [&](const ElfW(Phdr) & segment) {
    return segment.p_type == PT_LOAD && object.address - info->dlpi_addr - segment.p_vaddr < segment.p_memsz;
  });
  for (const ElfW(Phdr) &segment : segments)
    if (object.isFound && object.buildId.empty() && segment.p_type == PT_NOTE)
      object.buildId =
          findBuildId({reinterpret_cast<const uint8_t *>(info->dlpi_addr + segment.p_vaddr), segment.p_memsz});
  return object.isFound;
}

std::optional<std::string> cs336::getCompilerBuildId() {
  // Functions of this compiler, of MLIR and of LLVM. The three may be in one object or in separate ones.
  const uintptr_t addresses[] = {reinterpret_cast<uintptr_t>(&getCompilerBuildId),
                                 reinterpret_cast<uintptr_t>(&mlir::verify),
                                 reinterpret_cast<uintptr_t>(&sys::getHostCPUName)};
  std::string ids;
  for (uintptr_t address : addresses) {
    LoadedObject object{address};
    dl_iterate_phdr(visit, &object);
    if (object.buildId.empty())
      return std::nullopt;
    ids += toHex(object.buildId, /*LowerCase=*/true) + " ";
  }
  return ids;
}
