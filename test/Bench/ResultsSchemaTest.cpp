//===- ResultsSchemaTest.cpp - Units and descriptions of columns ----------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Bench/Report/ResultsSchema.h"

#include <gtest/gtest.h>

namespace cs336::bench::results_schema_test {

namespace json = llvm::json;

TEST(ResultsSchemaTest, LastWordsOfAKeyNameItsUnit) {
  EXPECT_EQ(getUnit("median_ms"), "ms");
  EXPECT_EQ(getUnit("mib"), "MiB");
  EXPECT_EQ(getUnit("peak_gflops_per_second"), "GFLOP/s");
  EXPECT_EQ(getUnit("idle_us_per_node"), "us/node");
  EXPECT_EQ(getUnit("compile_seconds"), "s");
  EXPECT_EQ(getUnit("total_ns"), "ns");
  EXPECT_EQ(getUnit("batch_size"), std::nullopt);
  EXPECT_EQ(getUnit("programs"), std::nullopt); // Ends with the letters of a unit, but not with its word.
  EXPECT_EQ(getUnit("ratio_interval"), std::nullopt);
}

TEST(ResultsSchemaTest, DescriptionsAreReadBack) {
  ColumnHead head{"mean (ms)", "mean_ms", Show::OnRequest, Role::Setting, {"step_ms", "loss_ms"}};
  json::Value value = describeColumn(head);
  ColumnDescription column;
  json::Path::Root root;
  ASSERT_TRUE(fromJSON(value, column, root));
  EXPECT_EQ(json::Value(column), value);
  EXPECT_EQ(column.unit, "ms");
  EXPECT_EQ(column.role, Role::Setting);
  EXPECT_EQ(column.samples, head.samples);
}

TEST(ResultsSchemaTest, UnknownRolesAreErrors) {
  json::Value value = json::Object{{"key", "a"}, {"title", "a"}, {"unit", nullptr}, {"role", "answer"}};
  ColumnDescription column;
  json::Path::Root root("column");
  EXPECT_FALSE(fromJSON(value, column, root));
  EXPECT_EQ(llvm::toString(root.getError()), "expected setting, result or data at column.role");
}

} // namespace cs336::bench::results_schema_test
