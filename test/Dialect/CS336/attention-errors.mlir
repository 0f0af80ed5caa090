// Operations that attention's verifiers reject.

// RUN: cs336-opt %s --split-input-file --verify-diagnostics

func.func @rank(%q: tensor<5x8xf32>) {
  // expected-error@+1 {{requires operands [batch, positions, heads, head_dim], has 'tensor<5x8xf32>' and 'tensor<5x8xf32>'}}
  %o, %lse = cs336.attention %q, %q, %q {scale = 1.0 : f64} : tensor<5x8xf32>, tensor<5x8xf32> -> tensor<1x1x5xf32>
  return
}

// -----

func.func @element(%q: tensor<1x5x1x8xf32>, %k: tensor<1x5x1x8xbf16>) {
  // expected-error@+1 {{element types differ: 'tensor<1x5x1x8xf32>' and 'tensor<1x5x1x8xbf16>'; insert a cs336.cast}}
  %o, %lse = cs336.attention %q, %k, %k {scale = 1.0 : f64} : tensor<1x5x1x8xf32>, tensor<1x5x1x8xbf16> -> tensor<1x1x5xf32>
  return
}

// -----

func.func @batch(%q: tensor<2x5x1x8xf32>, %k: tensor<1x5x1x8xf32>) {
  // expected-error@+1 {{batches differ: 2 of queries and 1 of keys}}
  %o, %lse = cs336.attention %q, %k, %k {scale = 1.0 : f64} : tensor<2x5x1x8xf32>, tensor<1x5x1x8xf32> -> tensor<2x1x5xf32>
  return
}

// -----

func.func @head_dim(%q: tensor<1x5x1x8xf32>, %k: tensor<1x5x1x16xf32>) {
  // expected-error@+1 {{head_dim differs: 8 of queries and 16 of keys}}
  %o, %lse = cs336.attention %q, %k, %k {scale = 1.0 : f64} : tensor<1x5x1x8xf32>, tensor<1x5x1x16xf32> -> tensor<1x1x5xf32>
  return
}

// -----

func.func @no_keys(%q: tensor<1x5x1x8xf32>, %k: tensor<1x0x1x8xf32>) {
  // expected-error@+1 {{requires at least one query, key, head and feature}}
  %o, %lse = cs336.attention %q, %k, %k {scale = 1.0 : f64} : tensor<1x5x1x8xf32>, tensor<1x0x1x8xf32> -> tensor<1x1x5xf32>
  return
}

// -----

func.func @heads(%q: tensor<1x5x4x8xf32>, %k: tensor<1x5x3x8xf32>) {
  // expected-error@+1 {{number of query heads must be a multiple of that of key heads: 4 is not a multiple of 3}}
  %o, %lse = cs336.attention %q, %k, %k {scale = 1.0 : f64} : tensor<1x5x4x8xf32>, tensor<1x5x3x8xf32> -> tensor<1x4x5xf32>
  return
}

// -----

func.func @sums(%q: tensor<1x5x4x8xbf16>) {
  // expected-error@+1 {{log_sum_exp must be [batch, heads, queries], not narrower than f32: 'tensor<1x4x5xf32>', is 'tensor<1x4x5xbf16>'}}
  %o, %lse = cs336.attention %q, %q, %q {scale = 1.0 : f64} : tensor<1x5x4x8xbf16>, tensor<1x5x4x8xbf16> -> tensor<1x4x5xbf16>
  return
}

// -----

func.func @scale(%q: tensor<1x5x4x8xf32>) {
  // expected-error@+1 {{scale must be positive and finite}}
  %o, %lse = cs336.attention %q, %q, %q {scale = 0x7FF0000000000000 : f64} : tensor<1x5x4x8xf32>, tensor<1x5x4x8xf32> -> tensor<1x4x5xf32>
  return
}

// -----

func.func @backward(%q: tensor<1x5x4x8xf32>, %lse: tensor<1x5x4xf32>) {
  // expected-error@+1 {{log_sum_exp must be [batch, heads, queries], not narrower than f32: 'tensor<1x4x5xf32>', is 'tensor<1x5x4xf32>'}}
  %dq, %dk, %dv = cs336.attention_backward %q, %q, %q, %q, %lse, %q {scale = 1.0 : f64} : tensor<1x5x4x8xf32>, tensor<1x5x4x8xf32>, tensor<1x5x4xf32>
  return
}

// -----

