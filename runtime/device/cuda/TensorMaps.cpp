//===- TensorMaps.cpp - Encoded tensor maps -------------------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "device/cuda/TensorMaps.h"

#include "format/Layout.h"
#include "status/StatusMacros.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

#include <cstddef>
#include <cstdint>

namespace cs336::runtime {

namespace {

CUtensorMapDataType DataTypeOf(format::DType dtype) {
  switch (dtype) {
  case format::DType::f64:
    return CU_TENSOR_MAP_DATA_TYPE_FLOAT64;
  case format::DType::f32:
    return CU_TENSOR_MAP_DATA_TYPE_FLOAT32;
  case format::DType::bf16:
    return CU_TENSOR_MAP_DATA_TYPE_BFLOAT16;
  case format::DType::f16:
    return CU_TENSOR_MAP_DATA_TYPE_FLOAT16;
  case format::DType::i64:
    return CU_TENSOR_MAP_DATA_TYPE_INT64;
  case format::DType::i32:
    return CU_TENSOR_MAP_DATA_TYPE_INT32;
  case format::DType::i1:
    break;
  }
  return CU_TENSOR_MAP_DATA_TYPE_UINT8;
}

CUtensorMapSwizzle SwizzleOf(format::Swizzle swizzle) {
  switch (swizzle) {
  case format::Swizzle::none:
    break;
  case format::Swizzle::bytes_32:
    return CU_TENSOR_MAP_SWIZZLE_32B;
  case format::Swizzle::bytes_64:
    return CU_TENSOR_MAP_SWIZZLE_64B;
  case format::Swizzle::bytes_128:
    return CU_TENSOR_MAP_SWIZZLE_128B;
  }
  return CU_TENSOR_MAP_SWIZZLE_NONE;
}

CUtensorMapL2promotion PromotionOf(format::L2Promotion promotion) {
  switch (promotion) {
  case format::L2Promotion::none:
    break;
  case format::L2Promotion::bytes_64:
    return CU_TENSOR_MAP_L2_PROMOTION_L2_64B;
  case format::L2Promotion::bytes_128:
    return CU_TENSOR_MAP_L2_PROMOTION_L2_128B;
  case format::L2Promotion::bytes_256:
    return CU_TENSOR_MAP_L2_PROMOTION_L2_256B;
  }
  return CU_TENSOR_MAP_L2_PROMOTION_NONE;
}

std::string Describe(const format::TensorMapT &map) {
  return absl::StrCat("of operand ", map.operand, " from element ", map.offset, " on, ", ToString(Layout(map)),
                      ", boxes of [", absl::StrJoin(map.box, ", "), "], swizzle ",
                      format::EnumNameSwizzle(map.swizzle));
}

} // namespace

absl::StatusOr<CUtensorMap> EncodeTensorMap(const DriverApi &driver, const format::TensorMapT &map, void *address) {
  int64_t element_bytes = ByteSize(ToDType(map.dtype));
  size_t rank = map.sizes.size();
  // Verification has bounded these numbers, and the rank by 5.
  cuuint64_t sizes[5], stride_bytes[5];
  cuuint32_t box[5], element_strides[5];
  for (size_t i = 0; i != rank; ++i) {
    sizes[i] = static_cast<cuuint64_t>(map.sizes[i]);
    stride_bytes[i] = static_cast<cuuint64_t>(map.strides[i] * element_bytes);
    box[i] = static_cast<cuuint32_t>(map.box[i]);
    element_strides[i] = 1;
  }
  CUtensorMap encoded = {};
  // The driver takes no stride of the innermost dimension.
  absl::Status status =
      driver.TensorMapEncodeTiled(&encoded, DataTypeOf(map.dtype), static_cast<cuuint32_t>(rank),
                                  static_cast<char *>(address) + map.offset * element_bytes, sizes, stride_bytes + 1,
                                  box, element_strides, CU_TENSOR_MAP_INTERLEAVE_NONE, SwizzleOf(map.swizzle),
                                  PromotionOf(map.promotion), CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  if (!status.ok())
    return Annotate(status, Describe(map));
  return encoded;
}

} // namespace cs336::runtime
