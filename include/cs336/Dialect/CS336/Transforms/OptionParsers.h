//===- OptionParsers.h - Pass options with named values ---------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Errors in these options list the known values. Include this file where options of these types are declared, before
// GEN_PASS_DEF.
//
//===----------------------------------------------------------------------===//

#ifndef CS336_DIALECT_CS336_TRANSFORMS_OPTIONPARSERS_H
#define CS336_DIALECT_CS336_TRANSFORMS_OPTIONPARSERS_H

#include "cs336/Dialect/CS336/Transforms/Passes.h"
#include "cs336/Support/EnumParser.h"

namespace llvm::cl {

template <>
class parser<cs336::AdamWForm> : public cs336::EnumParser<cs336::AdamWForm> {
public:
  using EnumParser::EnumParser;
};

template <>
class parser<cs336::AutocastType> : public cs336::EnumParser<cs336::AutocastType> {
public:
  using EnumParser::EnumParser;
};

template <>
class parser<cs336::DistributeMode> : public cs336::EnumParser<cs336::DistributeMode> {
public:
  using EnumParser::EnumParser;
};

template <>
class parser<cs336::Mode> : public cs336::EnumParser<cs336::Mode> {
public:
  using EnumParser::EnumParser;
};

template <>
class parser<cs336::OptimizerKind> : public cs336::EnumParser<cs336::OptimizerKind> {
public:
  using EnumParser::EnumParser;
};

} // namespace llvm::cl

#endif // CS336_DIALECT_CS336_TRANSFORMS_OPTIONPARSERS_H
