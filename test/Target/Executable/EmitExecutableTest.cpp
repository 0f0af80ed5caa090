//===- EmitExecutableTest.cpp - What the runtime reads of an emitted executable -===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "EmitExecutableFixture.h"

#include "cs336/runtime/format/ExecutableFile.h"
#include "cs336/runtime/format/KernelSignature.h"
#include "llvm/Support/FormatVariadic.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace cs336 {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr char kKernels[] = R"mlir(
exec.kernel @add(%a: tensor<2x4xf32>, %b: tensor<2x4xf32>) : (memref<2x4xf32>, memref<2x4xf32>) -> memref<2x4xf32> {
  %0 = cs336.add %a, %b : tensor<2x4xf32>
  exec.yield %0 : tensor<2x4xf32>
}
)mlir";

constexpr char kEntries[] = R"mlir(
exec.variable @layers.0.w parameter : memref<8x4xf32> {init = #cs336.init<truncated_normal, std = 5.0e-02, cut = 3.0>, views = [#cs336.view<"layers.0.q", 3>, #cs336.view<"layers.0.k", 5>]}
exec.variable @count state : memref<i64> {init = #cs336.init<ones>}
exec.variable @table derived : memref<8xbf16>

exec.entry @train mode<train> arena_bytes = 384 alignment = 64 {
  %w = exec.get @layers.0.w : memref<8x4xf32>
  %tokens = exec.input "tokens" bound = 97 : memref<3xi64>
  %x = exec.input "x" : memref<2x4xf32>
  %y = exec.output "y" output offset = 0 : memref<2x4xf32>
  %g = exec.output "layers.0.w" gradient offset = 256 {views = [#cs336.view<"layers.0.q", 3>, #cs336.view<"layers.0.k", 5>]} : memref<8x4xf32>
  %unused = exec.alloc offset = 4096 : memref<8xf32>
  %a = exec.alloc offset = 64 : memref<2x4xf32> loc("layers.0.attn.sum")
  %rows = exec.view %w : memref<8x4xf32> to memref<2x4xf32, strided<[8, 1], offset: 4>> loc("layers.0.attn.rows")
  exec.copy ins(%rows : memref<2x4xf32, strided<[8, 1], offset: 4>>) outs(%a : memref<2x4xf32>) {stream = 3 : i64} loc("layers.0.attn.sum")
  exec.launch @add ins(%a, %x : memref<2x4xf32>, memref<2x4xf32>) outs(%a : memref<2x4xf32>) {stream = 3 : i64} loc("layers.0.attn.sum")
  exec.record 70 {stream = 3 : i64}
  exec.wait 70
  exec.collective all_reduce max ins(%a : memref<2x4xf32>) outs(%y : memref<2x4xf32>) group = 1 loc("communication"("y"))
  %at = exec.view %a : memref<2x4xf32> to memref<4x2xf32, strided<[1, 4]>>
  %b = exec.alloc offset = 128 : memref<4x4xf32>
  exec.gemm ins(%at, %y : memref<4x2xf32, strided<[1, 4]>>, memref<2x4xf32>) outs(%b : memref<4x4xf32>) precision = tf32 loc("backward"("layers.0.attn.sum"))
  %top = exec.view %g : memref<8x4xf32> to memref<4x4xf32>
  %bottom = exec.view %g : memref<8x4xf32> to memref<4x4xf32, strided<[4, 1], offset: 16>>
  exec.copy ins(%b : memref<4x4xf32>) outs(%top : memref<4x4xf32>) loc("optimizer"("layers.0.w"))
  exec.copy ins(%b : memref<4x4xf32>) outs(%bottom : memref<4x4xf32, strided<[4, 1], offset: 16>>) loc("optimizer"("layers.0.w"))
}
exec.entry @prepare mode<prepare> arena_bytes = 0 alignment = 64 {
}
)mlir";

TEST_F(EmitExecutableTest, TheRuntimeAcceptsWhatWasEmitted) {
  auto bytes = Emit(std::string(kKernels) + kEntries);
  ASSERT_TRUE(succeeded(bytes)) << error;
  auto executable = Read(*bytes);
  ASSERT_TRUE(executable);
  const format::ExecutableT &description = executable->description();
  EXPECT_THAT(description.producer, HasSubstr("cs336-opt"));

  ASSERT_THAT(description.variables, SizeIs(3));
  const format::VariableT &w = *description.variables[0];
  EXPECT_EQ(w.name, "layers.0.w");
  EXPECT_EQ(w.kind, format::VariableKind::parameter);
  EXPECT_THAT(w.type->shape, ElementsAre(8, 4));
  EXPECT_EQ(w.init->kind, format::InitKind::truncated_normal);
  EXPECT_EQ(w.init->std, 0.05);
  EXPECT_EQ(w.init->cut, 3.0);
  ASSERT_THAT(w.views, SizeIs(2));
  EXPECT_EQ(w.views[1]->name, "layers.0.k");
  EXPECT_EQ(w.views[1]->row_offset, 3);
  EXPECT_EQ(w.views[1]->rows, 5);
  EXPECT_EQ(description.variables[1]->init->kind, format::InitKind::ones);
  EXPECT_EQ(description.variables[2]->kind, format::VariableKind::derived);
  EXPECT_EQ(description.variables[2]->init->kind, format::InitKind::zeros);

  ASSERT_THAT(description.kernels, SizeIs(1));
  EXPECT_EQ(description.kernels[0]->implementations[0]->functions[0]->symbol, "cs336_add");
  EXPECT_THAT(description.kernels[0]->comment, HasSubstr("cs336.add"));
  const format::SignatureT &signature = *description.kernels[0]->signature;
  EXPECT_EQ(format::ToSymbolSuffix(signature), "(f32[2,4|4,1]%4;f32[2,4|4,1]%4;0=f32[2,4|4,1]%4)2+4096");
  EXPECT_EQ(signature.workspace_bytes, 0);
  ASSERT_THAT(description.objects, SizeIs(1));
  EXPECT_EQ(description.objects[0]->image, kernels.objects.front().image);
  EXPECT_THAT(description.objects[0]->features, ElementsAre("avx2"));
}

TEST_F(EmitExecutableTest, PortsAndBuffersSayWhereTheyAre) {
  auto bytes = Emit(std::string(kKernels) + kEntries);
  ASSERT_TRUE(succeeded(bytes)) << error;
  auto executable = Read(*bytes);
  ASSERT_TRUE(executable);
  const format::EntryT *train = executable->FindEntry("train");
  ASSERT_TRUE(train);
  EXPECT_EQ(train->mode, format::Mode::train);
  EXPECT_EQ(train->arena_bytes, 384);
  ASSERT_THAT(train->inputs, SizeIs(2));
  EXPECT_EQ(train->inputs[0]->bound, 97);
  EXPECT_EQ(train->inputs[1]->bound, 0);
  ASSERT_THAT(train->outputs, SizeIs(2));
  EXPECT_EQ(train->outputs[1]->name, "layers.0.w");
  EXPECT_THAT(train->outputs[1]->views, SizeIs(2));

  const auto &copy = *train->commands[0]->body.AsCopy();
  const format::BufferT &rows = *train->buffers[copy.src];
  EXPECT_EQ(rows.source, format::BufferSource::variable);
  EXPECT_EQ(rows.index, 0u);
  EXPECT_EQ(rows.byte_offset, 16);
  EXPECT_EQ(rows.byte_size, 128 - 16);
  EXPECT_THAT(rows.strides, ElementsAre(8, 1));
  const format::BufferT &sum = *train->buffers[copy.dst];
  EXPECT_EQ(sum.source, format::BufferSource::arena);
  EXPECT_EQ(sum.name, "layers.0.attn.sum");
  EXPECT_EQ(sum.byte_offset, 64);
  EXPECT_EQ(sum.byte_size, 32);
  const auto &bottom = *train->buffers[train->commands[7]->body.AsCopy()->dst];
  EXPECT_EQ(bottom.source, format::BufferSource::arena);
  EXPECT_EQ(bottom.name, "layers.0.w");
  EXPECT_EQ(bottom.byte_offset, 256 + 64);
}

TEST_F(EmitExecutableTest, BuffersNameTheirAllocations) {
  auto bytes = Emit(std::string(kKernels) + kEntries);
  ASSERT_TRUE(succeeded(bytes)) << error;
  auto executable = Read(*bytes);
  ASSERT_TRUE(executable);
  const format::EntryT &train = *executable->FindEntry("train");
  ASSERT_THAT(train.allocations, SizeIs(4)); // Not the unused one.
  const format::AllocationT &sum = *train.allocations[train.buffers[train.commands[0]->body.AsCopy()->dst]->index];
  EXPECT_EQ(sum.source, "layers.0.attn.sum");
  EXPECT_EQ(sum.location, "\"layers.0.attn.sum\"");
  EXPECT_EQ(sum.byte_offset, 64);
  EXPECT_EQ(sum.byte_size, 32);
  EXPECT_THAT(sum.type->shape, ElementsAre(2, 4));
  // Both parts of an output are views of one allocation.
  uint32_t top = train.commands[6]->body.AsCopy()->dst, bottom = train.commands[7]->body.AsCopy()->dst;
  EXPECT_NE(top, bottom);
  EXPECT_EQ(train.buffers[top]->index, train.buffers[bottom]->index);
  EXPECT_EQ(train.allocations[train.buffers[bottom]->index]->byte_offset, 256);
  EXPECT_EQ(train.allocations[train.buffers[bottom]->index]->byte_size, 128);
}

TEST_F(EmitExecutableTest, DescribesProgramsBeforeTheirKernelsAreCompiled) {
  kernels.kernels["add"].rows = 1;
  kernels.kernels["add"].threadBytes = 0;
  std::string text = std::string(kKernels) + kEntries;
  auto bytes = Emit(text);
  ASSERT_TRUE(succeeded(bytes)) << error;
  auto executable = Read(*bytes);
  ASSERT_TRUE(executable);
  mlir::OwningOpRef<mlir::ModuleOp> module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
  auto program = describeProgram(*module, Target::CPU);
  ASSERT_TRUE(succeeded(program));
  ASSERT_THAT(program->kernels, SizeIs(1));
  EXPECT_EQ(program->kernels[0]->name, "add");
  EXPECT_THAT(program->objects, SizeIs(0));
  program->kernels.clear();
  format::ExecutableT compiled = executable->description();
  compiled.kernels.clear();
  compiled.objects.clear();
  compiled.producer.clear();
  compiled.program_hash = 0;
  EXPECT_EQ(format::Serialize(*program), format::Serialize(compiled));
}

TEST_F(EmitExecutableTest, CommandsKeepTheirOrderOperandsAndOrigin) {
  auto bytes = Emit(std::string(kKernels) + kEntries);
  ASSERT_TRUE(succeeded(bytes)) << error;
  auto executable = Read(*bytes);
  ASSERT_TRUE(executable);
  const format::EntryT &train = *executable->FindEntry("train");
  ASSERT_THAT(train.commands, SizeIs(8));
  EXPECT_EQ(train.streams, 2u);
  EXPECT_EQ(train.events, 1u);

  const format::CommandT &command = *train.commands[1];
  EXPECT_EQ(command.name, "add");
  EXPECT_EQ(command.source, "layers.0.attn.sum");
  EXPECT_EQ(command.phase, format::Phase::forward);
  EXPECT_EQ(command.location, "\"layers.0.attn.sum\"");
  const format::LaunchT &launch = *command.body.AsLaunch();
  EXPECT_EQ(launch.rows, 2);
  EXPECT_EQ(launch.thread_bytes, 4096);
  EXPECT_THAT(launch.operands, SizeIs(3));
  EXPECT_EQ(launch.operands[0], launch.operands[2]);
  EXPECT_THAT(launch.writes, ElementsAre(2));

  // Stream 3 comes first, and is not the stream of number 0.
  EXPECT_EQ(train.commands[0]->stream, 1u);
  EXPECT_EQ(train.commands[2]->stream, 1u);
  EXPECT_EQ(train.commands[3]->stream, 0u);
  EXPECT_EQ(train.commands[2]->body.AsRecord()->event, 0u);
  EXPECT_EQ(train.commands[3]->body.AsWait()->event, 0u);
  EXPECT_EQ(train.commands[4]->name, "all_reduce_y");
  EXPECT_EQ(train.commands[4]->source, "y");
  EXPECT_EQ(train.commands[4]->phase, format::Phase::communication);
  EXPECT_EQ(train.commands[4]->body.AsCollective()->reduction, format::Reduction::max);

  const format::GemmT &gemm = *train.commands[5]->body.AsGemm();
  EXPECT_EQ(train.commands[5]->name, "gemm_sum");
  EXPECT_EQ(train.commands[5]->phase, format::Phase::backward);
  EXPECT_FALSE(gemm.addend);
  EXPECT_EQ(gemm.precision, format::Precision::tf32);
  EXPECT_EQ(train.commands[5]->flops, 2 * 4 * 2 * 4);
  EXPECT_EQ(train.commands[5]->bytes, 4 * (8 + 8 + 16));
  EXPECT_EQ(train.commands[5]->arithmetic, format::Arithmetic::tf32);
  EXPECT_EQ(train.commands[0]->flops, 0);
  EXPECT_EQ(train.commands[0]->bytes, 4 * (8 + 8));
  EXPECT_EQ(train.commands[0]->arithmetic, format::Arithmetic::none);
  EXPECT_THAT(train.buffers[gemm.a]->strides, ElementsAre(1, 4));
  EXPECT_EQ(train.commands[6]->phase, format::Phase::optimizer);
}

TEST_F(EmitExecutableTest, KernelsForGPUsKeepTheirFunctionsArchitecturesAndWorkspaces) {
  kernels.target = Target::CUDA;
  kernels.objects = {{"sm_80", {}, {1, 2}}, {"sm_90a", {}, {3, 4}}};
  TensorMapRecipe map{.operand = 0,
                      .offset = 32,
                      .elementType = mlir::Float32Type::get(&context),
                      .sizes = {8, 4},
                      .strides = {1, 8},
                      .box = {8, 2},
                      .swizzle = TensorMapRecipe::Swizzle::Bytes32,
                      .promotion = TensorMapRecipe::L2Promotion::Bytes256};
  kernels.kernels["total"].implementations = {
      {{{"total_parts", 256, 128, 1024}, {"total", 1, 256, 0}}, {0}, "// CUDA C++", 512},
      {{{"total", 4, 128, 2048, 2, {map}}}, {1}, "// for one architecture"},
  };
  kernels.kernels["total"].alignments = {16, 4};
  auto bytes = Emit(R"mlir(
exec.kernel @total(%x: tensor<64xf32>) : (memref<64xf32>) -> memref<f32> {
  %0 = cs336.reduce sum %x axes = [0] : tensor<64xf32> -> tensor<f32>
  exec.yield %0 : tensor<f32>
}
exec.entry @norm mode<forward> arena_bytes = 1280 alignment = 256 {
  %x = exec.input "x" : memref<64xf32>
  %a = exec.input "a" : memref<4x4xf32>
  %y = exec.output "y" output offset = 0 : memref<f32>
  %b = exec.output "b" output offset = 64 : memref<4x4xf32>
  %w = exec.alloc offset = 256 : memref<256xf32>
  exec.launch @total ins(%x : memref<64xf32>) outs(%y : memref<f32>) workspace(%w : memref<256xf32>)
  exec.gemm ins(%a, %a : memref<4x4xf32>, memref<4x4xf32>) outs(%b : memref<4x4xf32>) workspace(%w : memref<256xf32>)
}
)mlir");
  ASSERT_TRUE(succeeded(bytes)) << error;
  auto executable = Read(*bytes);
  ASSERT_TRUE(executable);
  const format::ExecutableT &description = executable->description();
  EXPECT_EQ(description.target, format::Target::cuda);
  ASSERT_THAT(description.objects, SizeIs(2));
  EXPECT_EQ(description.objects[1]->target, "sm_90a");
  EXPECT_THAT(description.objects[1]->image, ElementsAre(3, 4));

  ASSERT_THAT(description.kernels, SizeIs(1));
  const format::KernelT &kernel = *description.kernels[0];
  ASSERT_THAT(kernel.implementations, SizeIs(2));
  const format::ImplementationT &portable = *kernel.implementations[0], &specific = *kernel.implementations[1];
  EXPECT_THAT(portable.objects, ElementsAre(0));
  EXPECT_EQ(portable.text, "// CUDA C++");
  EXPECT_EQ(portable.workspace_bytes, 512);
  ASSERT_THAT(portable.functions, SizeIs(2));
  EXPECT_EQ(portable.functions[0]->symbol, "total_parts");
  EXPECT_EQ(portable.functions[0]->blocks, 256);
  EXPECT_EQ(portable.functions[0]->threads, 128);
  EXPECT_EQ(portable.functions[0]->shared_bytes, 1024);
  EXPECT_EQ(portable.functions[0]->cluster, 1);
  EXPECT_EQ(portable.functions[1]->symbol, "total");
  EXPECT_THAT(specific.objects, ElementsAre(1));
  EXPECT_EQ(specific.text, "// for one architecture");
  EXPECT_EQ(specific.workspace_bytes, 0);
  ASSERT_THAT(specific.functions, SizeIs(1));
  EXPECT_EQ(specific.functions[0]->cluster, 2);
  ASSERT_THAT(specific.functions[0]->tensor_maps, SizeIs(1));
  const format::TensorMapT &emitted = *specific.functions[0]->tensor_maps[0];
  EXPECT_EQ(emitted.operand, 0u);
  EXPECT_EQ(emitted.offset, 32);
  EXPECT_EQ(emitted.dtype, format::DType::f32);
  EXPECT_THAT(emitted.sizes, ElementsAre(8, 4));
  EXPECT_THAT(emitted.strides, ElementsAre(1, 8));
  EXPECT_THAT(emitted.box, ElementsAre(8, 2));
  EXPECT_EQ(emitted.swizzle, format::Swizzle::bytes_32);
  EXPECT_EQ(emitted.promotion, format::L2Promotion::bytes_256);
  EXPECT_EQ(kernel.signature->workspace_bytes, 512);
  ASSERT_THAT(kernel.signature->operands, SizeIs(2));
  EXPECT_EQ(kernel.signature->operands[0]->alignment, 16);
  EXPECT_FALSE(kernel.signature->operands[0]->is_written);
  EXPECT_THAT(kernel.signature->operands[0]->shape, ElementsAre(64));
  EXPECT_EQ(kernel.signature->operands[1]->alignment, 4);
  EXPECT_TRUE(kernel.signature->operands[1]->is_written);
  EXPECT_THAT(kernel.signature->operands[1]->written_over, IsEmpty());

  const format::EntryT &norm = *executable->FindEntry("norm");
  auto workspace = norm.commands[0]->body.AsLaunch()->workspace;
  ASSERT_TRUE(workspace);
  EXPECT_EQ(norm.buffers[*workspace]->byte_offset, 256);
  EXPECT_EQ(norm.buffers[*workspace]->byte_size, 1024);
  EXPECT_EQ(norm.commands[1]->body.AsGemm()->workspace, workspace);
}

TEST_F(EmitExecutableTest, SignaturesHaveTheRangesOfIntegers) {
  for (const char *name : {"rows", "next"})
    kernels.kernels[name] = CompiledKernel{{KernelImplementation{{{std::string("cs336_") + name}}, {0}}}, 3};
  auto bytes = Emit(R"mlir(
exec.kernel @rows(%table: tensor<97x4xf32>, %ids: tensor<3xi64>) : (memref<97x4xf32>, memref<3xi64>) -> memref<3x4xf32> {
  %0 = cs336.embedding %table, %ids : tensor<97x4xf32>, tensor<3xi64> -> tensor<3x4xf32>
  exec.yield %0 : tensor<3x4xf32>
}
exec.kernel @next(%ids: tensor<3xi64>) : (memref<3xi64>) -> memref<3xi64> {
  %one = cs336.constant dense<1> : tensor<3xi64>
  %0 = cs336.add %ids, %one : tensor<3xi64>
  exec.yield %0 : tensor<3xi64>
}
exec.entry @forward mode<forward> arena_bytes = 320 alignment = 64 {
  %table = exec.input "table" : memref<97x4xf32>
  %few = exec.input "few" bound = 96 : memref<3xi64>
  %many = exec.input "many" bound = 200 : memref<3xi64>
  %any = exec.input "any" : memref<3xi64>
  %a = exec.output "a" output offset = 0 : memref<3x4xf32>
  %b = exec.output "b" output offset = 64 : memref<3xi64>
  %c = exec.output "c" output offset = 128 : memref<3x4xf32>
  %sum = exec.alloc offset = 192 : memref<3xi64>
  %checked = exec.alloc offset = 256 : memref<3xi64>
  exec.launch @next ins(%few : memref<3xi64>) outs(%sum : memref<3xi64>)
  exec.launch @rows ins(%table, %sum : memref<97x4xf32>, memref<3xi64>) outs(%a : memref<3x4xf32>)
  exec.launch @next ins(%many : memref<3xi64>) outs(%b : memref<3xi64>)
  exec.launch @next ins(%any : memref<3xi64>) outs(%b : memref<3xi64>)
  exec.check_bound ins(%any : memref<3xi64>) outs(%checked : memref<3xi64>) bound = 97
  exec.launch @rows ins(%table, %checked : memref<97x4xf32>, memref<3xi64>) outs(%c : memref<3x4xf32>)
}
)mlir");
  ASSERT_TRUE(succeeded(bytes)) << error;
  auto executable = Read(*bytes);
  ASSERT_TRUE(executable);
  auto text = [&](size_t kernel) {
    return format::ToSymbolSuffix(*executable->description().kernels[kernel]->signature);
  };
  EXPECT_EQ(text(0), "(f32[97,4|4,1]%4;i64[3|1]%8{1..96,0..96};=f32[3,4|4,1]%4)3");
  EXPECT_EQ(text(1), "(i64[3|1]%8{0..95,0..199,*};=i64[3|1]%8{1..96,1..200,*})3");
  std::vector<uint32_t> variants;
  for (const auto &command : executable->FindEntry("forward")->commands)
    if (const format::LaunchT *launch = command->body.AsLaunch())
      variants.push_back(launch->variant);
  EXPECT_THAT(variants, ElementsAre(0, 0, 1, 2, 1));
}

TEST_F(EmitExecutableTest, WorkspacesThatNoKernelTakesAreLeftOut) {
  auto bytes = Emit(std::string(kKernels) + R"mlir(
exec.entry @forward mode<forward> arena_bytes = 128 alignment = 64 {
  %x = exec.input "x" : memref<2x4xf32>
  %y = exec.output "y" output offset = 0 : memref<2x4xf32>
  %w = exec.alloc offset = 64 : memref<16xf32>
  exec.launch @add ins(%x, %x : memref<2x4xf32>, memref<2x4xf32>) outs(%y : memref<2x4xf32>) workspace(%w : memref<16xf32>)
}
)mlir");
  ASSERT_TRUE(succeeded(bytes)) << error;
  auto executable = Read(*bytes);
  ASSERT_TRUE(executable);
  EXPECT_FALSE(executable->FindEntry("forward")->commands[0]->body.AsLaunch()->workspace);
}

TEST_F(EmitExecutableTest, RefusesAModuleWithoutEntries) {
  EXPECT_TRUE(failed(Emit(kKernels)));
  EXPECT_THAT(error, HasSubstr("has no exec.entry"));
}

TEST_F(EmitExecutableTest, RefusesAnEntryWithoutPlan) {
  EXPECT_TRUE(failed(Emit("exec.entry @forward mode<forward> {\n}")));
  EXPECT_THAT(error, HasSubstr("@forward has no memory plan: run --exec-plan-memory"));
}

TEST_F(EmitExecutableTest, RefusesAnAllocationWithoutOffset) {
  EXPECT_TRUE(failed(Emit("exec.entry @forward mode<forward> arena_bytes = 64 alignment = 64 {\n"
                          "  %a = exec.alloc : memref<4xf32>\n}")));
  EXPECT_THAT(error, HasSubstr("has no offset"));
}

TEST_F(EmitExecutableTest, RefusesAnOutputWithoutOffset) {
  EXPECT_TRUE(failed(Emit("exec.variable @w parameter : memref<4xf32>\n"
                          "exec.entry @forward mode<forward> arena_bytes = 64 alignment = 64 {\n"
                          "  %w = exec.get @w : memref<4xf32>\n"
                          "  %y = exec.output \"y\" output : memref<4xf32>\n"
                          "  exec.copy ins(%w : memref<4xf32>) outs(%y : memref<4xf32>)\n}")));
  EXPECT_THAT(error, HasSubstr("has no offset"));
}

TEST_F(EmitExecutableTest, RefusesPlansThatDoNotSuitElementsKernelsOrLibraries) {
  auto emit = [&](int64_t output, int64_t copied, int64_t workspace) {
    error.clear();
    (void)Emit(llvm::formatv(R"mlir({0}
exec.entry @forward mode<forward> arena_bytes = 2048 alignment = 4 {{
  %a = exec.input "a" : memref<4x4xf32>
  %x = exec.input "x" : memref<2x4xf32>
  %y = exec.output "y" output offset = {1} : memref<2x4xf32>
  %b = exec.alloc offset = {2} : memref<4x4xf32>
  %w = exec.alloc offset = {3} : memref<256xf32>
  exec.launch @add ins(%x, %x : memref<2x4xf32>, memref<2x4xf32>) outs(%y : memref<2x4xf32>)
  exec.gemm ins(%a, %a : memref<4x4xf32>, memref<4x4xf32>) outs(%b : memref<4x4xf32>) workspace(%w : memref<256xf32>)
})mlir",
                             kKernels, output, copied, workspace)
                   .str());
    return error;
  };
  EXPECT_EQ(emit(4, 64, 264), "");
  EXPECT_THAT(emit(2, 64, 264), HasSubstr("uses byte 2 of the arena, and must use a multiple of 4"));
  kernels.target = Target::CUDA;
  kernels.kernels["add"].alignments = {16, 16, 16};
  EXPECT_EQ(emit(16, 68, 256), "");
  EXPECT_THAT(emit(8, 64, 256), HasSubstr("'exec.launch' op uses byte 8 of the arena, and must use a multiple of 16: "
                                          "run --exec-plan-memory=alignment=256"));
  EXPECT_THAT(emit(16, 64, 320),
              HasSubstr("'exec.gemm' op uses byte 320 of the arena, and must use a multiple of 256"));
}

TEST_F(EmitExecutableTest, RefusesALaunchOfAKernelThatWasNotCompiled) {
  kernels.kernels.clear();
  EXPECT_TRUE(failed(Emit(std::string(kKernels) + kEntries)));
  EXPECT_THAT(error, HasSubstr("kernel @add was not compiled"));
}

} // namespace
} // namespace cs336
