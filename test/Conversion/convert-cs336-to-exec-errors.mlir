// Inputs that the conversion rejects.
// RUN: cs336-opt %s --split-input-file --convert-cs336-to-exec --verify-diagnostics

func.func @composite(%x: tensor<4xf32> {cs336.kind = "input", cs336.name = "x"})
    -> (tensor<4xf32> {cs336.kind = "output", cs336.name = "y"}) attributes {cs336.mode = #cs336.mode<forward>} {
  // expected-error@below {{'cs336.silu' cannot be executed: decompose it first (--cs336-decompose)}}
  %y = cs336.silu %x : tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

func.func @foreign(%x: tensor<4xf32> {cs336.kind = "input", cs336.name = "x"})
    -> (tensor<4xf32> {cs336.kind = "output", cs336.name = "y"}) attributes {cs336.mode = #cs336.mode<forward>} {
  // expected-error@below {{'arith.addf' cannot be executed: it must implement FusibleOpInterface, ViewOpInterface or CommandLoweringInterface}}
  %y = arith.addf %x, %x : tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

// expected-error@below {{@helper computes on tensors but is not an entry point: set its attribute cs336.mode}}
func.func private @helper(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = cs336.exp %x : tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

// expected-error@below {{an entry point must have one block, but @declared has 0}}
func.func private @declared(tensor<4xf32>) -> tensor<4xf32> attributes {cs336.mode = #cs336.mode<forward>}

// -----

func.func @f(%x: tensor<4xf32> {cs336.kind = "input", cs336.name = "x"})
    -> (tensor<4x8xf32> {cs336.kind = "output", cs336.name = "y"}) attributes {cs336.mode = #cs336.mode<forward>} {
  // expected-error@below {{'cs336.broadcast' op has a result of type 'tensor<4x0xf32>', must be a tensor of f64, f32, bf16, f16, i64, i32 or i1 with static sizes, none of them 0}}
  %0 = cs336.broadcast %x dims = [0] : tensor<4xf32> -> tensor<4x0xf32>
  %1 = cs336.constant dense<1.0> : tensor<0x8xf32>
  %2 = cs336.matmul %0, %1 : tensor<4x0xf32>, tensor<0x8xf32> -> tensor<4x8xf32>
  return %2 : tensor<4x8xf32>
}

// -----

// expected-error@below {{argument 0 of @f requires cs336.kind (parameter, state, derived or input) and cs336.name}}
func.func @f(%x: tensor<4xf32> {cs336.kind = "input"}) attributes {cs336.mode = #cs336.mode<forward>} { return }

// -----

// expected-error@below {{result 0 of @f requires cs336.kind (output, gradient, parameter, state or derived) and cs336.name}}
func.func @f(%x: tensor<4xf32> {cs336.kind = "input", cs336.name = "x"}) -> tensor<4xf32>
    attributes {cs336.mode = #cs336.mode<forward>} {
  return %x : tensor<4xf32>
}

// -----

func.func @f(%x: tensor<4xf32> {cs336.kind = "parameter", cs336.name = "w"}) attributes {cs336.mode = #cs336.mode<forward>} { return }
// expected-error@below {{'w' is a 'tensor<5xf32>' in @g, but a 'tensor<4xf32>' in @f}}
func.func @g(%x: tensor<5xf32> {cs336.kind = "parameter", cs336.name = "w"}) attributes {cs336.mode = #cs336.mode<loss>} { return }

// -----

func.func @f(%x: tensor<4xf32> {cs336.kind = "parameter", cs336.name = "w"}) attributes {cs336.mode = #cs336.mode<forward>} { return }
// expected-error@below {{'w' is state in @g, but parameter in @f}}
func.func @g(%x: tensor<4xf32> {cs336.kind = "state", cs336.name = "w"}) attributes {cs336.mode = #cs336.mode<loss>} { return }

// -----

func.func @f(%x: tensor<4xf32> {cs336.kind = "parameter", cs336.name = "w", cs336.init = #cs336.init<ones>}) attributes {cs336.mode = #cs336.mode<forward>} { return }
// expected-error@below {{'w' has initial value #cs336.init<zeros> in @g, but #cs336.init<ones> in @f}}
func.func @g(%x: tensor<4xf32> {cs336.kind = "parameter", cs336.name = "w", cs336.init = #cs336.init<zeros>}) attributes {cs336.mode = #cs336.mode<loss>} { return }

// -----

func.func @f(%x: tensor<4xf32> {cs336.kind = "parameter", cs336.name = "w", cs336.views = [#cs336.view<"a", 4>]}) attributes {cs336.mode = #cs336.mode<forward>} { return }
// expected-error@below {{'w' has views [#cs336.view<"b", 4>] in @g, but [#cs336.view<"a", 4>] in @f}}
func.func @g(%x: tensor<4xf32> {cs336.kind = "parameter", cs336.name = "w", cs336.views = [#cs336.view<"b", 4>]}) attributes {cs336.mode = #cs336.mode<loss>} { return }

// -----

// expected-error@below {{two arguments of @f are called 'w'}}
func.func @f(%x: tensor<4xf32> {cs336.kind = "parameter", cs336.name = "w"},
             %y: tensor<4xf32> {cs336.kind = "parameter", cs336.name = "w"}) attributes {cs336.mode = #cs336.mode<forward>} { return }

// -----

// expected-error@below {{two results of @f are new values of 'w'}}
func.func @f(%x: tensor<4xf32> {cs336.kind = "parameter", cs336.name = "w"})
    -> (tensor<4xf32> {cs336.kind = "parameter", cs336.name = "w"}, tensor<4xf32> {cs336.kind = "parameter", cs336.name = "w"})
    attributes {cs336.mode = #cs336.mode<train>} {
  %y = cs336.exp %x : tensor<4xf32>
  return %x, %y : tensor<4xf32>, tensor<4xf32>
}

// -----

// expected-error@below {{argument 0 has the name of a symbol of the module, 'f'; rename one of them}}
func.func @f(%x: tensor<4xf32> {cs336.kind = "parameter", cs336.name = "f"}) attributes {cs336.mode = #cs336.mode<forward>} { return }

// -----

// An evaluation leaves the model as it is.
func.func @evaluate(%w: tensor<4xf32> {cs336.kind = "parameter", cs336.name = "w"})
    -> (tensor<4xf32> {cs336.kind = "parameter", cs336.name = "w"}) attributes {cs336.mode = #cs336.mode<loss>} {
  // expected-error@below {{writes parameter @w, which an entry of mode loss must leave as it is}}
  %y = cs336.exp %w : tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

func.func @f(%x: tensor<4xf32> {cs336.kind = "parameter", cs336.name = "w", cs336.shards = 2 : i64}) attributes {cs336.mode = #cs336.mode<forward>} { return }
// expected-error@below {{'w' has 1 shards in @g, but 2 in @f}}
func.func @g(%x: tensor<4xf32> {cs336.kind = "parameter", cs336.name = "w"}) attributes {cs336.mode = #cs336.mode<loss>} { return }

// -----

// A caller would take the part for the whole.
// expected-error@below {{returns one of 2 parts of the gradient 'w', but outputs are whole: run --cs336-optimizer, which uses it up}}
func.func @f(%x: tensor<4xf32> {cs336.kind = "parameter", cs336.name = "w", cs336.shards = 2 : i64})
    -> (tensor<4xf32> {cs336.kind = "gradient", cs336.name = "w", cs336.shards = 2 : i64})
    attributes {cs336.mode = #cs336.mode<forward_backward>} {
  %y = cs336.exp %x : tensor<4xf32>
  return %y : tensor<4xf32>
}
