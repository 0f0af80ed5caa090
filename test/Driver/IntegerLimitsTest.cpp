//===- IntegerLimitsTest.cpp - Every operation at the limits of its integers -===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Takes the programs that show every operation's assembly and replaces one integer at a time by values at the limits of
// 64 bits: in attributes, in attributes that the program leaves out, and in types. The result must be refused with an
// error, or compile, or be refused by the compiler with an error. The operations and their attributes come from the
// registered definitions, so that a new operation without an example fails.
//
//===----------------------------------------------------------------------===//

#include "cs336/Dialect/CS336/IR/CS336Dialect.h"
#include "cs336/Dialect/Exec/IR/ExecDialect.h"
#include "cs336/Driver/Compile/CompileModule.h"
#include "cs336/Driver/Compile/Registration.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/PrettyStackTrace.h"

#include <gtest/gtest.h>

#include <limits>
#include <regex>
#include <set>

using namespace mlir;

namespace cs336 {
namespace {

constexpr int64_t kLimits[] = {std::numeric_limits<int64_t>::min(),
                               -1,
                               0,
                               int64_t{1} << 31,
                               int64_t{1} << 47,
                               int64_t{1} << 62,
                               std::numeric_limits<int64_t>::max() - 1,
                               std::numeric_limits<int64_t>::max()};

constexpr const char *kExamples[] = {"CS336/ops.mlir",     "CS336/attention.mlir", "CS336/softmax.mlir",
                                     "CS336/barrier.mlir", "Exec/ops.mlir",        "Exec/indices.mlir"};

/// Decimal integers, without those of names, of element types and of floating-point numbers.
const std::regex &getIntegerPattern() {
  static const std::regex pattern(R"((^|[<x\s:,=(\[])(-?\d+)(?![\w.]*[.]|[\w]*"))");
  return pattern;
}

class IntegerLimitsTest : public testing::Test {
protected:
  IntegerLimitsTest() {
    DialectRegistry registry;
    registerDialects(registry);
    context.appendDialectRegistry(registry);
    context.loadDialect<CS336Dialect, exec::ExecDialect, func::FuncDialect>();
    llvm::EnablePrettyStackTrace();
  }

  /// The program compiles, or there is an error.
  void tryProgram(const std::string &text, const std::string &what) {
    llvm::PrettyStackTraceString trace(what.c_str());
    std::string errors;
    ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
      if (diagnostic.getSeverity() == DiagnosticSeverity::Error)
        errors += diagnostic.str() + "\n";
    });
    ++numPrograms;
    OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(text, &context);
    if (!module) {
      EXPECT_FALSE(errors.empty()) << what << " is refused without an error";
      return;
    }
    ++numAccepted;
    CompileOptions options;
    options.cpu = "generic";
    options.cacheFolder.clear();
    if (failed(compileModule(*module, options))) {
      EXPECT_FALSE(errors.empty()) << what << " does not compile, without an error";
    }
  }

  MLIRContext context;
  int64_t numPrograms = 0, numAccepted = 0;
};

/// A function returns all that it computes, so that nothing of it is dead.
void returnEverything(func::FuncOp function) {
  Block &block = function.getBody().front();
  SmallVector<Value> values;
  for (Operation &op : block.without_terminator())
    llvm::append_range(values, op.getResults());
  block.getTerminator()->setOperands(values);
  function.setFunctionType(
      FunctionType::get(function.getContext(), function.getArgumentTypes(), ValueRange(values).getTypes()));
  function.removeResAttrsAttr();
}

std::string printGeneric(ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  module->print(stream, OpPrintingFlags().printGenericOpForm().useLocalScope());
  return text;
}

/// One function each in the generic form; what executes belongs together.
std::vector<std::string> readPrograms(MLIRContext &context, const std::string &path) {
  std::vector<std::string> programs;
  OwningOpRef<ModuleOp> module = parseSourceFile<ModuleOp>(path, &context);
  if (!module)
    return programs;
  for (func::FuncOp function : llvm::make_early_inc_range(module->getOps<func::FuncOp>())) {
    OwningOpRef<ModuleOp> single = ModuleOp::create(module->getLoc());
    function->remove();
    single->push_back(function);
    if (function.getBody().hasOneBlock())
      returnEverything(function);
    programs.push_back(printGeneric(*single));
  }
  if (!module->getBody()->empty())
    programs.push_back(printGeneric(*module));
  return programs;
}

