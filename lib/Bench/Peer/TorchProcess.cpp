//===- TorchProcess.cpp - PyTorch beside this program ---------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Bench/Peer/TorchProcess.h"

#include "cs336/Bench/Peer/PeerPackages.h"
#include "cs336/Support/WriteOutput.h"
#include "llvm/Support/raw_ostream.h"

#include "absl/strings/str_cat.h"

using namespace cs336::bench;
namespace json = llvm::json;

// Written by CMake: benchmarks/peers/answer_jobs.py as a string literal.
static constexpr llvm::StringLiteral kAnswerJobs =
#include "AnswerJobs.inc"
    ;

static absl::Status writeScript(const std::string &path, llvm::StringRef text) {
  llvm::Error error = cs336::writeOutput(path,
                                         [&](llvm::raw_ostream &stream) {
                                           stream << text;
                                           return llvm::Error::success();
                                         },
                                         {.durable = false});
  if (!error)
    return absl::OkStatus();
  return absl::UnavailableError(absl::StrCat(path, " cannot be written: ", llvm::toString(std::move(error))));
}

absl::StatusOr<std::unique_ptr<TorchProcess>> TorchProcess::start(llvm::ArrayRef<PeerScript> scripts,
                                                                  llvm::ArrayRef<llvm::StringLiteral> packages,
                                                                  const PeerOptions &options) {
  absl::Status check = checkPackages(options.python, packages, options.timeoutSeconds);
  if (!check.ok() && !absl::IsUnavailable(check))
    return check;
  absl::StatusOr<std::unique_ptr<JobFolder>> folder = JobFolder::create();
  if (!folder.ok())
    return folder.status();
  std::unique_ptr<TorchProcess> torch(new TorchProcess(*std::move(folder), options.answerSeconds));
  torch->failure = check;
  if (!check.ok())
    return torch;
  std::string path = torch->getPath(scripts.front().name);
  // Python finds a module beside the script that imports it.
  absl::Status isWritten = writeScript(torch->getPath("answer_jobs.py"), kAnswerJobs);
  for (const PeerScript &script : scripts)
    isWritten.Update(writeScript(torch->getPath(script.name), script.text));
  if (!isWritten.ok())
    return isWritten;
  auto process = PeerProcess::start({options.python, path});
  if (!process.ok())
    return process.status();
  torch->process = std::move(*process);
  return torch;
}

absl::StatusOr<json::Object> TorchProcess::ask(json::Object question) {
  if (!failure.ok())
    return failure;
  absl::StatusOr<json::Object> answer = process->ask(std::move(question), answerSeconds);
  if (absl::IsDeadlineExceeded(answer.status()))
    return fail(absl::UnavailableError(
        absl::StrCat("no answer within ", answerSeconds, " s, so it was ended: raise --peer-cell-timeout")));
  if (!answer.ok())
    return absl::IsCancelled(answer.status()) ? answer.status() : fail(answer.status());
  if (std::optional<llvm::StringRef> error = answer->getString("error"))
    return absl::ResourceExhaustedError(absl::StrCat("PyTorch: ", error->str()));
  if (std::optional<llvm::StringRef> reason = answer->getString("unsupported"))
    return absl::UnimplementedError(absl::StrCat("PyTorch: ", reason->str()));
  return answer;
}

absl::Status TorchProcess::fail(const absl::Status &reason) {
  failure = absl::UnavailableError(absl::StrCat("the PyTorch peer: ", reason.message()));
  return failure;
}
