//===- ScoreForms.cpp - The kinds of score functions ----------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ScoreBuilder.h"
#include "cs336/Bench/Attention/AttentionProgram.h"
#include "cs336/Bench/Attention/AttentionScore.h"

#include "absl/strings/str_cat.h"

#include <algorithm>
#include <cmath>

using namespace mlir;
using namespace cs336;
using namespace cs336::bench;

std::string ScoreForm::getUsage() const {
  switch (numberKind) {
  case Number::None:
    return name.str();
  case Number::Integer:
    return absl::StrCat(name.str(), ":N");
  case Number::Real:
    return absl::StrCat(name.str(), ":X");
  }
  llvm_unreachable("every kind of number has a usage");
}

absl::Status ScoreForm::check(const AttentionCase &) const { return absl::OkStatus(); }

double ScoreForm::countPairs(const AttentionCase &attention) const {
  double length = static_cast<double>(attention.length);
  return length * length * (attention.isCausal ? 0.5 : 1);
}

int64_t ScoreForm::getCachedKeys(double) const { return 0; }
std::optional<ScoreState> ScoreForm::getState(const AttentionCase &) const { return std::nullopt; }
void ScoreForm::change(ScoreBuilder &, double) const {}
Value ScoreForm::buildMask(ScoreBuilder &, double) const { return {}; }

namespace {
/// A query sees itself and the N − 1 keys before it.
class WindowForm : public ScoreForm {
public:
  constexpr WindowForm() : ScoreForm("window", Number::Integer) {}

  absl::Status check(const AttentionCase &attention) const override {
    if (attention.isCausal)
      return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat("--score ", attention.score.text,
                                                   " conflicts with --mask full, because a window hides the keys after "
                                                   "the query: give --mask causal"));
  }
  double countPairs(const AttentionCase &attention) const override {
    double length = static_cast<double>(attention.length), width = std::min(attention.score.number, length);
    return length * width - width * width / 2;
  }
  Value buildMask(ScoreBuilder &scores, double number) const override {
    ImplicitLocOpBuilder &builder = scores.getBuilder();
    Value query = scores.getQueries(), key = scores.getKeys();
    Value distance = SubOp::create(builder, query.getType(), query, key);
    Value width = ConstantOp::create(builder, cast<RankedTensorType>(query.getType()), number);
    return CompareOp::create(builder, Predicate::LT, distance, width);
  }
};

/// The first N keys are cached: they have positions before those of all queries.
class CachedForm : public ScoreForm {
public:
  constexpr CachedForm() : ScoreForm("cached", Number::Integer) {}

  absl::Status check(const AttentionCase &attention) const override {
    if (!attention.isCausal)
      return absl::InvalidArgumentError(
          absl::StrCat("--score ", attention.score.text,
                       " conflicts with --mask full, because only the mask depends on the positions of queries: give "
                       "--mask causal"));
    if (attention.getQueries() > 0)
      return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat("--length is ", attention.length, ", must be above ",
                                                   getCachedKeys(attention.score.number), " with --score ",
                                                   attention.score.text, ", which caches as many keys"));
  }
  double countPairs(const AttentionCase &attention) const override {
    auto queries = static_cast<double>(attention.getQueries());
    return queries * attention.score.number + queries * queries / 2;
  }
  int64_t getCachedKeys(double number) const override { return static_cast<int64_t>(number); }
};

/// Attention with linear biases (Press, Smith and Lewis, 2021): adds slope(head) · (key − query). The slope of head h
/// of H is 2^(−8(h + 1) / H).
class AlibiForm : public ScoreForm {
public:
  constexpr AlibiForm() : ScoreForm("alibi", Number::None) {}

  std::optional<ScoreState> getState(const AttentionCase &attention) const override {
    ScoreState slopes{"slopes", {attention.numHeads}, /*isInteger=*/false, {}};
    for (int64_t head = 1; head <= attention.numHeads; ++head)
      slopes.values.push_back(std::exp2(-8.0 * static_cast<double>(head) / static_cast<double>(attention.numHeads)));
    return slopes;
  }
  void change(ScoreBuilder &scores, double /*number*/) const override {
    ImplicitLocOpBuilder &builder = scores.getBuilder();
    RankedTensorType type = scores.getType();
    Value query = scores.getQueries(), key = scores.getKeys();
    Value distance = SubOp::create(builder, query.getType(), key, query);
    auto distances = cast<RankedTensorType>(distance.getType()).clone(type.getElementType());
    distance = scores.spreadPairs(CastOp::create(builder, distances, distance));
    Value slopes = scores.spreadHeads(scores.getState());
    Value bias = MulOp::create(builder, type, slopes, distance);
    scores.setScores(AddOp::create(builder, type, scores.getScores(), bias));
  }
};

