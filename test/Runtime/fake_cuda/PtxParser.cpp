//===- PtxParser.cpp - Reads the text of a kernel -------------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fake_cuda/PtxParser.h"

#include "status/StatusMacros.h"

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

#include <cctype>
#include <map>
#include <optional>
#include <utility>

namespace cs336::runtime::testing {

namespace {

/// Types of registers.
enum class Type { kPredicate, k16, k32, kF32, k64 };

const std::map<absl::string_view, Type> &Types() {
  static const std::map<absl::string_view, Type> types = {
      {".pred", Type::kPredicate}, {".b16", Type::k16}, {".b32", Type::k32}, {".f32", Type::kF32}, {".b64", Type::k64}};
  return types;
}

/// Returns true if a register may be an operand of this letter.
bool IsOf(Type type, char letter) {
  switch (letter) {
  case 'p':
    return type == Type::kPredicate;
  case 'h':
    return type == Type::k16;
  case 'w':
    return type == Type::k32;
  case 'f':
    return type == Type::kF32;
  case 'x':
    return type == Type::k32 || type == Type::kF32;
  default:
    return type == Type::k64;
  }
}

/// Returns the value of an integer, of a difference of integers, or the bits of a number in float32.
std::optional<uint64_t> ParseConstant(absl::string_view text) {
  uint64_t value = 0, less = 0;
  std::vector<absl::string_view> terms = absl::StrSplit(text, " - ");
  if (terms.size() == 2 && absl::SimpleAtoi(terms[0], &value) && absl::SimpleAtoi(terms[1], &less))
    return value - less;
  if (absl::ConsumePrefix(&text, "0f") || absl::ConsumePrefix(&text, "0x"))
    return absl::SimpleHexAtoi(text, &value) ? std::optional(value) : std::nullopt;
  return absl::SimpleAtoi(text, &value) ? std::optional(value) : std::nullopt;
}

/// Takes what is before the delimiter from the text, without spaces around it.
absl::string_view TakeUntil(absl::string_view &text, char delimiter) {
  size_t end = std::min(text.find(delimiter), text.size());
  absl::string_view taken = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return absl::StripAsciiWhitespace(taken);
}

/// Splits operands at commas outside of brackets. Brackets and commas in them remain.
std::vector<absl::string_view> SplitOperands(absl::string_view text) {
  std::vector<absl::string_view> operands;
  size_t begin = 0;
  int depth = 0;
  for (size_t i = 0; i <= text.size(); ++i) {
    if (i == text.size() || (text[i] == ',' && depth == 0)) {
      operands.push_back(absl::StripAsciiWhitespace(text.substr(begin, i - begin)));
      begin = i + 1;
    } else if (text[i] == '{' || text[i] == '[') {
      ++depth;
    } else if (text[i] == '}' || text[i] == ']') {
      --depth;
    }
  }
  if (operands.back().empty())
    operands.pop_back();
  return operands;
}

class Parser {
public:
  absl::StatusOr<PtxProgram> Parse(absl::string_view text) {
    std::string code;
    for (absl::string_view line : absl::StrSplit(text, '\n'))
      absl::StrAppend(&code, line.substr(0, line.find("//")), "\n");
    absl::string_view rest = code;
    CS336_RETURN_IF_ERROR(ParseHead(rest));
    for (const auto &[name, number] : {std::pair("%tid.x", &program_.thread),
                                       {"%ntid.x", &program_.threads},
                                       {"%ctaid.x", &program_.block},
                                       {"%nctaid.x", &program_.blocks}})
      *number = AddRegister(name, Type::k32);
    for (;;) {
      absl::string_view statement = TakeUntil(rest, ';');
      if (statement == "}")
        break;
      if (rest.empty())
        return absl::InvalidArgumentError("the kernel has no end");
      CS336_RETURN_IF_ERROR(Annotate(ParseStatement(statement), statement));
    }
    for (const auto &[step, label] : jumps_) {
      if (labels_.count(label) == 0)
        return absl::InvalidArgumentError(absl::StrCat("no label ", label));
      program_.steps[step].operands[0] = labels_.at(label);
    }
    return std::move(program_);
  }

private:
  /// Reads everything up to the first statement of the kernel.
  absl::Status ParseHead(absl::string_view &text) {
    size_t entry = text.find(".visible .entry ");
    if (entry == absl::string_view::npos)
      return absl::InvalidArgumentError("no kernel");
    absl::string_view module = text.substr(0, entry);
    text.remove_prefix(entry + absl::string_view(".visible .entry ").size());
    if (size_t shared = module.find(".extern .shared .align 16 .b8 "); shared != absl::string_view::npos) {
      module.remove_prefix(shared + absl::string_view(".extern .shared .align 16 .b8 ").size());
      AddRegister(TakeUntil(module, '['), Type::k32, SharedMemory::kBegin);
    }
    program_.name = std::string(TakeUntil(text, '('));
    for (absl::string_view parameter : SplitOperands(TakeUntil(text, ')'))) {
      if (!absl::ConsumePrefix(&parameter, ".param .u64 "))
        return absl::InvalidArgumentError(absl::StrCat("parameter '", parameter, "'"));
      program_.parameters.push_back(AddRegister(absl::StrCat("[", parameter, "]"), Type::k64));
    }
    TakeUntil(text, '{');
    return absl::OkStatus();
  }

