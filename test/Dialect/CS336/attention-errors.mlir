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
