//===- FormatTypes.h - Types and attributes in terms of the file format -*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_TARGET_EXECUTABLE_FORMATTYPES_H
#define CS336_TARGET_EXECUTABLE_FORMATTYPES_H

#include "cs336/Dialect/Exec/IR/ExecOps.h"
#include "cs336/Dialect/Exec/Transforms/CommandWork.h"
#include "cs336/Target/TensorMapRecipe.h"
#include "cs336/runtime/format/Executable_generated.h"

namespace cs336 {

format::DType toFormat(mlir::Type elementType);
std::unique_ptr<format::TensorMapT> toFormat(const TensorMapRecipe &map);
std::unique_ptr<format::TensorTypeT> toFormat(mlir::MemRefType type);
/// Converts the initial value of a variable. `init` may be null: then callers must give the value of a parameter, and
/// other variables begin with zeros.
std::unique_ptr<format::InitT> toFormat(InitAttr init, exec::VariableKind variable);
/// Returns the row ranges of `views`, or an empty list if it is null.
std::vector<std::unique_ptr<format::ViewT>> toFormat(mlir::ArrayAttr views);
format::Mode toFormat(Mode mode);
format::Precision toFormat(Precision precision);
format::CollectiveKind toFormat(CollectiveKind kind);
format::Reduction toFormat(CollectiveReduction reduction);
format::VariableKind toFormat(exec::VariableKind kind);
format::Phase toFormat(exec::CommandPhase phase);
/// Returns none if the element type is null or not floating-point.
format::Arithmetic toFormat(exec::Arithmetic arithmetic);

} // namespace cs336

#endif // CS336_TARGET_EXECUTABLE_FORMATTYPES_H
