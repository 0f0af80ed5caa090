//===- VectorClones.h - Functions per vector width --------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_RUNTIME_INITIALIZER_VECTORCLONES_H
#define CS336_RUNTIME_INITIALIZER_VECTORCLONES_H

/// In front of a function: compiles it for the vector instructions of several processors and selects those of this
/// machine. The file is compiled without contraction, so that all versions compute the same values. Sanitizers do not
/// support the selection, which runs before they start.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__) &&               \
    !defined(__SANITIZE_THREAD__)
#define CS336_VECTOR_CLONES __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define CS336_VECTOR_CLONES
#endif

#endif // CS336_RUNTIME_INITIALIZER_VECTORCLONES_H
