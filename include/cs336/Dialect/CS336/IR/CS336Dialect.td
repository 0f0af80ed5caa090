//===- CS336Dialect.td - The cs336 dialect and its type constraints -===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CS336_DIALECT_CS336_IR_CS336DIALECT_TD
#define CS336_DIALECT_CS336_IR_CS336DIALECT_TD

include "mlir/IR/OpBase.td"

def CS336_Dialect : Dialect {
  let name = "cs336";
  let cppNamespace = "::cs336";
  let summary = "Training steps of Transformer language models on immutable tensors";
  let description = [{
    The dialect has the operations that a PyTorch author uses, on ranked tensors with static shapes. A model is a
    `func.func`. Its arguments are named parameters, state and inputs. Its results are named outputs, gradients, and the
    new values of parameters and state.

    These attributes describe functions, arguments and results:

    | attribute | position | meaning |
    |---|---|---|
    | `cs336.kind` | argument | `"parameter"`, `"state"`, `"derived"` or `"input"` |
    | `cs336.kind` | result | `"output"`, `"gradient"`, `"parameter"`, `"state"` or `"derived"`; the last three are the new values of the parameter, state or derived value with the same name |
    | `cs336.name` | argument, result | the name in checkpoints, such as `"layers.0.attn.q_proj.weight"`; a gradient has the name of its parameter |
    | `cs336.views` | parameter, state, gradient | array of `#cs336.view`: the names of the row ranges of a packed parameter |
    | `cs336.init` | parameter, state | `#cs336.init`: the initial values, if no checkpoint is loaded; default: a parameter must be loaded or set before the first run, state begins with zeros |
    | `cs336.shards` | parameter, state, derived, gradient | integer n of at least 2: the tensor is one of n equal parts of the whole along axis 0; rank r of n has part r. Views describe the whole |
    | `cs336.bound` | input of i64 or i32 | the values must be in `[0, bound)`; the runtime checks them before a step |
    | `cs336.mode` | function | the computation of the entry point: `forward`, `loss`, `forward_backward`, `train` or `prepare` |
    | `cs336.optimizer` | function | `#cs336.optimizer`: the update of a `train` function |
    | `cs336.loss_scaling` | function | `#cs336.loss_scaling`: how the loss scale of a `train` function changes |

    A function of mode `prepare` computes a `"derived"` value, from parameters or without operands. A function that
    updates the parameter also returns the new derived value. Checkpoints do not contain derived values.
  }];
  let hasConstantMaterializer = 1;
  let hasOperationAttrVerify = 1;
  let hasRegionArgAttrVerify = 1;
  let hasRegionResultAttrVerify = 1;
  let useDefaultAttributePrinterParser = 1;
  let dependentDialects = ["::mlir::linalg::LinalgDialect", "::mlir::tensor::TensorDialect",
                           "::mlir::arith::ArithDialect", "::mlir::math::MathDialect", "::mlir::scf::SCFDialect",
                           "::mlir::func::FuncDialect"];
  let extraClassDeclaration = [{
    /// Names of the discardable attributes that the dialect gives a meaning to.
    static constexpr ::llvm::StringLiteral kKindAttr = "cs336.kind";
    static constexpr ::llvm::StringLiteral kNameAttr = "cs336.name";
    static constexpr ::llvm::StringLiteral kViewsAttr = "cs336.views";
    static constexpr ::llvm::StringLiteral kInitAttr = "cs336.init";
    static constexpr ::llvm::StringLiteral kBoundAttr = "cs336.bound";
    static constexpr ::llvm::StringLiteral kShardsAttr = "cs336.shards";
    static constexpr ::llvm::StringLiteral kModeAttr = "cs336.mode";
    static constexpr ::llvm::StringLiteral kOptimizerAttr = "cs336.optimizer";
    static constexpr ::llvm::StringLiteral kLossScalingAttr = "cs336.loss_scaling";

  private:
    void registerAttributes();

  public:
  }];
}

def CS336_Float : AnyTypeOf<[F64, F32, BF16, F16], "f64, f32, bf16 or f16">;
def CS336_Int : AnyTypeOf<[I64, I32], "i64 or i32">;
def CS336_Element : Type<CPred<"::cs336::isElementType($_self)">, "f64, f32, bf16, f16, i64, i32 or i1">;

def CS336_HasRepresentableSize : CPred<"::cs336::hasRepresentableSize(::llvm::cast<::mlir::ShapedType>($_self))">;
class CS336_TensorOf<list<Type> elements> : ConfinedType<StaticShapeTensorOf<elements>, [CS336_HasRepresentableSize],
                                                         StaticShapeTensorOf<elements>.summary # ", at most 2^56 bytes">;

def CS336_Tensor : CS336_TensorOf<[CS336_Element]>;
def CS336_FloatTensor : CS336_TensorOf<[CS336_Float]>;
def CS336_IntTensor : CS336_TensorOf<[CS336_Int]>;
def CS336_NumberTensor : CS336_TensorOf<[CS336_Float, CS336_Int]>;
def CS336_BoolTensor : CS336_TensorOf<[I1]>;

#endif // CS336_DIALECT_CS336_IR_CS336DIALECT_TD