/// Adds a number by head and by the distance from the query to the key, which counts as at most N in both directions.
class RelativeForm : public ScoreForm {
public:
  constexpr RelativeForm() : ScoreForm("relative", Number::Integer) {}

  std::optional<ScoreState> getState(const AttentionCase &attention) const override {
    auto reach = static_cast<int64_t>(attention.score.number);
    ScoreState biases{"biases", {2 * reach + 1, attention.numHeads}, /*isInteger=*/false, {}};
    for (int64_t distance = -reach; distance <= reach; ++distance)
      for (int64_t head = 1; head <= attention.numHeads; ++head)
        biases.values.push_back(std::sin(0.1 * static_cast<double>(head * distance)));
    return biases;
  }
  void change(ScoreBuilder &scores, double number) const override {
    ImplicitLocOpBuilder &builder = scores.getBuilder();
    Value query = scores.getQueries(), key = scores.getKeys();
    auto type = cast<RankedTensorType>(query.getType());
    Value distance = SubOp::create(builder, type, key, query);
    distance = MaxOp::create(builder, type, distance, ConstantOp::create(builder, type, -number));
    distance = MinOp::create(builder, type, distance, ConstantOp::create(builder, type, number));
    Value row = AddOp::create(builder, type, distance, ConstantOp::create(builder, type, number));
    auto table = cast<RankedTensorType>(scores.getState().getType());
    auto rows = table.clone({type.getDimSize(0), type.getDimSize(1), table.getDimSize(1)});
    Value biases = EmbeddingOp::create(builder, rows, scores.getState(), row);
    scores.setScores(AddOp::create(builder, scores.getType(), scores.getScores(), scores.spreadRows(biases)));
  }
};

/// X · tanh(score / X).
class SoftCapForm : public ScoreForm {
public:
  constexpr SoftCapForm() : ScoreForm("softcap", Number::Real) {}

  void change(ScoreBuilder &scores, double number) const override {
    ImplicitLocOpBuilder &builder = scores.getBuilder();
    RankedTensorType type = scores.getType();
    Value cap = scores.makeNumber(number);
    Value ratio = DivOp::create(builder, type, scores.getScores(), cap);
    scores.setScores(MulOp::create(builder, type, TanhOp::create(builder, type, ratio), cap));
  }
};

/// Sequences that consist of N documents of equal length. A query sees the keys of its own document.
class DocumentsForm : public ScoreForm {
public:
  constexpr DocumentsForm() : ScoreForm("documents", Number::Integer) {}

  absl::Status check(const AttentionCase &attention) const override {
    if (attention.length % getCount(attention) == 0)
      return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat("--length is ", attention.length, ", must be a multiple of ",
                                                   getCount(attention), " with --score ", attention.score.text,
                                                   ", because documents have equal lengths"));
  }
  double countPairs(const AttentionCase &attention) const override {
    return ScoreForm::countPairs(attention) / attention.score.number;
  }
  std::optional<ScoreState> getState(const AttentionCase &attention) const override {
    ScoreState documents{"documents", {attention.batchSize, attention.length}, /*isInteger=*/true, {}};
    int64_t documentLength = attention.length / getCount(attention);
    for (int64_t sequence = 0; sequence < attention.batchSize; ++sequence)
      for (int64_t position = 0; position < attention.length; ++position)
        documents.values.push_back(static_cast<double>(position / documentLength));
    return documents;
  }
  void change(ScoreBuilder &scores, double /*number*/) const override {
    Value ofQuery = scores.spreadQueries(scores.getState()), ofKey = scores.spreadKeys(scores.getState());
    scores.hide(CompareOp::create(scores.getBuilder(), Predicate::EQ, ofQuery, ofKey));
  }

private:
  static int64_t getCount(const AttentionCase &attention) { return static_cast<int64_t>(attention.score.number); }
};
} // namespace

llvm::ArrayRef<const ScoreForm *> bench::getScoreForms() {
  static const ScoreForm plain("plain", ScoreForm::Number::None);
  static const WindowForm window;
  static const CachedForm cached;
  static const AlibiForm alibi;
  static const RelativeForm relative;
  static const SoftCapForm softCap;
  static const DocumentsForm documents;
  static const ScoreForm *const forms[] = {&plain, &window, &cached, &alibi, &relative, &softCap, &documents};
  return forms;
}
