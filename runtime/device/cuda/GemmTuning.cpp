//===- GemmTuning.cpp - Which algorithm was the fastest -------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "device/cuda/GemmTuning.h"

#include "absl/cleanup/cleanup.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"

#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sys/file.h>
#include <unistd.h>

namespace cs336::runtime {

namespace {

constexpr int kFormat = 1;

/// "NVIDIA H200" as a part of a file's name.
std::string FileNamePart(std::string text) {
  for (char &c : text)
    if (!absl::ascii_isalnum(c))
      c = '-';
  return text;
}

/// Nothing unless it is a choice in every detail: the file may be anyone's.
absl::optional<GemmChoice> ParseChoice(const nlohmann::json &json) {
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
  choice.microseconds = json["microseconds"].get<double>();
  return choice;
}

} // namespace

GemmTuning::GemmTuning(const std::string &folder, std::string device, int64_t library_version)
    : device_(std::move(device)), library_version_(library_version) {
  if (folder.empty())
    return;
  path_ = absl::StrCat(folder, "/gemm-", FileNamePart(device_), "-cublasLt-", library_version_, ".json");
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
  if (path_.empty())
    return choice;
  std::error_code ignored;
  std::filesystem::create_directories(std::filesystem::path(path_).parent_path(), ignored);
  int lock = open(absl::StrCat(path_, ".lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
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
  std::ifstream file(path_);
  nlohmann::json json = nlohmann::json::parse(file, /*cb=*/nullptr, /*allow_exceptions=*/false);
  Choices choices;
  if (!json.is_object() || json.value("format", nlohmann::json()) != kFormat ||
      json.value("device", nlohmann::json()) != device_ ||
      json.value("cublasLt", nlohmann::json()) != library_version_ || !json.contains("problems") ||
      !json["problems"].is_object())
    return choices;
  for (const auto &[problem, value] : json["problems"].items())
    if (absl::optional<GemmChoice> choice = ParseChoice(value))
      choices.emplace(problem, *choice);
  return choices;
}

void GemmTuning::Write(const Choices &choices) const {
  nlohmann::json json = {{"format", kFormat}, {"device", device_}, {"cublasLt", library_version_}};
  nlohmann::json &problems = json["problems"] = nlohmann::json::object();
  for (const auto &[problem, choice] : choices)
    problems[problem] = {{"algorithm", choice.algorithm}, {"microseconds", choice.microseconds}};
  // Only who holds the lock writes, so one name serves all.
  std::string partial = absl::StrCat(path_, ".partial");
  std::ofstream file(partial, std::ios::trunc);
  file << json.dump(1, ' ', /*ensure_ascii=*/true, nlohmann::json::error_handler_t::replace) << "\n";
  file.close();
  std::error_code ignored;
  if (file)
    std::filesystem::rename(partial, path_, ignored);
  else
    std::filesystem::remove(partial, ignored);
}

} // namespace cs336::runtime
