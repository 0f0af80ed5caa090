//===- ReplyDocs.h - Documentation in replies to editors --------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_LSP_SERVER_REPLYDOCS_H
#define CS336_LSP_SERVER_REPLYDOCS_H

#include "OperationDocs.h"
#include "llvm/Support/JSON.h"

namespace cs336::lsp {

/// Adds documentation to the answers of MLIR's language server.
class ReplyDocs {
public:
  ReplyDocs();

  /// Changes a message of the server: a hover over an operation of ours gets its documentation, and so does each
  /// operation in a completion of one of our dialects. Returns false, and changes nothing, for every other message.
  bool addTo(llvm::json::Value &message) const;

private:
  bool addToHover(llvm::json::Object &hover) const;
  bool addToCompletion(llvm::json::Array &items) const;
  llvm::StringRef findDialect(const llvm::json::Array &items) const;

  llvm::StringMap<OperationDoc> docs;
  /// The number of documented operations of each dialect.
  llvm::StringMap<unsigned> dialects;
};

} // namespace cs336::lsp

#endif // CS336_LSP_SERVER_REPLYDOCS_H