func.func @score_arguments(%q: tensor<1x5x4x8xf32>) {
  // expected-error@+1 {{the arguments of the score function must be the scaled score, batch, head, query, key and the tables: ('tensor<f32>', 'tensor<i32>', 'tensor<i32>', 'tensor<i32>', 'tensor<i32>'), are ('tensor<f32>')}}
  %o, %lse = cs336.attention %q, %q, %q {scale = 1.0 : f64} : tensor<1x5x4x8xf32>, tensor<1x5x4x8xf32> -> tensor<1x4x5xf32> score() {
  ^bb0(%s: tensor<f32>):
    cs336.yield %s : tensor<f32>
  }
  return
}

// -----

func.func @score_type(%q: tensor<1x5x4x8xf32>) {
  // expected-error@+1 {{the score function must yield the score of type 'tensor<f32>'}}
  %o, %lse = cs336.attention %q, %q, %q {scale = 1.0 : f64} : tensor<1x5x4x8xf32>, tensor<1x5x4x8xf32> -> tensor<1x4x5xf32> score() {
  ^bb0(%s: tensor<f32>, %b: tensor<i32>, %h: tensor<i32>, %i: tensor<i32>, %j: tensor<i32>):
    cs336.yield %i : tensor<i32>
  }
  return
}

// -----

func.func @score_count(%q: tensor<1x5x4x8xf32>) {
  // expected-error@+1 {{the score function must yield the score of type 'tensor<f32>'}}
  %o, %lse = cs336.attention %q, %q, %q {scale = 1.0 : f64} : tensor<1x5x4x8xf32>, tensor<1x5x4x8xf32> -> tensor<1x4x5xf32> score() {
  ^bb0(%s: tensor<f32>, %b: tensor<i32>, %h: tensor<i32>, %i: tensor<i32>, %j: tensor<i32>):
    cs336.yield %s, %s : tensor<f32>, tensor<f32>
  }
  return
}

// -----

func.func @derivative(%q: tensor<1x5x4x8xf32>, %lse: tensor<1x4x5xf32>) {
  // expected-error@+1 {{the score function must yield the score and its derivative of type 'tensor<f32>'}}
  %dq, %dk, %dv = cs336.attention_backward %q, %q, %q, %q, %lse, %q {scale = 1.0 : f64} : tensor<1x5x4x8xf32>, tensor<1x5x4x8xf32>, tensor<1x4x5xf32> score() {
  ^bb0(%s: tensor<f32>, %b: tensor<i32>, %h: tensor<i32>, %i: tensor<i32>, %j: tensor<i32>):
    cs336.yield %s : tensor<f32>
  }
  return
}

// -----

func.func @score_operation(%q: tensor<1x5x4x8xf32>) {
  %o, %lse = cs336.attention %q, %q, %q {scale = 1.0 : f64} : tensor<1x5x4x8xf32>, tensor<1x5x4x8xf32> -> tensor<1x4x5xf32> score() {
  ^bb0(%s: tensor<f32>, %b: tensor<i32>, %h: tensor<i32>, %i: tensor<i32>, %j: tensor<i32>):
    // expected-error@+1 {{cannot be part of a score function, which consists of element-wise operations, 'cs336.constant' and 'cs336.element'}}
    %r = cs336.relu %s : tensor<f32>
    cs336.yield %r : tensor<f32>
  }
  return
}

// -----

func.func @score_rank(%q: tensor<1x5x4x8xf32>) {
  %o, %lse = cs336.attention %q, %q, %q {scale = 1.0 : f64} : tensor<1x5x4x8xf32>, tensor<1x5x4x8xf32> -> tensor<1x4x5xf32> score() {
  ^bb0(%s: tensor<f32>, %b: tensor<i32>, %h: tensor<i32>, %i: tensor<i32>, %j: tensor<i32>):
    // expected-error@+1 {{computes 'tensor<2xf32>'; a score function computes tensors of rank 0}}
    %r = cs336.constant dense<1.0> : tensor<2xf32>
    cs336.yield %s : tensor<f32>
  }
  return
}

// -----

