//===- Secrets.h - Secrets of processes of one group ------------*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_RUNTIME_COMM_TCP_SECRETS_H
#define CS336_RUNTIME_COMM_TCP_SECRETS_H

#include "absl/strings/string_view.h"

#include <cstddef>

namespace cs336::runtime {

/// The length of what CreateToken() returns.
inline constexpr size_t kTokenLength = 32;

/// Compares texts, in a time that does not depend on where they differ.
inline bool AreEqualSecrets(absl::string_view a, absl::string_view b) {
  if (a.size() != b.size())
    return false;
  unsigned char difference = 0;
  for (size_t i = 0; i != a.size(); ++i)
    difference |= static_cast<unsigned char>(a[i] ^ b[i]);
  return difference == 0;
}

} // namespace cs336::runtime

#endif // CS336_RUNTIME_COMM_TCP_SECRETS_H
