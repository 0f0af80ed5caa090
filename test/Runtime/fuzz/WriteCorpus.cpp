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

using namespace cs336;
using namespace cs336::runtime;

namespace {

using testing::EntryBuilder;
using testing::MakeType;
using testing::ProgramBuilder;

/// Builds z = relu(x @ w + bias), z = x @ w + z, y = x[:, ::2] and so on.
ProgramBuilder GemmProgram() {
  ProgramBuilder program;
  program.Variable("w", MakeType(DType::kF32, {8, 8}));
  program.Variable("bias", MakeType(DType::kF32, {8}));
  EntryBuilder entry = program.Entry("forward");
  uint32_t x = entry.Input("x", MakeType(DType::kF32, {4, 8}));
  uint32_t z = entry.Output("z", MakeType(DType::kF32, {4, 8}));
  uint32_t y = entry.Output("y", MakeType(DType::kF32, {4, 4}));
  uint32_t sum = entry.Arena("sum", MakeType(DType::kF32, {4, 8}));
  uint32_t w = entry.Variable("w");
  format::GemmT &biased = entry.Gemm(x, entry.View(w, {8, 8}, {1, 8}), sum);
  biased.bias = entry.Variable("bias");
  biased.relu = true;
  entry.Gemm(x, w, z).addend = sum;
  entry.Gemm(x, w, z).addend = z;
  entry.Copy(entry.View(z, {4, 4}, {8, 2}), y);
  return program;
}

/// Builds kernels with memory per thread, in place, and between ranks.
ProgramBuilder KernelProgram() {
  ProgramBuilder program;
  uint32_t scale = program.Kernel("scale_rows"), logarithm = program.Kernel("logarithm");
  uint32_t remember = program.Kernel("remember_in_thread_memory");
  program.Variable("w", MakeType(DType::kF32, {4}));
  EntryBuilder entry = program.Entry("train", format::Mode::train);
  uint32_t x = entry.Output("x", MakeType(DType::kF32, {6, 4}));
  uint32_t rows = entry.Output("rows", MakeType(DType::kI64, {6, 4}));
  uint32_t flat = entry.Arena("flat", MakeType(DType::kF32, {24}));
  entry.Copy(entry.View(entry.Variable("w"), {6, 4}, {0, 1}), x);
  entry.Launch(scale, {x, entry.Variable("w"), x}, {2}, /*rows=*/6, /*grain=*/2);
  entry.Launch(logarithm, {entry.View(x, {24}, {1}), flat}, {1}, /*rows=*/24);
  entry.Launch(remember, {rows}, {0}, /*rows=*/6, /*grain=*/2, /*thread_bytes=*/256);
  entry.Collective(format::CollectiveKind::all_gather, flat, entry.View(x, {24}, {1}));
  return program;
}

} // namespace

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
  // Programs that run contain machine code; the others do not.
  std::filesystem::create_directories(folder / "program");
  std::ofstream(folder / "program" / "sample.cs336x", std::ios::binary) << testing::SampleProgram().Bytes();
  std::ofstream(folder / "program" / "gemm.cs336x", std::ios::binary) << GemmProgram().Bytes();
  std::ofstream(folder / "program" / "kernel.cs336x", std::ios::binary) << KernelProgram().Bytes();
  std::ofstream(folder / "program" / "gather.cs336x", std::ios::binary) << testing::GatherProgram().Bytes();
  return 0;
}
