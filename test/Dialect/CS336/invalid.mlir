// Operations that the verifiers reject.

// RUN: cs336-opt %s --split-input-file --verify-diagnostics

func.func @dynamic(%x: tensor<?xf32>) {
  // expected-error@+1 {{must be statically shaped tensor}}
  %0 = cs336.exp %x : tensor<?xf32>
  return
}

// -----

func.func @element(%x: tensor<4xf8E4M3FN>) {
  // expected-error@+1 {{operand #0 must be statically shaped tensor}}
  %0 = cs336.exp %x : tensor<4xf8E4M3FN>
  return
}

// -----

func.func @shapes(%x: tensor<4xf32>, %y: tensor<5xf32>) {
  // expected-error@+1 {{requires the same}}
  %0 = "cs336.add"(%x, %y) : (tensor<4xf32>, tensor<5xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @and_of_numbers(%p: tensor<4xi1>, %x: tensor<4xi64>) {
  // expected-error@+1 {{operand #1 must be statically shaped tensor of 1-bit signless integer values}}
  %0 = "cs336.and"(%p, %x) : (tensor<4xi1>, tensor<4xi64>) -> tensor<4xi1>
  return
}

// -----

func.func @or_of_shapes(%p: tensor<4xi1>, %q: tensor<1xi1>) {
  // expected-error@+1 {{requires the same type for all operands and results}}
  %0 = "cs336.or"(%p, %q) : (tensor<4xi1>, tensor<1xi1>) -> tensor<4xi1>
  return
}

// -----

func.func @not_of_floats(%x: tensor<4xf32>) {
  // expected-error@+1 {{operand #0 must be statically shaped tensor of 1-bit signless integer values}}
  %0 = "cs336.not"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @predicate(%x: tensor<4xf32>) {
  // expected-error@+1 {{operand #0 must be statically shaped tensor of 1-bit signless integer values}}
  %0 = "cs336.select"(%x, %x, %x) : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @cast_shape(%x: tensor<4xf32>) {
  // expected-error@+1 {{operands/results must have the same shape}}
  %0 = cs336.cast %x : tensor<4xf32> -> tensor<5xf64>
  return
}

// -----

func.func @iota() {
  // expected-error@+1 {{axis 2 is outside a tensor of rank 2}}
  %0 = cs336.iota axis = 2 : tensor<3x2xi32>
  return
}

// -----

func.func @broadcast_count(%x: tensor<4x8xf32>) {
  // expected-error@+1 {{dims has 1 entries for an operand of rank 2}}
  %0 = cs336.broadcast %x dims = [0] : tensor<4x8xf32> -> tensor<4x8xf32>
  return
}

// -----

func.func @broadcast_order(%x: tensor<4x8xf32>) {
  // expected-error@+1 {{dims must be strictly increasing and less than the result's rank 2}}
  %0 = cs336.broadcast %x dims = [1, 0] : tensor<4x8xf32> -> tensor<8x4xf32>
  return
}

// -----

func.func @broadcast_size(%x: tensor<1x8xf32>) {
  // expected-error@+1 {{axis 0 of size 1 becomes axis 0 of size 4; only new axes can be repeated}}
  %0 = cs336.broadcast %x dims = [0, 1] : tensor<1x8xf32> -> tensor<4x8xf32>
  return
}

// -----

func.func @reshape(%x: tensor<4x8xf32>) {
  // expected-error@+1 {{numbers of elements differ}}
  %0 = cs336.reshape %x : tensor<4x8xf32> -> tensor<31xf32>
  return
}

// -----

func.func @reshape_type(%x: tensor<4x8xf32>) {
  // expected-error@+1 {{element types differ: 'tensor<4x8xf32>' and 'tensor<32xf64>'; insert a cs336.cast}}
  %0 = cs336.reshape %x : tensor<4x8xf32> -> tensor<32xf64>
  return
}

// -----

func.func @transpose_perm(%x: tensor<4x8xf32>) {
  // expected-error@+1 {{perm must be a permutation of the operand's axes}}
  %0 = cs336.transpose %x perm = [0, 0] : tensor<4x8xf32> -> tensor<4x4xf32>
  return
}

// -----

func.func @transpose_count(%x: tensor<4x8xf32>) {
  // expected-error@+1 {{perm has 1 entries for a tensor of rank 2}}
  %0 = cs336.transpose %x perm = [0] : tensor<4x8xf32> -> tensor<4xf32>
  return
}

// -----

func.func @transpose_shape(%x: tensor<4x8xf32>) {
  // expected-error@+1 {{result must have shape [8, 4], is 'tensor<4x8xf32>'}}
  %0 = cs336.transpose %x perm = [1, 0] : tensor<4x8xf32> -> tensor<4x8xf32>
  return
}

// -----

func.func @slice(%x: tensor<4x8xf32>) {
  // expected-error@+1 {{the box exceeds the tensor along axis 1: offset 6 plus size 4 exceeds 8}}
  %0 = cs336.slice %x offsets = [0, 6] : tensor<4x8xf32> -> tensor<4x4xf32>
  return
}

// -----

func.func @slice_rank(%x: tensor<4x8xf32>) {
  // expected-error@+1 {{operand, result and offsets must have the same rank}}
  %0 = cs336.slice %x offsets = [0] : tensor<4x8xf32> -> tensor<4x4xf32>
  return
}

// -----

func.func @pad(%x: tensor<4x8xf32>) {
  // expected-error@+1 {{the box exceeds the tensor along axis 0}}
  %0 = cs336.pad %x offsets = [1, 0] : tensor<4x8xf32> -> tensor<4x8xf32>
  return
}

// -----

func.func @concat_rank(%x: tensor<4x8xf32>, %y: tensor<4xf32>) {
  // expected-error@+1 {{operands must have the same rank}}
  %0 = cs336.concat axis = 0 %x, %y : tensor<4x8xf32>, tensor<4xf32> -> tensor<8x8xf32>
  return
}

// -----

func.func @concat_axis(%x: tensor<4x8xf32>, %y: tensor<4x7xf32>) {
  // expected-error@+1 {{operands differ along axis 1, which is not the concatenated axis}}
  %0 = cs336.concat axis = 0 %x, %y : tensor<4x8xf32>, tensor<4x7xf32> -> tensor<8x8xf32>
  return
}

// -----

func.func @concat_result(%x: tensor<4x8xf32>) {
  // expected-error@+1 {{result must have shape [8, 8], is 'tensor<9x8xf32>'}}
  %0 = cs336.concat axis = 0 %x, %x : tensor<4x8xf32>, tensor<4x8xf32> -> tensor<9x8xf32>
  return
}

// -----

func.func @concat_nothing() {
  // expected-error@+1 {{requires at least one operand}}
  %0 = "cs336.concat"() {axis = 0 : i64} : () -> tensor<4xf32>
  return
}

// -----

func.func @reduce_twice(%x: tensor<4x8xf32>) {
  // expected-error@+1 {{axis 1 occurs twice}}
  %0 = cs336.reduce sum %x axes = [1, 1] : tensor<4x8xf32> -> tensor<4xf32>
  return
}

// -----

func.func @reduce_shape(%x: tensor<4x8xf32>) {
  // expected-error@+1 {{result must have shape [4], is 'tensor<8xf32>'}}
  %0 = cs336.reduce sum %x axes = [1] : tensor<4x8xf32> -> tensor<8xf32>
  return
}

// -----

func.func @matmul_rank(%a: tensor<8xf32>, %b: tensor<8x3xf32>) {
  // expected-error@+1 {{operands must be matrices, have rank 1 and 2}}
  %0 = cs336.matmul %a, %b : tensor<8xf32>, tensor<8x3xf32> -> tensor<3xf32>
  return
}

// -----

func.func @matmul_addend(%a: tensor<4x8xf32>, %b: tensor<8x3xf32>, %c: tensor<3xf32>) {
  // expected-error@+1 {{the addend must have the result's type, is 'tensor<3xf32>'}}
  %0 = "cs336.matmul"(%a, %b, %c) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> : (tensor<4x8xf32>, tensor<8x3xf32>, tensor<3xf32>) -> tensor<4x3xf32>
  return
}

// -----

func.func @matmul_bias(%a: tensor<4x8xf32>, %b: tensor<8x3xf32>, %c: tensor<4xf32>) {
  // expected-error@+1 {{bias must have shape [3], is 'tensor<4xf32>'}}
  %0 = "cs336.matmul"(%a, %b, %c) <{operandSegmentSizes = array<i32: 1, 1, 0, 1>}> : (tensor<4x8xf32>, tensor<8x3xf32>, tensor<4xf32>) -> tensor<4x3xf32>
  return
}

// -----

func.func @matmul_batch(%a: tensor<2x4x8xf32>, %b: tensor<3x8x3xf32>) {
  // expected-error@+1 {{batch axes differ}}
  %0 = cs336.matmul %a, %b : tensor<2x4x8xf32>, tensor<3x8x3xf32> -> tensor<2x4x3xf32>
  return
}

// -----

func.func @matmul_inner(%a: tensor<4x8xf32>, %b: tensor<8x3xf32>) {
  // expected-error@+1 {{inner sizes differ: 8 of the left matrix and 3 of the right matrix}}
  %0 = cs336.matmul %a, %b {transpose_b} : tensor<4x8xf32>, tensor<8x3xf32> -> tensor<4x8xf32>
  return
}

// -----

func.func @matmul_types(%a: tensor<4x8xf32>, %b: tensor<8x3xbf16>) {
  // expected-error@+1 {{element types differ}}
  %0 = cs336.matmul %a, %b : tensor<4x8xf32>, tensor<8x3xbf16> -> tensor<4x3xf32>
  return
}

// -----

func.func @embedding(%table: tensor<9xf32>, %ids: tensor<4xi64>) {
  // expected-error@+1 {{table must be a matrix}}
  %0 = cs336.embedding %table, %ids : tensor<9xf32>, tensor<4xi64> -> tensor<4x8xf32>
  return
}

// -----

func.func @embedding_shape(%table: tensor<9x8xf32>, %ids: tensor<4xi64>) {
  // expected-error@+1 {{result must have shape [4, 8]}}
  %0 = cs336.embedding %table, %ids : tensor<9x8xf32>, tensor<4xi64> -> tensor<4x9xf32>
  return
}

// -----

func.func @embedding_grad(%ids: tensor<4xi64>, %g: tensor<5x8xf32>) {
  // expected-error@+1 {{gradient must have shape [4, 8]}}
  %0 = cs336.embedding_grad %ids, %g : tensor<4xi64>, tensor<5x8xf32> -> tensor<9x8xf32>
  return
}

// -----

func.func @linear(%x: tensor<4x8xf32>, %w: tensor<3x9xf32>) {
  // expected-error@+1 {{input has 8 features, but weight has 9}}
  %0 = cs336.linear %x, %w : tensor<4x8xf32>, tensor<3x9xf32> -> tensor<4x3xf32>
  return
}

// -----

func.func @linear_weight(%x: tensor<4x8xf32>, %w: tensor<8xf32>) {
  // expected-error@+1 {{requires an input […, in] and a weight [out, in]}}
  %0 = cs336.linear %x, %w : tensor<4x8xf32>, tensor<8xf32> -> tensor<4x1xf32>
  return
}

// -----

func.func @norm_weight(%x: tensor<4x8xf32>, %w: tensor<9xf32>) {
  // expected-error@+1 {{weight must have shape [8]}}
  %0 = cs336.rms_norm %x, %w eps = 1.0e-05 : tensor<4x8xf32>, tensor<9xf32>
  return
}

// -----

func.func @norm_eps(%x: tensor<4x8xf32>, %w: tensor<8xf32>) {
  // expected-error@+1 {{eps must be positive, is 0}}
  %0 = cs336.layer_norm %x, %w, %w eps = 0.0 : tensor<4x8xf32>, tensor<8xf32>
  return
}

// -----

func.func @rope_odd(%x: tensor<4x7xf32>) {
  // expected-error@+1 {{rotates pairs: head_dim must be even, is 7}}
  %0 = cs336.rope %x theta = 1.0e+04 : tensor<4x7xf32>
  return
}

// -----

func.func @rope_rank(%x: tensor<8xf32>) {
  // expected-error@+1 {{requires an input […, positions, head_dim]}}
  %0 = cs336.rope %x theta = 1.0e+04 : tensor<8xf32>
  return
}

// -----

func.func @rope_theta(%x: tensor<4x8xf32>) {
  // expected-error@+1 {{theta must be positive}}
  %0 = cs336.rope %x theta = 0.0 : tensor<4x8xf32>
  return
}

// -----

func.func @cross_entropy(%x: tensor<4x8xf32>, %t: tensor<5xi64>) {
  // expected-error@+1 {{targets must have shape [4]}}
  %0 = cs336.cross_entropy %x, %t : tensor<4x8xf32>, tensor<5xi64> -> tensor<f32>
  return
}

// -----

func.func @cross_entropy_result(%x: tensor<4x8xf32>, %t: tensor<4xi64>) {
  // expected-error@+1 {{result must have shape []}}
  %0 = cs336.cross_entropy %x, %t : tensor<4x8xf32>, tensor<4xi64> -> tensor<4xf32>
  return
}

// -----

func.func @fused_types(%x: tensor<4xf32>) {
  // expected-error@+1 {{the body's arguments must have the operands' types}}
  %0 = cs336.fused(%x) {
  ^bb0(%a: tensor<5xf32>):
    cs336.yield %a : tensor<5xf32>
  } : (tensor<4xf32>) -> tensor<5xf32>
  return
}

// -----

func.func @fused_results(%x: tensor<4xf32>) {
  // expected-error@+1 {{must yield values of the results' types}}
  %0 = cs336.fused(%x) {
  ^bb0(%a: tensor<4xf32>):
    cs336.yield %a : tensor<4xf32>
  } : (tensor<4xf32>) -> tensor<5xf32>
  return
}

// -----

func.func @fused_content(%x: tensor<4x4xf32>) {
  // expected-error@+1 {{contains 'cs336.linear', which is not fusible}}
  %0 = cs336.fused(%x) {
  ^bb0(%a: tensor<4x4xf32>):
    %p = cs336.linear %a, %a : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
    cs336.yield %p : tensor<4x4xf32>
  } : (tensor<4x4xf32>) -> tensor<4x4xf32>
  return
}

// -----

func.func @adamw(%p: tensor<4xf32>, %g: tensor<5xf32>, %s: tensor<f32>, %yes: tensor<i1>) {
  // expected-error@+1 {{gradient and moments must have shape [4]}}
  %0:3 = cs336.adamw %p, %g, %p, %p lr = %s, correction1 = %s, correction2 = %s, scale = %s, apply = %yes
      {beta1 = 0.9 : f64, beta2 = 0.95 : f64, eps = 1.0e-08 : f64, weight_decay = 0.1 : f64}
      : tensor<4xf32>, tensor<5xf32>, tensor<4xf32>, tensor<f32>
  return
}

// -----

func.func @adamw_scalars(%p: tensor<4xf32>, %s: tensor<1xf32>, %yes: tensor<i1>) {
  // expected-error@+1 {{scalar operand must have shape []}}
  %0:3 = cs336.adamw %p, %p, %p, %p lr = %s, correction1 = %s, correction2 = %s, scale = %s, apply = %yes
      {beta1 = 0.9 : f64, beta2 = 0.95 : f64, eps = 1.0e-08 : f64, weight_decay = 0.1 : f64}
      : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<1xf32>
  return
}

// -----

func.func @world(%x: tensor<4xf32>) {
  // expected-error@+1 {{group must have at least 1 rank, has 0}}
  %0 = cs336.collective all_reduce sum(%x) group = 0 : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @gather(%x: tensor<4xf32>) {
  // expected-error@+1 {{the shape of all 2 parts must be [8], 2 times 'tensor<4xf32>' along axis 0, is 'tensor<9xf32>'}}
  %0 = cs336.collective all_gather(%x) group = 2 : (tensor<4xf32>) -> tensor<9xf32>
  return
}

// -----

func.func @scatter(%x: tensor<5xf32>) {
  // expected-error@+1 {{the shape of all 2 parts must be [4], 2 times 'tensor<2xf32>' along axis 0, is 'tensor<5xf32>'}}
  %0 = cs336.collective reduce_scatter sum(%x) group = 2 : (tensor<5xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @root(%x: tensor<4xf32>) {
  // expected-error@+1 {{root 2 is not a rank of a group of 2}}
  %0 = cs336.collective broadcast(%x) group = 2 root = 2 : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

// Targets would find no elements, and read others.
func.func @sparse() {
  // expected-error@below {{attribute 'value' failed to satisfy constraint: constant vector/tensor attribute written out as dense<…>}}
  %0 = cs336.constant sparse<[[1]], [2.0]> : tensor<4xf32>
  return
}

// -----

func.func @resource() {
  // expected-error@below {{attribute 'value' failed to satisfy constraint: constant vector/tensor attribute written out as dense<…>}}
  %0 = cs336.constant dense_resource<elsewhere> : tensor<4xf32>
  return
}

// -----

func.func @check_bound(%ids: tensor<4xi64>) {
  // expected-error@below {{bound must be at least 1, is 0}}
  %0 = cs336.check_bound %ids bound = 0 : tensor<4xi64>
  return
}

// -----

func.func @check_bound_of_floats(%x: tensor<4xf32>) {
  // expected-error@below {{operand #0 must be statically shaped tensor of i64 or i32 values}}
  %0 = cs336.check_bound %x bound = 4 : tensor<4xf32>
  return
}

// -----

func.func @slice_offset_overflows(%x: tensor<4x8xf32>) {
  // expected-error@+1 {{the box exceeds the tensor along axis 1: offset 9223372036854775807 plus size 8 exceeds 8}}
  %0 = cs336.slice %x offsets = [0, 9223372036854775807] : tensor<4x8xf32> -> tensor<4x8xf32>
  return
}

// -----

func.func @pad_offset_overflows(%x: tensor<4x8xf32>) {
  // expected-error@+1 {{the box exceeds the tensor along axis 0: offset 9223372036854775807 plus size 4 exceeds 8}}
  %0 = cs336.pad %x offsets = [9223372036854775807, 0] : tensor<4x8xf32> -> tensor<8x8xf32>
  return
}

// -----

func.func @bytes_overflow() {
  // expected-error@+1 {{must be statically shaped tensor of f64, f32, bf16, f16, i64, i32 or i1 values, at most 2^56 bytes}}
  %0 = cs336.constant dense<0.0> : tensor<9223372036854775807x2xf32>
  return
}

// -----

func.func @too_many_bytes(%x: tensor<f32>) {
  // 2^54 elements of 4 bytes are the most.
  %0 = cs336.broadcast %x dims = [] : tensor<f32> -> tensor<134217728x134217728xf32>
  // expected-error@+1 {{at most 2^56 bytes}}
  %1 = cs336.broadcast %x dims = [] : tensor<f32> -> tensor<134217728x134217729xf32>
  return
}

// -----

// Without elements, but with a stride that is too large.
func.func @empty_with_large_size() {
  // expected-error@+1 {{at most 2^56 bytes}}
  %0 = cs336.iota axis = 0 : tensor<0x9223372036854775807xi32>
  return
}

// -----

func.func @world_overflows(%x: tensor<4xf32>) {
  // expected-error@+1 {{the shape of all 4611686018427387905 parts must be [9223372036854775807], 4611686018427387905 times 'tensor<4xf32>' along axis 0, is 'tensor<4xf32>'}}
  %0 = cs336.collective all_gather(%x) group = 4611686018427387905 : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @no_reduction(%x: tensor<4xf32>) {
  // expected-error@+1 {{all_reduce requires a reduction: sum, mean or max}}
  %0 = cs336.collective all_reduce(%x) group = 2 : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @reduction(%x: tensor<4xf32>) {
  // expected-error@+1 {{broadcast does not reduce, has reduction mean}}
  %0 = cs336.collective broadcast mean(%x) group = 2 root = 0 : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @unknown_kind(%x: tensor<4xf32>) {
  // expected-error@+1 {{expected one of [all_reduce, reduce_scatter, all_gather, broadcast, all_to_all] for kind of collective, got: gather}}
  %0 = cs336.collective gather(%x) group = 2 : (tensor<4xf32>) -> tensor<8xf32>
  return
}

// -----

func.func @no_root(%x: tensor<4xf32>) {
  // expected-error@+1 {{broadcast requires a root: the rank whose values all ranks get}}
  %0 = cs336.collective broadcast(%x) group = 2 : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @root_of_other_kind(%x: tensor<4xf32>) {
  // expected-error@+1 {{all_to_all has no root, has root 1}}
  %0 = cs336.collective all_to_all(%x) group = 2 root = 1 : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @negative_root(%x: tensor<4xf32>) {
  // expected-error@+1 {{root -1 is not a rank of a group of 2}}
  %0 = cs336.collective broadcast(%x) group = 2 root = -1 : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @indivisible(%x: tensor<6x4xf32>) {
  // expected-error@+1 {{all_to_all between 4 ranks requires an axis 0 that their number divides, has 'tensor<6x4xf32>'}}
  %0 = cs336.collective all_to_all(%x) group = 4 : (tensor<6x4xf32>) -> tensor<6x4xf32>
  return
}

// -----

func.func @scalar(%x: tensor<f32>) {
  // expected-error@+1 {{requires shapes of rank 1 or more, has 'tensor<f32>'}}
  %0 = cs336.collective all_gather(%x) group = 2 : (tensor<f32>) -> tensor<2xf32>
  return
}

// -----

func.func @other_shape(%x: tensor<4xf32>) {
  // expected-error@+1 {{all_reduce keeps the shape, has 'tensor<4xf32>' and 'tensor<8xf32>'}}
  %0 = cs336.collective all_reduce sum(%x) group = 2 : (tensor<4xf32>) -> tensor<8xf32>
  return
}

// -----

func.func @other_type(%x: tensor<4xf32>, %y: tensor<4xbf16>) {
  // expected-error@+1 {{keeps the element type, has 'tensor<4xbf16>' and 'tensor<4xf32>'}}
  %0:2 = cs336.collective all_reduce sum(%x, %y) group = 2 : (tensor<4xf32>, tensor<4xbf16>) -> (tensor<4xf32>, tensor<4xf32>)
  return
}

// -----

func.func @booleans(%x: tensor<4xi1>) {
  // expected-error@+1 {{all_reduce reduces numbers, has 'tensor<4xi1>'}}
  %0 = cs336.collective all_reduce max(%x) group = 2 : (tensor<4xi1>) -> tensor<4xi1>
  return
}

// -----

func.func @results(%x: tensor<4xf32>) {
  // expected-error@+1 {{requires at least 1 operand, and a result for each, has 2 and 1}}
  %0 = cs336.collective all_reduce sum(%x, %x) group = 2 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @nothing() {
  // expected-error@+1 {{requires at least 1 operand, and a result for each, has 0 and 0}}
  cs336.collective all_reduce sum() group = 2 : () -> ()
  return
}