/// `text` with the integer at each place replaced by each limit.
void forEachReplacement(const std::string &text, llvm::function_ref<void(const std::string &, int64_t)> fn) {
  for (std::sregex_iterator match(text.begin(), text.end(), getIntegerPattern()), end; match != end; ++match)
    for (int64_t limit : kLimits)
      fn(text.substr(0, match->position(2)) + std::to_string(limit) +
             text.substr(match->position(2) + match->length(2)),
         limit);
}

std::string replaceAll(std::string text, const std::string &from, const std::string &to) {
  for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to);
  return text;
}

/// The tensors and buffers that a program names.
std::set<std::string> findTypes(const std::string &text) {
  static const std::regex pattern(R"((tensor|memref)<[^<>]*(<[^<>]*>)?[^<>]*>)");
  std::set<std::string> types;
  for (std::sregex_iterator match(text.begin(), text.end(), pattern), end; match != end; ++match)
    types.insert(match->str());
  return types;
}

/// A line of the generic form: what it computes, the attributes, and the type.
struct OperationLine {
  explicit OperationLine(const std::string &line) {
    static const std::regex pattern(R"re(^(.*"((?:cs336|exec)\.\w+)"\([^)]*\))(?: <\{(.*)\}>)?(.*)$)re");
    std::smatch match;
    if (!std::regex_match(line, match, pattern))
      return;
    before = match[1];
    name = match[2];
    attributes = match[3];
    after = match[4];
  }

  std::string print(const std::string &newAttributes) const { return before + " <{" + newAttributes + "}>" + after; }

  std::string before, name, attributes, after;
};

TEST_F(IntegerLimitsTest, AttributesGiveAnErrorOrCompile) {
  std::set<std::string> seen;
  for (const char *example : kExamples) {
    std::vector<std::string> programs = readPrograms(context, std::string(CS336_DIALECT_TESTS) + "/" + example);
    ASSERT_FALSE(programs.empty()) << example;
    for (const std::string &program : programs) {
      SmallVector<StringRef> lines;
      StringRef(program).split(lines, '\n');
      for (StringRef line : lines) {
        OperationLine operation(line.str());
        if (operation.name.empty())
          continue;
        seen.insert(operation.name);
        auto tryAttributes = [&](const std::string &attributes, int64_t limit) {
          std::string changed = operation.print(attributes);
          tryProgram(replaceAll(program, line.str(), changed), changed);
        };
        forEachReplacement(operation.attributes, tryAttributes);
        // Attributes that the example leaves to their default, or out.
        for (StringAttr name : RegisteredOperationName::lookup(operation.name, &context)->getAttributeNames())
          if (!StringRef(operation.attributes).contains(name.getValue()))
            for (int64_t limit : kLimits)
              tryAttributes(operation.attributes + (operation.attributes.empty() ? "" : ", ") + name.str() + " = " +
                                std::to_string(limit) + " : i64",
                            limit);
      }
    }
  }
  for (RegisteredOperationName name : context.getRegisteredOperations())
    if (name.getDialectNamespace() == "cs336" || name.getDialectNamespace() == "exec") {
      EXPECT_TRUE(seen.count(name.getStringRef().str()))
          << name.getStringRef().str() << " has no example in test/Dialect: add one to ops.mlir";
    }
  RecordProperty("programs", std::to_string(numPrograms));
  RecordProperty("accepted", std::to_string(numAccepted));
}

TEST_F(IntegerLimitsTest, SizesOfTypesGiveAnErrorOrCompile) {
  for (const char *example : kExamples)
    for (const std::string &program : readPrograms(context, std::string(CS336_DIALECT_TESTS) + "/" + example))
      for (const std::string &type : findTypes(program))
        forEachReplacement(type, [&](const std::string &changed, int64_t) {
          tryProgram(replaceAll(program, type, changed), changed + " instead of " + type + " in\n" + program);
        });
  RecordProperty("programs", std::to_string(numPrograms));
  RecordProperty("accepted", std::to_string(numAccepted));
}

} // namespace
} // namespace cs336
