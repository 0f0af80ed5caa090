//===- LatexWriter.cpp - Tables for LaTeX ---------------------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Writers.h"
#include "llvm/ADT/STLExtras.h"

using namespace cs336::bench;

/// Escapes characters that have a meaning in LaTeX. Non-ASCII characters of titles become commands that every engine
/// and font supports.
static std::string escapeLatex(llvm::StringRef text) {
  static constexpr std::pair<llvm::StringLiteral, llvm::StringLiteral> kSpelled[] = {{"\\", "\\textbackslash{}"},
                                                                                     {"~", "\\textasciitilde{}"},
                                                                                     {"^", "\\textasciicircum{}"},
                                                                                     {"<", "\\textless{}"},
                                                                                     {">", "\\textgreater{}"},
                                                                                     {"|", "\\textbar{}"},
                                                                                     {"\"", "''"},
                                                                                     {"µ", "\\textmu{}"},
                                                                                     {"×", "\\texttimes{}"},
                                                                                     {"±", "\\textpm{}"},
                                                                                     {"²", "\\texttwosuperior{}"},
                                                                                     {"\n", " "},
                                                                                     {"#", "\\#"},
                                                                                     {"$", "\\$"},
                                                                                     {"%", "\\%"},
                                                                                     {"&", "\\&"},
                                                                                     {"_", "\\_"},
                                                                                     {"{", "\\{"},
                                                                                     {"}", "\\}"},
                                                                                     {"--", "-{}"}};
  std::string escaped;
  while (!text.empty()) {
    const auto *found = llvm::find_if(kSpelled, [&](const auto &spelled) { return text.starts_with(spelled.first); });
    if (found == std::end(kSpelled)) {
      escaped += text.front();
      text = text.drop_front();
    } else {
      escaped += found->second;
      // The second hyphen of a pair may be the first of another pair.
      text = text.drop_front(found->first == "--" ? 1 : found->first.size());
    }
  }
  return escaped;
}

namespace {
class LatexWriter : public PageWriter {
  LineWidths getLineWidths() const override { return {/*separator=*/3, /*frame=*/4}; }
  bool hasCaptions() const override { return true; }

  void writeHeading(llvm::StringRef text, int level, llvm::raw_ostream &stream) const override {
    stream << (level == 1 ? "\\section{" : "\\subsection{") << escapeLatex(text) << "}\n\n";
  }

  /// Requires the package graphicx.
  void writePicture(llvm::StringRef path, llvm::StringRef title, llvm::raw_ostream &stream) const override {
    stream << "\\begin{figure}\n  \\centering\n  \\includegraphics[width=\\linewidth]{" << path << "}\n  \\caption{"
           << escapeLatex(title) << "}\n\\end{figure}\n";
  }

  void writeText(llvm::StringRef text, llvm::raw_ostream &stream) const override {
    llvm::SmallVector<llvm::StringRef> lines;
    text.split(lines, '\n');
    for (llvm::StringRef line : lines)
      stream << escapeLatex(line.ltrim()) << "\\par\n";
  }

  void writeListing(const Listing &listing, llvm::raw_ostream &stream) const override {
    stream << "\\begin{verbatim}\n" << llvm::StringRef(listing.text).rtrim('\n') << "\n\\end{verbatim}\n";
  }

  void writeBlock(const Table &table, const Layout::Block &block, llvm::StringRef caption,
                  llvm::raw_ostream &stream) const override {
    stream << "\\begin{table}\n  \\centering\n";
    if (!caption.empty())
      stream << "  \\caption{" << escapeLatex(caption) << "}\n";
    stream << "  \\begin{tabular}{";
    for (size_t column : block.columns)
      stream << (table.isText(column) ? "l" : "r");
    stream << "}\n    \\hline\n";
    auto writeRow = [&](llvm::function_ref<llvm::StringRef(size_t)> getText) {
      stream << "    ";
      llvm::interleave(block.columns, stream, [&](size_t column) { stream << escapeLatex(getText(column)); }, " & ");
      stream << " \\\\\n";
    };
    writeRow([&](size_t column) -> llvm::StringRef { return table.getHeads()[column].title; });
    stream << "    \\hline\n";
    for (const std::vector<Cell> &row : table.getRows())
      writeRow([&](size_t column) -> llvm::StringRef { return row[column].text; });
    stream << "    \\hline\n  \\end{tabular}\n\\end{table}\n";
  }
};
} // namespace

std::unique_ptr<ReportWriter> cs336::bench::createLatexWriter() { return std::make_unique<LatexWriter>(); }
