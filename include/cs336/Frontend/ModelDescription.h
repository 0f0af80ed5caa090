//===- ModelDescription.h - The model to build, from JSON or flags -*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A description in JSON is one object:
//
//   {"size": "small", "context_length": 512, "batch_size": 8, "mode": "train", "dtype": "f32",
//    "optimizer": {"form": "pytorch", "lr": 1e-3, "weight_decay": 0.1, "max_norm": 1.0}}
//
// The text is UTF-8. Every key is optional and may occur once. "size" sets hyper-parameters, which other keys then
// replace.
//
//===----------------------------------------------------------------------===//

#ifndef CS336_FRONTEND_MODELDESCRIPTION_H
#define CS336_FRONTEND_MODELDESCRIPTION_H

#include "cs336/Dialect/CS336/IR/CS336Dialect.h"
#include "cs336/Frontend/TransformerConfig.h"
#include "llvm/Support/JSON.h"

namespace cs336 {

/// The update of a training step; defaults are PyTorch's. Fields as in `#cs336.optimizer`.
struct OptimizerConfig {
  AdamWForm form = AdamWForm::PyTorch;
  double lr = 1e-3, beta1 = 0.9, beta2 = 0.999, eps = 1e-8, weightDecay = 0.01;
  /// Gradients are scaled down to this norm; 0 leaves them unchanged.
  double maxNorm = 0.0;
  /// Linear warm-up, then a cosine down to `minLr` at `cosineSteps`; if both are 0, the rate is always `lr`.
  int64_t warmupSteps = 0, cosineSteps = 0;
  double minLr = 0.0;

  struct RealField {
    llvm::StringLiteral key;
    double OptimizerConfig::*member;
    llvm::StringLiteral description;
  };
  static llvm::ArrayRef<RealField> getRealFields();
  struct IntegerField {
    llvm::StringLiteral key;
    int64_t OptimizerConfig::*member;
    llvm::StringLiteral description;
  };
  static llvm::ArrayRef<IntegerField> getIntegerFields();

  /// Sets one field by its key. The error names the key and the value.
  llvm::Error set(llvm::StringRef key, const llvm::json::Value &value);
  /// Returns null, with a diagnostic, if a number is out of range.
  OptimizerAttr getAttr(llvm::function_ref<mlir::InFlightDiagnostic()> emitError, mlir::MLIRContext *context) const;
};

/// The floating-point type of parameters and activations as they are built.
enum class BuildType { F32, F64 };

/// A model, the mode of its entry points, and its type.
struct ModelDescription {
  TransformerConfig transformer;
  OptimizerConfig optimizer;
  Mode mode = Mode::Train;
  BuildType dtype = BuildType::F32;

  /// Reads a JSON object. The error has the position of malformed text, or the key and its wrong value.
  static llvm::Expected<ModelDescription> fromJSON(llvm::StringRef text);

  /// Replaces the fields that the object's keys name. Does not verify.
  llvm::Error update(const llvm::json::Object &object);
};

} // namespace cs336

#endif // CS336_FRONTEND_MODELDESCRIPTION_H
