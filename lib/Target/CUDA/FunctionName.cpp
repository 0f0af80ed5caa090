//===- FunctionName.cpp - Names that kernels can have ---------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FunctionName.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

/// The keywords of C++17, and the name that belongs to the program's entry. Sorted.
static constexpr llvm::StringLiteral kReserved[] = {"alignas",     "alignof",   "and",
                                                    "and_eq",      "asm",       "auto",
                                                    "bitand",      "bitor",     "bool",
                                                    "break",       "case",      "catch",
                                                    "char",        "char16_t",  "char32_t",
                                                    "class",       "compl",     "const",
                                                    "const_cast",  "constexpr", "continue",
                                                    "decltype",    "default",   "delete",
                                                    "do",          "double",    "dynamic_cast",
                                                    "else",        "enum",      "explicit",
                                                    "export",      "extern",    "false",
                                                    "float",       "for",       "friend",
                                                    "goto",        "if",        "inline",
                                                    "int",         "long",      "main",
                                                    "mutable",     "namespace", "new",
                                                    "noexcept",    "not",       "not_eq",
                                                    "nullptr",     "operator",  "or",
                                                    "or_eq",       "private",   "protected",
                                                    "public",      "register",  "reinterpret_cast",
                                                    "return",      "short",     "signed",
                                                    "sizeof",      "static",    "static_assert",
                                                    "static_cast", "struct",    "switch",
                                                    "template",    "this",      "thread_local",
                                                    "throw",       "true",      "try",
                                                    "typedef",     "typeid",    "typename",
                                                    "union",       "unsigned",  "using",
                                                    "virtual",     "void",      "volatile",
                                                    "wchar_t",     "while",     "xor",
                                                    "xor_eq"};

bool cs336::isFunctionName(llvm::StringRef name) {
  bool isIdentifier = !name.empty() && !llvm::isDigit(name.front()) &&
                      llvm::all_of(name, [](char c) { return llvm::isAlnum(c) || c == '_'; });
  return isIdentifier && !std::binary_search(std::begin(kReserved), std::end(kReserved), name);
}
