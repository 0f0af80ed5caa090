//===- CS336Attributes.td - Enumerations and attributes -===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_DIALECT_CS336_IR_CS336ATTRIBUTES_TD
#define CS336_DIALECT_CS336_IR_CS336ATTRIBUTES_TD

include "cs336/Dialect/CS336/IR/CS336Dialect.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"

class CS336_Enum<string name, string summary, list<I32EnumAttrCase> cases> : I32EnumAttr<name, summary, cases> {
  let cppNamespace = "::cs336";
  let genSpecializedAttr = 0;
}
class CS336_EnumAttr<EnumAttrInfo info, string mnemonic> : EnumAttr<CS336_Dialect, info, mnemonic>;

def CS336_Mode : CS336_Enum<"Mode", "mode of an entry point", [
  I32EnumAttrCase<"Forward", 0, "forward">, I32EnumAttrCase<"Loss", 1, "loss">,
  I32EnumAttrCase<"ForwardBackward", 2, "forward_backward">, I32EnumAttrCase<"Train", 3, "train">,
  I32EnumAttrCase<"Prepare", 4, "prepare">]>;
def CS336_ModeAttr : CS336_EnumAttr<CS336_Mode, "mode"> {
  let assemblyFormat = "`<` $value `>`";
}

def CS336_Precision : CS336_Enum<"Precision", "arithmetic of a float32 GEMM", [
  I32EnumAttrCase<"IEEE", 0, "ieee">, I32EnumAttrCase<"TF32", 1, "tf32">, I32EnumAttrCase<"TF32x3", 2, "tf32x3">]>;
def CS336_PrecisionAttr : CS336_EnumAttr<CS336_Precision, "precision"> {
  let assemblyFormat = "`<` $value `>`";
}

def CS336_ReduceKind : CS336_Enum<"ReduceKind", "kind of reduction", [
  I32EnumAttrCase<"Sum", 0, "sum">, I32EnumAttrCase<"Max", 1, "max">]>;
def CS336_ReduceKindAttr : CS336_EnumAttr<CS336_ReduceKind, "reduce_kind"> {
  let assemblyFormat = "`<` $value `>`";
}

def CS336_CollectiveKind : CS336_Enum<"CollectiveKind", "kind of collective", [
  I32EnumAttrCase<"AllReduce", 0, "all_reduce">, I32EnumAttrCase<"ReduceScatter", 1, "reduce_scatter">,
  I32EnumAttrCase<"AllGather", 2, "all_gather">, I32EnumAttrCase<"Broadcast", 3, "broadcast">,
  I32EnumAttrCase<"AllToAll", 4, "all_to_all">]>;
def CS336_CollectiveKindAttr : CS336_EnumAttr<CS336_CollectiveKind, "collective_kind"> {
  let assemblyFormat = "`<` $value `>`";
}

def CS336_CollectiveReduction : CS336_Enum<"CollectiveReduction", "reduction across ranks", [
  I32EnumAttrCase<"Sum", 0, "sum">, I32EnumAttrCase<"Mean", 1, "mean">, I32EnumAttrCase<"Max", 2, "max">]>;
def CS336_CollectiveReductionAttr : CS336_EnumAttr<CS336_CollectiveReduction, "collective_reduction"> {
  let assemblyFormat = "`<` $value `>`";
}

def CS336_Predicate : CS336_Enum<"Predicate", "comparison of two numbers", [
  I32EnumAttrCase<"EQ", 0, "eq">, I32EnumAttrCase<"NE", 1, "ne">, I32EnumAttrCase<"LT", 2, "lt">,
  I32EnumAttrCase<"LE", 3, "le">, I32EnumAttrCase<"GT", 4, "gt">, I32EnumAttrCase<"GE", 5, "ge">]>;
def CS336_PredicateAttr : CS336_EnumAttr<CS336_Predicate, "predicate"> {
  let assemblyFormat = "`<` $value `>`";
}

def CS336_AdamWForm : CS336_Enum<"AdamWForm", "published form of AdamW", [
  I32EnumAttrCase<"PyTorch", 0, "pytorch">, I32EnumAttrCase<"CS336Spring2025", 1, "cs336_2025">,
  I32EnumAttrCase<"CS336Spring2026", 2, "cs336_2026">]>;
def CS336_AdamWFormAttr : CS336_EnumAttr<CS336_AdamWForm, "adamw_form"> {
  let assemblyFormat = "`<` $value `>`";
}

def CS336_InitKind : CS336_Enum<"InitKind", "distribution of initial values", [
  I32EnumAttrCase<"Zeros", 0, "zeros">, I32EnumAttrCase<"Ones", 1, "ones">,
  I32EnumAttrCase<"TruncatedNormal", 2, "truncated_normal">, I32EnumAttrCase<"Constant", 3, "constant">]>;

class CS336_Attr<string name, string mnemonic_> : AttrDef<CS336_Dialect, name> {
  let mnemonic = mnemonic_;
}

