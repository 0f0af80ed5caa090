//===- UnknownValue.h - Errors for values of no known name ------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_SUPPORT_UNKNOWNVALUE_H
#define CS336_SUPPORT_UNKNOWNVALUE_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <string>

namespace cs336 {

/// Returns the names as a sentence lists them: "fp32, tf32, bf16 or fp16".
std::string listAlternatives(llvm::ArrayRef<llvm::StringRef> names);

/// Returns the error for a value that is none of the known names:
/// "unknown dtype 'fp8': expected fp32, tf32, bf16 or fp16".
std::string describeUnknown(llvm::StringRef what, llvm::StringRef value, llvm::ArrayRef<llvm::StringRef> known);

/// Returns the same error for a long list, with the known names that are most similar to the value. `where` lists the
/// others: "cs336-bench study --list".
std::string describeUnknownOfMany(llvm::StringRef what, llvm::StringRef value, llvm::ArrayRef<llvm::StringRef> known,
                                  llvm::StringRef where);

} // namespace cs336

#endif // CS336_SUPPORT_UNKNOWNVALUE_H
