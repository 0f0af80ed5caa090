// Values that attributes reject.

// RUN: cs336-opt %s --split-input-file --verify-diagnostics

// expected-error@+1 {{argument 0: cs336.kind is "weight", must be one of parameter, state, derived, input}}
func.func private @kind(tensor<4xf32> {cs336.kind = "weight"})

// -----

// expected-error@+1 {{result 0: cs336.kind is "input"}}
func.func private @result_kind() -> (tensor<4xf32> {cs336.kind = "input"})

// -----

// expected-error@+1 {{cs336.name must be a non-empty string}}
func.func private @name(tensor<4xf32> {cs336.name = ""})

// -----

// expected-error@+1 {{unknown attribute 'cs336.colour' of the cs336 dialect}}
func.func private @unknown(tensor<4xf32> {cs336.colour = "red"})

// -----

// expected-error@+1 {{views cover 3 rows of 4}}
func.func private @views(tensor<4xf32> {cs336.views = [#cs336.view<"a", 3>]})

// -----

// expected-error@+1 {{must be an array of #cs336.view on a tensor of rank 1 or more}}
func.func private @views_of_scalar(tensor<f32> {cs336.views = [#cs336.view<"a", 1>]})

// -----

// expected-error@+1 {{view 'a' has 0 rows, must have at least one}}
func.func private @empty_view(tensor<4xf32> {cs336.views = [#cs336.view<"a", 0>, #cs336.view<"b", 4>]})

// -----

// expected-error@+1 {{cs336.bound must be a positive integer on a tensor of i64 or i32}}
func.func private @bound(tensor<4xf32> {cs336.bound = 4 : i64})

// -----

// expected-error@+1 {{cs336.init must be #cs336.init}}
func.func private @init(tensor<4xf32> {cs336.init = "zeros"})

// -----

// expected-error@+1 {{truncated_normal requires a positive std and cut}}
func.func private @random(tensor<4xf32> {cs336.init = #cs336.init<truncated_normal>})

// -----

// expected-error@+1 {{zeros does not accept std or cut}}
func.func private @zeros(tensor<4xf32> {cs336.init = #cs336.init<zeros, std = 1.0>})

// -----

// expected-error@+1 {{attribute 'cs336.mode' must be #cs336.mode}}
func.func private @mode() attributes {cs336.mode = "train"}

// -----

// expected-error@+1 {{attribute 'cs336.mode' is for functions only}}
module attributes {cs336.mode = #cs336.mode<train>} {}

// -----

// expected-error@+1 {{attribute 'cs336.optimizer' must be #cs336.optimizer}}
func.func private @optimizer() attributes {cs336.optimizer = 1.0e-3}

// -----

// expected-error@+1 {{lr must be finite and not negative, is -1.000000e+00}}
func.func private @lr() attributes {cs336.optimizer = #cs336.optimizer<lr = -1.0>}

// -----

// expected-error@+1 {{beta1 and beta2 must lie in [0, 1), are 1.000000e+00 and 9.990000e-01}}
func.func private @beta() attributes {cs336.optimizer = #cs336.optimizer<beta1 = 1.0>}

// -----

// expected-error@+1 {{min_lr must be finite and not negative, is INF}}
func.func private @min_lr() attributes {cs336.optimizer = #cs336.optimizer<min_lr = 0x7FF0000000000000>}

// -----

// expected-error@+1 {{weight_decay must be finite and not negative, is nan}}
func.func private @decay() attributes {cs336.optimizer = #cs336.optimizer<weight_decay = 0x7FF8000000000000>}

// -----

// expected-error@+1 {{max_norm must not be negative, is -1.000000e+00}}
func.func private @norm() attributes {cs336.optimizer = #cs336.optimizer<max_norm = -1.0>}

// -----

// expected-error@+1 {{eps must be positive and finite, is 0.000000e+00}}
func.func private @eps() attributes {cs336.optimizer = #cs336.optimizer<eps = 0.0>}

// -----

// expected-error@+1 {{warmup_steps must not be negative, is -1}}
func.func private @warmup() attributes {cs336.optimizer = #cs336.optimizer<warmup_steps = -1>}

// -----

// expected-error@+1 {{cosine_steps must not be negative, is -5}}
func.func private @cosine() attributes {cs336.optimizer = #cs336.optimizer<cosine_steps = -5>}

// -----

// expected-error@+1 {{cosine_steps (5) must come after warmup_steps (10), or be 0}}
func.func private @schedule() attributes {cs336.optimizer = #cs336.optimizer<warmup_steps = 10, cosine_steps = 5>}

// -----

// expected-error@+1 {{ones does not accept a value}}
func.func private @ones(tensor<4xf32> {cs336.init = #cs336.init<ones value = 2.0>})

// -----

// expected-error@+1 {{attribute 'cs336.loss_scaling' must be #cs336.loss_scaling}}
func.func private @scaling() attributes {cs336.loss_scaling = 65536.0}

// -----

// expected-error@+1 {{init must be positive and finite, is 0.000000e+00}}
func.func private @scale() attributes {cs336.loss_scaling = #cs336.loss_scaling<init = 0.0>}

// -----

// expected-error@+1 {{growth must be at least 1 and finite, is 5.000000e-01}}
func.func private @growth() attributes {cs336.loss_scaling = #cs336.loss_scaling<growth = 0.5>}

// -----

// expected-error@+1 {{backoff must lie in (0, 1), is 1.000000e+00}}
func.func private @backoff() attributes {cs336.loss_scaling = #cs336.loss_scaling<backoff = 1.0>}

// -----

// expected-error@+1 {{interval must be at least 1 and fit into 32 bits, is 0}}
func.func private @interval() attributes {cs336.loss_scaling = #cs336.loss_scaling<interval = 0>}

// -----

// expected-error@+1 {{views cover 9223372036854775807 rows of 2}}
func.func private @rows_overflow(tensor<2xf32> {cs336.views = [#cs336.view<"a", 9223372036854775807>, #cs336.view<"b", 9223372036854775807>, #cs336.view<"c", 4>]})

// -----

// expected-error@+1 {{argument 0 of kind "parameter" must be a tensor of f64, f32, bf16, f16, i64, i32 or i1 with static sizes, none of them 0, and at most 2^48 bytes, is 'index'}}
func.func private @index_parameter(index {cs336.kind = "parameter"})

// -----

// expected-error@+1 {{argument 0 of kind "state" must be a tensor of f64, f32}}
func.func private @complex_state(tensor<4xcomplex<f32>> {cs336.kind = "state"})

// -----

// expected-error@+1 {{argument 0 of kind "input" must be a tensor of f64, f32}}
func.func private @narrow_input(tensor<4xi8> {cs336.kind = "input"})

// -----

// expected-error@+1 {{result 0 of kind "output" must be a tensor of f64, f32}}
func.func private @memref_output() -> (memref<4xf32> {cs336.kind = "output"})

// -----

// expected-error@+1 {{argument 0 of kind "parameter" must be a tensor of f64, f32}}
func.func private @dynamic_parameter(tensor<?xf32> {cs336.kind = "parameter"})

// -----

// expected-error@+1 {{argument 0 of kind "parameter" must be a tensor of f64, f32}}
func.func private @empty_parameter(tensor<4x0xf32> {cs336.kind = "parameter"})

// -----

// expected-error@+1 {{at most 2^48 bytes, is 'tensor<9223372036854775807x2xf32>'}}
func.func private @large_parameter(tensor<9223372036854775807x2xf32> {cs336.kind = "parameter"})

// -----

// expected-error@+1 {{cs336.bound must be a positive integer on a tensor of i64 or i32}}
func.func private @narrow_bound(tensor<4xi32> {cs336.bound = 5 : i32})

// -----

// expected-error@+1 {{argument 0: cs336.shards is 1 : i64, must be an i64 of at least 2, the number of ranks}}
func.func private @one_shard(tensor<4xf32> {cs336.kind = "parameter", cs336.shards = 1 : i64})

// -----

// expected-error@+1 {{cs336.shards is 2 : i32, must be an i64 of at least 2}}
func.func private @narrow_shards(tensor<4xf32> {cs336.kind = "parameter", cs336.shards = 2 : i32})

// -----

// expected-error@+1 {{cs336.shards is "2", must be an i64 of at least 2}}
func.func private @text_shards(tensor<4xf32> {cs336.kind = "parameter", cs336.shards = "2"})

// -----

// expected-error@+1 {{argument 0: cs336.shards is for parameters, state, derived values and gradients only}}
func.func private @sharded_input(tensor<4xf32> {cs336.kind = "input", cs336.shards = 2 : i64})

// -----

// expected-error@+1 {{result 0: cs336.shards is for parameters, state, derived values and gradients only}}
func.func private @sharded_output() -> (tensor<4xf32> {cs336.kind = "output", cs336.shards = 2 : i64})

// -----

// expected-error@+1 {{cs336.shards requires a floating-point tensor of rank 1 or more, is on 'tensor<f32>'}}
func.func private @sharded_scalar(tensor<f32> {cs336.kind = "state", cs336.shards = 2 : i64})

// -----

// expected-error@+1 {{cs336.shards requires a floating-point tensor of rank 1 or more, is on 'tensor<4xi64>'}}
func.func private @sharded_counters(tensor<4xi64> {cs336.kind = "state", cs336.shards = 2 : i64})

// -----

// expected-error@+1 {{the whole tensor of 9223372036854775807 parts must be a tensor of}}
func.func private @huge_whole(tensor<4xf32> {cs336.kind = "state", cs336.shards = 9223372036854775807 : i64})

// -----

// Views are those of the whole.
// expected-error@+1 {{views cover 4 rows of 8}}
func.func private @views_of_shard(tensor<4xf32> {cs336.kind = "parameter", cs336.shards = 2 : i64, cs336.views = [#cs336.view<"a", 4>]})