func.func @element_bound(%q: tensor<1x5x4x8xf32>, %t: tensor<4xf32>) {
  %o, %lse = cs336.attention %q, %q, %q {scale = 1.0 : f64} : tensor<1x5x4x8xf32>, tensor<1x5x4x8xf32> -> tensor<1x4x5xf32> score(%t : tensor<4xf32>) {
  ^bb0(%s: tensor<f32>, %b: tensor<i32>, %h: tensor<i32>, %i: tensor<i32>, %j: tensor<i32>, %table: tensor<4xf32>):
    // expected-error@+1 {{index 0 is not provably in [0, 4)}}
    %r = cs336.element %table[%i] : tensor<4xf32>
    cs336.yield %r : tensor<f32>
  }
  return
}

// -----

func.func @element_data(%q: tensor<1x5x4x8xf32>, %t: tensor<4xf32>, %u: tensor<4xi32>) {
  %o, %lse = cs336.attention %q, %q, %q {scale = 1.0 : f64} : tensor<1x5x4x8xf32>, tensor<1x5x4x8xf32> -> tensor<1x4x5xf32> score(%t, %u : tensor<4xf32>, tensor<4xi32>) {
  ^bb0(%s: tensor<f32>, %b: tensor<i32>, %h: tensor<i32>, %i: tensor<i32>, %j: tensor<i32>, %table: tensor<4xf32>, %ids: tensor<4xi32>):
    %id = cs336.element %ids[%h] : tensor<4xi32>
    // expected-error@+1 {{index 0 is not provably in [0, 4)}}
    %r = cs336.element %table[%id] : tensor<4xf32>
    cs336.yield %r : tensor<f32>
  }
  return
}

// -----

func.func @element_rank(%q: tensor<1x5x4x8xf32>, %t: tensor<4x2xf32>) {
  %o, %lse = cs336.attention %q, %q, %q {scale = 1.0 : f64} : tensor<1x5x4x8xf32>, tensor<1x5x4x8xf32> -> tensor<1x4x5xf32> score(%t : tensor<4x2xf32>) {
  ^bb0(%s: tensor<f32>, %b: tensor<i32>, %h: tensor<i32>, %i: tensor<i32>, %j: tensor<i32>, %table: tensor<4x2xf32>):
    // expected-error@+1 {{requires one index per axis of the table: 2, has 1}}
    %r = cs336.element %table[%h] : tensor<4x2xf32>
    cs336.yield %r : tensor<f32>
  }
  return
}

// -----

func.func @element_table(%q: tensor<1x5x4x8xf32>) {
  %o, %lse = cs336.attention %q, %q, %q {scale = 1.0 : f64} : tensor<1x5x4x8xf32>, tensor<1x5x4x8xf32> -> tensor<1x4x5xf32> score() {
  ^bb0(%s: tensor<f32>, %b: tensor<i32>, %h: tensor<i32>, %i: tensor<i32>, %j: tensor<i32>):
    // expected-error@+1 {{must read a table of the score function}}
    %r = cs336.element %s[] : tensor<f32>
    cs336.yield %r : tensor<f32>
  }
  return
}

// -----

func.func @element_outside(%q: tensor<1x5x4x8xf32>, %t: tensor<f32>) {
  // expected-error@+1 {{expects parent op to be one of 'cs336.attention, cs336.attention_backward'}}
  %r = cs336.element %t[] : tensor<f32>
  return
}

// -----

func.func @tables_without_function(%q: tensor<1x5x4x8xf32>, %t: tensor<f32>) {
  // expected-error@+1 {{has tables, but no score function that reads them}}
  %o, %lse = "cs336.attention"(%q, %q, %q, %t) ({}) {scale = 1.0 : f64} : (tensor<1x5x4x8xf32>, tensor<1x5x4x8xf32>, tensor<1x5x4x8xf32>, tensor<f32>) -> (tensor<1x5x4x8xf32>, tensor<1x4x5xf32>)
  return
}

// -----

func.func @table_block_bytes(%q: tensor<1x5x1x8xf32>) {
  // expected-error@+1 {{attribute 'cs336.table_block_bytes' is 0 : i64, must be an i64 of at least 1}}
  %o, %lse = cs336.attention %q, %q, %q {scale = 1.0 : f64, cs336.table_block_bytes = 0 : i64} : tensor<1x5x1x8xf32>, tensor<1x5x1x8xf32> -> tensor<1x1x5xf32>
  return
}

// -----

func.func @table_block_bytes_elsewhere(%q: tensor<5xf32>) {
  // expected-error@+1 {{attribute 'cs336.table_block_bytes' is for cs336.attention only}}
  %e = cs336.exp %q {cs336.table_block_bytes = 1 : i64} : tensor<5xf32>
  return
}
