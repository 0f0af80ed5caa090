//===- LinkObject.cpp - Objects to one shared object ----------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NativeObject.h"

#include "cs336/Support/WriteOutput.h"
#include "lld/Common/Driver.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include <mutex>

LLD_HAS_DRIVER(elf)

using namespace mlir;
using namespace cs336::cpu;

namespace {
/// A folder for the linker's files, removed at the end.
class LinkFolder {
public:
  static FailureOr<LinkFolder> create(Location loc) {
    LinkFolder folder;
    if (std::error_code error = llvm::sys::fs::createUniqueDirectory("cs336-link", folder.path))
      return emitError(loc) << "cannot create a folder for temporary files: " << error.message();
    return folder;
  }
  LinkFolder(LinkFolder &&other) : path(std::exchange(other.path, {})) {}
  ~LinkFolder() {
    if (!path.empty())
      llvm::sys::fs::remove_directories(path);
  }

  std::string getPath(const Twine &name) const {
    SmallString<128> file = path;
    llvm::sys::path::append(file, name);
    return std::string(file);
  }

  LogicalResult write(const Twine &name, ArrayRef<char> bytes, Location loc) const {
    std::string file = getPath(name);
    llvm::Error error = cs336::writeOutput(file,
                                           [&](raw_ostream &stream) {
                                             stream.write(bytes.data(), bytes.size());
                                             return llvm::Error::success();
                                           },
                                           {.durable = false});
    if (error)
      return emitError(loc) << "cannot write the temporary file " << file << ": " << llvm::toString(std::move(error));
    return success();
  }

private:
  LinkFolder() = default;
  SmallString<128> path;
};
} // namespace

namespace {
/// Removes all command-line options from their registry during its lifetime: LLD resets every registered option to its
/// default, including those of the tool that it runs in.
class HiddenOptions {
public:
  HiddenOptions() {
    for (llvm::cl::SubCommand *subcommand : llvm::cl::getRegisteredSubcommands()) {
      for (auto &entry : llvm::cl::getRegisteredOptions(*subcommand))
        options.insert(entry.second);
      options.insert(subcommand->PositionalOpts.begin(), subcommand->PositionalOpts.end());
    }
    for (llvm::cl::Option *option : options)
      option->removeArgument();
  }
  ~HiddenOptions() {
    for (llvm::cl::Option *option : options)
      option->addArgument();
  }

private:
  llvm::SetVector<llvm::cl::Option *> options;
};
} // namespace

static LogicalResult runLinker(ArrayRef<std::string> arguments, Location loc) {
  // LLD keeps its state in globals.
  static std::mutex mutex;
  std::lock_guard lock(mutex);
  HiddenOptions hiddenOptions;
  SmallVector<const char *> argv = {"ld.lld"};
  for (const std::string &argument : arguments)
    argv.push_back(argument.c_str());
  std::string output, errors;
  llvm::raw_string_ostream outputStream(output), errorStream(errors);
  lld::Result result = lld::lldMain(argv, outputStream, errorStream, {{lld::Gnu, &lld::elf::link}});
  if (result.retCode != 0)
    return emitError(loc) << "kernels could not be linked: " << StringRef(errors).trim();
  return success();
}

/// Returns an object without contents.
static FailureOr<ObjectFile> buildEmptyObject(const InstructionSet &isa, Location loc) {
  std::string error;
  std::unique_ptr<llvm::TargetMachine> machine = createTargetMachine(isa, error);
  if (!machine)
    return emitError(loc) << "cannot generate code for " << isa.triple.str() << ": " << error;
  llvm::LLVMContext context;
  llvm::Module module("empty", context);
  module.setTargetTriple(isa.triple);
  module.setDataLayout(machine->createDataLayout());
  ObjectFile object;
  llvm::raw_svector_ostream stream(object);
  llvm::legacy::PassManager codegen;
  if (machine->addPassesToEmitFile(codegen, stream, /*DwoOut=*/nullptr, llvm::CodeGenFileType::ObjectFile))
    return emitError(loc) << "LLVM emits no objects for " << isa.triple.str();
  codegen.run(module);
  return object;
}

FailureOr<std::vector<uint8_t>> cs336::cpu::linkSharedObject(ArrayRef<ObjectFile> objects, const InstructionSet &isa,
                                                             Location loc) {
  FailureOr<LinkFolder> folder = LinkFolder::create(loc);
  FailureOr<ObjectFile> empty = buildEmptyObject(isa, loc);
  if (failed(folder) || failed(empty) || failed(folder->write("empty.o", *empty, loc)))
    return failure();

  // An empty library with the name of libm makes the linker record libm as needed. The kernels may run on another
  // machine, so this machine's libm is not used.
  std::string libm = folder->getPath("libm.so.6"), library = folder->getPath("kernels.so");
  if (failed(runLinker({"-shared", "--threads=1", "-soname=libm.so.6", "-o", libm, folder->getPath("empty.o")}, loc)))
    return failure();
  std::vector<std::string> arguments = {"-shared", "--threads=1", "-Bsymbolic",     "--strip-all", "--build-id=none",
                                        "-z",      "noexecstack", "--no-as-needed", "-o",          library,
                                        libm};
  for (auto [index, object] : llvm::enumerate(objects)) {
    std::string name = (Twine(index) + ".o").str();
    if (failed(folder->write(name, object, loc)))
      return failure();
    arguments.push_back(folder->getPath(name));
  }
  if (failed(runLinker(arguments, loc)))
    return failure();
  llvm::ErrorOr<std::unique_ptr<llvm::MemoryBuffer>> image = llvm::MemoryBuffer::getFile(library);
  if (!image)
    return emitError(loc) << "cannot read the linked kernels: " << image.getError().message();
  StringRef bytes = (*image)->getBuffer();
  return std::vector<uint8_t>(bytes.bytes_begin(), bytes.bytes_end());
}
