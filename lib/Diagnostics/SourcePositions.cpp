//===- SourcePositions.cpp - Where named locations are in IR text ---------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Diagnostics/SourcePositions.h"

#include "mlir/AsmParser/AsmParser.h"
#include "mlir/AsmParser/AsmParserState.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/Operation.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace cs336;

static std::string print(Location loc) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  loc->print(stream);
  return text;
}

/// Returns the innermost name of a location; empty if it has none. For a fused location, uses the first part with a
/// name.
static StringRef getInnermostName(Location loc) {
  if (auto name = dyn_cast<NameLoc>(loc)) {
    StringRef inner = getInnermostName(name.getChildLoc());
    return inner.empty() ? name.getName().getValue() : inner;
  }
  if (auto call = dyn_cast<CallSiteLoc>(loc))
    return getInnermostName(call.getCallee());
  if (auto fused = dyn_cast<FusedLoc>(loc))
    for (Location part : fused.getLocations())
      if (StringRef name = getInnermostName(part); !name.empty())
        return name;
  return {};
}

SourcePositions::SourcePositions(StringRef text, StringRef chunk, const DialectRegistry &dialects)
    : text(text), chunk(chunk) {
  dialects.appendTo(registry);
}

/// Adds a location. `position` points into a copy of the chunk that begins at `start`.
void SourcePositions::add(Location loc, const char *position, const char *start) {
  // An error with a position is reported at that position.
  StringRef name = getInnermostName(loc);
  if (!position || name.empty() || loc->findInstanceOf<FileLineColLoc>())
    return;
  StringRef before = text.take_front((chunk.data() - text.data()) + (position - start));
  SourcePosition found{static_cast<unsigned>(before.count('\n') + 1),
                       static_cast<unsigned>(before.size() - (before.rfind('\n') + 1) + 1)};
  byLocation[print(loc)].push_back(found);
  byName[name].push_back(found);
}

void SourcePositions::read() {
  wasRead = true;
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  context.allowUnregisteredDialects();
  ScopedDiagnosticHandler silence(&context, [](Diagnostic &) { return success(); });
  llvm::SourceMgr sources;
  // The parser needs a NUL at the end.
  auto buffer = llvm::MemoryBuffer::getMemBufferCopy(chunk);
  const char *start = buffer->getBufferStart();
  sources.AddNewSourceBuffer(std::move(buffer), llvm::SMLoc());
  Block block;
  AsmParserState state;
  if (failed(parseAsmSourceFile(sources, &block, ParserConfig(&context, /*verifyAfterParse=*/false), &state)))
    return;
  for (const AsmParserState::OperationDefinition &definition : state.getOpDefs())
    add(definition.op->getLoc(), definition.loc.Start.getPointer(), start);
  for (const AsmParserState::BlockDefinition &definition : state.getBlockDefs())
    for (auto [argument, source] : llvm::zip(definition.block->getArguments(), definition.arguments))
      add(argument.getLoc(), source.loc.Start.getPointer(), start);
}

ArrayRef<SourcePosition> SourcePositions::find(Location loc) {
  StringRef name = getInnermostName(loc);
  if (name.empty())
    return {};
  if (!wasRead)
    read();
  if (auto found = byLocation.find(print(loc)); found != byLocation.end())
    return found->second;
  auto found = byName.find(name);
  return found == byName.end() ? ArrayRef<SourcePosition>() : ArrayRef<SourcePosition>(found->second);
}

StringRef SourcePositions::getLine(unsigned line) const {
  StringRef rest = text;
  for (unsigned skipped = 1; skipped < line && !rest.empty(); ++skipped)
    rest = rest.split('\n').second;
  return rest.split('\n').first;
}
