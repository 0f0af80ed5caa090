//===- VerifyTensorMaps.cpp - Rules of tensor maps ------------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The rules of cuTensorMapEncodeTiled for maps without interleaving, and that a
// map stays within its operand: the hardware copies every box that is within
// the map.
//
//===----------------------------------------------------------------------===//

#include "cs336/runtime/Executable.h"
#include "format/Layout.h"
#include "format/Verifier.h"
#include "status/StatusMacros.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace cs336::runtime {

namespace {

using absl::StrCat;

constexpr int64_t kMostDims = 5, kMostSize = int64_t{1} << 32, kMostBoxSize = 256;
constexpr int64_t kStrideBytesEnd = int64_t{1} << 40; // Strides are below it.
constexpr int64_t kUnitBytes = 16;                    // Addresses, strides and boxes are multiples of it.

/// The operand of a map.
struct MappedOperand {
  int64_t bytes;     // The bytes that begin at its address.
  int64_t alignment; // The alignment of its address.
};

absl::StatusOr<MappedOperand> FindOperand(const format::SignatureT &signature, int64_t workspace_bytes,
                                          const format::TensorMapT &map) {
  size_t count = signature.operands.size();
  if (map.operand == count && workspace_bytes != 0)
    return MappedOperand{workspace_bytes, kUnitBytes};
  if (map.operand >= count)
    return Broken(StrCat("the function has ", count, " operands and ", workspace_bytes, " bytes of workspace"));
  const format::OperandSignatureT &operand = *signature.operands[map.operand];
  if (map.dtype != operand.dtype)
    return Broken(
        StrCat("its elements are ", Name(ToDType(map.dtype)), ", but the operand is ", ToString(Layout(operand))));
  return MappedOperand{ExtentBytes(Layout(operand)), operand.alignment};
}

absl::Status VerifyDimensions(const format::TensorMapT &map, int64_t element_bytes) {
  for (size_t i = 0; i != map.sizes.size(); ++i) {
    if (map.sizes[i] > kMostSize)
      return Broken(StrCat("size ", map.sizes[i], " of dimension ", i, " is above 2^32"));
    if (i == 0 ? map.strides[i] != 1
               : map.strides[i] >= kStrideBytesEnd / element_bytes || map.strides[i] * element_bytes % kUnitBytes != 0)
      return Broken(StrCat("stride ", map.strides[i], " of dimension ", i, " is not ",
                           i == 0 ? "1" : "a multiple of 16 bytes below 2^40 bytes"));
    if (map.box[i] < 1 || map.box[i] > kMostBoxSize)
      return Broken(StrCat("size ", map.box[i], " of a box in dimension ", i, " is not from 1 to ", kMostBoxSize));
  }
  return absl::OkStatus();
}

/// Returns the bytes of the innermost dimension of a box that the swizzle
/// allows, or 0 if all are allowed.
int64_t SpanBytes(format::Swizzle swizzle) {
  switch (swizzle) {
  case format::Swizzle::none:
    return 0;
  case format::Swizzle::bytes_32:
    return 32;
  case format::Swizzle::bytes_64:
    return 64;
  case format::Swizzle::bytes_128:
    return 128;
  }
  return -1;
}

absl::Status VerifyBox(const format::TensorMapT &map, int64_t element_bytes) {
  int64_t bytes = map.box[0] * element_bytes, span = SpanBytes(map.swizzle);
  if (bytes % kUnitBytes != 0)
    return Broken(StrCat("a box has ", bytes, " bytes in dimension 0, which is not a multiple of ", kUnitBytes));
  if (span < 0)
    return Broken("unknown swizzle");
  if (span != 0 && bytes > span)
    return Broken(StrCat("a box has ", bytes, " bytes in dimension 0, above the ", span, " of its swizzle"));
  if (map.promotion > format::L2Promotion::MAX)
    return Broken("unknown L2 promotion");
  return absl::OkStatus();
}

} // namespace

absl::Status VerifyTensorMap(const format::SignatureT &signature, int64_t workspace_bytes,
                             const format::TensorMapT &map) {
  if (map.sizes.empty() || map.sizes.size() > kMostDims || map.box.size() != map.sizes.size())
    return Broken(StrCat("it has ", map.sizes.size(), " dimensions, and its box has ", map.box.size(),
                         ", but both must have the same number from 1 to ", kMostDims));
  CS336_RETURN_IF_ERROR(VerifyLayout(Layout(map)));
  CS336_ASSIGN_OR_RETURN(MappedOperand operand, FindOperand(signature, workspace_bytes, map));
  int64_t element_bytes = ByteSize(ToDType(map.dtype));
  CS336_RETURN_IF_ERROR(VerifyDimensions(map, element_bytes));
  CS336_RETURN_IF_ERROR(VerifyBox(map, element_bytes));
  int64_t bytes = ExtentBytes(Layout(map));
  if (bytes > operand.bytes || map.offset < 0 || map.offset > (operand.bytes - bytes) / element_bytes)
    return Broken(StrCat("its ", bytes, " bytes from element ", map.offset, " on are not within the ", operand.bytes,
                         " of the operand"));
  if (operand.alignment % kUnitBytes != 0 || map.offset * element_bytes % kUnitBytes != 0)
    return Broken(StrCat("it starts at element ", map.offset, " of an operand whose address is a multiple of ",
                         operand.alignment, ", which is not a multiple of ", kUnitBytes, " bytes"));
  return absl::OkStatus();
}

} // namespace cs336::runtime
