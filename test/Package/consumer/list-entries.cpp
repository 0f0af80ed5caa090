//===- list-entries.cpp - A program on the installed runtime --------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/runtime/Executable.h"

#include <fstream>
#include <iostream>
#include <iterator>

int main(int argc, char **argv) {
  std::ifstream file(argv[argc - 1], std::ios::binary);
  std::vector<uint8_t> bytes{std::istreambuf_iterator<char>(file), {}};
  auto executable = cs336::runtime::Executable::FromBytes(bytes);
  if (!executable.ok()) {
    std::cerr << executable.status() << "\n";
    return 1;
  }
  for (const auto &entry : (*executable)->entries())
    std::cout << entry->name << "\n";
}
