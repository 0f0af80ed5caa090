//===- IRModule.cpp - An MLIR module that owns its context ----------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "IRModule.h"

#include "cs336/Diagnostics/PositionHandler.h"
#include "cs336/Dialect/CS336/IR/CS336Dialect.h"
#include "cs336/Dialect/CS336/IR/CS336Interfaces.h"
#include "cs336/Dialect/CS336/IR/Sizes.h"
#include "cs336/Driver/Compile/CompileModule.h"
#include "cs336/Driver/Compile/Registration.h"
#include "cs336/Frontend/ImportTransformer.h"
#include "cs336/Support/Nesting.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/Support/raw_ostream.h"

#include <optional>
#include <stdexcept>
#include <utility>

using namespace mlir;
using namespace cs336;
using namespace cs336::python;

/// Creates a context that can parse, transform and compile everything that the tools can.
IRModule::SharedContext::SharedContext() : context(MLIRContext::Threading::DISABLED) {
  DialectRegistry registry;
  registerAllDialects(registry);
  context.appendDialectRegistry(registry);
  context.loadDialect<CS336Dialect, func::FuncDialect>();
}

/// Keeps other threads from a context, which has threads of its own meanwhile.
class IRModule::Use {
public:
  explicit Use(SharedContext &shared) : lock(shared.mutex), context(shared.context) { context.enableMultithreading(); }
  ~Use() { context.disableMultithreading(); }
  Use(const Use &) = delete;
  Use &operator=(const Use &) = delete;

private:
  std::lock_guard<std::mutex> lock;
  MLIRContext &context;
};

/// Prints the location in front of a diagnostic: the file and line, or the layer and operation.
static void printLocation(llvm::raw_ostream &stream, Location loc) {
  if (auto file = dyn_cast<FileLineColLoc>(loc))
    stream << file.getFilename().getValue() << ":" << file.getLine() << ":" << file.getColumn() << ": ";
  else if (!isa<UnknownLoc>(loc))
    stream << loc << ": ";
}

namespace {

/// Collects the errors of a context, which raise() throws, and its warnings.
class Diagnostics {
public:
  /// Without `source`, diagnostics have the locations of operations, but not their lines in a text.
  Diagnostics(MLIRContext *context, const IRModule::Source *source)
      : handler(context, [this](Diagnostic &diagnostic) {
          bool isError = diagnostic.getSeverity() == DiagnosticSeverity::Error;
          if (!isError && diagnostic.getSeverity() != DiagnosticSeverity::Warning)
            return;
          llvm::raw_string_ostream stream(isError ? text : warnings);
          append(stream, diagnostic);
          for (Diagnostic &note : diagnostic.getNotes())
            append(stream, note);
        }) {
    if (source)
      positions.emplace(source->text, source->name, context);
  }

  [[noreturn]] void raise(const std::string &otherwise) const {
    throw std::invalid_argument(text.empty() ? otherwise : StringRef(text).rtrim().str());
  }

  std::string takeWarnings() { return StringRef(std::exchange(warnings, {})).rtrim().str(); }

private:
  static void append(llvm::raw_ostream &stream, const Diagnostic &diagnostic) {
    printLocation(stream, diagnostic.getLocation());
    stream << (diagnostic.getSeverity() == DiagnosticSeverity::Note ? "note: " : "") << diagnostic << "\n";
  }

  std::string text, warnings;
  ScopedDiagnosticHandler handler;
  std::optional<PositionHandler> positions;
};

} // namespace

IRModule IRModule::build(const std::string &description) {
  llvm::Expected<ModelDescription> model = ModelDescription::fromJSON(description);
  if (!model)
    throw std::invalid_argument(llvm::toString(model.takeError()));
  auto shared = std::make_shared<SharedContext>();
  MLIRContext *context = &shared->context;
  Diagnostics diagnostics(context, /*source=*/nullptr);
  FailureOr<OwningOpRef<ModuleOp>> module = importTransformer(*model, UnknownLoc::get(context));
  if (failed(module))
    diagnostics.raise("the model cannot be built");
  return {std::move(shared), std::move(*module), nullptr};
}

static void throwIfTooDeep(const std::string &text, const std::string &name) {
  if (llvm::Error error = checkIsReadableIR({text, name}))
    throw std::invalid_argument(llvm::toString(std::move(error)));
}

IRModule IRModule::parse(const std::string &text, const std::string &name) {
  throwIfTooDeep(text, name);
  auto shared = std::make_shared<SharedContext>();
  MLIRContext *context = &shared->context;
  auto source = std::make_shared<const Source>(Source{text, name});
  Diagnostics diagnostics(context, source.get());
  ParserConfig config(context);
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(text, config, name);
  if (!module)
    diagnostics.raise("the text cannot be parsed");
  return {std::move(shared), std::move(module), std::move(source)};
}

std::string IRModule::print(bool withLocations) const {
  std::lock_guard<std::mutex> lock(shared->mutex);
  std::string text;
  llvm::raw_string_ostream stream(text);
  OpPrintingFlags flags;
  flags.enableDebugInfo(withLocations);
  module->print(stream, flags);
  return text;
}

IRModule IRModule::runPasses(const std::string &pipeline) const {
  throwIfTooDeep(pipeline, "pipeline");
  Use use(*shared);
  MLIRContext *context = &shared->context;
  Diagnostics diagnostics(context, source.get());
  PassManager manager(context, ModuleOp::getOperationName());
  std::string message;
  llvm::raw_string_ostream stream(message);
  if (failed(parsePassPipeline(pipeline, manager, stream)))
    diagnostics.raise(message);
  OwningOpRef<ModuleOp> copy = module->clone();
  if (failed(manager.run(*copy)))
    diagnostics.raise("a pass of '" + pipeline + "' failed");
  return {shared, std::move(copy), source};
}

CompiledBytes IRModule::compile(const CompileOptions &options) const {
  Use use(*shared);
  Diagnostics diagnostics(&shared->context, source.get());
  OwningOpRef<ModuleOp> copy = module->clone();
  FailureOr<std::vector<uint8_t>> bytes = compileModule(*copy, options);
  if (failed(bytes))
    diagnostics.raise("the module does not compile");
  return {std::move(*bytes), diagnostics.takeWarnings()};
}

std::vector<OperationCost> IRModule::getCosts() const {
  std::lock_guard<std::mutex> lock(shared->mutex);
  llvm::MapVector<std::pair<StringRef, StringRef>, OperationCost> costs;
  for (auto function : module->getOps<FunctionOpInterface>())
    function.walk([&](CostOpInterface op) {
      StringRef name = op->getName().getStringRef();
      OperationCost &cost = costs[{function.getName(), name}];
      cost.function = function.getName().str();
      cost.operation = name.str();
      ++cost.count;
      cost.flops = addSaturating(cost.flops, op.getFlops());
      cost.bytes = addSaturating(cost.bytes, op.getBytes());
    });
  std::vector<OperationCost> result;
  for (auto &[key, cost] : costs)
    result.push_back(std::move(cost));
  return result;
}
