//===- ExecutableRulesTest.cpp - Each rule of executables is checked ------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cs336/runtime/Executable.h"

#include "ProgramBuilder.h"

#include <functional>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <limits>
#include <stdexcept>

namespace cs336::runtime::executable_rules_test {
namespace {

using testing::EntryBuilder;
using ::testing::HasSubstr;
using testing::MakeType;
using testing::ProgramBuilder;
using testing::SampleProgram;

/// One violation of a rule of the format, and the text of its error.
struct BrokenRule {
  const char *name;
  std::function<void(format::ExecutableT &)> apply;
  const char *message;
};

format::EntryT &Train(format::ExecutableT &executable) { return *executable.entries[1]; }
/// Lets "train" read the part of a rank, of 4 rows of 64 bytes, as one of `ranks` ranks. Returns the part.
format::BufferT &ReadPart(format::ExecutableT &executable, int64_t ranks) {
  executable.world_size = ranks;
  EntryBuilder entry(executable, *executable.entries[1]);
  uint32_t part = entry.PartOf(entry.Arena("rows", MakeType(DType::kF32, {4, 16})));
  entry.Copy(part, entry.Output("row", MakeType(DType::kF32, {16})));
  return *entry.entry().buffers[part];
}

/// Adds a variable "rows" like "norm.weight" of another shape.
format::VariableT &AddRows(format::ExecutableT &executable, std::vector<int64_t> shape) {
  executable.variables.push_back(std::make_unique<format::VariableT>(*executable.variables[1]));
  format::VariableT &variable = *executable.variables.back();
  variable.name = "rows";
  variable.type->shape = std::move(shape);
  return variable;
}

format::BufferT &Buffer(format::ExecutableT &executable, const std::string &name) {
  for (auto &buffer : Train(executable).buffers)
    if (buffer->name == name)
      return *buffer;
  throw std::out_of_range(name);
}
format::CommandBodyUnion &Body(format::ExecutableT &executable, size_t index) {
  return Train(executable).commands.at(index)->body;
}
constexpr int64_t kHuge = int64_t{1} << 62;

const BrokenRule kBrokenRules[] = {
    {"NoEntry", [](auto &e) { e.entries.clear(); }, "no entry"},
    {"EntriesOfOneName", [](auto &e) { e.entries[0]->name = "train"; }, "'train' occurs twice"},
    {"PrepareWithInputs",
     [](auto &e) {
       e.entries[0]->name = "other";
       e.entries[1]->name = "prepare";
     },
     "'prepare' must have no inputs"},
    {"VariablesOfOneName", [](auto &e) { e.variables[1]->name = "qkv.weight"; }, "occurs twice"},
    {"ViewWithAVariablesName", [](auto &e) { e.variables[0]->views[0]->name = "norm.weight"; },
     "'norm.weight' occurs twice"},
    {"ViewsWithAHole", [](auto &e) { e.variables[0]->views[1]->row_offset = 3; }, "view 'k.weight'"},
    {"ViewsTooFar", [](auto &e) { e.variables[0]->views[2]->rows = 3; }, "view 'v.weight'"},
    {"ViewsTooFew", [](auto &e) { e.variables[0]->views.pop_back(); }, "the views cover 4 of 6 rows"},
    {"UnknownVariableKind", [](auto &e) { e.variables[0]->kind = static_cast<format::VariableKind>(9); },
     "unknown kind of variable"},
    {"UnknownDType", [](auto &e) { e.variables[1]->type->dtype = static_cast<format::DType>(7); },
     "unknown element type"},
    {"NegativeSize", [](auto &e) { e.variables[1]->type->shape = {-4}; }, "size -4"},
    {"ZeroSize", [](auto &e) { e.variables[1]->type->shape = {0}; }, "size 0"},
    {"OverflowingSize", [](auto &e) { e.variables[1]->type->shape = {kHuge, 4}; }, "overflows"},
    {"NormalIntegers", [](auto &e) { *e.variables[2]->init = *e.variables[0]->init; },
     "integers cannot have normally distributed initial values"},
    {"NormalWithoutSpread", [](auto &e) { e.variables[0]->init->std = 0; }, "std > 0"},
    {"CounterBelowZero",
     [](auto &e) {
       e.variables[2]->init->kind = format::InitKind::constant;
       e.variables[2]->init->value = -5;
     },
     "a counter cannot start at -5"},
    {"InitialNaN", [](auto &e) { e.variables[0]->init->value = NAN; }, "not finite"},
    {"NoShards", [](auto &e) { e.variables[0]->shards = 0; }, "it has 0 shards, but the program is for 1 rank"},
    {"NegativeShards", [](auto &e) { e.variables[0]->shards = INT64_MIN; }, "it has -9223372036854775808 shards"},
    {"ShardsOfOtherRanks",
     [](auto &e) {
       e.world_size = 2;
       e.variables[0]->shards = 3;
     },
     "variable 'qkv.weight': it has 3 shards, but the program is for 2 ranks"},
    {"ShardsOfUnequalSizes",
     [](auto &e) {
       e.world_size = 4;
       e.variables[0]->shards = 4;
     },
     "its 6 rows are not a multiple of its 4 shards"},
    {"ShardedScalar",
     [](auto &e) {
       e.world_size = 2;
       e.variables[1]->shards = 2;
       e.variables[1]->type->shape.clear();
     },
     "a scalar cannot be sharded"},
    {"ShardedCounter",
     [](auto &e) {
       e.world_size = 2;
       e.variables[2]->shards = 2;
       e.variables[2]->type->shape = {4};
     },
     "values of type i64 cannot be sharded"},
    {"BufferOfAllShards",
     [](auto &e) {
       e.world_size = 2;
       e.variables[0]->shards = 2;
     },
     "bytes [0, +96) are not within the 48 of its storage"},
    {"KernelWithUnknownObject", [](auto &e) { e.kernels[0]->implementations[0]->objects = {1}; }, "code object 1 of 1"},
    {"KernelWithoutObject", [](auto &e) { e.kernels[0]->implementations[0]->objects.clear(); }, "has no code object"},
    {"KernelWithoutFunction", [](auto &e) { e.kernels[0]->implementations[0]->functions.clear(); }, "has 0 functions"},
    {"GridOnTheCpu", [](auto &e) { e.kernels[0]->implementations[0]->functions[0]->blocks = 4; }, "with 4 blocks"},
    {"NoGridOnTheGpu", [](auto &e) { e.target = format::Target::cuda; }, "with 0 blocks"},
    {"UnknownTarget", [](auto &e) { e.target = static_cast<format::Target>(2); }, "unknown target"},
    {"KernelsOfOneName", [](auto &e) { e.kernels[1]->name = "scale_rows"; }, "occurs twice"},
    {"KernelWithoutSymbol", [](auto &e) { e.kernels[0]->implementations[0]->functions[0]->symbol.clear(); },
     "no symbol"},
    {"ObjectWithoutTarget", [](auto &e) { e.objects[0]->target.clear(); }, "names no target"},
    {"OddAlignment", [](auto &e) { Train(e).alignment = 48; }, "alignment 48"},
    {"NegativeArena", [](auto &e) { Train(e).arena_bytes = -1; }, "arena of -1"},
    {"NoStream", [](auto &e) { Train(e).streams = 0; }, "it has 0 streams, but must have 1 to 64"},
    {"ManyStreams", [](auto &e) { Train(e).streams = 4000000000u; }, "it has 4000000000 streams"},
    {"ManyEvents", [](auto &e) { Train(e).events = 4000000000u; }, "4000000000 events"},
    {"InputsOfOneName", [](auto &e) { Train(e).inputs[0]->name = "tokens"; }, "'tokens' occurs twice"},
    {"BoundOnFloats", [](auto &e) { Train(e).inputs[0]->bound = 5; }, "bound 5"},
    {"OutputsOfOneName", [](auto &e) { Train(e).outputs[0]->name = "x_scaled"; }, "'x_scaled' occurs twice"},
    {"OutputWithoutBuffer", [](auto &e) { Train(e).outputs[0]->buffer = 99; }, "buffer 99"},
    {"OutputsInOnePlace", [](auto &e) { Buffer(e, "x_scaled").byte_offset = 68; },
     "command 5 'c5': it writes bytes [0, 72) of the arena after output 'x_scaled' was written to [68, 116)"},
    {"TemporaryOverAnOutput",
     [](auto &e) {
       std::swap(Train(e).commands[0], Train(e).commands[4]);
       Body(e, 0).AsCopy()->src = 0;
       Buffer(e, "scaled").byte_offset = 160;
     },
     "command 4 'c0': it writes bytes [160, 208) of the arena after output 'x_scaled' was written to [128, 176)"},
    {"AllocationBeyondTheArena", [](auto &e) { Train(e).allocations[1]->byte_offset = 229; },
     "allocation 1 'x_scaled': bytes [229, +48) are not within the 240 of the arena"},
    {"AllocationBeforeTheArena", [](auto &e) { Train(e).allocations[0]->byte_offset = -1; }, "bytes [-1, +72)"},
    {"AllocationOfNegativeSize", [](auto &e) { Train(e).allocations[0]->byte_size = -8; }, "bytes [0, +-8)"},
    {"AllocationSmallerThanItsTensor", [](auto &e) { Train(e).allocations[1]->byte_size = 44; },
     "its f32[3, 4] does not fit into 44 bytes"},
    {"AllocationOfNoType", [](auto &e) { Train(e).allocations[0]->type->shape = {0}; }, "size 0 in f32[0]"},
    {"BufferOfNoAllocation", [](auto &e) { Buffer(e, "scaled").index = 3; }, "it names allocation 3 of 3"},
    {"BufferOfAnotherAllocation", [](auto &e) { Buffer(e, "scaled").index = 0; },
     "bytes [192, +48) are not within allocation 0, which has [0, +72)"},
    {"OutputOfAnotherShape", [](auto &e) { Train(e).outputs[1]->buffer = 2; }, "output 'x_scaled'"},
    {"BufferBeyondTheArena", [](auto &e) { Buffer(e, "scaled").byte_offset = 196; }, "not within the 240"},
    {"BufferBeforeTheArena", [](auto &e) { Buffer(e, "scaled").byte_offset = -4; }, "bytes [-4"},
    {"BufferAtAnOddOffset",
     [](auto &e) {
       Train(e).arena_bytes = 256;
       Buffer(e, "scaled").byte_offset = 194;
     },
     "offset 194 is not a multiple of its elements' size"},
    {"BufferSizeOverflow",
     [](auto &e) {
       Buffer(e, "scaled").byte_offset = 8;
       Buffer(e, "scaled").byte_size = INT64_MAX;
     },
     "not within"},
    {"ExtentBeyondSize", [](auto &e) { Buffer(e, "scaled").strides = {5, 1}; }, "do not fit"},
    {"ExtentOverflow", [](auto &e) { Buffer(e, "scaled").strides = {kHuge, 1}; }, "overflows"},
    {"NegativeStride", [](auto &e) { Buffer(e, "scaled").strides = {-4, 1}; }, "stride -4"},
    {"StridesOfAnotherRank", [](auto &e) { Buffer(e, "scaled").strides = {1}; }, "2 sizes and 1 strides"},
    {"BufferOfNoVariable", [](auto &e) { Buffer(e, "step").index = 4; }, "variable 4 of 4"},
    {"BufferOfAnotherDType", [](auto &e) { Buffer(e, "step").dtype = format::DType::f64; }, "its elements are f64"},
    {"UnknownSource", [](auto &e) { Buffer(e, "step").source = static_cast<format::BufferSource>(4); },
     "unknown source"},
    {"NoSuchStream", [](auto &e) { Train(e).commands[0]->stream = 2; }, "stream 2 of 2"},
    {"UnknownArithmetic", [](auto &e) { Train(e).commands[0]->arithmetic = static_cast<format::Arithmetic>(7); },
     "unknown arithmetic"},
    {"NegativeFlops", [](auto &e) { Train(e).commands[0]->flops = -1; }, "its FLOPs or bytes are -1"},
    {"InfiniteBytes", [](auto &e) { Train(e).commands[0]->bytes = std::numeric_limits<double>::infinity(); },
     "its FLOPs or bytes are inf"},
    {"NoSuchKernel", [](auto &e) { Body(e, 0).AsLaunch()->kernel = 2; }, "kernel 2 of 2"},
    {"NoSuchOperand", [](auto &e) { Body(e, 0).AsLaunch()->operands[1] = 99; }, "buffer 99"},
    {"NoSuchAddend", [](auto &e) { Body(e, 3).AsGemm()->addend = 99; }, "buffer 99"},
    {"AddendThatLiesOtherwise", [](auto &e) { Body(e, 3).AsGemm()->addend = Body(e, 3).AsGemm()->a; },
     "which does not lie as"},
    {"NoSuchBias", [](auto &e) { Body(e, 3).AsGemm()->bias = 99; }, "buffer 99"},
    {"BiasThatIsNotARow", [](auto &e) { Body(e, 3).AsGemm()->bias = Body(e, 3).AsGemm()->a; }, "is not a dense row of"},
    {"NoGrain", [](auto &e) { Body(e, 0).AsLaunch()->grain = 0; }, "grain 0"},
    {"WriteToSharedAddresses", [](auto &e) { Buffer(e, "x_scaled").strides = {0, 1}; }, "share addresses"},
    {"WriteToAnInput", [](auto &e) { Body(e, 4).AsCopy()->dst = 0; },
     "it writes 'x' f32[3, 4] with strides [4, 1], an input"},
    {"GemmOverItsOperand",
     [](auto &e) {
       Train(e).arena_bytes = 256;
       Buffer(e, "y").byte_offset = 184;
     },
     "command 3 'c3': it writes 'y' f32[3, 6] with strides [6, 1] over bytes of 'scaled'"},
    {"GemmOverItsWorkspace", [](auto &e) { Body(e, 3).AsGemm()->workspace = Body(e, 3).AsGemm()->a; },
     "it writes 'scaled' f32[3, 4] with strides [4, 1] over bytes of 'scaled'"},
    {"CopyOverItsSource", [](auto &e) { Buffer(e, "scaled").byte_offset = 132; },
     "it writes 'x_scaled' f32[3, 4] with strides [4, 1] over bytes of 'scaled'"},
    {"WaitBeforeRecord", [](auto &e) { std::swap(Train(e).commands[1], Train(e).commands[2]); }, "waits for event 0"},
    {"RecordTwice",
     [](auto &e) {
       format::RecordT record;
       Body(e, 2).Set(std::move(record));
     },
     "recorded twice"},
    {"NoSuchEvent", [](auto &e) { Train(e).events = 0; }, "event 0 of 0"},
    {"GemmShapes", [](auto &e) { std::swap(Body(e, 3).AsGemm()->a, Body(e, 3).AsGemm()->b); },
     "GEMM shapes do not agree: A is 'qkv.shadow.view' f32[4, 6]"},
    {"GemmScalars", [](auto &e) { Body(e, 3).AsGemm()->a = 5; }, "GEMM shapes do not agree"},
    {"GemmStrides",
     [](auto &e) {
       // f32[4, 6] without a stride of 1, within the 96 bytes.
       Buffer(e, "qkv.shadow.view").shape = {4, 2};
       Buffer(e, "qkv.shadow.view").strides = {2, 4};
       Buffer(e, "y").shape = {3, 2};
       Buffer(e, "y").strides = {2, 1};
       Train(e).outputs[0]->type->shape = {3, 2};
       Buffer(e, "y").byte_size = 24;
     },
     "must be 1"},
    {"CopyShapes", [](auto &e) { Body(e, 4).AsCopy()->dst = 2; }, "it copies"},
    {"CollectiveSizes", [](auto &e) { Body(e, 5).AsCollective()->sources = {0}; }, "a collective from"},
    {"CollectiveCounts", [](auto &e) { Body(e, 5).AsCollective()->sources.clear(); },
     "a collective from 0 buffers to 1"},
    {"CollectiveRoot",
     [](auto &e) {
       Body(e, 5).AsCollective()->kind = format::CollectiveKind::broadcast;
       Body(e, 5).AsCollective()->root = 1;
     },
     "its root is rank 1, but the program is for 1"},
    {"CollectiveInPlace", [](auto &e) { Body(e, 5).AsCollective()->kind = format::CollectiveKind::all_to_all; },
     "over bytes of 'y'"},
    {"CollectiveColumns",
     [](auto &e) {
       // Parts whose rows are apart, and not columns of a dense matrix.
       e.world_size = 2;
       EntryBuilder entry(e, *e.entries[1]);
       uint32_t x = entry.Input("columns", MakeType(DType::kF32, {64}));
       entry.Collective(format::CollectiveKind::all_to_all, entry.View(x, {2, 3, 2}, {2, 8, 1}),
                        entry.Output("parts", MakeType(DType::kF32, {2, 3, 2})));
     },
     "a collective from"},
    {"CollectiveParts",
     [](auto &e) {
       e.world_size = 5;
       Body(e, 5).AsCollective()->kind = format::CollectiveKind::all_gather;
     },
     "a collective from"},
    {"OthersOfAReduction", [](auto &e) { Body(e, 5).AsCollective()->others = true; },
     "all_reduce between 1 ranks cannot have only the parts of other ranks"},
    {"OthersOfOneRank",
     [](auto &e) {
       Body(e, 5).AsCollective()->kind = format::CollectiveKind::all_gather;
       Body(e, 5).AsCollective()->others = true;
     },
     "all_gather between 1 ranks cannot have only the parts of other ranks"},
    {"OthersOfAnotherSize",
     [](auto &e) {
       e.world_size = 3;
       EntryBuilder entry(e, *e.entries[1]);
       uint32_t part = entry.Input("part", MakeType(DType::kF32, {4}));
       entry.GatherOthers(format::CollectiveKind::all_gather, part, entry.Output("all", MakeType(DType::kF32, {3, 4})));
     },
     "a collective from"},
    {"PartBeyondItsStorage", [](auto &e) { ReadPart(e, 4).byte_size -= 4; },
     "the parts of 4 ranks, 64 bytes apart, do not fit into its 252 bytes"},
    {"GatherOthersInPlace",
     [](auto &e) {
       e.world_size = 2;
       EntryBuilder entry(e, *e.entries[1]);
       uint32_t rows = entry.Arena("rows", MakeType(DType::kF32, {2, 16}));
       entry.GatherOthers(format::CollectiveKind::all_gather, entry.PartOf(rows), entry.View(rows, {1, 16}, {16, 1}));
     },
     "over bytes of 'rows.view'"},
    {"PartOfMoreRanks", [](auto &e) { ReadPart(e, 5); }, "the parts of 5 ranks, 64 bytes apart, do not fit"},
    {"NegativeDistance", [](auto &e) { ReadPart(e, 4).part_distance = -64; }, "a distance of -64 bytes"},
    {"OddDistance", [](auto &e) { ReadPart(e, 4).part_distance = 32; }, "a distance of 32 bytes between parts is not"},
    {"PartOfAnInput",
     [](auto &e) {
       EntryBuilder entry(e, *e.entries[1]);
       entry.Copy(entry.PartOf(entry.Input("rows", MakeType(DType::kF32, {1, 16}))),
                  entry.Output("row", MakeType(DType::kF32, {16})));
     },
     "not floating-point values in the arena or a variable without shards"},
    {"PartOfIntegers", [](auto &e) { ReadPart(e, 4).dtype = format::DType::i32; },
     "not floating-point values in the arena or a variable without shards"},
    {"PartOfAShardedVariable",
     [](auto &e) {
       e.world_size = 4;
       AddRows(e, {16, 16}).shards = 4;
       EntryBuilder entry(e, *e.entries[1]);
       entry.Copy(entry.PartOf(entry.OwnPart("rows")), entry.Output("row", MakeType(DType::kF32, {16})));
     },
     "not floating-point values in the arena or a variable without shards"},
    {"NegativeShift", [](auto &e) { ReadPart(e, 4).part_shift = -1; },
     "its shift is -1, but the program is for 4 ranks"},
    {"ShiftOfAllRanks", [](auto &e) { ReadPart(e, 4).part_shift = 4; },
     "its shift is 4, but the program is for 4 ranks"},
    {"ShiftOfOneRank", [](auto &e) { ReadPart(e, 1).part_shift = 1; }, "its shift is 1, but the program is for 1 rank"},
    {"WriteOverOtherParts",
     [](auto &e) {
       // The second half of a part is the first half of the next one.
       e.world_size = 4;
       EntryBuilder entry(e, *e.entries[1]);
       uint32_t part = entry.PartOf(entry.Arena("pairs", MakeType(DType::kF32, {4, 32})));
       entry.entry().buffers[part]->part_distance = 64;
       entry.Copy(entry.Input("pair", MakeType(DType::kF32, {32})), part);
     },
     "it writes 'pairs.view' f32[32] with strides [1], which shares bytes with the parts of others"},
    {"CopyToAnotherPart",
     [](auto &e) {
       e.world_size = 4;
       EntryBuilder entry(e, *e.entries[1]);
       uint32_t rows = entry.Arena("rows", MakeType(DType::kF32, {4, 16}));
       entry.Copy(entry.PartOf(rows, 1), entry.PartOf(rows, 2));
     },
     "it writes 'rows.view' f32[16] with strides [1] over bytes of 'rows.view'"},
    {"GatherOfAnotherPartInPlace",
     [](auto &e) {
       e.world_size = 4;
       EntryBuilder entry(e, *e.entries[1]);
       uint32_t rows = entry.Arena("rows", MakeType(DType::kF32, {4, 16}));
       entry.Collective(format::CollectiveKind::all_gather, entry.PartOf(rows, 1), rows);
     },
     "it writes 'rows' f32[4, 16] with strides [16, 1] over bytes of 'rows.view'"},
    {"GatherBesideTheOwnPart",
     [](auto &e) {
       e.world_size = 2;
       EntryBuilder entry(e, *e.entries[1]);
       uint32_t rows = entry.Arena("rows", MakeType(DType::kF32, {3, 16}));
       entry.Collective(format::CollectiveKind::all_gather, entry.PartOf(rows),
                        entry.View(rows, {2, 16}, {16, 1}, /*offset=*/64));
     },
     "over bytes of 'rows.view'"},
    {"WriteOfAPartOverAnOutput",
     [](auto &e) {
       e.world_size = 4;
       EntryBuilder entry(e, *e.entries[1]);
       uint32_t row = entry.Input("row", MakeType(DType::kF32, {16}));
       uint32_t rows = entry.Arena("rows", MakeType(DType::kF32, {4, 16}));
       uint32_t last = entry.Output("last", MakeType(DType::kF32, {16}));
       entry.Move(last, Buffer(e, "rows").byte_offset + 192);
       entry.Copy(row, last);
       entry.Copy(row, entry.PartOf(rows));
     },
     "of the arena after output 'last' was written"},
    {"OutputOfAPart",
     [](auto &e) {
       ReadPart(e, 4);
       Train(e).outputs.back()->buffer = Train(e).buffers.size() - 2;
     },
     "its buffer is the part of a rank"},
    {"NoRanks", [](auto &e) { e.world_size = 0; }, "it is for 0 ranks"},
    {"UnknownReduction", [](auto &e) { Body(e, 5).AsCollective()->reduction = static_cast<format::Reduction>(9); },
     "unknown kind of collective"},
};

/// A check of integers from i64[3] to i64[3], whose operands and bound a test
/// changes.
ProgramBuilder CheckProgram() {
  ProgramBuilder program;
  EntryBuilder entry = program.Entry("forward");
  uint32_t ids = entry.Input("ids", MakeType(DType::kI64, {3}));
  entry.CheckBound(ids, entry.Output("checked", MakeType(DType::kI64, {3})), 5);
  return program;
}

const BrokenRule kBrokenChecks[] = {
    {"NoSuchSource", [](auto &e) { e.entries[0]->commands[0]->body.AsCheckBound()->src = 9; }, "buffer 9 of 2"},
    {"NoSuchTarget", [](auto &e) { e.entries[0]->commands[0]->body.AsCheckBound()->dst = 2; }, "buffer 2 of 2"},
    {"NoBound", [](auto &e) { e.entries[0]->commands[0]->body.AsCheckBound()->bound = 0; }, "against bound 0"},
    {"OtherType",
     [](auto &e) {
       e.entries[0]->buffers[0]->dtype = format::DType::f64;
       e.entries[0]->inputs[0]->type->dtype = format::DType::f64;
     },
     "it checks integers from 'ids' f64"},
    {"OtherShape", [](auto &e) { e.entries[0]->buffers[0]->shape = {2}; }, "it checks integers from 'ids' i64[2]"},
    {"SharedAddresses", [](auto &e) { e.entries[0]->buffers[0]->strides = {0}; }, "with strides [0]"},
};

class BrokenCheckTest : public ::testing::TestWithParam<BrokenRule> {};

TEST_P(BrokenCheckTest, IsRefused) {
  ProgramBuilder program = CheckProgram();
  ASSERT_TRUE(program.Build().ok()) << program.Build().status();
  GetParam().apply(program.executable());
  absl::Status status = program.Build().status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr(GetParam().message));
}

INSTANTIATE_TEST_SUITE_P(ExecutableRulesTest, BrokenCheckTest, ::testing::ValuesIn(kBrokenChecks),
                         [](const auto &info) { return std::string(info.param.name); });

class BrokenRuleTest : public ::testing::TestWithParam<BrokenRule> {};

TEST_P(BrokenRuleTest, IsRefused) {
  ProgramBuilder program = SampleProgram();
  GetParam().apply(program.executable());
  absl::Status status = program.Build().status();
  EXPECT_TRUE(status.code() == absl::StatusCode::kInvalidArgument || status.code() == absl::StatusCode::kDataLoss)
      << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr(GetParam().message));
}

