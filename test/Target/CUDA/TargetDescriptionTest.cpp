//===- TargetDescriptionTest.cpp - Limits of architectures ----------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Target/CUDA/TargetDescription.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cs336::cuda {
namespace {

TEST(TargetDescriptionTest, HasTheInstructionsOfEachArchitecture) {
  EXPECT_EQ(getTarget("sm_90a").name, "sm_90a");
  EXPECT_TRUE(getTarget("sm_90a").hasWgmma);
  EXPECT_TRUE(getTarget("sm_90a").hasTensorMaps);
  // Code for sm_90 also runs on later minor versions, which need not have the instruction.
  EXPECT_FALSE(getTarget("sm_90").hasWgmma);
  EXPECT_FALSE(getTarget("sm_100a").hasWgmma);
  EXPECT_FALSE(getTarget("sm_80").hasTensorMaps);
  EXPECT_EQ(getTarget("sm_90a").sharedBytesPerBlock, 232448);
}

TEST(TargetDescriptionTest, PortableCodeRunsEverywhere) {
  for (llvm::StringRef name : {"sm_80", "sm_86", "sm_89", "sm_90a", "sm_100a", "sm_120"}) {
    EXPECT_EQ(getTarget(name).name, name);
    EXPECT_LE(portableTarget.sharedBytesPerBlock, getTarget(name).sharedBytesPerBlock);
    EXPECT_LE(portableTarget.registersPerMultiprocessor, getTarget(name).registersPerMultiprocessor);
  }
  EXPECT_EQ(getTarget("sm_75").name, "portable");
  EXPECT_EQ(getTarget("").name, "portable");
}

TEST(TargetDescriptionTest, AModuleHasItsArchitectures) {
  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module = mlir::ModuleOp::create(mlir::UnknownLoc::get(&context));
  EXPECT_THAT(*getArchitectures(*module), testing::IsEmpty());
  setArchitectures(*module, {"sm_80", "sm_90a"});
  EXPECT_THAT(*getArchitectures(*module), testing::ElementsAre("sm_80", "sm_90a"));
}

} // namespace
} // namespace cs336::cuda
