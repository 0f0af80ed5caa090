//===- PeerPackages.cpp - What a peer's Python must have ------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Bench/Peer/PeerPackages.h"

#include "cs336/Bench/Peer/PeerProcess.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Program.h"

#include "absl/strings/str_cat.h"

using namespace cs336::bench;
namespace json = llvm::json;

// Written by CMake: benchmarks/peers/import_packages.py as a string literal.
static constexpr llvm::StringLiteral kPackagesScript =
#include "ImportPackages.inc"
    ;
static constexpr llvm::StringLiteral kAdvice = ", or name another Python with --peer-python";

/// Returns UNAVAILABLE with the packages that are missing according to the answer, or OK if none is.
static absl::Status describeMissing(const json::Object &answer, llvm::StringRef python) {
  const json::Object *missing = answer.getObject("missing");
  if (!missing || !answer.getObject("versions"))
    return absl::UnavailableError(absl::StrCat(python.str(), " does not answer as a Python: check --peer-python"));
  if (missing->empty())
    return absl::OkStatus();
  std::vector<std::string> reasons, names;
  for (const auto &[name, reason] : *missing) {
    names.push_back(name.str());
    reasons.push_back(llvm::formatv("{0} ({1})", name.str(), reason.getAsString().value_or("")));
  }
  llvm::sort(names);
  llvm::sort(reasons);
  return absl::UnavailableError(llvm::formatv("{0} cannot import {1}: install with '{0} -m pip install {2}'{3}", python,
                                              llvm::join(reasons, ", "), llvm::join(names, " "), kAdvice)
                                    .str());
}

absl::Status cs336::bench::checkPackages(const std::string &python, llvm::ArrayRef<llvm::StringLiteral> packages,
                                         double timeoutSeconds) {
  // Searches PATH as a shell does, so that messages contain the path of the file.
  llvm::ErrorOr<std::string> found = llvm::sys::findProgramByName(python);
  std::string path = found ? *found : python;
  auto process = PeerProcess::start({path, "-c", kPackagesScript.str()});
  if (!process.ok())
    return process.status();
  json::Array names;
  for (llvm::StringRef package : packages)
    names.push_back(package);
  absl::StatusOr<json::Object> answer = (*process)->ask(json::Object{{"packages", std::move(names)}}, timeoutSeconds);
  if (answer.ok())
    return describeMissing(*answer, path);
  if (absl::IsCancelled(answer.status()))
    return answer.status();
  std::string wanted = llvm::join(packages, ", ");
  if (absl::IsDeadlineExceeded(answer.status()))
    return absl::UnavailableError(absl::StrCat(path, " has not imported ", wanted, " within ", timeoutSeconds,
                                               " s: raise --peer-timeout", kAdvice.str()));
  return absl::UnavailableError(
      absl::StrCat(path, " failed while it imported ", wanted, ": ", answer.status().message()));
}