  absl::Status ParseStatement(absl::string_view text) {
    for (size_t colon = text.find(':'); colon != absl::string_view::npos; colon = text.find(':'))
      labels_[std::string(TakeUntil(text, ':'))] = program_.steps.size();
    text = absl::StripAsciiWhitespace(text);
    if (absl::ConsumePrefix(&text, ".reg "))
      return ParseRegisters(text);
    PtxProgram::Step step;
    if (absl::ConsumePrefix(&text, "@")) {
      step.is_negated = absl::ConsumePrefix(&text, "!");
      CS336_ASSIGN_OR_RETURN(step.guard, FindRegister(TakeUntil(text, ' '), 'p'));
    }
    absl::string_view name = TakeUntil(text, ' ');
    step.is_uniform = absl::ConsumeSuffix(&name, ".uni");
    std::vector<absl::string_view> operands = SplitOperands(text);
    std::string shapes;
    for (absl::string_view operand : operands)
      shapes += operand[0] == '{' || operand[0] == '[' ? operand[0] : ' ';
    const PtxInstruction *instruction = FindPtxInstruction(name, shapes);
    if (!instruction)
      return absl::InvalidArgumentError("no such instruction");
    step.run = instruction->run;
    uint32_t *next = step.operands.data();
    for (size_t i = 0; i != operands.size(); ++i)
      CS336_RETURN_IF_ERROR(ParseOperand(operands[i], instruction->operands[i], next));
    program_.steps.push_back(step);
    return absl::OkStatus();
  }

  /// Reads ".b32 %a, %b<4>" without ".reg".
  absl::Status ParseRegisters(absl::string_view text) {
    auto type = Types().find(TakeUntil(text, ' '));
    if (type == Types().end())
      return absl::InvalidArgumentError("type of registers");
    for (absl::string_view name : SplitOperands(text)) {
      absl::string_view first = TakeUntil(name, '<');
      int count = 0;
      if (name.empty())
        AddRegister(first, type->second);
      else if (!absl::SimpleAtoi(TakeUntil(name, '>'), &count))
        return absl::InvalidArgumentError("number of registers");
      for (int i = 0; i != count; ++i)
        AddRegister(absl::StrCat(first, i), type->second);
    }
    return absl::OkStatus();
  }

  /// Writes the numbers that an operand stands for to `next`.
  absl::Status ParseOperand(absl::string_view text, char letter, uint32_t *&next) {
    switch (std::tolower(letter)) {
    case 'q':
      return ParseVector(text, std::isupper(letter) ? 'W' : 'w', 4, next);
    case 'd':
      return ParseVector(text, std::isupper(letter) ? 'H' : 'h', 2, next);
    case 'g':
    case 's':
      if (!absl::ConsumePrefix(&text, "[") || !absl::ConsumeSuffix(&text, "]"))
        return absl::InvalidArgumentError("address");
      return ParseOperand(text, letter == 'g' ? 'l' : 'w', next);
    case 'b':
      jumps_.emplace_back(program_.steps.size(), text);
      return absl::OkStatus();
    default:
      break;
    }
    CS336_ASSIGN_OR_RETURN(*next, FindRegister(text, letter));
    ++next;
    return absl::OkStatus();
  }

  absl::Status ParseVector(absl::string_view text, char letter, size_t size, uint32_t *&next) {
    if (!absl::ConsumePrefix(&text, "{") || !absl::ConsumeSuffix(&text, "}"))
      return absl::InvalidArgumentError("vector");
    std::vector<absl::string_view> values = SplitOperands(text);
    if (values.size() != size)
      return absl::InvalidArgumentError("size of a vector");
    for (absl::string_view value : values)
      CS336_RETURN_IF_ERROR(ParseOperand(value, letter, next));
    return absl::OkStatus();
  }

  uint32_t AddRegister(absl::string_view name, Type type, uint64_t value = 0xdeadbeefdeadbeef) {
    auto number = static_cast<uint32_t>(program_.registers.size());
    program_.registers.push_back(value);
    numbers_[std::string(name)] = {number, type};
    return number;
  }

  /// Returns the register of an operand, or one that holds a constant. Capital letters are written.
  absl::StatusOr<uint32_t> FindRegister(absl::string_view text, char letter) {
    bool is_written = std::isupper(letter);
    auto kind = static_cast<char>(std::tolower(letter));
    if (auto found = numbers_.find(std::string(text)); found != numbers_.end()) {
      auto [number, type] = found->second;
      bool is_parameter = absl::StartsWith(text, "[");
      if (is_parameter != (kind == 'a') || !IsOf(type, kind) || (is_written && !absl::StartsWith(text, "%")))
        return absl::InvalidArgumentError(absl::StrCat("'", text, "' is of another type"));
      return number;
    }
    std::optional<uint64_t> constant = ParseConstant(text);
    if (!constant || is_written || kind == 'a' || kind == 'p' || (kind == 'f') != absl::StartsWith(text, "0f"))
      return absl::InvalidArgumentError(absl::StrCat("operand '", text, "'"));
    program_.registers.push_back(*constant);
    return static_cast<uint32_t>(program_.registers.size() - 1);
  }

  PtxProgram program_;
  std::map<std::string, std::pair<uint32_t, Type>> numbers_; // Registers by name. Parameters are in brackets.
  std::map<std::string, uint32_t> labels_;                   // Numbers of the steps after them.
  std::vector<std::pair<size_t, std::string>> jumps_;        // Steps, and the labels that are their only operands.
};

} // namespace

absl::StatusOr<PtxProgram> ParsePtx(absl::string_view text) { return Parser().Parse(text); }

} // namespace cs336::runtime::testing
