//===- Studies.cpp - Measurements of published write-ups ------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Studies.h"

using namespace cs336::bench;

const std::vector<Study> &cs336::bench::getStudies() {
  static constexpr llvm::StringLiteral sizes = "small,medium,large,xl,2.7B,2.35B";
  static constexpr llvm::StringLiteral lengths = "256,1024,4096,8192,16384,65536";
  static const std::vector<Study> studies{
      {"benchmarking_script",
       "steps of every size by context, mode and type, unfused, after 0, 1, 2 and 5 steps to warm up",
       {{"model",
         {{"size", sizes},
          {"context-length", "128,256,512,1024"},
          {"mode", "forward,forward_backward,train"},
          {"dtype", "fp32,tf32"},
          {"fusion", "none"},
          {"warmup", "0,1,2,5"}}}}},
      {"mixed_precision_accumulation",
       "0.01 added a thousand times, in four combinations of types, unfused and fused",
       {{"accumulate", {{"fusion", "none,all"}}}}},
      {"benchmarking_mixed_precision",
       "the type of every value of a small model under float16 and bfloat16; the error of layer norm in each type; "
       "steps in each type, attention's scores alone, and the kernels that take most time in bfloat16",
       {{"dtypes", {{"dtype", "fp32,fp16,bf16"}}},
        {"norm-error", {}},
        {"model", {{"size", sizes}, {"mode", "forward,forward_backward"}, {"dtype", "fp32,tf32,bf16,fp16"}}},
        {"attention",
         {{"part", "scores"},
          {"mask", "causal"},
          {"batch-size", "4"},
          {"num-heads", "12,16,20,25,32"},
          {"head-dim", "64"},
          {"length", "256,1024"},
          {"dtype", "fp32,tf32,bf16,fp16"}}},
        {"model",
         {{"size", sizes},
          {"mode", "forward,forward_backward"},
          {"dtype", "bf16"},
          {"profile", ""},
          {"largest", "5"},
          {"no-mfu", ""}}}}},
      {"pytorch_attention",
       "attention without heads by width and length: 100 forwards, 100 backwards, and memory before backward",
       {{"attention",
         {{"batch-size", "8"},
          {"head-dim", "16,32,64,128"},
          {"length", lengths},
          {"steps", "100"},
          {"fusion", "none,all"}}}}},
      {"torch_compile",
       "attention alone, and whole models, unfused and fused pass by pass, beside PyTorch's compiler",
       {{"attention",
         {{"batch-size", "8"},
          {"head-dim", "16,32,64,128"},
          {"length", lengths},
          {"steps", "100"},
          {"dtype", "bf16"},
          {"ladder", ""},
          {"peer", "torch:naive,compiled"}}},
        {"model",
         {{"size", sizes},
          {"mode", "forward,forward_backward,train"},
          {"dtype", "bf16"},
          {"ladder", ""},
          {"peer", "torch:eager,compile"}}}}}};
  return studies;
}
