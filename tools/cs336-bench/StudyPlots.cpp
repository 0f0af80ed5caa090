//===- StudyPlots.cpp - Pictures of a folder of studies -------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StudyPlots.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"

#include "absl/strings/str_cat.h"

#include <unistd.h>
#include <vector>

using namespace cs336::bench;
using llvm::StringRef;

static constexpr llvm::StringLiteral kPython = "python3", kModule = "cs336.results", kPath = "PYTHONPATH=";

std::string cs336::bench::describePlotCommand(StringRef folder, StringRef pictures) {
  return absl::StrCat(kPython.str(), " -m ", kModule.str(), " plot ", folder.str(), " --output ", pictures.str());
}

/// Returns the environment of this process, with the folder `package` first in PYTHONPATH.
static std::vector<std::string> makeEnvironment(StringRef package) {
  std::vector<std::string> variables;
  std::string path = (kPath + package).str();
  for (char **variable = environ; *variable; ++variable) {
    StringRef text = *variable;
    if (text.consume_front(kPath))
      absl::StrAppend(&path, ":", text.str());
    else
      variables.push_back(text.str());
  }
  variables.push_back(path);
  return variables;
}

namespace {
/// A temporary file for what a process prints.
class PrintedLines {
public:
  PrintedLines() : error(llvm::sys::fs::createTemporaryFile("cs336-plots", "txt", path)), remover(path) {}

  std::error_code getError() const { return error; }
  StringRef getPath() const { return path; }
  std::vector<std::string> read() const {
    std::vector<std::string> lines;
    if (llvm::ErrorOr<std::unique_ptr<llvm::MemoryBuffer>> text = llvm::MemoryBuffer::getFile(path))
      for (StringRef line : llvm::split((*text)->getBuffer(), '\n'))
        if (!line.empty())
          lines.push_back(line.str());
    return lines;
  }

private:
  llvm::SmallString<128> path;
  std::error_code error;
  llvm::FileRemover remover;
};
} // namespace

absl::StatusOr<std::vector<std::string>> cs336::bench::drawPlots(StringRef program, StringRef folder,
                                                                 StringRef pictures) {
  llvm::ErrorOr<std::string> python = llvm::sys::findProgramByName(kPython);
  if (!python)
    return absl::UnavailableError(absl::StrCat(kPython.str(), " is not on PATH"));
  PrintedLines names, errors;
  for (const PrintedLines *file : {&names, &errors})
    if (file->getError())
      return absl::UnavailableError(absl::StrCat("a temporary file cannot be made: ", file->getError().message()));

  llvm::SmallString<128> package(llvm::sys::path::parent_path(program));
  llvm::sys::path::append(package, "..", "python");
  std::vector<std::string> variables = makeEnvironment(package);
  llvm::SmallVector<StringRef> environment(variables.begin(), variables.end());
  StringRef arguments[] = {*python, "-m", kModule, "plot", folder, "--output", pictures};
  std::string message;
  int code = llvm::sys::ExecuteAndWait(*python, arguments, llvm::ArrayRef(environment),
                                       {std::nullopt, names.getPath(), errors.getPath()}, 0, 0, &message);
  if (code == 0)
    return names.read();
  std::vector<std::string> lines = errors.read();
  return absl::UnavailableError(!message.empty() || lines.empty() ? message : lines.back());
}
