//===- OperationDocs.h - Documentation of operations ------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_LSP_SERVER_OPERATIONDOCS_H
#define CS336_LSP_SERVER_OPERATIONDOCS_H

#include "llvm/ADT/StringMap.h"

namespace cs336::lsp {

/// The text that an editor shows for an operation.
struct OperationDoc {
  /// One line: "1/√x".
  llvm::StringRef summary;
  /// Markdown: the summary, the syntax, the semantics and an example.
  llvm::StringRef text;
};

/// Returns the documentation of the operations of our dialects by name ("cs336.rsqrt"), from their definitions.
llvm::StringMap<OperationDoc> readOperationDocs();

} // namespace cs336::lsp

#endif // CS336_LSP_SERVER_OPERATIONDOCS_H
