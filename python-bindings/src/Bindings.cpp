//===- Bindings.cpp - The extension module _cs336 -------------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Bindings.h"

NB_MODULE(_cs336, module) {
  module.doc() = "The compiler and the runtime. The package cs336 wraps these classes and functions.";
  cs336::python::bindCompiler(module);
  cs336::python::bindFiles(module);
  cs336::python::bindGroup(module);
  cs336::python::bindRuntime(module);
}
