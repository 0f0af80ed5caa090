//===- VectorClones.h - Functions for several widths of vectors -*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_RUNTIME_INITIALIZER_VECTORCLONES_H
#define CS336_RUNTIME_INITIALIZER_VECTORCLONES_H

/// Before a function: compile it for the vectors of several processors, and take those that this one has. Its file is
/// compiled without contraction, so that all give the same values. Sanitizers cannot see the choice, which is made
/// before they start.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__) &&               \
    !defined(__SANITIZE_THREAD__)
#define CS336_VECTOR_CLONES __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define CS336_VECTOR_CLONES
#endif

#endif // CS336_RUNTIME_INITIALIZER_VECTORCLONES_H
