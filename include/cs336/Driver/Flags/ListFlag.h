//===- ListFlag.h - Flags whose value is a list of values -------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_DRIVER_FLAGS_LISTFLAG_H
#define CS336_DRIVER_FLAGS_LISTFLAG_H

#include "llvm/ADT/StringSet.h"
#include "llvm/Support/CommandLine.h"

namespace cs336 {

/// A flag whose value is a list with commas. A value that occurs twice is an error: the same cell would be measured
/// twice. Without `cl::CommaSeparated`, the flag has one value and may be given again.
template <typename Value, typename Parser = llvm::cl::parser<Value>>
class ListFlag : public llvm::cl::list<Value, bool, Parser> {
  using Base = llvm::cl::list<Value, bool, Parser>;

public:
  using Base::Base;

  bool addOccurrence(unsigned position, llvm::StringRef name, llvm::StringRef text, bool isMulti = false) override {
    bool isList = (this->getMiscFlags() & llvm::cl::CommaSeparated) != 0;
    if (isList && !texts.insert(text).second)
      return this->error("it names '" + text + "' twice");
    return Base::addOccurrence(position, name, text, isMulti);
  }

private:
  llvm::StringSet<> texts;
};

} // namespace cs336

#endif // CS336_DRIVER_FLAGS_LISTFLAG_H
