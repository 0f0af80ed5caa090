//===- LinkObject.cpp - Objects to one shared object ----------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NativeObject.h"

#include "cs336/Support/JobFolder.h"
#include "cs336/Support/WriteOutput.h"
#include "lld/Common/Driver.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/MemoryBuffer.h"
#include <mutex>

LLD_HAS_DRIVER(elf)

using namespace mlir;
using namespace cs336::cpu;

/// Writes a file of the linker, and returns its path.
static FailureOr<std::string> writeFile(const cs336::JobFolder &folder, const Twine &name, ArrayRef<char> bytes,
                                        Location loc) {
  std::string path = (folder.getPath() + "/" + name).str();
  llvm::Error error = cs336::writeOutput(path,
                                         [&](raw_ostream &stream) {
                                           stream.write(bytes.data(), bytes.size());
                                           return llvm::Error::success();
                                         },
                                         {.durable = false});
  if (error)
    return emitError(loc) << "cannot write the temporary file " << path << ": " << llvm::toString(std::move(error));
  return path;
}

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
  static bool isBroken = false; // Guarded by the mutex.
  std::lock_guard lock(mutex);
  if (isBroken)
    return emitError(loc) << "kernels cannot be linked: the linker crashed in this process before, and its state is "
                             "lost; start a new process";
  HiddenOptions hiddenOptions;
  SmallVector<const char *> argv = {"ld.lld"};
  for (const std::string &argument : arguments)
    argv.push_back(argument.c_str());
  std::string output, errors;
  llvm::raw_string_ostream outputStream(output), errorStream(errors);
  lld::Result result = lld::lldMain(argv, outputStream, errorStream, {{lld::Gnu, &lld::elf::link}});
  isBroken = !result.canRunAgain;
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
  FailureOr<ObjectFile> empty = buildEmptyObject(isa, loc);
  if (failed(empty))
    return failure();
  absl::StatusOr<std::unique_ptr<JobFolder>> folder = JobFolder::create();
  if (!folder.ok())
    return emitError(loc) << "kernels could not be linked: " << std::string(folder.status().message());

  // An empty library with the name of libm makes the linker record libm as needed. The kernels may run on another
  // machine, so this machine's libm is not used.
  FailureOr<std::string> emptyFile = writeFile(**folder, "empty.o", *empty, loc);
  std::string libm = (*folder)->getPath() + "/libm.so.6", library = (*folder)->getPath() + "/kernels.so";
  if (failed(emptyFile) ||
      failed(runLinker({"-shared", "--threads=1", "-soname=libm.so.6", "-o", libm, *emptyFile}, loc)))
    return failure();
  std::vector<std::string> arguments = {"-shared", "--threads=1", "-Bsymbolic",     "--strip-all", "--build-id=none",
                                        "-z",      "noexecstack", "--no-as-needed", "-o",          library,
                                        libm};
  for (auto [index, object] : llvm::enumerate(objects)) {
    FailureOr<std::string> file = writeFile(**folder, Twine(index) + ".o", object, loc);
    if (failed(file))
      return failure();
    arguments.push_back(*std::move(file));
  }
  if (failed(runLinker(arguments, loc)))
    return failure();
  llvm::ErrorOr<std::unique_ptr<llvm::MemoryBuffer>> image = llvm::MemoryBuffer::getFile(library);
  if (!image)
    return emitError(loc) << "cannot read the linked kernels: " << image.getError().message();
  StringRef bytes = (*image)->getBuffer();
  return std::vector<uint8_t>(bytes.bytes_begin(), bytes.bytes_end());
}
