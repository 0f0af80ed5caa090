//===- PositionHandler.cpp - Diagnostics with files and lines -------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Diagnostics/PositionHandler.h"

#include "NumberNote.h"
#include "cs336/Diagnostics/SourcePositions.h"
#include "mlir/IR/BuiltinDialect.h"
#include "mlir/IR/MLIRContext.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/SourceMgr.h"

using namespace mlir;
using namespace cs336;

/// Lines that a note lists at most.
static constexpr unsigned kMostLines = 8;

static Location getFileLocation(StringRef name, SourcePosition position, MLIRContext *context) {
  return FileLineColLoc::get(context, name, position.line, position.column);
}

/// Adds a note with the lines of the other operations that have the same location.
static void noteOtherLines(Diagnostic &diagnostic, ArrayRef<SourcePosition> others) {
  auto print = [](SourcePosition position) { return std::to_string(position.line); };
  std::string lines = llvm::join(llvm::map_range(others.take_front(kMostLines), print), ", ");
  diagnostic.attachNote() << "the location is also that of operations in line" << (others.size() > 1 ? "s " : " ")
                          << lines << (others.size() > kMostLines ? ", …" : "");
}

static llvm::SourceMgr::DiagKind getKind(DiagnosticSeverity severity) {
  switch (severity) {
  case DiagnosticSeverity::Note:
    return llvm::SourceMgr::DK_Note;
  case DiagnosticSeverity::Warning:
    return llvm::SourceMgr::DK_Warning;
  case DiagnosticSeverity::Error:
    return llvm::SourceMgr::DK_Error;
  case DiagnosticSeverity::Remark:
    return llvm::SourceMgr::DK_Remark;
  }
  llvm_unreachable("every severity has a kind");
}

/// Prints a diagnostic that is not about an operation, such as an error in a flag. MLIR would print the file name
/// "<unknown>:0". A diagnostic without text is not printed: MLIR emits one after LLVM has printed an error in the
/// options of a pass.
static void printWithoutPosition(const Diagnostic &diagnostic) {
  std::string text = diagnostic.str();
  if (StringRef trimmed = StringRef(text).trim(); !trimmed.empty())
    llvm::SMDiagnostic("", getKind(diagnostic.getSeverity()), trimmed).print(nullptr, llvm::errs());
}

/// Emits a diagnostic again with positions. Fails if it has a position already, or the text has none.
static LogicalResult emitWithPosition(Diagnostic &diagnostic, SourcePositions &positions, StringRef name) {
  Location loc = diagnostic.getLocation();
  if (auto file = loc->findInstanceOf<FileLineColLoc>()) {
    if (file.getFilename() == name)
      noteNumber(diagnostic, positions.getLine(file.getLine()), file.getColumn());
    return failure();
  }
  ArrayRef<SourcePosition> found = positions.find(loc);
  if (found.empty())
    return failure();
  MLIRContext *context = loc->getContext();
  Diagnostic located(getFileLocation(name, found.front(), context), diagnostic.getSeverity());
  located << loc << ": " << diagnostic.str();
  for (Diagnostic &note : diagnostic.getNotes()) {
    Location noteLoc = note.getLocation();
    ArrayRef<SourcePosition> foundNote = positions.find(noteLoc);
    bool isFound = !noteLoc->findInstanceOf<FileLineColLoc>() && !foundNote.empty();
    located.attachNote(isFound ? getFileLocation(name, foundNote.front(), context) : noteLoc) << note.str();
  }
  bool isRemark = diagnostic.getSeverity() == DiagnosticSeverity::Remark;
  if (found.size() > 1 && !isRemark)
    noteOtherLines(located, found.drop_front());
  // This handler does not handle it a second time.
  context->getDiagEngine().emit(std::move(located));
  return success();
}

/// The same for tools, which print diagnostics: prints those without a location.
static LogicalResult printOrEmitWithPosition(Diagnostic &diagnostic, SourcePositions &positions, StringRef name) {
  if (!isa<UnknownLoc>(diagnostic.getLocation()) || !diagnostic.getNotes().empty())
    return emitWithPosition(diagnostic, positions, name);
  printWithoutPosition(diagnostic);
  return success();
}

PositionHandler::PositionHandler(StringRef text, StringRef name, MLIRContext *context)
    : ScopedDiagnosticHandler(context),
      positions(std::make_unique<SourcePositions>(text, text, context->getDialectRegistry())) {
  setHandler([this, name](Diagnostic &diagnostic) { return emitWithPosition(diagnostic, *positions, name); });
}

PositionHandler::PositionHandler(const llvm::SourceMgr &sources, MLIRContext *context)
    : PositionHandler(sources.getMemoryBuffer(sources.getMainFileID())->getBuffer(),
                      sources.getMemoryBuffer(sources.getMainFileID())->getBufferIdentifier(), context) {
  StringRef name = sources.getMemoryBuffer(sources.getMainFileID())->getBufferIdentifier();
  setHandler([this, name](Diagnostic &diagnostic) { return printOrEmitWithPosition(diagnostic, *positions, name); });
}

PositionHandler::~PositionHandler() = default;

namespace {
/// State that all contexts of one registry share.
struct SharedText {
  StringRef text, name;
  SmallVector<StringRef> chunks;
  DialectRegistry registry;
  size_t nextChunk = 0;
  bool hasHandler = false;

  void beginContext() {
    nextChunk += nextChunk < chunks.size();
    hasHandler = false;
  }

  void addHandler(MLIRContext *context) {
    hasHandler = true;
    auto positions = std::make_shared<SourcePositions>(text, chunks[nextChunk - 1], registry);
    context->getDiagEngine().registerHandler([positions, name = name](Diagnostic &diagnostic) {
      return printOrEmitWithPosition(diagnostic, *positions, name);
    });
  }
};

/// Runs as dialects are loaded: the builtin dialect by the context's constructor, the first other one by the parser,
/// when the handler that prints is registered.
class PositionExtension : public DialectExtensionBase {
public:
  explicit PositionExtension(std::shared_ptr<SharedText> shared)
      : DialectExtensionBase({}), shared(std::move(shared)) {}

  void apply(MLIRContext *context, MutableArrayRef<Dialect *> dialects) const override {
    if (llvm::any_of(dialects, [](Dialect *dialect) { return isa<BuiltinDialect>(dialect); }))
      shared->beginContext();
    else if (!shared->hasHandler)
      shared->addHandler(context);
  }

  std::unique_ptr<DialectExtensionBase> clone() const override { return std::make_unique<PositionExtension>(shared); }

private:
  std::shared_ptr<SharedText> shared;
};
} // namespace

void cs336::addPositionHandlers(DialectRegistry &registry, StringRef text, StringRef name, StringRef splitMarker) {
  auto shared = std::make_shared<SharedText>();
  shared->text = text;
  shared->name = name;
  if (splitMarker.empty())
    shared->chunks.push_back(text);
  else
    text.split(shared->chunks, splitMarker);
  registry.appendTo(shared->registry);
  registry.addExtension(TypeID::get<PositionExtension>(), std::make_unique<PositionExtension>(shared));
}
