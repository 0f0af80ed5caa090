//===- ResultsSchema.cpp - The schema of results in JSON ------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Bench/Report/ResultsSchema.h"

#include "llvm/ADT/STLExtras.h"

#include <utility>

using namespace cs336::bench;
namespace json = llvm::json;

/// The last words of keys, and the units that they name. docs/Results.md lists them.
static constexpr std::pair<llvm::StringLiteral, llvm::StringLiteral> kUnits[] = {{"ms", "ms"},
                                                                                 {"us", "us"},
                                                                                 {"ns", "ns"},
                                                                                 {"seconds", "s"},
                                                                                 {"us_per_node", "us/node"},
                                                                                 {"bytes", "B"},
                                                                                 {"mib", "MiB"},
                                                                                 {"gigabytes", "GB"},
                                                                                 {"gb_s", "GB/s"},
                                                                                 {"gflop", "GFLOP"},
                                                                                 {"gflops_per_second", "GFLOP/s"},
                                                                                 {"tflops", "TFLOP/s"},
                                                                                 {"flop_per_byte", "FLOP/B"},
                                                                                 {"tokens_per_second", "tokens/s"},
                                                                                 {"percent", "%"},
                                                                                 {"millions", "10^6"}};

static constexpr std::pair<llvm::StringLiteral, Role> kRoles[] = {
    {"setting", Role::Setting}, {"result", Role::Result}, {"data", Role::Data}};

std::optional<std::string> cs336::bench::getUnit(llvm::StringRef key) {
  for (const auto &[words, unit] : kUnits)
    if (llvm::StringRef rest = key; rest.consume_back(words) && (rest.empty() || rest.ends_with("_")))
      return unit.str();
  return std::nullopt;
}

ColumnDescription cs336::bench::describeColumn(const ColumnHead &head) {
  return {head.key, head.title, getUnit(head.key), head.role, head.samples};
}

json::Value cs336::bench::toJSON(const ColumnDescription &column) {
  const auto *role = llvm::find_if(kRoles, [&](const auto &each) { return each.second == column.role; });
  json::Object object{{"key", column.key}, {"title", column.title}, {"unit", column.unit}, {"role", role->first}};
  if (!column.samples.empty())
    object["samples"] = column.samples;
  return object;
}

/// Reads a role by its name.
static bool readRole(llvm::StringRef name, Role &role, json::Path path) {
  const auto *found = llvm::find_if(kRoles, [&](const auto &each) { return each.first == name; });
  if (found == std::end(kRoles)) {
    path.report("expected setting, result or data");
    return false;
  }
  role = found->second;
  return true;
}

bool cs336::bench::fromJSON(const json::Value &value, ColumnDescription &column, json::Path path) {
  json::ObjectMapper map(value, path);
  std::string role;
  return map && map.map("key", column.key) && map.map("title", column.title) && map.map("unit", column.unit) &&
         map.map("role", role) && readRole(role, column.role, path.field("role")) &&
         map.mapOptional("samples", column.samples);
}
