//===- PassDump.cpp - The IR after every pass, in files -------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PassDump.h"

#include "cs336/Support/WriteOutput.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/xxhash.h"

using namespace mlir;
using namespace cs336;

namespace {
/// Passes the IR after each pass to the dump.
class DumpConfig : public PassManager::IRPrinterConfig {
public:
  explicit DumpConfig(PassDump &dump)
      : IRPrinterConfig(/*printModuleScope=*/false, /*printAfterOnlyOnChange=*/false,
                        /*printAfterOnlyOnFailure=*/false, OpPrintingFlags().enableDebugInfo()),
        dump(dump) {}

  void printAfterIfEnabled(Pass *pass, Operation *op, PrintCallbackFn print) override {
    dump.write(pass->getArgument(), op, print);
  }

private:
  PassDump &dump;
};
} // namespace

void PassDump::enable(PassManager &manager) { manager.enableIRPrinting(std::make_unique<DumpConfig>(*this)); }

/// Returns a part of a file's name that only this symbol has: a symbol may have any characters, and any length.
static std::string escape(StringRef symbol) {
  constexpr size_t kMostBytes = 100;
  std::string name;
  for (char each : symbol) {
    bool isPlain = llvm::isAlnum(each) || each == '_' || each == '-' || each == '.';
    name += isPlain ? std::string(1, each) : "%" + llvm::utohexstr(static_cast<uint8_t>(each), false, 2);
  }
  if (name.size() > kMostBytes)
    name = name.substr(0, kMostBytes) + "%" + llvm::utohexstr(llvm::xxh3_64bits(symbol));
  return name;
}

/// Returns a name such as "func_func_train".
static std::string getFolderName(Operation *op) {
  std::string name = op->getName().getStringRef().str();
  llvm::replace(name, '.', '_');
  auto symbol = op->getAttrOfType<StringAttr>(SymbolTable::getSymbolAttrName());
  if (!symbol)
    return name + "_no-symbol-name";
  return name + "_" + escape(symbol.getValue());
}

/// Returns a path such as "FOLDER/builtin_module_no-symbol-name/func_func_train/1_3_cs336-decompose.mlir". The numbers
/// are those of the operation and of the operations around it.
std::string PassDump::getPath(StringRef pass, Operation *op) {
  auto [number, isFirst] = numbers.try_emplace(op, 0);
  number->second += !isFirst;
  SmallVector<Operation *> around;
  for (Operation *each = op; each; each = each->getParentOp())
    around.push_back(each);
  SmallString<128> path(folder);
  std::string file;
  for (Operation *each : llvm::reverse(around)) {
    llvm::sys::path::append(path, getFolderName(each));
    file += llvm::utostr(numbers.lookup(each)) + "_";
  }
  llvm::sys::path::append(path, file + pass + ".mlir");
  return path.str().str();
}

void PassDump::write(StringRef pass, Operation *op, function_ref<void(raw_ostream &)> print) {
  std::string path;
  {
    std::lock_guard<std::mutex> lock(mutex);
    if (!error.empty())
      return;
    path = getPath(pass, op);
  }
  // Printing verifies the IR on other threads, and this thread may run another pass meanwhile. It therefore holds no
  // lock.
  llvm::Error failure = writeDump(path, print);
  if (!failure)
    return;
  std::lock_guard<std::mutex> lock(mutex);
  if (error.empty())
    error = "cannot write '" + path + "': " + llvm::toString(std::move(failure));
  else
    llvm::consumeError(std::move(failure));
}
