//===- KernelLibrary.cpp - Compiles kernels and calls them ----------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelLibrary.h"

#include "cs336/Dialect/CS336/IR/CS336Dialect.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"
#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

using namespace mlir;
using namespace cs336;
using namespace cs336::test;

Compiler::Compiler() {
  DialectRegistry registry;
  registry.insert<CS336Dialect, exec::ExecDialect>();
  context.appendDialectRegistry(registry);
  context.getDiagEngine().registerHandler([this](Diagnostic &diagnostic) { diagnostics += diagnostic.str() + "\n"; });
}

FailureOr<CompiledKernels> Compiler::compile(const std::string &text, const std::string &cpu) {
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(text, &context);
  if (!module)
    return failure();
  return compileKernelsForCPU(*module, CPUTargetOptions{cpu});
}

KernelLibrary::KernelLibrary(const std::string &text, const std::string &cpu) {
  Compiler compiler;
  FailureOr<CompiledKernels> compiled = compiler.compile(text, cpu);
  if (failed(compiled)) {
    ADD_FAILURE() << compiler.diagnostics;
    return;
  }
  object = std::move(*compiled);
  int file = memfd_create("kernels", MFD_CLOEXEC);
  EXPECT_EQ(write(file, object.objects.front().image.data(), object.objects.front().image.size()),
            static_cast<ssize_t>(object.objects.front().image.size()));
  library = dlopen(("/proc/self/fd/" + std::to_string(file)).c_str(), RTLD_NOW | RTLD_LOCAL);
  EXPECT_TRUE(library) << dlerror();
  close(file);
}

KernelLibrary::~KernelLibrary() {
  if (library)
    dlclose(library);
}

void KernelLibrary::run(const std::string &kernel, std::vector<void *> buffers, int64_t parts) const {
  auto found = object.kernels.find(kernel);
  ASSERT_TRUE(library && found != object.kernels.end()) << kernel;
  const CompiledKernel &compiled = found->second;
  auto function = reinterpret_cast<void (*)(void *const *, int64_t, int64_t)>(
      dlsym(library, compiled.implementations.front().functions.front().symbol.c_str()));
  ASSERT_TRUE(function) << dlerror();
  constexpr size_t kLine = 64;
  std::vector<char> memory(compiled.threadBytes + kLine);
  if (compiled.threadBytes != 0)
    buffers.push_back(memory.data() + kLine - reinterpret_cast<uintptr_t>(memory.data()) % kLine);
  int64_t begin = 0;
  for (int64_t part = 1; part <= parts; ++part) {
    // Parts grow, so that their bounds have no common divisor.
    int64_t end = compiled.rows * part * (part + 1) / (parts * (parts + 1));
    if (begin < end)
      function(buffers.data(), begin, end);
    begin = end;
  }
}
