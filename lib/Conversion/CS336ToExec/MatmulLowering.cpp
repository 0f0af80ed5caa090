//===- MatmulLowering.cpp - Matmuls as strided GEMMs ----------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MatmulLowering.h"

#include "cs336/Dialect/Exec/IR/ExecOps.h"
#include "cs336/Statistics/RemarkOptions.h"

using namespace mlir;
using namespace cs336;
using namespace cs336::exec;

static constexpr RemarkOptions matmulLoweringRemarks("convert-cs336-to-exec");

namespace {
/// A matrix, or a batch of matrices, in storage.
struct Matrix {
  Value buffer;
  BufferLayout layout;

  explicit Matrix(Value buffer) : buffer(buffer), layout(cast<MemRefType>(buffer.getType())) {}

  size_t getRank() const { return layout.sizes.size(); }
  void transpose() {
    std::swap(layout.sizes.end()[-1], layout.sizes.end()[-2]);
    std::swap(layout.strides.end()[-1], layout.strides.end()[-2]);
  }
};
} // namespace

/// Copies a matrix if GEMM does not accept its layout.
static void makeAcceptable(Matrix &matrix, OpBuilder &builder, Location loc) {
  MemRefType type = matrix.layout.getType();
  if (GemmOp::acceptsLayout(type))
    return;
  remark::missed(loc, matmulLoweringRemarks("OperandCopied"))
      << "the matmul's operand is copied: GEMM does not accept its strides";
  matrix = Matrix(createDenseCopy(builder, loc, createView(builder, loc, matrix.buffer, type)));
}

/// Flattens all axes but the last into one, if strides can express it.
static bool flattenRows(BufferLayout &layout) {
  int64_t rows = 1, stride = 0;
  for (auto [size, axisStride] :
       llvm::reverse(llvm::zip_equal(ArrayRef(layout.sizes).drop_back(), ArrayRef(layout.strides).drop_back()))) {
    if (size == 1)
      continue;
    if (rows == 1)
      stride = axisStride;
    else if (axisStride != stride * rows)
      return false;
    rows *= size;
  }
  // The stride of a single row has no effect. Use that of a dense matrix.
  if (rows == 1)
    stride = layout.sizes.back();
  layout.sizes = {rows, layout.sizes.back()};
  layout.strides = {stride, layout.strides.back()};
  return true;
}

/// Uses one matrix for all batches.
static void repeat(BufferLayout &layout, ArrayRef<int64_t> batch) {
  layout.sizes.insert(layout.sizes.begin(), batch.begin(), batch.end());
  layout.strides.insert(layout.strides.begin(), batch.size(), 0);
}

void cs336::lowerMatmul(MatmulOp op, MatmulOp::Adaptor buffers, OpBuilder &builder, Value output) {
  Location loc = op.getLoc();
  Matrix a(buffers.getLhs()), b(buffers.getRhs()), c(output);
  if (op.getTransposeA())
    a.transpose();
  if (op.getTransposeB())
    b.transpose();
  makeAcceptable(a, builder, loc);
  makeAcceptable(b, builder, loc);

  if (b.getRank() < a.getRank()) {
    BufferLayout flat = a.layout;
    if (flattenRows(flat) && GemmOp::acceptsLayout(flat.getType())) {
      a.layout = flat;
      flattenRows(c.layout); // Succeeds: the layout is dense.
    } else {
      repeat(b.layout, ArrayRef(a.layout.sizes).drop_back(2));
    }
  }
  auto view = [&](const Matrix &matrix) { return createView(builder, loc, matrix.buffer, matrix.layout.getType()); };
  Value aView = view(a), bView = view(b), cView = view(c);
  auto makeDense = [&](Value buffer) {
    return dropOffset(cast<MemRefType>(buffer.getType())).getLayout().isIdentity()
               ? buffer
               : createDenseCopy(builder, loc, buffer);
  };
  Value dView;
  if (Value addend = buffers.getAddend()) {
    // It has the output's layout, which is dense.
    Matrix d(makeDense(addend));
    int64_t offset = d.layout.offset;
    d.layout = c.layout;
    d.layout.offset = offset;
    dView = view(d);
  }
  Value bias = buffers.getBias() ? makeDense(buffers.getBias()) : Value();
  auto gemm = GemmOp::create(builder, loc, aView, bView, cView, op.getPrecision(), dView);
  if (bias)
    gemm.getBiasMutable().assign(bias);
  gemm.setRelu(op.getRelu());
}
