//===- cs336-nvrtc-check.cpp - Compiles CUDA text for architectures -------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// For tests: compiles one text for several architectures, without a GPU, and prints what came of every kernel.
//
//===----------------------------------------------------------------------===//

#include "cs336/Target/NVRTC/NVRTC.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/WithColor.h"
#include "llvm/Support/raw_ostream.h"

using namespace cs336;
namespace cl = llvm::cl;

static int fail(const llvm::Twine &message) {
  llvm::WithColor::error(llvm::errs(), "cs336-nvrtc-check") << message << "\n";
  return 1;
}

static void printKernel(const Cubin::Kernel &kernel) {
  llvm::outs() << "  " << kernel.name << ": " << kernel.registers << " registers";
  if (kernel.spilledBytes != 0)
    llvm::outs() << ", " << kernel.spilledBytes << " bytes spilled";
  if (kernel.serialisesMatmuls)
    llvm::outs() << ", serialised matmuls";
  llvm::outs() << "\n";
}

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  cl::opt<std::string> file(cl::Positional, cl::desc("<CUDA text, - for standard input>"), cl::init("-"));
  cl::list<std::string> architectures("arch", cl::desc("Real architectures to compile for"), cl::CommaSeparated);
  cl::opt<std::string> toolkit("toolkit", cl::desc("Root of the CUDA toolkit"), cl::value_desc("folder"));
  cl::opt<bool> probe("probe", cl::desc("Only say which compiler would be used"));
  cl::ParseCommandLineOptions(argc, argv,
                              "Compiles CUDA text with NVRTC and prints kernels' registers and code sizes\n");

  llvm::Expected<NVRTC> compiler = NVRTC::load(toolkit);
  if (!compiler)
    return fail(llvm::toString(compiler.takeError()));
  if (probe) {
    llvm::outs() << "NVRTC " << compiler->getVersion() << " in " << compiler->getToolkit() << "\n";
    return 0;
  }
  if (architectures.empty())
    return fail("no architecture: pass --arch sm_80,sm_90a");
  auto text = llvm::MemoryBuffer::getFileOrSTDIN(file, /*IsText=*/true);
  if (!text)
    return fail(file + ": " + text.getError().message());

  for (const std::string &architecture : architectures) {
    llvm::Expected<Cubin> cubin = compiler->compile((*text)->getBuffer(), file, architecture);
    if (!cubin)
      return fail(llvm::toString(cubin.takeError()));
    llvm::outs() << architecture << ": " << cubin->kernels.size() << " kernels, " << cubin->image.size() << " bytes\n";
    for (const Cubin::Kernel &kernel : cubin->kernels)
      printKernel(kernel);
  }
  return 0;
}
