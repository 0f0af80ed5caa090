//===- CommandVisitor.cpp - Dispatch on the kind of a command -------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "format/CommandVisitor.h"

#include "absl/strings/str_cat.h"

#include <algorithm>

namespace cs336::runtime {

absl::string_view KindName(format::CommandBody kind) {
  constexpr absl::string_view kNames[] = {"none",       "launch", "gemm", "copy",
                                          "collective", "record", "wait", "check_bound"};
  return kNames[static_cast<size_t>(kind)];
}

absl::string_view LayerOf(absl::string_view source) {
  size_t dot = source.rfind('.');
  return dot == absl::string_view::npos ? absl::string_view() : source.substr(0, dot);
}

std::string DescribeCommand(const format::CommandT &command) {
  absl::string_view layer = LayerOf(command.source);
  return absl::StrCat(KindName(command.body.type), " '", command.name, "'", layer.empty() ? "" : " of ", layer,
                      command.location.empty() ? "" : " at ", command.location);
}

absl::InlinedVector<uint32_t, 4> ReadBuffers(const format::CommandT &command) {
  using Indices = absl::InlinedVector<uint32_t, 4>;
  return VisitBody(command.body, Overloaded{
                                     [](const format::LaunchT &launch) {
                                       Indices read;
                                       for (size_t i = 0; i != launch.operands.size(); ++i)
                                         if (std::count(launch.writes.begin(), launch.writes.end(), i) == 0)
                                           read.push_back(launch.operands[i]);
                                       return read;
                                     },
                                     [](const format::GemmT &gemm) {
                                       Indices read = {gemm.a, gemm.b};
                                       for (auto optional : {gemm.addend, gemm.bias})
                                         if (optional)
                                           read.push_back(*optional);
                                       return read;
                                     },
                                     [](const format::CopyT &copy) { return Indices{copy.src}; },
                                     [](const format::CollectiveT &collective) {
                                       return Indices(collective.sources.begin(), collective.sources.end());
                                     },
                                     [](const format::RecordT &) { return Indices{}; },
                                     [](const format::WaitT &) { return Indices{}; },
                                     [](const format::CheckBoundT &check) { return Indices{check.src}; },
                                 });
}

absl::InlinedVector<uint32_t, 4> WrittenBuffers(const format::CommandT &command) {
  using Indices = absl::InlinedVector<uint32_t, 4>;
  return VisitBody(command.body, Overloaded{
                                     [](const format::LaunchT &launch) {
                                       Indices written;
                                       for (uint32_t position : launch.writes)
                                         written.push_back(launch.operands[position]);
                                       return written;
                                     },
                                     [](const format::GemmT &gemm) { return Indices{gemm.c}; },
                                     [](const format::CopyT &copy) { return Indices{copy.dst}; },
                                     [](const format::CollectiveT &collective) {
                                       return Indices(collective.targets.begin(), collective.targets.end());
                                     },
                                     [](const format::RecordT &) { return Indices{}; },
                                     [](const format::WaitT &) { return Indices{}; },
                                     [](const format::CheckBoundT &check) { return Indices{check.dst}; },
                                 });
}

std::optional<uint32_t> FindWorkspace(const format::CommandT &command) {
  using Index = std::optional<uint32_t>;
  return VisitBody(command.body, Overloaded{
                                     [](const format::LaunchT &launch) -> Index { return launch.workspace; },
                                     [](const format::GemmT &gemm) -> Index { return gemm.workspace; },
                                     [](const auto &) -> Index { return std::nullopt; },
                                 });
}

} // namespace cs336::runtime
