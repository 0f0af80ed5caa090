//===- InitialParameters.h - What the cells of a sweep have alike -*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_BENCH_MODEL_INITIALPARAMETERS_H
#define CS336_BENCH_MODEL_INITIALPARAMETERS_H

#include "cs336/Frontend/ModelDescription.h"
#include "cs336/runtime/Session.h"

#include <map>

namespace cs336::bench {

/// The settings that determine a model's parameters. They exclude the batch's size and length, and the compilation
/// options.
std::string describeParameters(const ModelDescription &description, uint64_t seed);

/// The initial parameters of a sweep's sessions. They are drawn once for all cells with the same parameters, if the
/// host has enough memory for a copy.
class InitialParameters {
public:
  /// For each of the descriptions, `cells` sessions will be initialized.
  InitialParameters(llvm::ArrayRef<ModelDescription> descriptions, size_t cells, uint64_t seed);

  /// Sets all variables of the session to their initial values. The session is of the description's model.
  absl::Status initialize(runtime::Session &session, const ModelDescription &description);

private:
  uint64_t seed;
  /// The number of further sessions with these parameters.
  std::map<std::string, size_t> expected;
  std::string keptModel;
  runtime::TensorMap kept;
};

} // namespace cs336::bench

#endif // CS336_BENCH_MODEL_INITIALPARAMETERS_H
