//===- Registration.h - What the tools know about ---------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_DRIVER_COMPILE_REGISTRATION_H
#define CS336_DRIVER_COMPILE_REGISTRATION_H

namespace mlir {
class DialectRegistry;
} // namespace mlir

namespace cs336 {

/// The project's dialects with the interfaces that lowering them needs; enough to compile a module.
void registerDialects(mlir::DialectRegistry &registry);

/// As `registerDialects`, and everything that mlir-opt knows.
void registerAllDialects(mlir::DialectRegistry &registry);

/// The project's passes and pipelines and MLIR's general ones (canonicalize, cse, …), for command lines and textual
/// pipelines.
void registerPasses();

/// As `registerPasses`, and everything that mlir-opt knows.
void registerAllPasses();

/// Makes printed IR carry its locations unless `--mlir-print-debuginfo=false` is given: they say which layer an
/// operation is from, and would be lost in a pipe. Call after the printer's command-line options were registered.
void printLocationsByDefault();

} // namespace cs336

#endif // CS336_DRIVER_COMPILE_REGISTRATION_H
