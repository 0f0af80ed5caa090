//===- Registration.h - Dialects and passes of the tools --------*- C++ -*-===//
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

/// Registers the project's dialects with the interfaces that lowering them requires: enough to compile a module.
void registerDialects(mlir::DialectRegistry &registry);

/// Does the same as `registerDialects`, and adds all dialects of mlir-opt.
void registerAllDialects(mlir::DialectRegistry &registry);

/// Registers the project's passes and pipelines, and MLIR's general ones (canonicalize, cse, …), for command lines and
/// textual pipelines.
void registerPasses();

/// Does the same as `registerPasses`, and adds all passes of mlir-opt.
void registerAllPasses();

/// Makes printed IR carry its locations unless `--mlir-print-debuginfo=false` is given. Locations name the layer of an
/// operation, and would be lost in a pipe. Call it after the printer's command-line options are registered.
void printLocationsByDefault();

} // namespace cs336

#endif // CS336_DRIVER_COMPILE_REGISTRATION_H
