//===- Bindings.h - The parts of the extension module -----------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_PYTHON_BINDINGS_H
#define CS336_PYTHON_BINDINGS_H

#include <nanobind/nanobind.h>

namespace cs336::python {

/// Binds Module, named sizes and the list of operations.
void bindCompiler(nanobind::module_ &module);
/// Binds reading and writing of whole files.
void bindFiles(nanobind::module_ &module);
/// Binds Group, and the start of ranks.
void bindGroup(nanobind::module_ &module);
/// Binds Executable and Session.
void bindRuntime(nanobind::module_ &module);

} // namespace cs336::python

#endif // CS336_PYTHON_BINDINGS_H
