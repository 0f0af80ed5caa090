//===- GemmTuning.cpp - The fastest algorithm per GEMM --------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "device/cuda/GemmTuning.h"

#include "cs336/runtime/CacheFolder.h"
#include "cs336/runtime/ReplaceFile.h"

#include "absl/cleanup/cleanup.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <sys/file.h>
#include <unistd.h>
#include <zlib.h>

namespace cs336::runtime {

namespace {

constexpr int kFormat = 2;

/// A file with some hundred problems of some hundred bytes each is below this
/// size.
constexpr int64_t kMostBytes = int64_t{64} << 20;

/// Returns "NVIDIA H200" as a part of a file's name.
std::string FileNamePart(std::string text) {
  for (char &c : text)
    if (!absl::ascii_isalnum(c))
      c = '-';
  return text;
}

/// Returns a checksum of a choice and its problem. It detects a choice that was
/// damaged or moved to another problem.
uint32_t Checksum(absl::string_view problem, const GemmChoice &choice) {
  std::string text = absl::StrCat(problem, "\n", absl::StrJoin(choice.algorithm, " "));
  return crc32_z(0, reinterpret_cast<const Bytef *>(text.data()), text.size());
}

/// Parses a choice. Returns nullopt unless it is complete and for exactly this
/// problem.
absl::optional<GemmChoice> ParseChoice(absl::string_view problem, const nlohmann::json &json) {
  if (!json.is_object() || !json.contains("algorithm") || !json.contains("microseconds"))
    return absl::nullopt;
  const nlohmann::json &words = json["algorithm"];
  GemmChoice choice;
  if (!words.is_array() || words.size() != choice.algorithm.size() || !json["microseconds"].is_number())
    return absl::nullopt;
  for (size_t i = 0; i != words.size(); ++i) {
    if (!words[i].is_number_unsigned())
      return absl::nullopt;
    choice.algorithm[i] = words[i].get<uint64_t>();
  }
  if (json.value("checksum", nlohmann::json()) != Checksum(problem, choice))
    return absl::nullopt;
  choice.microseconds = json["microseconds"].get<double>();
  return choice;
}

} // namespace

GemmTuning::GemmTuning(const std::string &folder, std::string device, int64_t library_version)
    : device_(std::move(device)), library_version_(library_version) {
  if (folder.empty() || !CheckCacheFolder(folder).ok())
    return;
  folder_ = folder;
  file_name_ = absl::StrCat("gemm-", FileNamePart(device_), "-cublasLt-", library_version_, ".json");
  choices_ = Read();
}

absl::optional<GemmChoice> GemmTuning::Find(const std::string &problem) const {
  auto found = choices_.find(problem);
  if (found == choices_.end())
    return absl::nullopt;
  return found->second;
}

GemmChoice GemmTuning::Settle(const std::string &problem, const GemmChoice &choice) {
  absl::optional<GemmChoice> refused = Find(problem);
  choices_[problem] = choice;
  if (folder_.empty() || !MakeCacheFolder(folder_).ok())
    return choice;
  int lock = open(absl::StrCat(path(), ".lock").c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0644);
  if (lock < 0)
    return choice;
  absl::Cleanup unlock = [lock] { close(lock); };
  if (flock(lock, LOCK_EX) != 0)
    return choice;
  for (auto &[key, value] : Read())
    if (key != problem || value != refused)
      choices_[key] = value;
  Write(choices_);
  return choices_[problem];
}

GemmTuning::Choices GemmTuning::Read() const {
  Choices choices;
  absl::StatusOr<std::string> text = ReadCacheFile(folder_, file_name_, kMostBytes);
  if (!text.ok())
    return choices;
  nlohmann::json json = nlohmann::json::parse(*text, /*cb=*/nullptr, /*allow_exceptions=*/false);
  if (!json.is_object() || json.value("format", nlohmann::json()) != kFormat ||
      json.value("device", nlohmann::json()) != device_ ||
      json.value("cublasLt", nlohmann::json()) != library_version_ || !json.contains("problems") ||
      !json["problems"].is_object())
    return choices;
  for (const auto &[problem, value] : json["problems"].items())
    if (absl::optional<GemmChoice> choice = ParseChoice(problem, value))
      choices.emplace(problem, *choice);
  return choices;
}

void GemmTuning::Write(const Choices &choices) const {
  nlohmann::json json = {{"format", kFormat}, {"device", device_}, {"cublasLt", library_version_}};
  nlohmann::json &problems = json["problems"] = nlohmann::json::object();
  for (const auto &[problem, choice] : choices)
    problems[problem] = {{"algorithm", choice.algorithm},
                         {"microseconds", choice.microseconds},
                         {"checksum", Checksum(problem, choice)}};
  std::string text = json.dump(1, ' ', /*ensure_ascii=*/true, nlohmann::json::error_handler_t::replace) + "\n";
  absl::string_view pieces[] = {text};
  ReplaceFile(path(), pieces, {.durable = false}).IgnoreError();
}

} // namespace cs336::runtime
