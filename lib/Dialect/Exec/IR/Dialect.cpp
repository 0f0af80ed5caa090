//===- Dialect.cpp - The exec dialect and its buffers -===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Dialect/Exec/IR/ExecDialect.h"

#include "BufferTypes.h"
#include "cs336/Dialect/Exec/IR/ExecOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

#include "cs336/Dialect/Exec/IR/ExecDialect.cpp.inc"
#include "cs336/Dialect/Exec/IR/ExecEnums.cpp.inc"
#include "cs336/Dialect/Exec/IR/ExecInterfaces.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "cs336/Dialect/Exec/IR/ExecAttributes.cpp.inc"

using namespace mlir;
using namespace cs336;
using namespace cs336::exec;

void ExecDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "cs336/Dialect/Exec/IR/ExecOps.cpp.inc"
      >();
  addAttributes<
#define GET_ATTRDEF_LIST
#include "cs336/Dialect/Exec/IR/ExecAttributes.cpp.inc"
      >();
}

bool OutputOp::outlivesCommands() { return true; }

StorageKind PartOp::getStorageKind() { return getStorage(getResult()).getStorageKind(); }
void PartOp::build(OpBuilder &builder, OperationState &state, MemRefType result, Value source, int64_t shift) {
  build(builder, state, result, source, shift == 0 ? IntegerAttr() : builder.getI64IntegerAttr(shift));
}
StorageKind ViewOp::getStorageKind() { return getStorage(getResult()).getStorageKind(); }

void GemmOp::build(OpBuilder &builder, OperationState &state, Value lhs, Value rhs, Value output, Precision precision,
                   Value addend) {
  build(builder, state, lhs, rhs, addend, /*bias=*/Value(), output, /*relu=*/false, precision,
        /*workspace=*/Value(), /*stream=*/0);
}

static SmallVector<Value> getWrites(ValueRange outputs, Value workspace) {
  SmallVector<Value> writes(outputs);
  if (workspace)
    writes.push_back(workspace);
  return writes;
}

void LaunchOp::build(OpBuilder &builder, OperationState &state, FlatSymbolRefAttr kernel, ValueRange inputs,
                     ValueRange outputs) {
  build(builder, state, kernel, inputs, outputs, /*workspace=*/Value(), /*stream=*/0);
}

SmallVector<Value> LaunchOp::getWrites() { return ::getWrites(getOutputs(), getWorkspace()); }

SmallVector<Value> GemmOp::getWrites() { return ::getWrites(getOutput(), getWorkspace()); }

SmallVector<Value> GemmOp::getReads() {
  SmallVector<Value> reads{getLhs(), getRhs()};
  if (getAddend())
    reads.push_back(getAddend());
  if (getBias())
    reads.push_back(getBias());
  return reads;
}

#define GET_OP_CLASSES
#include "cs336/Dialect/Exec/IR/ExecOps.cpp.inc"
