//===- OmittedParts.cpp - Parts of LLVM that a package omits --------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// As a library, LLD registers every target that LLVM was built with and, for link-time optimization, every extension.
// The compiler links objects for the host only. Empty definitions keep the rest, two thirds of LLVM, out of the
// package.
//
//===----------------------------------------------------------------------===//

#include "llvm/Plugins/PassPlugin.h"

#define HANDLE_EXTENSION(Name)                                                                                         \
  llvm::PassPluginLibraryInfo get##Name##PluginInfo() {                                                                \
    return {LLVM_PLUGIN_API_VERSION, #Name, "", [](llvm::PassBuilder &) {}, nullptr};                                  \
  }
#include "llvm/Support/Extension.def"

#define OMITTED_TARGET(Name)                                                                                           \
  extern "C" void LLVMInitialize##Name##TargetInfo() {}                                                                \
  extern "C" void LLVMInitialize##Name##Target() {}                                                                    \
  extern "C" void LLVMInitialize##Name##TargetMC() {}                                                                  \
  extern "C" void LLVMInitialize##Name##AsmParser() {}                                                                 \
  extern "C" void LLVMInitialize##Name##AsmPrinter() {}                                                                \
  extern "C" void LLVMInitialize##Name##Disassembler() {}
#include "OmittedTargets.def"
