//===- OperationDocs.cpp - Documentation of operations --------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "OperationDocs.h"

using namespace cs336::lsp;
using llvm::StringRef;

/// Pages that mlir-tblgen wrote from the definitions of operations.
static constexpr llvm::StringLiteral kPages[] = {
#include "OperationPages.inc"
};

/// Adds the operations of a page: each has a section that begins "### `cs336.rsqrt` (::cs336::RsqrtOp)", and goes on
/// with the summary in underscores. The text after "Traits:" or a smaller heading is for readers of C++ and is omitted.
static void addPage(StringRef page, llvm::StringMap<OperationDoc> &docs) {
  constexpr StringRef kHeading = "\n### `";
  size_t begin = page.find(kHeading);
  while (begin != StringRef::npos) {
    size_t next = page.find(kHeading, begin + 1);
    StringRef section = page.slice(begin + kHeading.size(), next);
    begin = next;
    auto [heading, body] = section.split('\n');
    for (StringRef end : {"\nTraits: ", "\nInterfaces: ", "\nEffects: ", "\n#### "})
      body = body.take_front(body.find(end));
    body = body.trim('\n');
    docs[heading.split('`').first] = {body.split('\n').first.trim('_'), body};
  }
}

llvm::StringMap<OperationDoc> cs336::lsp::readOperationDocs() {
  llvm::StringMap<OperationDoc> docs;
  for (StringRef page : kPages)
    addPage(page, docs);
  return docs;
}
