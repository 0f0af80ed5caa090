//===- IRModule.h - An MLIR module that owns its context --------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_PYTHON_IRMODULE_H
#define CS336_PYTHON_IRMODULE_H

#include "cs336/Driver/Compile/CompileModule.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace cs336::python {

/// The cost of all operations of one name in a function.
struct OperationCost {
  std::string function, operation;
  int64_t count = 0, flops = 0, bytes = 0;
};

/// The bytes of an executable, and the compiler's warnings, one per line.
struct CompiledBytes {
  std::vector<uint8_t> executable;
  std::string warnings;
};

/// IR, immutable: passes return a new module. Failures throw std::invalid_argument with all diagnostics. Threads may
/// use modules at the same time; those that share a context wait for each other.
class IRModule {
public:
  /// Builds IR from a model description in JSON; see ModelDescription.h.
  static IRModule build(const std::string &description);
  /// Parses text. `name` is the file name in locations.
  static IRModule parse(const std::string &text, const std::string &name);

  std::string print(bool withLocations) const;
  /// Returns the result of a textual pass pipeline, such as "cs336-decompose,canonicalize".
  IRModule runPasses(const std::string &pipeline) const;
  CompiledBytes compile(const CompileOptions &options) const;
  /// Returns costs by function and operation, in the order of the module.
  std::vector<OperationCost> getCosts() const;

  /// Text that a module was parsed from, and the name that stands for its file.
  struct Source {
    std::string text, name;
  };

private:
  class Use;
  /// A context that modules share, which one thread at a time may use. It has no threads of its own while it is not in
  /// use: a child that fork() makes would wait for them.
  struct SharedContext {
    SharedContext();
    mlir::MLIRContext context;
    std::mutex mutex;
  };
  IRModule(std::shared_ptr<SharedContext> shared, mlir::OwningOpRef<mlir::ModuleOp> module,
           std::shared_ptr<const Source> source)
      : shared(std::move(shared)), source(std::move(source)), module(std::move(module)) {}

  // The context outlives the module.
  std::shared_ptr<SharedContext> shared;
  /// Null for a module that was built.
  std::shared_ptr<const Source> source;
  mutable mlir::OwningOpRef<mlir::ModuleOp> module;
};

} // namespace cs336::python

#endif // CS336_PYTHON_IRMODULE_H
