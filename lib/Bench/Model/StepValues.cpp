//===- StepValues.cpp - What a step computes, for comparison --------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Bench/Model/StepValues.h"

#include "llvm/ADT/StringRef.h"

#include "absl/strings/str_cat.h"

#include <algorithm>
#include <cmath>

using namespace cs336;
using namespace cs336::bench;
using runtime::DType;
using runtime::TensorView;

Agreement cs336::bench::compare(const StepValues &ours, const StepValues &theirs, ComputeType type) {
  auto getDifference = [](double a, double b) { return std::abs(a - b) / std::abs(b); };
  double tolerance = getTolerance(type);
  Agreement agreement{getDifference(ours.loss, theirs.loss), std::nullopt, false};
  // NaN differs from every value.
  agreement.isClose = agreement.loss <= tolerance;
  if (ours.gradNorm && theirs.gradNorm) {
    agreement.gradNorm = getDifference(*ours.gradNorm, *theirs.gradNorm);
    agreement.isClose &= *agreement.gradNorm <= tolerance;
  }
  return agreement;
}

static absl::Status addSquares(const TensorView &tensor, double &sum) {
  absl::StatusOr<double> squares = runtime::SumOfSquares(tensor);
  if (squares.ok())
    sum += *squares;
  return squares.status();
}

/// Computes the mean over rows of log Σ exp(logits) - logits[target].
static absl::StatusOr<double> getCrossEntropy(const TensorView &logits, const TensorView &targets) {
  absl::StatusOr<runtime::Tensor> wide = runtime::Cast(logits, DType::kF64);
  if (!wide.ok())
    return wide.status();
  int64_t width = logits.shape().back();
  double total = 0;
  absl::Span<const int64_t> labels = targets.values<int64_t>();
  for (size_t row = 0; row != labels.size(); ++row) {
    absl::Span<const double> line = wide->values<double>().subspan(row * width, width);
    double largest = *std::max_element(line.begin(), line.end()), sum = 0;
    for (double value : line)
      sum += std::exp(value - largest);
    total += std::log(sum) + largest - line[labels[row]];
  }
  return total / static_cast<double>(labels.size());
}

absl::StatusOr<double> cs336::bench::readLoss(const runtime::Session &session, llvm::StringRef entry) {
  absl::StatusOr<TensorView> loss = session.Output(entry.str(), "loss");
  if (!loss.ok())
    return loss.status();
  absl::StatusOr<runtime::Tensor> wide = runtime::Cast(*loss, DType::kF64);
  if (!wide.ok())
    return wide.status();
  return wide->values<double>().front();
}

/// The gradients are the step's outputs, under the names of variables.
static absl::StatusOr<double> readGradientNorm(const runtime::Session &session, const format::EntryT &entry) {
  double sum = 0;
  for (const auto &output : entry.outputs) {
    if (output->name == "loss")
      continue;
    absl::StatusOr<TensorView> gradient = session.Output(entry.name, output->name);
    if (!gradient.ok())
      return gradient.status();
    if (absl::Status status = addSquares(*gradient, sum); !status.ok())
      return status;
  }
  return std::sqrt(sum);
}

static absl::StatusOr<double> readMomentNorm(const runtime::Session &session) {
  double sum = 0;
  for (const auto &variable : session.executable().variables()) {
    if (!llvm::StringRef(variable->name).starts_with("adamw.m."))
      continue;
    absl::StatusOr<double> squares = session.SumOfSquares(variable->name);
    if (!squares.ok())
      return squares.status();
    sum += *squares;
  }
  return std::sqrt(sum);
}

absl::StatusOr<StepValues> cs336::bench::runStep(runtime::Session &session, const ModelDescription &description,
                                                 const runtime::TensorMap &batch) {
  std::string name = stringifyMode(description.mode).str();
  const format::EntryT *entry = session.executable().FindEntry(name);
  if (!entry)
    return absl::InternalError(absl::StrCat("the compiled model has no entry '", name, "'"));
  std::vector<runtime::NamedTensor> inputs;
  for (const auto &input : entry->inputs)
    inputs.push_back({input->name, batch.at(input->name)});
  if (absl::Status status = session.Run(name, inputs); !status.ok())
    return status;

  if (description.mode == Mode::Forward) {
    absl::StatusOr<TensorView> logits = session.Output(name, "logits");
    if (!logits.ok())
      return logits.status();
    absl::StatusOr<double> loss = getCrossEntropy(*logits, batch.at("targets"));
    if (!loss.ok())
      return loss.status();
    return StepValues{*loss, std::nullopt};
  }
  absl::StatusOr<double> loss = readLoss(session, name);
  if (!loss.ok() || description.mode == Mode::Loss)
    return loss.ok() ? absl::StatusOr<StepValues>(StepValues{*loss, std::nullopt}) : loss.status();
  bool isTraining = description.mode == Mode::Train;
  absl::StatusOr<double> norm = isTraining ? readMomentNorm(session) : readGradientNorm(session, *entry);
  if (!norm.ok())
    return norm.status();
  return StepValues{*loss, isTraining ? *norm / (1 - description.optimizer.beta1) : *norm};
}
