//===- StepFlops.cpp - Work of one step, from its configuration -----------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Frontend/StepFlops.h"

using namespace cs336;

double cs336::getModelFlops(const TransformerConfig &config, Mode mode) {
  double batch = static_cast<double>(config.batchSize), sequence = static_cast<double>(config.contextLength);
  double width = static_cast<double>(config.dModel), inner = static_cast<double>(config.dFF);
  double layers = static_cast<double>(config.numLayers), vocabulary = static_cast<double>(config.vocabSize);

  double weights = layers * (4 * width * width + 3 * width * inner) + vocabulary * width;
  double linears = 2 * batch * sequence * weights;
  // Attention has two matmuls; a causal mask hides half of both.
  double attention = layers * 2 * (2 * batch * sequence * sequence * width) / 2;
  bool hasBackward = mode == Mode::ForwardBackward || mode == Mode::Train;
  return hasBackward ? 3 * linears + 3.5 * attention : linears + attention;
}
