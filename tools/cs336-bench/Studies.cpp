//===- Studies.cpp - Measurements of published write-ups ------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Studies.h"

#include "llvm/ADT/STLExtras.h"

using namespace cs336::bench;

static constexpr llvm::StringRef kEditions[] = {"2025", "2026"};

llvm::StringRef cs336::bench::stringifyEdition(Edition edition) { return kEditions[static_cast<size_t>(edition)]; }

std::optional<Edition> cs336::bench::parseEdition(llvm::StringRef year) {
  const auto *found = llvm::find(kEditions, year);
  return found == std::end(kEditions) ? std::nullopt : std::optional(static_cast<Edition>(found - kEditions));
}

llvm::ArrayRef<llvm::StringRef> cs336::bench::getEditionNames() { return kEditions; }

llvm::StringRef cs336::bench::getSizeOf(Edition edition, llvm::StringRef name) {
  return edition == Edition::Of2026 && name == "xl" ? "2.7B" : name;
}

/// Replaces flags of `result`, or appends those that it lacks.
static void replaceFlags(StudyFlags &result, const StudyFlags &flags) {
  for (const auto &[name, value] : flags) {
    auto found = llvm::find_if(result, [&, wanted = name](const auto &flag) { return flag.first == wanted; });
    if (found == result.end())
      result.emplace_back(name, value);
    else
      found->second = value;
  }
}

StudyFlags StudyStep::getFlags(Edition edition, bool isSmall) const {
  StudyFlags result = flags;
  if (edition == Edition::Of2026)
    replaceFlags(result, flagsOf2026);
  if (isSmall)
    replaceFlags(result, cpuFlags);
  return result;
}

bool Study::isCalled(llvm::StringRef problem) const { return problem == name || llvm::is_contained(aliases, problem); }

std::vector<const StudyStep *> Study::getSteps(bool isOnGPU, Edition edition) const {
  std::vector<const StudyStep *> selected;
  for (const StudyStep &step : steps)
    if ((isOnGPU || !step.needsGPU) && step.onlyEdition.value_or(edition) == edition)
      selected.push_back(&step);
  return selected;
}

bool Study::isOfOtherStep(llvm::StringRef flag, const StudyStep &step) const {
  return !llvm::is_contained(step.ownFlags, flag) && llvm::any_of(steps, [&](const StudyStep &other) {
    return other.command == step.command && llvm::is_contained(other.ownFlags, flag);
  });
}

/// Returns the flags of a step of 2.7B in bfloat16, with 2048 sequences of 512 tokens: 2^20.
static StudyFlags makeScalingFlags(llvm::StringRef strategies, llvm::StringRef ranks = "8,16,32,64,128,256,512,1024") {
  return {{"strategy", strategies}, {"size", "2.7B"},  {"context-length", "512"},
          {"global-batch", "2048"}, {"dtype", "bf16"}, {"ranks", ranks}};
}

