//===- InstructionSet.cpp - What machine code may use ---------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "InstructionSet.h"

#include "cs336/Support/UnknownValue.h"
#include "cs336/Target/CPU/CPUTarget.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/TargetParser/Host.h"

using namespace mlir;
using namespace cs336::cpu;

namespace {
/// A level of the x86-64 psABI: the features that it adds to the level before, with the names of LLVM and of Linux.
struct Level {
  const char *name;
  int64_t vectorBits;
  struct Extension {
    const char *llvmName, *linuxName;
  };
  std::vector<Extension> extensions;
};
} // namespace

static ArrayRef<Level> getLevels() {
  static const Level levels[] = {
      {"x86-64-v2",
       128,
       {{"cx16", "cx16"}, {"popcnt", "popcnt"}, {"sse4.1", "sse4_1"}, {"sse4.2", "sse4_2"}, {"ssse3", "ssse3"}}},
      {"x86-64-v3",
       256,
       {{"avx", "avx"},
        {"avx2", "avx2"},
        {"bmi", "bmi1"},
        {"bmi2", "bmi2"},
        {"f16c", "f16c"},
        {"fma", "fma"},
        {"lzcnt", "abm"},
        {"movbe", "movbe"}}},
      {"x86-64-v4",
       512,
       {{"avx512f", "avx512f"},
        {"avx512bw", "avx512bw"},
        {"avx512cd", "avx512cd"},
        {"avx512dq", "avx512dq"},
        {"avx512vl", "avx512vl"}}},
  };
  return levels;
}

static bool hostHas(const Level &level) {
  static const auto host = llvm::sys::getHostCPUFeatures();
  return llvm::all_of(level.extensions,
                      [](const Level::Extension &extension) { return host.lookup(extension.llvmName); });
}

FailureOr<InstructionSet> cs336::cpu::findInstructionSet(StringRef name, Location loc) {
  InstructionSet isa{llvm::Triple(llvm::sys::getDefaultTargetTriple()), "generic", "generic", {}};
  bool isX86 = isa.triple.getArch() == llvm::Triple::x86_64;
  if (isX86)
    isa.cpu = "x86-64";
  if (name == "host")
    isa.tuneFor = llvm::sys::getHostCPUName().str();
  bool isFound = name == "host" || name == "generic";
  if (isX86 && name != "generic") {
    for (const Level &level : getLevels()) {
      if (name == "host" && !hostHas(level))
        break;
      isa.cpu = level.name;
      isa.vectorBits = level.vectorBits;
      for (const Level::Extension &extension : level.extensions)
        isa.features.push_back(extension.linuxName);
      isFound |= name == level.name;
      if (name == level.name)
        break;
    }
  }
  if (!isFound) {
    SmallVector<StringRef> known{"host", "generic"};
    if (isX86)
      llvm::append_range(known,
                         llvm::map_range(getLevels(), [](const Level &level) -> StringRef { return level.name; }));
    return emitError(loc) << cs336::describeUnknown("instruction set", name, known);
  }
  return isa;
}

std::string cs336::getHostInstructionSet() {
  llvm::Triple triple(llvm::sys::getDefaultTargetTriple());
  if (triple.getArch() != llvm::Triple::x86_64)
    return triple.getArchName().str();
  std::string name = "x86-64";
  for (const Level &level : llvm::make_range(getLevels().begin(), llvm::find_if_not(getLevels(), hostHas)))
    name = level.name;
  return name;
}

std::unique_ptr<llvm::TargetMachine> cs336::cpu::createTargetMachine(const InstructionSet &isa, std::string &error) {
  static const bool isInitialized = [] {
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
    return true;
  }();
  (void)isInitialized;
  const llvm::Target *target = llvm::TargetRegistry::lookupTarget(isa.triple, error);
  if (!target)
    return nullptr;
  return std::unique_ptr<llvm::TargetMachine>(
      target->createTargetMachine(isa.triple, isa.cpu, /*Features=*/"", llvm::TargetOptions(), llvm::Reloc::PIC_,
                                  /*CM=*/std::nullopt, llvm::CodeGenOptLevel::Default));
}
