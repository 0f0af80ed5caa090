//===- OutputFilter.h - Standard output through a function ------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_LSP_SERVER_OUTPUTFILTER_H
#define CS336_LSP_SERVER_OUTPUTFILTER_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/Error.h"

#include <optional>
#include <string>

namespace cs336::lsp {

/// Forks, and returns twice. In the new process it returns nothing, and standard output goes to the old one, which
/// passes each message through `change` and then on: "Content-Length: N", an empty line, N bytes. Bytes that are not a
/// message go on as they are. In the old process it returns when the new one has ended, with its exit code. Fails if
/// the system has no pipe or process. No thread may run before.
llvm::Expected<std::optional<int>> filterOutput(llvm::function_ref<void(std::string &message)> change);

} // namespace cs336::lsp

#endif // CS336_LSP_SERVER_OUTPUTFILTER_H
