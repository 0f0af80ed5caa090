//===- ReadJSON.h - JSON that people write ----------------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_SUPPORT_READJSON_H
#define CS336_SUPPORT_READJSON_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"

namespace cs336 {

/// Parses a JSON text (RFC 8259) in UTF-8; a byte order mark before it is skipped, as some editors write one.
/// llvm::json::parse alone keeps the last of two equal keys, takes "+1" and "01" for numbers, and recurses.
///
/// Returns an error for text that is malformed, that nests deeper than 16 levels, or in which an object has a key
/// twice.
llvm::Expected<llvm::json::Value> readJSON(llvm::StringRef text);

} // namespace cs336

#endif // CS336_SUPPORT_READJSON_H
