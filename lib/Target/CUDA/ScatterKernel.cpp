//===- ScatterKernel.cpp - Parts of kernels that add rows -----------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ScatterKernel.h"
#include "ExpressionPrinter.h"

#include <limits>

using namespace mlir;
using namespace cs336::cuda;

ScatterKernel::ScatterKernel(const DeviceKernel &kernel, const ScatterLoops &scatter)
    : kernel(kernel), scatter(scatter), program(scatter.getProgram(kernel)), columns(chooseColumns()),
      indices(needs64BitIndices(program) ||
              kernel.operands.back().getNumElements() > std::numeric_limits<int32_t>::max()) {}

VectorAxis ScatterKernel::chooseColumns() const {
  // The loop over columns is one dimension, unless there is only one column.
  const LoopNest &nest = program.nests.back();
  return nest.getNumDims() == 0 ? VectorAxis() : VectorAxis{nest.begin, chooseVectorWidth(program, kernel, nest.begin)};
}

void ScatterKernel::collectDeviceSources(DeviceSources &sources) const {
  if (columns.width > 1)
    sources.insert("vector.cuh");
  program.collectDeviceSources(kernel, sources);
}

std::string ScatterKernel::getVectorType(StringRef element) const {
  return columns.width == 1 ? element.str() : ("Vector<" + element + ", " + Twine(columns.width) + ">").str();
}

std::string ScatterKernel::getGradientType() const {
  return getVectorType(ExpressionPrinter::getStorageType(program.scalars[1].type));
}

std::string ScatterKernel::getSumType() const {
  return getVectorType(ExpressionPrinter::getComputeType(getTableType()));
}

std::string ScatterKernel::splat(TypedAttr value) const {
  std::string element = ExpressionPrinter::print(value).text;
  if (columns.width == 1)
    return element;
  return "{" + llvm::join(SmallVector<std::string>(columns.width, element), ", ") + "}";
}

std::string ScatterKernel::emitRow(raw_ostream &os, StringRef indent, StringRef position) const {
  indices.emitPoint(os, indent, 0, program.getExtents(program.getPoint()), position, 1);
  return kernel.getOperandName(scatter.ids) + "[" + indices.print(program.scalars[0].index).text + "]";
}

void ScatterKernel::emitLoad(raw_ostream &os, StringRef indent, StringRef vector, StringRef position) const {
  indices.emitPoint(os, indent, 0, program.getExtents(program.getPoint()), position, 1);
  const LoopNest &nest = program.nests.back();
  if (nest.getNumDims() != 0)
    os << indent << "const " << indices.getType() << " " << IndexPrinter::getVariable(nest.begin) << " = column;\n";
  std::string gradient = kernel.getOperandName(scatter.gradient);
  Expression index = indices.print(program.scalars[1].index);
  os << indent << vector << " = ";
  if (columns.width == 1)
    os << gradient << "[" << index.text << "];\n";
  else
    os << "loadVector<" << columns.width << ">(" << gradient << " + " << index.in(Precedence::Additive) << ");\n";
}

void ScatterKernel::emitAddition(raw_ostream &os, StringRef indent, StringRef vector) const {
  emitAdditionOf(os, indent, ExpressionPrinter::printLoaded(program.scalars[1].type, {vector.str() + getLane()}));
}

void ScatterKernel::emitSumAddition(raw_ostream &os, StringRef indent, StringRef vector) const {
  emitAdditionOf(os, indent, {vector.str() + getLane()});
}

void ScatterKernel::emitAdditionOf(raw_ostream &os, StringRef indent, Expression term) const {
  Expression sum{"sum" + getLane()};
  Expression added = ExpressionPrinter::print(scatter.add, {sum, term});
  if (scatter.rounding)
    added = ExpressionPrinter::print(scatter.rounding, added);
  if (columns.width > 1)
    os << "#pragma unroll\n" << indent << "for (int lane = 0; lane < " << columns.width << "; ++lane)\n  ";
  os << indent << sum.text << " = " << added.text << ";\n";
}

void ScatterKernel::emitStore(raw_ostream &os, StringRef indent) const {
  std::string place = "row * " + std::to_string(scatter.columns) + " + column";
  std::string value = ExpressionPrinter::printStored(getTableType(), {"sum" + getLane()}).text;
  if (columns.width == 1) {
    os << indent << "out0[" << place << "] = " << value << ";\n";
    return;
  }
  os << indent << getVectorType(ExpressionPrinter::getStorageType(getTableType())) << " y0;\n#pragma unroll\n"
     << indent << "for (int lane = 0; lane < " << columns.width << "; ++lane)\n"
     << indent << "  y0[lane] = " << value << ";\n"
     << indent << "storeVector(out0 + " << place << ", y0);\n";
}
