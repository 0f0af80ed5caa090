//===- VectorAlignmentTest.cpp - Executables with shifted vectors ---------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// FlatBuffers' verifier accepts a vector of 8-byte elements at any multiple of
// 4 bytes. To read it would be undefined, so loading has to refuse it.
//
//===----------------------------------------------------------------------===//

#include "ProgramBuilder.h"
#include "ProgramParts.h"
#include "cs336/runtime/format/ExecutableFile.h"

#include <cstring>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cs336::runtime::vector_alignment_test {
namespace {

using testing::Entry;
using testing::EntryBuilder;
using ::testing::HasSubstr;
using testing::MakeType;
using testing::ProgramBuilder;
using testing::Signature;

/// Builds a program with a vector of every kind. Each starts with 1, which is a
/// possible length of the vector that starts 4 bytes later.
format::ExecutableT ProgramOfOnes() {
  ProgramBuilder program;
  uint32_t kernel = program.Kernel("scale_rows");
  program.Variable("w", MakeType(DType::kF32, {1, 4}));
  EntryBuilder entry = program.Entry("forward");
  uint32_t x = entry.Input("x", MakeType(DType::kF32, {1, 4}));
  entry.Arena("t", MakeType(DType::kF32, {1, 4}));
  uint32_t y = entry.Output("y", MakeType(DType::kF32, {1, 4}));
  entry.Launch(kernel, {x, y}, {1}, /*rows=*/1);
  format::ExecutableT &executable = program.executable();
  Entry(executable).buffers[0]->strides = {1, 1};
  Signature(executable).operands[0]->shape = {1, 4};
  Signature(executable).operands[0]->strides = {1, 1};
  Signature(executable).operands[0]->ranges = {{1, 4}};
  auto map = std::make_unique<format::TensorMapT>();
  map->sizes = map->strides = map->box = {1, 1};
  executable.kernels[0]->implementations[0]->functions[0]->tensor_maps.push_back(std::move(map));
  return std::move(executable);
}

/// A field of one of the program's tables that refers to a vector.
struct VectorField {
  const char *name;
  flatbuffers::voffset_t field;
  const void *(*table)(const format::Executable &executable);
};

const void *Map(const format::Executable &e) {
  return e.kernels()->Get(0)->implementations()->Get(0)->functions()->Get(0)->tensor_maps()->Get(0);
}

const void *Operand(const format::Executable &e) { return e.kernels()->Get(0)->signature()->operands()->Get(0); }

const void *Buffer(const format::Executable &e) { return e.entries()->Get(0)->buffers()->Get(0); }

const VectorField kVectors[] = {
    {"ShapeOfAVariable", format::TensorType::VT_SHAPE,
     [](auto &e) -> const void * { return e.variables()->Get(0)->type(); }},
    {"ShapeOfAnInput", format::TensorType::VT_SHAPE,
     [](auto &e) -> const void * { return e.entries()->Get(0)->inputs()->Get(0)->type(); }},
    {"ShapeOfAnOutput", format::TensorType::VT_SHAPE,
     [](auto &e) -> const void * { return e.entries()->Get(0)->outputs()->Get(0)->type(); }},
    {"ShapeOfAnAllocation", format::TensorType::VT_SHAPE,
     [](auto &e) -> const void * { return e.entries()->Get(0)->allocations()->Get(0)->type(); }},
    {"ShapeOfABuffer", format::Buffer::VT_SHAPE, Buffer},
    {"StridesOfABuffer", format::Buffer::VT_STRIDES, Buffer},
    {"ShapeOfAnOperand", format::OperandSignature::VT_SHAPE, Operand},
    {"StridesOfAnOperand", format::OperandSignature::VT_STRIDES, Operand},
    {"RangesOfAnOperand", format::OperandSignature::VT_RANGES, Operand},
    {"SizesOfATensorMap", format::TensorMap::VT_SIZES, Map},
    {"StridesOfATensorMap", format::TensorMap::VT_STRIDES, Map},
    {"BoxOfATensorMap", format::TensorMap::VT_BOX, Map},
};

class VectorAlignmentTest : public ::testing::TestWithParam<VectorField> {};

TEST_P(VectorAlignmentTest, RefusesAVectorThatStarts4BytesLater) {
  flatbuffers::FlatBufferBuilder builder;
  format::ExecutableT program = ProgramOfOnes();
  format::FinishExecutableBuffer(builder, format::Executable::Pack(builder, &program));
  uint8_t *table = builder.GetBufferPointer();
  const auto *fields = static_cast<const flatbuffers::Table *>(GetParam().table(*format::GetExecutable(table)));
  const uint8_t *address = fields->GetAddressOf(GetParam().field);
  ASSERT_NE(address, nullptr);

  // The field holds the distance from itself to the vector.
  uint8_t *field = table + (address - table);
  uint32_t distance;
  std::memcpy(&distance, field, sizeof(distance));
  distance += sizeof(uint32_t);
  std::memcpy(field, &distance, sizeof(distance));
  flatbuffers::Verifier verifier(table, builder.GetSize());
  ASSERT_TRUE(format::VerifyExecutableBuffer(verifier));

  absl::Status status = Executable::FromBytes(testing::AsBytes(format::Seal(table, builder.GetSize()))).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(status.message()), HasSubstr("malformed executable"));
}

/// Unpacking would copy the code once for each reference.
TEST(SharedContentsTest, PartsOfATableDoNotShareThem) {
  format::ExecutableT program = ProgramOfOnes();
  auto seal = [&](int references) {
    flatbuffers::FlatBufferBuilder builder;
    format::CodeObjectT object;
    object.target = "x86_64";
    object.image.assign(1 << 16, 0);
    auto shared = format::CodeObject::Pack(builder, &object);
    auto objects = builder.CreateVector(std::vector(references, shared));
    std::vector<flatbuffers::Offset<format::Entry>> packed;
    for (const auto &entry : program.entries)
      packed.push_back(format::Entry::Pack(builder, entry.get()));
    auto entries = builder.CreateVector(packed);
    format::ExecutableBuilder executable(builder);
    executable.add_objects(objects);
    executable.add_entries(entries);
    format::FinishExecutableBuffer(builder, executable.Finish());
    return Executable::FromBytes(testing::AsBytes(format::Seal(builder.GetBufferPointer(), builder.GetSize())))
        .status();
  };
  EXPECT_THAT(std::string(seal(2).message()), HasSubstr("several parts of its table share their contents"));
  EXPECT_THAT(std::string(seal(1).message()), ::testing::Not(HasSubstr("share their contents")));
}

INSTANTIATE_TEST_SUITE_P(Vectors, VectorAlignmentTest, ::testing::ValuesIn(kVectors),
                         [](const auto &info) { return info.param.name; });

} // namespace
} // namespace cs336::runtime::vector_alignment_test
