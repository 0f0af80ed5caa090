//===- AttentionScore.h - Score functions of attention ----------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_BENCH_ATTENTION_ATTENTIONSCORE_H
#define CS336_BENCH_ATTENTION_ATTENTIONSCORE_H

#include "mlir/IR/Value.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include "absl/status/statusor.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace cs336::bench {

struct AttentionCase;
class ScoreBuilder;

/// State that a score function reads: document numbers, slopes.
struct ScoreState {
  std::string name;
  std::vector<int64_t> shape;
  /// If true, elements are i32; otherwise they have the type of queries and keys.
  bool isInteger = false;
  /// In row-major order.
  std::vector<double> values;
};

/// A kind of score function. In all functions, `attention.score` and `number` have the number that the form takes.
/// There is one object per form, without mutable state.
class ScoreForm {
public:
  /// The number that a form takes: none, an integer from 1 to 2^24, or a positive real number.
  enum class Number { None, Integer, Real };

  constexpr ScoreForm(llvm::StringLiteral name, Number numberKind) : name(name), numberKind(numberKind) {}
  virtual ~ScoreForm() = default;

  llvm::StringRef getName() const { return name; }
  Number getNumberKind() const { return numberKind; }
  /// "window:N", "softcap:X", "alibi".
  std::string getUsage() const;

  /// Returns INVALID_ARGUMENT if the form does not apply to the mask or the length of the case.
  virtual absl::Status check(const AttentionCase &attention) const;
  /// Returns the number of visible pairs of a query and a key, per batch and head. Pairs are counted as areas of a
  /// square with sides of S = `length`: S² without a mask, S²/2 with a causal mask.
  virtual double countPairs(const AttentionCase &attention) const;
  /// Returns the number of the first keys whose positions have no query.
  virtual int64_t getCachedKeys(double number) const;
  /// Returns the state that the form reads, or nullopt.
  virtual std::optional<ScoreState> getState(const AttentionCase &attention) const;

  /// Appends the operations that change scores.
  virtual void change(ScoreBuilder &scores, double number) const;
  /// Appends the operations of a mask that depends on positions alone, i1 of [queries, keys], to be combined with a
  /// causal mask. Returns null if there is none.
  virtual mlir::Value buildMask(ScoreBuilder &scores, double number) const;

private:
  llvm::StringLiteral name;
  Number numberKind;
};

/// Returns all forms. The first is "plain", which changes nothing.
llvm::ArrayRef<const ScoreForm *> getScoreForms();

/// A score function: a form with its number.
struct AttentionScore {
  const ScoreForm *form = getScoreForms().front();
  /// 0 if the form takes none.
  double number = 0;
  /// As --score takes it: "plain", "window:64".
  std::string text = "plain";

  bool operator==(const AttentionScore &) const = default;
};

/// Reads one element of --score. Returns INVALID_ARGUMENT if the form is unknown, or rejects the number.
absl::StatusOr<AttentionScore> parseScore(llvm::StringRef text);

} // namespace cs336::bench

#endif // CS336_BENCH_ATTENTION_ATTENTIONSCORE_H
