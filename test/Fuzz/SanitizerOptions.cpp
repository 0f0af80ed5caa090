//===- SanitizerOptions.cpp - AddressSanitizer beside Debian's MLIR -------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

/// LLVM's allocators are partly inline: if our code starts a slab, it poisons it, and the shared library, which is not
/// instrumented, then hands out parts of it without unpoisoning them. Memory that MLIR's context owns until the end of
/// the process would count as a leak.
extern "C" const char *__asan_default_options() { return "allow_user_poisoning=0:detect_leaks=0"; }
