//===- PackedName.h - A name for what several names stand for ---*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_LIB_DIALECT_CS336_TRANSFORMS_FUSION_PACKEDNAME_H
#define CS336_LIB_DIALECT_CS336_TRANSFORMS_FUSION_PACKEDNAME_H

#include "mlir/Support/LLVM.h"
#include <string>

namespace cs336 {

/// Returns a name for tensors that are stored together. It keeps the common parts of the dotted names and joins the
/// parts that differ.
///
///     layers.0.attn.{q_proj,k_proj,v_proj}.weight → layers.0.attn.qkv_proj.weight
///     layers.0.ffn.{w1,w3}.weight                 → layers.0.ffn.w13.weight
///     block.{query,key}.weight                    → block.query_key.weight
std::string getPackedName(mlir::ArrayRef<mlir::StringRef> names);

} // namespace cs336

#endif // CS336_LIB_DIALECT_CS336_TRANSFORMS_FUSION_PACKEDNAME_H
