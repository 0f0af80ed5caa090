//===- ModelProfileData.cpp - Profiles of a model as JSON -----------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Bench/Model/ModelProfileData.h"

#include "cs336/Bench/Model/ModelProfileTables.h"

#include <limits>

using namespace cs336;
using namespace cs336::bench;
namespace json = llvm::json;

static Column<ModelRow> makeProfileColumn(const char *name, ProfileKey key) {
  auto extract = [key](const ModelRow &row) {
    const std::optional<RunProfile> &profile = row.measurement.profile;
    return profile ? Cell::data(makeProfileTable("", "", *profile, key).getObjects()) : Cell::empty();
  };
  return {name, name, extract, Show::Data};
}

static json::Object describe(const Ceilings &ceilings) {
  json::Array rates;
  for (const auto &[arithmetic, flops] : ceilings.flopsPerSecond)
    rates.push_back(json::Object{{"arithmetic", arithmetic}, {"tflops", flops / 1e12}});
  return json::Object{{"memory_gb_s", ceilings.bytesPerSecond / 1e9}, {"gemms", std::move(rates)}};
}

/// Returns a column that is empty for rows whose rates were not compared with the device's.
static Column<ModelRow> makeRooflineColumn(const char *name, json::Value (*get)(const RunProfile &, const Ceilings &)) {
  auto extract = [get](const ModelRow &row) {
    const std::optional<RunProfile> &profile = row.measurement.profile;
    return profile && row.ceilings ? Cell::data(get(*profile, *row.ceilings)) : Cell::empty();
  };
  return {name, name, extract, Show::Data};
}

std::vector<Column<ModelRow>> cs336::bench::getProfileDataColumns() {
  return {makeProfileColumn("profile", ProfileKey::Kernel),
          makeProfileColumn("profile_ranges", ProfileKey::Range),
          getProfilePhasesColumn(),
          makeProfileColumn("profile_commands", ProfileKey::Command),
          makeProfileColumn("profile_kinds", ProfileKey::Kind),
          makeProfileColumn("profile_operations", ProfileKey::Operation),
          makeProfileColumn("profile_range_kernels", ProfileKey::RangeKernel),
          makeProfileColumn("profile_layers", ProfileKey::Layer),
          makeRooflineColumn("profile_roofline",
                             [](const RunProfile &profile, const Ceilings &ceilings) -> json::Value {
                               constexpr size_t all = std::numeric_limits<size_t>::max();
                               return makeRooflineTable("", profile, ceilings, all).getObjects();
                             }),
          makeRooflineColumn("profile_ceilings", [](const RunProfile &, const Ceilings &ceilings) -> json::Value {
            return describe(ceilings);
          })};
}
