//===- Assembly.cpp - How kernels and buffers' names are printed -===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Dialect/Exec/IR/ExecOps.h"

using namespace mlir;
using namespace cs336;
using namespace cs336::exec;

//===----------------------------------------------------------------------===//
// exec.kernel
//===----------------------------------------------------------------------===//

ParseResult KernelOp::parse(OpAsmParser &parser, OperationState &result) {
  StringAttr name;
  SmallVector<OpAsmParser::Argument> arguments;
  FunctionType signature;
  if (parser.parseSymbolName(name, SymbolTable::getSymbolAttrName(), result.attributes) ||
      parser.parseArgumentList(arguments, OpAsmParser::Delimiter::Paren, /*allowType=*/true) || parser.parseColon() ||
      parser.parseType(signature))
    return failure();
  result.addAttribute(getSignatureAttrName(result.name), TypeAttr::get(signature));
  Region *body = result.addRegion();
  if (parser.parseOptionalAttrDictWithKeyword(result.attributes) || parser.parseRegion(*body, arguments))
    return failure();
  ensureTerminator(*body, parser.getBuilder(), result.location);
  return success();
}

void KernelOp::print(OpAsmPrinter &printer) {
  printer << ' ';
  printer.printSymbolName(getSymName());
  printer << '(';
  llvm::interleaveComma(getBody().getArguments(), printer,
                        [&](BlockArgument argument) { printer.printRegionArgument(argument); });
  printer << ") : ";
  printer.printType(getSignature());
  printer.printOptionalAttrDictWithKeyword((*this)->getAttrs(),
                                           {SymbolTable::getSymbolAttrName(), getSignatureAttrName()});
  printer << ' ';
  printer.printRegion(getBody(), /*printEntryBlockArgs=*/false);
}

//===----------------------------------------------------------------------===//
// Names of buffers: their names in the model, or their origin
//===----------------------------------------------------------------------===//

void GetOp::getAsmResultNames(OpAsmSetValueNameFn setName) { setName(getResult(), getVariable()); }
void InputOp::getAsmResultNames(OpAsmSetValueNameFn setName) { setName(getResult(), getName()); }
void OutputOp::getAsmResultNames(OpAsmSetValueNameFn setName) { setName(getResult(), getName()); }

static void nameAfterSource(Operation *op, OpAsmSetValueNameFn setName) {
  if (StringRef path = getSourcePath(op->getLoc()); !path.empty())
    setName(op->getResult(0), path);
}
void AllocOp::getAsmResultNames(OpAsmSetValueNameFn setName) { nameAfterSource(*this, setName); }
void PartOp::getAsmResultNames(OpAsmSetValueNameFn setName) { nameAfterSource(*this, setName); }
void ViewOp::getAsmResultNames(OpAsmSetValueNameFn setName) { nameAfterSource(*this, setName); }
