//===- Tolerance.cpp - When values agree with a peer's --------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/Bench/Peer/Tolerance.h"

#include "llvm/Support/ErrorHandling.h"

using namespace cs336;

double cs336::bench::getTolerance(ComputeType type) {
  switch (type) {
  case ComputeType::FP32:
    return 1e-4;
  case ComputeType::TF32:
    return 5e-3;
  case ComputeType::BF16:
  case ComputeType::FP16:
    return 3e-2;
  }
  llvm_unreachable("every type has a tolerance");
}
