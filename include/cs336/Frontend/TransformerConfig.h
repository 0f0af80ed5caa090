//===- TransformerConfig.h - Hyper-parameters of the model ------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_FRONTEND_TRANSFORMERCONFIG_H
#define CS336_FRONTEND_TRANSFORMERCONFIG_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <cstdint>

namespace cs336 {

/// A pre-norm decoder-only Transformer language model with RMSNorm, RoPE, causal attention and SwiGLU, as taught in
/// Stanford's CS336. No biases; the output projection is not tied to the embedding.
struct TransformerConfig {
  int64_t vocabSize = 10000;
  int64_t contextLength = 256;
  int64_t dModel = 0;
  int64_t numLayers = 0;
  int64_t numHeads = 0;
  int64_t dFF = 0;
  int64_t batchSize = 4;
  /// Base of the rotary embedding's wavelengths.
  double ropeTheta = 10000.0;

  /// An integer hyper-parameter and its name in configurations and on command lines.
  struct IntegerField {
    llvm::StringLiteral key;
    int64_t TransformerConfig::*member;
    llvm::StringLiteral description;
  };
  static llvm::ArrayRef<IntegerField> getIntegerFields();

  /// Sets width, depth, heads and d_ff to those of a named size: small, medium, large, xl, 2.7B, 2.35B, 10B or tiny.
  /// The error lists the sizes.
  llvm::Error setSize(llvm::StringRef size);
  static llvm::SmallVector<llvm::StringRef> getSizeNames();

  /// Returns an error if the model cannot be built. The error names the key, its value and the accepted values. On
  /// success, every tensor has, and all parameters together have, fewer than 2^45 elements.
  llvm::Error verify() const;

  int64_t getHeadDim() const { return dModel / numHeads; }
  /// Returns 2Vd + L(4d² + 3·d·d_ff + 2d) + d.
  int64_t getParameterCount() const;
};

} // namespace cs336

#endif // CS336_FRONTEND_TRANSFORMERCONFIG_H