const std::vector<Study> &cs336::bench::getStudies() {
  static constexpr llvm::StringLiteral sizes = "small,medium,large,xl,2.7B,2.35B";
  static constexpr llvm::StringLiteral sizesOf2026 = "small,medium,large,2.7B,10B";
  static const StudyFlags modelOf2026{{"size", sizesOf2026}, {"context-length", "512"}};
  static constexpr llvm::StringLiteral lengths = "256,1024,4096,8192,16384,65536";
  static constexpr llvm::StringLiteral flashLengths = "128,256,512,1024,2048,4096,8192,16384,32768,65536";
  // Studies of data parallelism share these.
  static const StudyFlags ddpOnCPU{{"size", "tiny"}, {"batch-size", "2"}, {"warmup", "1"}, {"steps", "5"}};
  static const StudyFlags ddpOf2026{{"size", "2.7B"}, {"context-length", "512"}};
  static const std::vector<Study> studies{
      {"benchmarking_script",
       "steps of every size by context, mode and type, unfused, after 0, 1, 2 and 5 steps to warm up",
       "problem benchmarking_script of assignment 2 (systems) of Stanford's CS336, 2025: model sizes, contexts, "
       "passes, "
       "and warm-up steps",
       {{"model",
         {{"size", sizes},
          {"context-length", "128,256,512,1024"},
          {"mode", "forward,forward_backward,train"},
          {"dtype", "fp32,tf32"},
          {"fusion", "none"},
          {"warmup", "0,1,2,5"}},
         {{"size", "small"}, {"context-length", "128,256"}, {"dtype", "fp32"}, {"batch-size", "1"}, {"steps", "3"}},
         modelOf2026}}},
      {"nsys_profile",
       "where the time of steps goes, by size, context and mode: the host's clock, the GPU's and the sum of kernels "
       "side by side; kernels by phase and by range; the share of GEMMs; the parts of attention, unfused and fused",
       "problem nsys_profile of assignment 2 (systems) of Stanford's CS336, 2025 and 2026, parts (a) to (e)",
       {{"model",
         {{"size", "small,medium,large,xl,2.7B"},
          {"context-length", "128,256,512,1024"},
          {"mode", "forward,forward_backward,train"},
          {"dtype", "fp32"},
          {"fusion", "none,all"},
          {"profile", ""},
          {"profile-by", "kernel,range,range-kernel"},
          {"profile-columns", "all"},
          {"largest", "15"},
          {"no-mfu", ""}},
         {{"size", "small"},
          {"context-length", "128,256"},
          {"mode", "forward,train"},
          {"batch-size", "1"},
          {"warmup", "1"},
          {"steps", "3"}},
         {{"size", "small,2.7B"}, {"context-length", "256,512,1024"}}}}},
      {"mixed_precision_accumulation",
       "0.01 added a thousand times, in four combinations of types, unfused and fused",
       "problem mixed_precision_accumulation of assignment 2 (systems) of Stanford's CS336, 2025",
       {{"accumulate", {{"fusion", "none,all"}}, {}}}},
      {"benchmarking_mixed_precision",
       "the type of every value of a small model under float16 and bfloat16; the error of layer norm in each type; "
       "steps in each type, attention's scores alone, and the kernels that take most time in bfloat16",
       "problem benchmarking_mixed_precision of assignment 2 (systems) of Stanford's CS336, 2025, parts (a) to (c), "
       "and "
       "what published write-ups of it discuss",
       {{"dtypes", {{"dtype", "fp32,fp16,bf16"}}, {}},
        {"norm-error", {}, {}},
        {"model",
         {{"size", sizes}, {"mode", "forward,forward_backward"}, {"dtype", "fp32,tf32,bf16,fp16"}},
         {{"size", "small"}, {"context-length", "128"}, {"batch-size", "1"}, {"warmup", "1"}, {"steps", "3"}},
         modelOf2026},
        {"attention",
         {{"part", "scores"},
          {"mask", "causal"},
          {"batch-size", "4"},
          {"num-heads", "12,16,20,25,32"},
          {"head-dim", "64"},
          {"length", "256,1024"},
          {"dtype", "fp32,tf32,bf16,fp16"}},
         {{"num-heads", "12"}, {"warmup", "2"}, {"steps", "5"}}},
        {"model",
         {{"size", sizes},
          {"mode", "forward,forward_backward"},
          {"dtype", "bf16"},
          {"profile", ""},
          {"largest", "5"},
          {"no-mfu", ""}},
         {{"size", "small"}, {"context-length", "128"}, {"batch-size", "1"}, {"warmup", "1"}, {"steps", "3"}},
         modelOf2026,
         /*hasTimeline=*/false,
         /*needsGPU=*/false,
         /*ownFlags=*/{"profile", "profile-by", "profile-columns", "largest", "roofline"}}}},
      {"memory_profiling",
       "memory of the forward pass and of the whole step by context, with and without mixed precision, without a "
       "device: the peak of each phase by kind, the residual stream, the largest tensors with their operations, and "
       "what "
       "one block keeps for the backward pass; whether it fits into 40 GiB",
       "problem memory_profiling of assignment 2 (systems) of Stanford's CS336, 2025 and 2026, parts (a) to (f)",
       {{"plan",
         {{"size", "2.7B"},
          {"context-length", "128,256,512"},
          {"mode", "forward,train"},
          {"dtype", "fp32,bf16"},
          {"fusion", "none"},
          {"device", "cuda"},
          {"memory-tables", ""},
          {"largest", "5"},
          {"memory-limit", "40GiB"}},
         {},
         {{"context-length", "128,2048"}}},
        {"plan",
         {{"size", "2.7B"},
          {"context-length", "512"},
          {"mode", "forward"},
          {"fusion", "none"},
          {"device", "cuda"},
          {"largest", "5"},
          {"detail", "10MiB"}},
         {},
         {{"context-length", "2048"}},
         /*hasTimeline=*/true},
        {"plan",
         {{"size", "2.7B"},
          {"context-length", "512"},
          {"mode", "train"},
          {"fusion", "none"},
          {"device", "cuda"},
          {"largest", "5"},
          {"detail", "10MiB"}},
         {},
         {{"context-length", "2048"}},
         /*hasTimeline=*/true}}},
      {"gradient_checkpointing",
       "the number of layers per recomputed block that takes the least memory, beside its neighbours and no "
       "recomputation, planned and by arithmetic; then memory and time of steps with 0, 1 and 2 layers per block, "
       "measured beside predicted",
       "problem gradient_checkpointing of assignment 2 (systems) of Stanford's CS336, 2026",
       {{"plan",
         {{"size", "2.7B"},
          {"context-length", "2048"},
          {"mode", "train"},
          {"dtype", "fp32,bf16"},
          {"device", "cuda"},
          {"best-checkpoint", ""},
          {"columns", "dtype,checkpoint,is_best_checkpoint,total_mib,arena_mib,predicted_ms"}},
         {{"size", "small"}, {"context-length", "512"}}},
        {"model",
         {{"size", "2.7B"},
          {"context-length", "2048"},
          {"mode", "train"},
          {"dtype", "bf16"},
          {"checkpoint", "0,1,2"},
          {"no-mfu", ""}},
         {{"size", "small"}, {"context-length", "128"}, {"batch-size", "1"}, {"warmup", "1"}, {"steps", "3"}}}}},
      {"pytorch_attention",
       "attention without heads by width and length: 100 forwards, 100 backwards, and memory before backward",
       "problem pytorch_attention of assignment 2 (systems) of Stanford's CS336, 2025",
       {{"attention",
         {{"batch-size", "8"},
          {"head-dim", "16,32,64,128"},
          {"length", lengths},
          {"steps", "100"},
          {"fusion", "none,all"}},
         {{"length", "256,1024"}, {"steps", "20"}}}}},
      {"torch_compile",
       "attention alone, and whole models, unfused and fused pass by pass, beside PyTorch's compiler",
       "problem torch_compile of assignment 2 (systems) of Stanford's CS336, 2025",
       {{"attention",
         {{"batch-size", "8"},
          {"head-dim", "16,32,64,128"},
          {"length", lengths},
          {"steps", "100"},
          {"dtype", "bf16"},
          {"ladder", ""},
          {"peer", "torch:naive,compiled"}},
         {{"head-dim", "64"}, {"length", "256,1024"}, {"steps", "10"}}},
        {"model",
         {{"size", sizes},
          {"mode", "forward,forward_backward,train"},
          {"dtype", "bf16"},
          {"ladder", ""},
          {"peer", "torch:eager,compile"}},
         {{"size", "small"},
          {"context-length", "128"},
          {"batch-size", "1"},
          {"mode", "train"},
          {"warmup", "1"},
          {"steps", "3"}},
         modelOf2026}}},
      {"flash_forward",
       "attention of one sequence without heads by mask, length and width: time and memory of the forward pass, "
       "unfused and fused",
       "problem flash_forward of assignment 2 (systems) of Stanford's CS336, 2025 and 2026, and what a published "
       "write-up of it measured",
       {{"attention",
         {{"batch-size", "1"},
          {"mask", "full,causal"},
          {"head-dim", "16,32,64,128"},
          {"length", flashLengths},
          {"dtype", "bf16,fp32"},
          {"fusion", "none,all"}},
         {{"head-dim", "64"}, {"length", "128,256"}, {"dtype", "fp32"}, {"steps", "10"}}}}},
      {"flash_benchmarking",
       "causal attention of one sequence without heads by length, width and type: the forward pass, the backward pass "
       "and both, unfused and fused; on a GPU also fused by the tile of scores, from 16 to 256 queries and keys, with "
       "and without the mask",
       "problem flash_benchmarking of assignment 2 (systems) of Stanford's CS336, 2025 and 2026",
       {{"attention",
         {{"batch-size", "1"},
          {"mask", "causal"},
          {"head-dim", "16,32,64,128"},
          {"length", flashLengths},
          {"dtype", "bf16,fp32"},
          {"fusion", "none,all"}},
         {{"head-dim", "64"}, {"length", "128,256,512"}, {"steps", "10"}}},
        {"attention",
         {{"batch-size", "1"},
          {"mask", "causal,full"},
          {"head-dim", "64,128"},
          {"length", "16384"},
          {"dtype", "bf16,fp32"},
          {"fusion", "all"},
          {"tiles", "16,32,64,128,256"}},
         {},
         {},
         /*hasTimeline=*/false,
         /*needsGPU=*/true,
         /*ownFlags=*/{"tiles"}}}},
      {"leaderboard",
       "the case of the leaderboard: in 2025, causal attention of one sequence of 16384 tokens with 16 heads of 64, "
       "forward and backward; in 2026, a training step of a model of 8 billion parameters on two GPUs, one sequence of "
       "32768 tokens each, compiled without a cache",
       "the leaderboards of assignment 2 (systems) of Stanford's CS336, 2025 and 2026",
       {{"attention",
         {{"batch-size", "1"},
          {"num-heads", "16"},
          {"mask", "causal"},
          {"head-dim", "64"},
          {"length", "16384"},
          {"dtype", "bf16"},
          {"fusion", "all"}},
         {{"num-heads", "2"}, {"length", "512"}, {"dtype", "fp32"}, {"steps", "10"}},
         {},
         /*hasTimeline=*/false,
         /*needsGPU=*/false,
         /*ownFlags=*/{},
         Edition::Of2025},
        {"ddp",
         {{"d-model", "4096"},
          {"d-ff", "11008"},
          {"num-layers", "34"},
          {"num-heads", "32"},
          {"vocab-size", "151936"},
          {"context-length", "32768"},
          {"batch-size", "1"},
          {"ranks", "2"},
          {"distribute", "fsdp"},
          {"dtype", "bf16"},
          {"memory-budget", "128GiB"},
          {"warmup", "1"},
          {"steps", "3"},
          {"no-cache", ""}},
         {{"d-model", "64"},
          {"d-ff", "128"},
          {"num-layers", "2"},
          {"num-heads", "2"},
          {"vocab-size", "512"},
          {"context-length", "128"},
          {"dtype", "fp32"}},
         {},
         /*hasTimeline=*/false,
         /*needsGPU=*/false,
         /*ownFlags=*/{},
         Edition::Of2026}}},
      {"distributed_communication_single_node",
       "all-reduces in float32 between processes of one host, by the number of ranks and the size",
       "problem distributed_communication_single_node of assignment 2 (systems) of Stanford's CS336, 2025 and 2026",
       {{"allreduce",
         {{"backend", "tcp"}, {"ranks", "2,4,6"}, {"size", "1MB,10MB,100MB,1GB"}},
         {{"ranks", "2,4"}, {"size", "1MB,10MB"}}}}},
      {"naive_ddp",
       "training steps on two ranks with an all-reduce of every gradient after the backward pass, beside one rank: the "
       "time of a step, and the time and share of communication",
       "problems naive_ddp and naive_ddp_benchmarking of assignment 2 (systems) of Stanford's CS336, 2025 and 2026",
       {{"ddp",
         {{"size", "xl"}, {"ranks", "2"}, {"distribute", "none,per-parameter"}, {"dtype", "fp32,bf16"}},
         ddpOnCPU,
         ddpOf2026}},
       /*aliases=*/{"naive_ddp_benchmarking", "naive_ddp_individual_parameters_benchmarking"}},
      {"minimal_ddp_flat",
       "one all-reduce of all gradients beside one of each",
       "problem minimal_ddp_flat_benchmarking of assignment 2 (systems) of Stanford's CS336, 2025 and 2026",
       {{"ddp",
         {{"size", "xl"}, {"ranks", "2"}, {"distribute", "none,per-parameter,flat"}, {"dtype", "fp32,bf16"}},
         ddpOnCPU,
         ddpOf2026}},
       /*aliases=*/{"minimal_ddp_flat_benchmarking"}},
      {"ddp_overlap_individual_parameters",
       "an all-reduce of each gradient as soon as it is ready, beside those after the backward pass: the communication "
       "that no computation hides; --trace FILE writes the timeline of the last mode, and --distribute selects it",
       "problems ddp_overlap_individual_parameters and ddp_overlap_individual_parameters_benchmarking of assignment 2 "
       "(systems) of Stanford's CS336, 2025 and 2026",
       {{"ddp",
         {{"size", "xl"}, {"ranks", "2"}, {"distribute", "none,per-parameter,flat,overlap"}, {"dtype", "fp32,bf16"}},
         ddpOnCPU,
         ddpOf2026}},
       /*aliases=*/{"ddp_overlap_individual_parameters_benchmarking"}},
      {"ddp_bucketed",
       "an all-reduce per bucket of gradients, by the size of the buckets",
       "problems ddp_overlap_bucketed and ddp_bucketed_benchmarking of assignment 2 (systems) of Stanford's CS336, "
       "2025",
       {{"ddp",
         {{"size", "xl"},
          {"ranks", "2"},
          {"distribute", "none,overlap,bucket"},
          {"bucket-mib", "1,10,100,1000"},
          {"dtype", "fp32,bf16"}},
         ddpOnCPU,
         ddpOf2026}},
       /*aliases=*/{"ddp_overlap_bucketed", "ddp_bucketed_benchmarking"}},
      {"optimizer_state_sharding",
       "training steps whose optimizer state is divided among two ranks, beside steps with all of it on each",
       "problem optimizer_state_sharding of assignment 2 (systems) of Stanford's CS336, 2025 and 2026",
       {{"ddp",
         {{"size", "xl"}, {"ranks", "2"}, {"distribute", "none,bucket,zero1"}, {"dtype", "fp32,bf16"}},
         ddpOnCPU,
         ddpOf2026}}},
      {"optimizer_state_sharding_accounting",
       "planned memory by kind after initialisation, at the peak, and before and after the optimizer, with and without "
       "sharded optimizer state; the planned total beside the memory that a GPU reports; and the time of a step",
       "problem optimizer_state_sharding_accounting of assignment 2 (systems) of Stanford's CS336, 2025 and 2026",
       {{"ddp",
         {{"size", "xl"}, {"ranks", "2"}, {"distribute", "none,bucket,zero1"}, {"memory-tables", ""}},
         ddpOnCPU,
         ddpOf2026}}},
      {"fsdp",
       "training steps whose parameters are divided among two ranks and gathered a layer ahead, beside other modes: "
       "the "
       "communication that no computation hides shows whether gathers finish in time",
       "problem fsdp of assignment 2 (systems) of Stanford's CS336, 2026",
       {{"ddp",
         {{"size", "xl"}, {"ranks", "2"}, {"distribute", "none,bucket,zero1,fsdp"}, {"dtype", "fp32,bf16"}},
         ddpOnCPU,
         ddpOf2026}}},
      {"fsdp_accounting",
       "planned memory by kind with parameters on every rank and divided among two; the planned total beside the "
       "memory that a GPU reports",
       "problem fsdp_accounting of assignment 2 (systems) of Stanford's CS336, 2026",
       {{"ddp",
         {{"size", "xl"},
          {"ranks", "2"},
          {"distribute", "none,bucket,zero1,fsdp"},
          {"dtype", "bf16"},
          {"memory-tables", ""}},
         ddpOnCPU,
         ddpOf2026}}},
      {"alternate_ring_all_reduce",
       "all-reduces of gradients on paper, by model and number of ranks: the ring of a reduce-scatter and an "
       "all-gather beside the "
       "ring "
       "in which each rank passes whole buffers, and others",
       "problem alternate_ring_all_reduce of assignment 2 (systems) of Stanford's CS336, 2026",
       {{"scaling", {{"part", "all-reduce"}, {"size", "small,2.7B,10B"}, {"dtype", "bf16"}}, {}}}},
      {"data_parallel_calcs",
       "data parallelism on paper: computation and communication of a step on 8 to 1024 GPUs, and where communication "
       "binds",
       "problem data_parallel_calcs of assignment 2 (systems) of Stanford's CS336, 2026",
       {{"scaling", makeScalingFlags("dp"), {}}}},
      {"fsdp_calcs",
       "the same with sharded parameters",
       "problem fsdp_calcs of assignment 2 (systems) of Stanford's CS336, 2026",
       {{"scaling", makeScalingFlags("fsdp"), {}}}},
      {"tp_calcs",
       "the same with divided GEMMs, on 2 to 32 GPUs",
       "problem tp_calcs of assignment 2 (systems) of Stanford's CS336, 2026",
       {{"scaling", makeScalingFlags("tp", "2,4,8,16,32"), {}}}},
      {"fsdp_tp_calcs",
       "the same with sharded parameters and divided GEMMs, in the division that is fastest, beside sharded parameters "
       "alone",
       "problem fsdp_tp_calcs of assignment 2 (systems) of Stanford's CS336, 2026",
       {{"scaling", makeScalingFlags("fsdp,fsdp-tp"), {}}}}};
  return studies;
}
