//===- EnumParser.h - Flags and pass options with named values --*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_SUPPORT_ENUMPARSER_H
#define CS336_SUPPORT_ENUMPARSER_H

#include "cs336/Support/UnknownValue.h"
#include "llvm/ADT/SmallVectorExtras.h"
#include "llvm/Support/CommandLine.h"

#include <string>

namespace cs336 {

/// Parses a flag or a pass option whose values are `cl::values`. Unlike LLVM's own parser, it names the known values in
/// its error, and it stores them in the option's value string, separated by '|', which shell completion reads.
///
/// A specialization of `llvm::cl::parser` for the enum derives from it, and has to be declared before an option of that
/// type.
template <typename Enum>
class EnumParser : public llvm::cl::generic_parser_base {
public:
  using parser_data_type = Enum;
  using generic_parser_base::generic_parser_base;

  unsigned getNumOptions() const override { return Values.size(); }
  llvm::StringRef getOption(unsigned index) const override { return Values[index].Name; }
  llvm::StringRef getDescription(unsigned index) const override { return Values[index].HelpStr; }
  const llvm::cl::GenericOptionValue &getOptionValue(unsigned index) const override { return Values[index].V; }

  /// Returns true, after an error, if `text` names none of the values.
  bool parse(llvm::cl::Option &option, llvm::StringRef, llvm::StringRef text, Enum &value) {
    for (const NamedValue &known : Values) {
      if (known.Name == text) {
        value = known.V.getValue();
        return false;
      }
    }
    auto names = llvm::map_to_vector(Values, [](const NamedValue &known) -> llvm::StringRef { return known.Name; });
    return option.error(describeUnknown(option.ArgStr, text, names));
  }

  template <typename Value>
  void addLiteralOption(llvm::StringRef name, const Value &value, llvm::StringRef description) {
    Values.emplace_back(name, static_cast<Enum>(value), description);
    if (!choices.empty())
      choices += '|';
    choices += name;
    Owner.setValueStr(choices);
  }

protected:
  struct NamedValue : GenericOptionInfo {
    NamedValue(llvm::StringRef name, Enum value, llvm::StringRef description)
        : GenericOptionInfo(name, description), V(value) {}
    llvm::cl::OptionValue<Enum> V;
  };

  /// MLIR's pass options look up values by this name, and V.
  llvm::SmallVector<NamedValue, 8> Values;

private:
  /// Outlives the option's reference to it.
  std::string choices;
};

} // namespace cs336

#endif // CS336_SUPPORT_ENUMPARSER_H
