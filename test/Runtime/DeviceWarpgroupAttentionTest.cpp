//===- DeviceWarpgroupAttentionTest.cpp - Main loops of attention ---------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The kernels of attention by warpgroups as a whole, compiled for the host, against float64: the order of copies,
// matmuls and epilogues, and what tiles and warpgroups pass on to each other.
//
//===----------------------------------------------------------------------===//

#include "WarpgroupKernels.h"

namespace {

//===----------------------------------------------------------------------===//
// warpgroup_attention_forward.cuh
//===----------------------------------------------------------------------===//

TEST(WarpgroupAttentionForwardTest, Causal) {
  checkForward<HostProblem<1, 2, 1, 300, 300, 64, true>>(2);
  checkForward<HostProblem<1, 1, 1, 200, 400, 80, true>>(1);
  checkForward<HostProblem<1, 1, 1, 400, 150, 128, true>>(3);
}
TEST(WarpgroupAttentionForwardTest, Full) {
  checkForward<HostProblem<2, 2, 2, 150, 333, 64, false>>(3);
  checkForward<HostProblem<1, 1, 1, 1, 1, 72, false>>(1);
  checkForward<HostProblem<1, 2, 1, 320, 333, 128, false>, 3, 80>(2);
  checkForward<HostProblem<1, 2, 2, 420, 300, 80, false>, 3, 112, 4, 2, 1>(2);
}
TEST(WarpgroupAttentionForwardTest, ThreeWarpgroups) { checkForward<HostProblem<1, 2, 2, 420, 420, 64, true>, 3>(2); }
/// The last tile of queries is full, so the first one begins 64 or 128 rows before the first query.
TEST(WarpgroupAttentionForwardTest, TilesThatBeginBeforeTheFirstQuery) {
  checkForward<HostProblem<2, 2, 1, 256, 256, 64, true>, 3>(2);
  checkForward<HostProblem<1, 1, 1, 500, 300, 64, true>, 3, 96>(1);
  checkForward<HostProblem<1, 2, 1, 512, 512, 80, true>, 3, 112, 2, 2, 1>(2);
  checkForward<HostProblem<1, 1, 1, 320, 320, 128, true>, 3, 80>(1);
  // Warpgroups of long sequences compute all tiles of keys, also those without queries.
  checkForward<HostProblem<1, 1, 1, 16400, 64, 64, true>, 3>(1);
  checkForward<WindowProblem<HostProblem<1, 2, 1, 512, 512, 64, true>, 150, 0>, 3, 32>(2);
  checkForward<WindowProblem<HostProblem<1, 1, 1, 256, 600, 64, false>, 400, -300>, 3, 64>(1);
  checkForward<MultipliedSteps<SlopeProblem<HostProblem<1, 2, 1, 512, 512, 64, true>, 511, 0>>, 3, 112>(2);
  checkForward<SoftCapProblem<HostProblem<1, 2, 1, 256, 256, 64, true>, 255, 0, 30>, 3, 112>(2);
}
TEST(WarpgroupAttentionForwardTest, GroupsOfHeads) {
  checkForward<HostProblem<2, 3, 1, 300, 300, 64, true>, 2, 128, 4>(3);
  checkForward<HostProblem<1, 3, 3, 150, 200, 64, false>, 2, 128, 1>(2);
}
TEST(WarpgroupAttentionForwardTest, ThreeWarpgroupsWithScoreFunctions) {
  checkForward<WindowProblem<HostProblem<1, 2, 1, 420, 420, 64, false>, 150, 0>, 3, 96>(2);
  checkForward<BiasProblem<HostProblem<1, 2, 1, 420, 420, 64, false>, 150, 9>, 3, 96>(2);
  checkForward<DocumentProblem<HostProblem<1, 1, 1, 300, 300, 64, true>>, 3, 96>(1);
  checkForward<CapProblem<HostProblem<1, 1, 1, 300, 310, 64, false>, 299, 20, false>, 3, 96>(1);
}
TEST(WarpgroupAttentionForwardTest, ScoreFunctions) {
  checkForward<WindowProblem<HostProblem<1, 2, 1, 420, 420, 64, false>, 150, 0>>(2);
  checkForward<WindowProblem<HostProblem<1, 1, 1, 300, 420, 64, true>, 9, 0>>(1);
  // Most queries see nothing.
  checkForward<WindowProblem<HostProblem<1, 1, 1, 300, 60, 64, false>, 20, 0>>(1);
  checkForward<BiasProblem<HostProblem<1, 2, 1, 420, 420, 64, false>, 150, 9>>(2);
  checkForward<DocumentProblem<HostProblem<1, 1, 1, 300, 300, 64, true>>>(1);
  checkForward<CapProblem<HostProblem<1, 1, 1, 300, 300, 64, true>, 299, 0, false>>(1);
}

/// Warpgroups skip different tiles at both ends of a window, and the bias of the interior is added in steps.
TEST(WarpgroupAttentionForwardTest, TilesThatAWarpgroupDoesNotSee) {
  checkForward<WindowProblem<HostProblem<1, 2, 1, 820, 820, 64, true>, 150, 0>, 3, 32>(2);
  checkForward<WindowProblem<HostProblem<1, 2, 1, 820, 420, 64, false>, 40, 7>, 3, 32>(2);
  checkForward<WindowProblem<HostProblem<1, 1, 1, 300, 900, 64, false>, -100, 250>, 2, 64>(2);
}
TEST(WarpgroupAttentionForwardTest, SoftCaps) {
  checkForward<SoftCapProblem<HostProblem<1, 2, 1, 420, 420, 64, true>, 419, 0, 30>, 3, 112>(2);
  checkForward<SoftCapProblem<HostProblem<1, 2, 1, 420, 420, 64, false>, 150, 9, 2>, 3, 96>(2);
  checkForward<SoftCapProblem<HostProblem<1, 2, 2, 300, 420, 128, true>, 299, 0, 50>>(2);
  // Most queries see nothing.
  checkForward<SoftCapProblem<HostProblem<1, 1, 1, 300, 60, 64, false>, 20, 0, 5>>(1);
}
TEST(WarpgroupAttentionForwardTest, LinearBiases) {
  checkForward<SlopeProblem<HostProblem<1, 2, 1, 420, 420, 64, false>, 150, 9>, 3, 96>(2);
  checkForward<SlopeProblem<HostProblem<1, 2, 2, 300, 420, 128, true>, 299, 0>>(2);
  checkForward<PlaneProblem<HostProblem<2, 2, 1, 420, 420, 64, false>, 150, 9>>(2);
  checkForward<FarBiasProblem<HostProblem<1, 2, 1, 500, 500, 64, true>, 130>, 3, 96>(2);
  checkForward<NearBiasProblem<HostProblem<1, 2, 2, 500, 500, 64, true>, 130>>(2);
}
TEST(WarpgroupAttentionForwardTest, LinearBiasesByMatmul) {
  checkForward<MultipliedSteps<SlopeProblem<HostProblem<1, 2, 1, 420, 420, 64, false>, 150, 9>>, 3, 112>(2);
  checkForward<MultipliedSteps<SlopeProblem<HostProblem<1, 2, 2, 300, 420, 128, true>, 299, 0>>>(2);
  checkForward<MultipliedSteps<PlaneProblem<HostProblem<2, 2, 1, 420, 420, 64, false>, 150, 9>>>(2);
}
/// Sizes that a person can select, and that are not chosen.
TEST(WarpgroupAttentionForwardTest, SelectedSizes) {
  checkForward<HostProblem<1, 2, 1, 300, 300, 64, true>, 2, 48, 2, 4>(2);
  checkForward<HostProblem<1, 2, 1, 300, 330, 64, true>, 2, 16, 2, 8>(2);
  checkForward<HostProblem<1, 1, 1, 200, 330, 80, false>, 3, 32, 1, 3>(1);
  checkForward<HostProblem<1, 1, 1, 300, 400, 40, false>, 2, 240>(1);
}

//===----------------------------------------------------------------------===//
// warpgroup_attention_queries.cuh, warpgroup_attention_keys.cuh
//===----------------------------------------------------------------------===//

TEST(WarpgroupAttentionGradientTest, InTwoPasses) {
  checkTwoPasses<HostProblem<1, 2, 1, 300, 300, 64, true>, true>(2);
  checkTwoPasses<HostProblem<1, 2, 2, 150, 200, 80, false>, true>(3);
  checkTwoPasses<HostProblem<1, 1, 1, 200, 150, 128, true>, false>(1);
}
/// dQ would contain the errors of D, multiplied with what the keys have in common.
TEST(WarpgroupAttentionGradientTest, KeysWithACommonComponentInTwoPasses) {
  checkTwoPasses<HostProblem<1, 1, 1, 200, 150, 128, true>, false>(1, 6);
}
TEST(WarpgroupAttentionGradientTest, WindowsInTwoPasses) {
  checkTwoPasses<WindowProblem<HostProblem<1, 2, 1, 420, 420, 64, false>, 150, 0>, true>(2);
  checkTwoPasses<WindowProblem<HostProblem<1, 4, 2, 420, 300, 64, false>, 70, 130>, true, 64>(3);
  // The first keys of the queries are cached.
  checkTwoPasses<WindowProblem<HostProblem<1, 1, 1, 150, 420, 128, false>, 1000, 270>, false, 64>(2);
  // Most queries see nothing.
  checkTwoPasses<WindowProblem<HostProblem<1, 2, 2, 300, 60, 64, false>, 20, 0>, true>(1);
}
TEST(WarpgroupAttentionGradientTest, FunctionsInTwoPasses) {
  checkTwoPasses<BiasProblem<HostProblem<2, 2, 1, 420, 420, 64, false>, 150, 9>, false, 64>(2);
  checkTwoPasses<DocumentProblem<HostProblem<2, 1, 1, 300, 300, 64, true>>, true>(2);
  checkTwoPasses<CapProblem<HostProblem<2, 4, 2, 300, 300, 64, true>, 299, 0, true>, false, 64>(3);
  checkTwoPasses<CapProblem<HostProblem<1, 1, 1, 200, 300, 128, false>, 100, 150, true>, false, 64>(1);
}
TEST(WarpgroupAttentionGradientTest, LinearBiasesInTwoPasses) {
  checkTwoPasses<SlopeProblem<HostProblem<2, 2, 1, 420, 420, 64, false>, 150, 9>, false, 64>(2);
}
/// With derivatives, rows of dS do not sum to zero, and the error of D has a weight per row.
TEST(WarpgroupAttentionGradientTest, FunctionsOfKeysWithACommonComponentInTwoPasses) {
  checkTwoPasses<QuarterProblem<HostProblem<1, 1, 1, 200, 150, 64, true>>, false, 64>(1, 6);
  checkTwoPasses<BiasProblem<HostProblem<1, 1, 1, 200, 200, 64, false>, 150, 9>, false, 64>(1, 6);
}
/// Sizes that a person can select, and that are not chosen.
struct FewStages {
  static constexpr int keyStages = 2, valueStages = 2, warpgroups = 3, queriesPerTile = 32, queryStages = 2;
};
struct ManyStages {
  static constexpr int keyStages = 5, valueStages = 4, warpgroups = 2, queriesPerTile = 16, queryStages = 8;
};
TEST(WarpgroupAttentionGradientTest, SelectedSizesInTwoPasses) {
  checkTwoPasses<HostProblem<1, 2, 1, 300, 300, 64, true>, true, 48, FewStages>(2);
  checkTwoPasses<HostProblem<1, 2, 2, 150, 200, 64, false>, false, 112, FewStages>(2);
  checkTwoPasses<HostProblem<1, 1, 1, 200, 330, 80, true>, true, 64, ManyStages>(1);
}

//===----------------------------------------------------------------------===//
// warpgroup_gradient_*.cuh
//===----------------------------------------------------------------------===//

TEST(WarpgroupAttentionGradientTest, InOnePass) {
  checkOnePass<HostProblem<1, 2, 1, 300, 300, 64, true>, true>();
  checkOnePass<HostProblem<1, 2, 2, 150, 200, 80, false>, true>();
  checkOnePass<HostProblem<1, 1, 1, 200, 150, 128, true>, false>();
}
TEST(WarpgroupAttentionGradientTest, KeysWithACommonComponentInOnePass) {
  checkOnePass<HostProblem<1, 1, 1, 200, 150, 128, true>, false>(6);
  checkOnePass<CapProblem<HostProblem<1, 1, 1, 200, 150, 64, true>, 199, 0, true>, true>(6);
}
TEST(WarpgroupAttentionGradientTest, WindowsInOnePass) {
  checkOnePass<WindowProblem<HostProblem<1, 2, 1, 420, 420, 64, false>, 150, 0>, true>();
  checkOnePass<WindowProblem<HostProblem<1, 4, 2, 420, 300, 64, false>, 70, 130>, true>();
  // The first keys of the queries are cached.
  checkOnePass<WindowProblem<HostProblem<1, 1, 1, 150, 420, 128, false>, 1000, 270>, false>();
  checkOnePass<WindowProblem<HostProblem<1, 1, 1, 300, 420, 64, true>, 9, 0>, false>();
  // Most queries see nothing.
  checkOnePass<WindowProblem<HostProblem<1, 2, 2, 300, 60, 64, false>, 20, 0>, true>();
}
TEST(WarpgroupAttentionGradientTest, FunctionsInOnePass) {
  checkOnePass<BiasProblem<HostProblem<2, 2, 1, 420, 420, 64, false>, 150, 9>, true>();
  checkOnePass<BiasProblem<HostProblem<1, 2, 2, 200, 300, 128, true>, 199, 0>, false, 2>();
  checkOnePass<DocumentProblem<HostProblem<2, 1, 1, 300, 300, 64, true>>, true>();
  checkOnePass<CapProblem<HostProblem<2, 4, 2, 300, 300, 64, true>, 299, 0, true>, true>();
  checkOnePass<CapProblem<HostProblem<1, 1, 1, 200, 300, 128, false>, 100, 150, true>, false, 2>();
  checkOnePass<QuarterProblem<HostProblem<1, 1, 1, 200, 150, 64, true>>, true>();
  checkOnePass<DocumentProblem<HostProblem<1, 2, 1, 210, 210, 80, false>>, false>();
}
TEST(WarpgroupAttentionGradientTest, LinearBiasesInOnePass) {
  checkOnePass<SlopeProblem<HostProblem<2, 2, 1, 420, 420, 64, false>, 150, 9>, true>();
  checkOnePass<SlopeProblem<HostProblem<1, 4, 2, 200, 300, 128, true>, 199, 0>, false, 2>();
  checkOnePass<PlaneProblem<HostProblem<2, 2, 1, 420, 420, 64, false>, 150, 9>, true>();
  checkOnePass<FarBiasProblem<HostProblem<1, 2, 1, 500, 500, 64, true>, 130>, true>();
  checkOnePass<NearBiasProblem<HostProblem<1, 2, 1, 500, 500, 64, true>, 130>, true>();
  checkOnePass<NearBiasProblem<HostProblem<1, 2, 2, 500, 500, 64, true>, 130>, true>();
}
/// Sizes that a person can select, and that are not chosen.
TEST(WarpgroupAttentionGradientTest, SelectedSizesInOnePass) {
  checkOnePass<HostProblem<1, 2, 1, 300, 300, 64, true>, false, 1, 3, 1, 1>();
  checkOnePass<HostProblem<2, 2, 1, 200, 300, 96, true>, true, 2, 2, 1, 2>();
  checkOnePass<HostProblem<1, 2, 2, 150, 200, 40, false>, true, 1, 4, 3, 3>();
}

} // namespace
