//===- WriteCorpus.cpp - Seeds for the fuzzers ----------------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// write_corpus FOLDER: writes a folder of valid files for each reader.
//
//===----------------------------------------------------------------------===//

#include "ProgramBuilder.h"
#include "cs336/runtime/TensorFile.h"

#include <cstdio>
#include <filesystem>
#include <fstream>

using namespace cs336::runtime;

int main(int argc, char **argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: write_corpus FOLDER\n");
    return 2;
  }
  std::filesystem::path folder = argv[1];
  TensorMap tensors;
  tensors["x"] = testing::MakeTensor<float>(DType::kF32, {2, 2}, {1, 2, 3, 4});
  for (const char *format : {"npy", "npz", "safetensors"}) {
    std::filesystem::create_directories(folder / format);
    std::filesystem::path path = folder / format / (std::string("seed.") + format);
    if (absl::Status status = WriteTensors(path.string(), tensors); !status.ok()) {
      std::fprintf(stderr, "%s\n", status.ToString().c_str());
      return 1;
    }
  }
  testing::ProgramBuilder program = testing::SampleProgram();
  program.executable().objects[0]->image.resize(64);
  std::filesystem::create_directories(folder / "executable");
  std::ofstream(folder / "executable" / "seed.cs336x", std::ios::binary) << program.Bytes();
  return 0;
}
