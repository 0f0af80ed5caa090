//===- FakeCupti.h - A stand-in for CUPTI -----------------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_TEST_RUNTIME_FAKE_CUPTI_H
#define CS336_TEST_RUNTIME_FAKE_CUPTI_H

#include <cstdint>

/// Things that the GPU is said to have run; the next flush hands them out.
void FakeCuptiKernel(const char *symbol, uint64_t start, uint64_t end, uint64_t graph_node);
void FakeCuptiMemcpy(uint8_t kind, uint64_t start, uint64_t end);
void FakeCuptiMemset(uint64_t start, uint64_t end);

/// Records that the next flush loses.
void FakeCuptiDrop(int64_t records);

/// What the next call of cuptiActivityEnable answers.
void FakeCuptiFailEnable(int result);

/// Kinds of activity that are enabled.
int FakeCuptiEnabledKinds();

#endif // CS336_TEST_RUNTIME_FAKE_CUPTI_H
