//===- TransformerConfig.cpp - Hyper-parameters of the model --------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Frontend/TransformerConfig.h"

#include "cs336/Support/UnknownValue.h"
#include "llvm/ADT/SmallVectorExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

#include <cmath>

using namespace cs336;
using llvm::Error;

/// Bounds of the built models. Layers are unrolled in the IR, and positions are 32-bit integers in it.
static constexpr int64_t kMaxSize = INT32_MAX;
static constexpr int64_t kMaxLayers = 4096;
/// The dialect takes tensors of at most 2^48 bytes, and an element has up to 8.
static constexpr int64_t kMaxElements = int64_t(1) << 45;

llvm::ArrayRef<TransformerConfig::IntegerField> TransformerConfig::getIntegerFields() {
  static constexpr IntegerField kFields[] = {
      {"vocab_size", &TransformerConfig::vocabSize, "tokens in the vocabulary (default 10000)"},
      {"context_length", &TransformerConfig::contextLength, "positions in a sequence (default 256)"},
      {"d_model", &TransformerConfig::dModel, "width of the residual stream"},
      {"num_layers", &TransformerConfig::numLayers, "Transformer blocks"},
      {"num_heads", &TransformerConfig::numHeads, "attention heads; divides d_model"},
      {"d_ff", &TransformerConfig::dFF, "inner width of the feed-forward network"},
      {"batch_size", &TransformerConfig::batchSize, "sequences in a step (default 4)"},
  };
  return kFields;
}

namespace {
struct NamedSize {
  llvm::StringLiteral name;
  int64_t dModel, dFF, numLayers, numHeads;
};
} // namespace

static constexpr NamedSize kNamedSizes[] = {
    {"small", 768, 3072, 12, 12}, {"medium", 1024, 4096, 24, 16}, {"large", 1280, 5120, 36, 20},
    {"xl", 1600, 6400, 48, 25},   {"2.7B", 2560, 10240, 32, 32},  {"2.35B", 3200, 25600, 8, 4},
    {"10B", 4608, 12288, 50, 36}, {"tiny", 128, 512, 2, 4},
};

llvm::SmallVector<llvm::StringRef> TransformerConfig::getSizeNames() {
  return llvm::map_to_vector(kNamedSizes, [](const NamedSize &size) -> llvm::StringRef { return size.name; });
}

Error TransformerConfig::setSize(llvm::StringRef name) {
  const NamedSize *size = llvm::find_if(kNamedSizes, [&](const NamedSize &size) { return size.name == name; });
  if (size == std::end(kNamedSizes))
    return llvm::createStringError(describeUnknown("size", name, getSizeNames()));
  dModel = size->dModel;
  dFF = size->dFF;
  numLayers = size->numLayers;
  numHeads = size->numHeads;
  return Error::success();
}

/// Verifies the number of a tensor's elements. `term` names the tensor for the error message.
static Error verifyElements(llvm::StringRef term, llvm::ArrayRef<int64_t> factors) {
  int64_t product = 1;
  for (int64_t factor : factors)
    if (llvm::MulOverflow(product, factor, product) || product >= kMaxElements)
      return llvm::createStringError(llvm::formatv(
          "{0} = {1} elements are too many: a tensor must have fewer than 2^45", term,
          llvm::join(llvm::map_range(factors, [](int64_t factor) { return std::to_string(factor); }), " * ")));
  return Error::success();
}

Error TransformerConfig::verify() const {
  if (dModel == 0 && dFF == 0 && numLayers == 0 && numHeads == 0)
    return llvm::createStringError(llvm::formatv(
        "the model has no size: give size, which is one of {0}, or d_model, d_ff, num_layers and num_heads",
        llvm::join(getSizeNames(), ", ")));
  for (const IntegerField &field : getIntegerFields()) {
    int64_t value = this->*field.member;
    int64_t limit = field.member == &TransformerConfig::numLayers ? kMaxLayers : kMaxSize;
    if (value <= 0)
      return llvm::createStringError(
          llvm::formatv("{0} is {1}, must be given and positive ({2})", field.key, value, field.description));
    if (value > limit)
      return llvm::createStringError(llvm::formatv("{0} is {1}, must be at most {2}", field.key, value, limit));
  }
  if (dModel % numHeads != 0)
    return llvm::createStringError(
        llvm::formatv("d_model is {0}, must be a multiple of num_heads, which is {1}", dModel, numHeads));
  if (getHeadDim() % 2 != 0)
    return llvm::createStringError(llvm::formatv("d_model / num_heads = {0} / {1} = {2} must be even: rotary embedding "
                                                 "turns pairs of elements",
                                                 dModel, numHeads, getHeadDim()));
  if (!std::isfinite(ropeTheta) || ropeTheta <= 0)
    return llvm::createStringError(llvm::formatv("rope_theta is {0}, must be finite and positive", ropeTheta));

  if (Error error = verifyElements("vocab_size * d_model", {vocabSize, dModel}))
    return error;
  // The estimate of a layer's weights is an upper bound, so that all parameters together stay below the limit too.
  if (Error error = verifyElements("8 * num_layers * d_model * max(d_model, d_ff)",
                                   {8, numLayers, dModel, std::max(dModel, dFF)}))
    return error;
  if (Error error = verifyElements("batch_size * context_length * max(d_ff, d_model, vocab_size)",
                                   {batchSize, contextLength, std::max({dFF, dModel, vocabSize})}))
    return error;
  return verifyElements("batch_size * num_heads * context_length * context_length",
                        {batchSize, numHeads, contextLength, contextLength});
}

int64_t TransformerConfig::getParameterCount() const {
  int64_t layer = 4 * dModel * dModel + 3 * dModel * dFF + 2 * dModel;
  return 2 * vocabSize * dModel + numLayers * layer + dModel;
}