INSTANTIATE_TEST_SUITE_P(ExecutableRulesTest, BrokenRuleTest, ::testing::ValuesIn(kBrokenRules),
                         [](const auto &info) { return std::string(info.param.name); });

TEST(ExecutableRulesTest, CommandsWritePartsOfRanks) {
  ProgramBuilder program;
  program.executable().world_size = 4;
  program.Variable("w", MakeType(DType::kF32, {4, 16}));
  EntryBuilder entry = program.Entry("train", format::Mode::train);
  uint32_t row = entry.Input("row", MakeType(DType::kF32, {16}));
  uint32_t variable = entry.Variable("w"), rows = entry.Output("rows", MakeType(DType::kF32, {4, 16}));
  entry.Copy(row, entry.PartOf(variable, 3));
  entry.Copy(entry.PartOf(variable, 3), entry.PartOf(variable, 3));
  entry.Copy(entry.PartOf(variable, 3), entry.PartOf(rows));
  entry.Collective(format::CollectiveKind::all_gather, entry.PartOf(rows), rows);
  EXPECT_TRUE(program.Build().ok()) << program.Build().status();
}

TEST(ExecutableRulesTest, ChecksWhereWorkspacesOfGemmsStartOnGPUs) {
  ProgramBuilder program;
  EntryBuilder entry = program.Entry("forward");
  uint32_t x = entry.Input("x", MakeType(DType::kF32, {4, 4}));
  uint32_t y = entry.Output("y", MakeType(DType::kF32, {4, 4}));
  uint32_t workspace = entry.Arena("workspace", MakeType(DType::kF32, {64}));
  entry.entry().arena_bytes = 1024;
  entry.Gemm(x, x, y).workspace = workspace;
  entry.Move(workspace, 320);
  EXPECT_TRUE(program.Build().ok()) << program.Build().status();
  program.executable().target = format::Target::cuda;
  EXPECT_THAT(std::string(program.Build().status().message()),
              HasSubstr("command 0 'c0': its workspace starts at byte 320, but cuBLASLt requires a multiple of 256"));
  entry.Move(workspace, 512);
  EXPECT_TRUE(program.Build().ok()) << program.Build().status();
}
} // namespace
} // namespace cs336::runtime::executable_rules_test
