//===- cs336-lsp-server.cpp - IR diagnostics and navigation in editors ----===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// MLIR's language server with our dialects. It answers on standard output; on
// the way, replies about our operations get their documentation.
//
//===----------------------------------------------------------------------===//

#include "OutputFilter.h"
#include "ReplyDocs.h"
#include "cs336/Driver/Compile/Registration.h"
#include "cs336/Driver/Tool/ToolFlags.h"
#include "cs336/Driver/Tool/ToolMain.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/Tools/mlir-lsp-server/MlirLspServerMain.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/WithColor.h"

using namespace llvm;

/// Adds documentation to a message and keeps its layout: tests request a readable one.
static void addDocs(const cs336::lsp::ReplyDocs &docs, std::string &message) {
  Expected<json::Value> parsed = json::parse(message);
  if (!parsed)
    return consumeError(parsed.takeError());
  if (docs.addTo(*parsed))
    message = StringRef(message).contains('\n') ? formatv("{0:2}", *parsed).str() : formatv("{0}", *parsed).str();
}

int main(int argc, char **argv) {
  return cs336::toolMain(argc, argv, [&] {
    cs336::lsp::ReplyDocs docs;
    Expected<std::optional<int>> code = cs336::lsp::filterOutput([&](std::string &message) { addDocs(docs, message); });
    if (!code) {
      WithColor::error(errs()) << "cannot redirect standard output: " << toString(code.takeError()) << "\n";
      return EXIT_FAILURE;
    }
    if (*code)
      return **code;
    mlir::DialectRegistry registry;
    cs336::registerAllDialects(registry);
    // The flags of the server itself are registered later, and stay visible.
    cs336::hideOtherFlags({});
    return mlir::asMainReturnCode(mlir::MlirLspServerMain(argc, argv, registry));
  });
}
