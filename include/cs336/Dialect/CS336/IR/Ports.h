//===- Ports.h - Arguments and results of entry points ----------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Arguments and results of a function are described by a dictionary of `cs336.*` attributes (see the dialect's
// description). These functions read and write such dictionaries.
//
//===----------------------------------------------------------------------===//

#ifndef CS336_DIALECT_CS336_IR_PORTS_H
#define CS336_DIALECT_CS336_IR_PORTS_H

#include "cs336/Dialect/CS336/IR/CS336Dialect.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include <optional>

namespace cs336 {

namespace port {
inline constexpr llvm::StringLiteral kParameter = "parameter";
inline constexpr llvm::StringLiteral kState = "state";
inline constexpr llvm::StringLiteral kDerived = "derived";
inline constexpr llvm::StringLiteral kInput = "input";
inline constexpr llvm::StringLiteral kOutput = "output";
inline constexpr llvm::StringLiteral kGradient = "gradient";
} // namespace port

/// Names of state that several passes use.
namespace state {
/// f32 of rank 0: the factor of the loss before it is differentiated.
inline constexpr llvm::StringLiteral kLossScale = "loss_scale";
/// i32 of rank 0: steps since the loss scale last changed.
inline constexpr llvm::StringLiteral kGrowthTracker = "growth_tracker";
} // namespace state

/// Returns `cs336.mode` of a function, or nullopt if it is not an entry point.
std::optional<Mode> getMode(mlir::Operation *function);

/// Returns `cs336.kind` of an argument or result, or "" if there is none. `attributes` may be null.
llvm::StringRef getPortKind(mlir::DictionaryAttr attributes);
/// Returns `cs336.name` of an argument or result, or "" if there is none. `attributes` may be null.
llvm::StringRef getPortName(mlir::DictionaryAttr attributes);
/// Returns `cs336.views` of an argument or result, or null. `attributes` may be null.
mlir::ArrayAttr getPortViews(mlir::DictionaryAttr attributes);
/// Returns `cs336.shards` of an argument or result, or 1 if it is whole. `attributes` may be null.
int64_t getPortShards(mlir::DictionaryAttr attributes);

/// Returns the attributes of an argument or result. `views` and `init` may be null. With 1 shard, the tensor is whole.
mlir::DictionaryAttr makePort(mlir::MLIRContext *context, llvm::StringRef kind, llvm::StringRef name,
                              mlir::ArrayAttr views = nullptr, InitAttr init = nullptr, int64_t shards = 1);

/// Returns the attributes with `shards` in place of their own. `attributes` may be null.
mlir::DictionaryAttr withShards(mlir::MLIRContext *context, mlir::DictionaryAttr attributes, int64_t shards);

/// Returns the argument of this kind called `name`, if there is one. An input may have the name of a variable.
std::optional<unsigned> findArgument(mlir::FunctionOpInterface function, llvm::StringRef kind, llvm::StringRef name);
/// Returns the result of this kind called `name`, if there is one.
std::optional<unsigned> findResult(mlir::FunctionOpInterface function, llvm::StringRef kind, llvm::StringRef name);
/// Returns whether any result is of this kind.
bool hasResultOfKind(mlir::FunctionOpInterface function, llvm::StringRef kind);

} // namespace cs336

#endif // CS336_DIALECT_CS336_IR_PORTS_H
