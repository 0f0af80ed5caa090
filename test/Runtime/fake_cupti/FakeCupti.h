//===- FakeCupti.h - A stand-in for CUPTI -----------------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_TEST_RUNTIME_FAKE_CUPTI_H
#define CS336_TEST_RUNTIME_FAKE_CUPTI_H

#include <cstdint>

/// Add work of the simulated GPU, which the next flush returns.
void FakeCuptiKernel(const char *symbol, uint64_t start, uint64_t end, uint64_t graph_node);
void FakeCuptiMemcpy(uint8_t kind, uint64_t start, uint64_t end);
void FakeCuptiMemcpyBetweenDevices(uint64_t start, uint64_t end, uint64_t graph_node);
void FakeCuptiMemset(uint64_t start, uint64_t end);

/// Creates a node of a graph that is captured, and a clone of it as instantiation does. Ids are those of records.
void FakeCuptiCreateNode(uint64_t id);
void FakeCuptiCloneNode(uint64_t original, uint64_t id);

/// Returns the number of callbacks that are enabled.
int FakeCuptiEnabledCallbacks();

/// Drops records in the next flush.
void FakeCuptiDrop(int64_t records);

/// Sets the result of the next call of cuptiActivityEnable, or of cuptiSubscribe.
void FakeCuptiFailEnable(int result);
void FakeCuptiFailSubscribe(int result);

/// Returns the kinds of activity that are enabled.
int FakeCuptiEnabledKinds();

#endif // CS336_TEST_RUNTIME_FAKE_CUPTI_H
