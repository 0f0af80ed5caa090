//===- CubinResources.cpp - Registers and memory of machine code ----------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Target/NVRTC/CubinResources.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Object/ELF.h"
#include "llvm/Support/Endian.h"

#include <optional>

using namespace cs336;
using llvm::ArrayRef;
using llvm::Error;
using llvm::Expected;
using llvm::StringRef;
using File = llvm::object::ELFFile<llvm::object::ELF64LE>;

static constexpr StringRef kSharedPrefix = ".nv.shared.";
static constexpr StringRef kReservedSection = ".nv.shared.reserved.0";
static constexpr int64_t kReservedSharedBytes = 1024;

namespace {
/// The form of an attribute in which its payload follows, with the size in bytes.
constexpr uint8_t kSizedForm = 4;
enum Attribute : uint8_t { FrameBytes = 0x11, RegisterCount = 0x2f };

/// Collects what the sections of one file state.
class ResourceReader {
public:
  static Expected<std::vector<CubinResources>> read(const File &file);

private:
  explicit ResourceReader(const File &file) : file(file) {}

  Error readSections();
  Error readSymbolNames(const File::Elf_Shdr &table);
  Error readAttributes(ArrayRef<uint8_t> bytes);

  const File &file;
  std::vector<std::string> symbols;
  ArrayRef<uint8_t> attributes;
  llvm::MapVector<uint32_t, int64_t> registers;
  llvm::DenseMap<uint32_t, int64_t> localBytes;
  llvm::StringMap<int64_t> sharedBytes;
  bool includesReserved = false;
};
} // namespace

Error ResourceReader::readSymbolNames(const File::Elf_Shdr &table) {
  Expected<File::Elf_Sym_Range> range = file.symbols(&table);
  if (!range)
    return range.takeError();
  Expected<StringRef> strings = file.getStringTableForSymtab(table);
  if (!strings)
    return strings.takeError();
  for (const File::Elf_Sym &symbol : *range) {
    Expected<StringRef> name = symbol.getName(*strings);
    if (!name)
      return name.takeError();
    symbols.push_back(name->str());
  }
  return Error::success();
}

Error ResourceReader::readSections() {
  Expected<File::Elf_Shdr_Range> sections = file.sections();
  if (!sections)
    return sections.takeError();
  for (const File::Elf_Shdr &section : *sections) {
    Expected<StringRef> name = file.getSectionName(section);
    if (!name)
      return name.takeError();
    if (section.sh_type == llvm::ELF::SHT_SYMTAB) {
      if (Error error = readSymbolNames(section))
        return error;
    } else if (*name == ".nv.info") {
      Expected<ArrayRef<uint8_t>> bytes = file.getSectionContents(section);
      if (!bytes)
        return bytes.takeError();
      attributes = *bytes;
    } else if (*name == kReservedSection) {
      includesReserved = true;
    } else if (name->starts_with(kSharedPrefix)) {
      sharedBytes[name->drop_front(kSharedPrefix.size())] = static_cast<int64_t>(section.sh_size);
    }
  }
  return readAttributes(attributes);
}

Error ResourceReader::readAttributes(ArrayRef<uint8_t> bytes) {
  namespace endian = llvm::support::endian;
  while (bytes.size() >= 4) {
    uint8_t form = bytes[0], attribute = bytes[1];
    size_t size = form == kSizedForm ? endian::read16le(&bytes[2]) : 0;
    bytes = bytes.drop_front(4);
    if (size > bytes.size())
      return llvm::createStringError("an attribute of .nv.info is truncated");
    bool isKnown = attribute == RegisterCount || attribute == FrameBytes;
    if (isKnown && size == 8) {
      uint32_t symbol = endian::read32le(&bytes[0]), value = endian::read32le(&bytes[4]);
      if (attribute == RegisterCount)
        registers[symbol] = value;
      else
        localBytes[symbol] = value;
    }
    bytes = bytes.drop_front(size);
  }
  return Error::success();
}

Expected<std::vector<CubinResources>> ResourceReader::read(const File &file) {
  ResourceReader reader(file);
  if (Error error = reader.readSections())
    return error;
  if (reader.registers.empty())
    return llvm::createStringError("the file has no number of registers");
  std::vector<CubinResources> kernels;
  for (auto [symbol, registers] : reader.registers) {
    if (symbol >= reader.symbols.size())
      return llvm::createStringError(".nv.info names a symbol that the file does not have");
    const std::string &name = reader.symbols[symbol];
    int64_t shared = reader.sharedBytes.lookup(name);
    if (reader.includesReserved)
      shared = std::max<int64_t>(shared - kReservedSharedBytes, 0);
    kernels.push_back({name, registers, reader.localBytes.lookup(symbol), shared});
  }
  return kernels;
}

Expected<std::vector<CubinResources>> cs336::readCubinResources(ArrayRef<uint8_t> image) {
  auto fail = [](Error error) { return llvm::createStringError("not a cubin: " + llvm::toString(std::move(error))); };
  Expected<File> file = File::create(llvm::toStringRef(image));
  if (!file)
    return fail(file.takeError());
  const auto &header = file->getHeader();
  bool isCubin = header.checkMagic() && header.getFileClass() == llvm::ELF::ELFCLASS64 &&
                 header.getDataEncoding() == llvm::ELF::ELFDATA2LSB && header.e_machine == llvm::ELF::EM_CUDA;
  if (!isCubin)
    return fail(llvm::createStringError("not an ELF file for CUDA"));
  Expected<std::vector<CubinResources>> kernels = ResourceReader::read(*file);
  if (!kernels)
    return fail(kernels.takeError());
  return kernels;
}