def CS336_ViewAttr : CS336_Attr<"View", "view"> {
  let summary = "The name of a row range of a packed parameter";
  let description = [{
    The entries of a `cs336.views` array cover dimension 0 in order and without gaps. `rows` is the number of rows of
    the range. It is at least 1, and the name is not empty.

    ```mlir
    {cs336.views = [#cs336.view<"layers.0.attn.q_proj.weight", 64>, #cs336.view<"layers.0.attn.k_proj.weight", 64>]}
    ```
  }];
  let parameters = (ins StringRefParameter<"checkpoint name">:$name, "int64_t":$rows);
  let assemblyFormat = "`<` $name `,` $rows `>`";
  let genVerifyDecl = 1;
}

def CS336_InitAttr : CS336_Attr<"Init", "init"> {
  let summary = "The initial values of a parameter or of state, if no checkpoint is loaded";
  let description = [{
    - `#cs336.init<truncated_normal, std = 5.0e-02, cut = 3.0>` draws from N(0, std²) and rejects values beyond `cut`
      standard deviations. `std` and `cut` must be positive.
    - `#cs336.init<constant value = 6.5536e+04>` sets every element to one finite value.
    - `#cs336.init<zeros>` and `#cs336.init<ones>` take no numbers.
  }];
  let parameters = (ins EnumParameter<CS336_InitKind>:$kind, DefaultValuedParameter<"::cs336::Real", "0.0">:$std,
                        DefaultValuedParameter<"::cs336::Real", "0.0">:$cut,
                        DefaultValuedParameter<"::cs336::Real", "0.0">:$value);
  let assemblyFormat = "`<` $kind (`value` `=` $value^)? (`,` `std` `=` $std^)? (`,` `cut` `=` $cut^)? `>`";
  let genVerifyDecl = 1;
}

def CS336_OptimizerAttr : CS336_Attr<"Optimizer", "optimizer"> {
  let summary = "The update of a training step";
  let description = [{
    The update is AdamW (Loshchilov and Hutter, 2019). See `cs336.adamw` for the formula of each `form`.

    - `max_norm` > 0 clips the gradients by their common norm. 0 does not clip.
    - The learning rate rises linearly over `warmup_steps`, then follows a cosine from `lr` to `min_lr` until
      `cosine_steps`, and then stays at `min_lr`. If `cosine_steps` is 0, the rate stays at `lr` after the warm-up. If
      both are 0, it is always `lr`.

    Errors: a rate or `weight_decay` that is negative or not finite, betas outside [0, 1), an `eps` that is not
    positive, and a `cosine_steps` that is neither 0 nor greater than `warmup_steps`.

    ```mlir
    #cs336.optimizer<form = pytorch, lr = 1.0e-03, weight_decay = 1.0e-01, max_norm = 1.0>
    ```
  }];
  let parameters = (ins
    DefaultValuedParameter<"::cs336::AdamWForm", "::cs336::AdamWForm::PyTorch">:$form,
    DefaultValuedParameter<"::cs336::Real", "1e-3">:$lr,
    DefaultValuedParameter<"::cs336::Real", "0.9">:$beta1,
    DefaultValuedParameter<"::cs336::Real", "0.999">:$beta2,
    DefaultValuedParameter<"::cs336::Real", "1e-8">:$eps,
    DefaultValuedParameter<"::cs336::Real", "0.01">:$weight_decay,
    DefaultValuedParameter<"::cs336::Real", "0.0">:$max_norm,
    DefaultValuedParameter<"int64_t", "0">:$warmup_steps,
    DefaultValuedParameter<"int64_t", "0">:$cosine_steps,
    DefaultValuedParameter<"::cs336::Real", "0.0">:$min_lr);
  let assemblyFormat = "(`<` struct(params)^ `>`)?";
  let genVerifyDecl = 1;
}

def CS336_LossScalingAttr : CS336_Attr<"LossScaling", "loss_scaling"> {
  let summary = "How the loss scale of a training step changes";
  let description = [{
    Dynamic loss scaling (Micikevicius et al., 2018). The loss is multiplied by a scale before it is differentiated. The
    first scale is `init`. If a gradient is infinite or NaN, the step is skipped and the scale is multiplied by
    `backoff`. After `interval` steps without such a gradient, the scale is multiplied by `growth`.

    Errors: an `init` that is not positive and finite, a `growth` below 1, a `backoff` outside (0, 1), and an `interval`
    that is below 1 or does not fit into 32 bits.

    ```mlir
    #cs336.loss_scaling<init = 6.5536e+04, growth = 2.0, backoff = 0.5, interval = 2000>
    ```
  }];
  let parameters = (ins
    DefaultValuedParameter<"::cs336::Real", "65536.0">:$init,
    DefaultValuedParameter<"::cs336::Real", "2.0">:$growth,
    DefaultValuedParameter<"::cs336::Real", "0.5">:$backoff,
    DefaultValuedParameter<"int64_t", "2000">:$interval);
  let assemblyFormat = "(`<` struct(params)^ `>`)?";
  let genVerifyDecl = 1;
}

#endif // CS336_DIALECT_CS336_IR_CS336ATTRIBUTES_TD
