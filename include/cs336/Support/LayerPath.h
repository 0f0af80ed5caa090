//===- LayerPath.h - Layers in paths of values ------------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_SUPPORT_LAYERPATH_H
#define CS336_SUPPORT_LAYERPATH_H

#include "llvm/ADT/StringRef.h"

#include <string>

namespace cs336 {

/// Returns the repeated part of the model that `path` belongs to: `path` up to its first component that is a number
/// ("layers.0" for "layers.0.attn.q_proj"), or "" if there is none.
llvm::StringRef getLayer(llvm::StringRef path);

/// Returns the layer of `path`, or the whole path if it belongs to none: "embedding.weight".
llvm::StringRef getLayerOrPath(llvm::StringRef path);

/// Returns the path with an asterisk in place of each number, which equal parts of all layers share:
/// "layers.*.attn.q_proj".
std::string mergeLayers(llvm::StringRef path);

} // namespace cs336

#endif // CS336_SUPPORT_LAYERPATH_H
