// Linears that share an input but cannot be merged. The pass never fails: remarks give the reasons.

// RUN: cs336-opt %s --split-input-file --cs336-merge-gemms --mlir-print-debuginfo=false -o %t.mlir
// RUN: FileCheck %s --input-file=%t.mlir
// RUN: cs336-opt %s --split-input-file --cs336-merge-gemms --remarks-filter=cs336-merge-gemms --remark-format=emitRemark -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK

// CHECK-NOT: cs336.views
// CHECK-NOT: cs336.slice

// REMARK: "b"{{.*}}not merged with 'w1', which has the same input: initialised, stored or multiplied otherwise
func.func @init(%x: tensor<4x8xf32>,
    %w1: tensor<8x8xf32> {cs336.kind = "parameter", cs336.name = "w1", cs336.init = #cs336.init<zeros>},
    %w3: tensor<8x8xf32> {cs336.kind = "parameter", cs336.name = "w3", cs336.init = #cs336.init<ones>}) -> (tensor<4x8xf32>, tensor<4x8xf32>) {
  %0 = cs336.linear %x, %w1 : tensor<4x8xf32>, tensor<8x8xf32> -> tensor<4x8xf32> loc("a")
  %1 = cs336.linear %x, %w3 : tensor<4x8xf32>, tensor<8x8xf32> -> tensor<4x8xf32> loc("b")
  return %0, %1 : tensor<4x8xf32>, tensor<4x8xf32>
}

// -----

// REMARK: "a"{{.*}}its weight has another use
func.func @used_twice(%x: tensor<8x8xf32>,
    %w1: tensor<8x8xf32> {cs336.kind = "parameter", cs336.name = "w1"},
    %w3: tensor<8x8xf32> {cs336.kind = "parameter", cs336.name = "w3"}) -> (tensor<8x8xf32>, tensor<8x8xf32>) {
  %0 = cs336.linear %x, %w1 : tensor<8x8xf32>, tensor<8x8xf32> -> tensor<8x8xf32> loc("a")
  %1 = cs336.linear %x, %w3 : tensor<8x8xf32>, tensor<8x8xf32> -> tensor<8x8xf32> loc("b")
  %2 = cs336.add %0, %w1 : tensor<8x8xf32>
  return %1, %2 : tensor<8x8xf32>, tensor<8x8xf32>
}

// -----

// REMARK: "b"{{.*}}its weight is computed, not a parameter
// REMARK: "c"{{.*}}its weight is not a named parameter
func.func @not_parameters(%x: tensor<8x8xf32>,
    %w1: tensor<8x8xf32> {cs336.kind = "parameter", cs336.name = "w1"},
    %w3: tensor<8x8xf32> {cs336.kind = "input", cs336.name = "w3"}) -> (tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>) {
  %e = cs336.exp %x : tensor<8x8xf32>
  %0 = cs336.linear %x, %w1 : tensor<8x8xf32>, tensor<8x8xf32> -> tensor<8x8xf32> loc("a")
  %1 = cs336.linear %x, %e : tensor<8x8xf32>, tensor<8x8xf32> -> tensor<8x8xf32> loc("b")
  %2 = cs336.linear %x, %w3 : tensor<8x8xf32>, tensor<8x8xf32> -> tensor<8x8xf32> loc("c")
  return %0, %1, %2 : tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>
}

// -----

// One function could merge them and the other cannot, but they share the parameters.
// REMARK: "a"{{.*}}weights of 'w13' cannot be packed in the same way in @other, which shares them
func.func @one(%x: tensor<8x8xf32>,
    %w1: tensor<8x8xf32> {cs336.kind = "parameter", cs336.name = "w1"},
    %w3: tensor<8x8xf32> {cs336.kind = "parameter", cs336.name = "w3"}) -> (tensor<8x8xf32>, tensor<8x8xf32>) {
  %0 = cs336.linear %x, %w1 : tensor<8x8xf32>, tensor<8x8xf32> -> tensor<8x8xf32> loc("a")
  %1 = cs336.linear %x, %w3 : tensor<8x8xf32>, tensor<8x8xf32> -> tensor<8x8xf32> loc("b")
  return %0, %1 : tensor<8x8xf32>, tensor<8x8xf32>
}
func.func @other(%x: tensor<8x8xf32>, %w3: tensor<8x8xf32> {cs336.kind = "parameter", cs336.name = "w3"}) -> tensor<8x8xf32> {
  %0 = cs336.linear %x, %w3 : tensor<8x8xf32>, tensor<8x8xf32> -> tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}

// -----

// REMARK: "a"{{.*}}'w13' exists already in @name
func.func @name(%x: tensor<8x8xf32>, %taken: tensor<8xf32> {cs336.kind = "parameter", cs336.name = "w13"},
    %w1: tensor<8x8xf32> {cs336.kind = "parameter", cs336.name = "w1"},
    %w3: tensor<8x8xf32> {cs336.kind = "parameter", cs336.name = "w3"}) -> (tensor<8x8xf32>, tensor<8x8xf32>) {
  %0 = cs336.linear %x, %w1 : tensor<8x8xf32>, tensor<8x8xf32> -> tensor<8x8xf32> loc("a")
  %1 = cs336.linear %x, %w3 : tensor<8x8xf32>, tensor<8x8xf32> -> tensor<8x8xf32> loc("b")
  return %0, %1 : tensor<8x8xf32>, tensor<8x8xf32>
}

// -----

// Two groups would have one name.
// REMARK: "a"{{.*}}'a_b_c' would be the name of other weights as well
// REMARK: "c"{{.*}}'a_b_c' would be the name of other weights as well
func.func @ambiguous(%x: tensor<8x8xf32>, %z: tensor<8x8xf32>,
    %a: tensor<8x8xf32> {cs336.kind = "parameter", cs336.name = "a"},
    %bc: tensor<8x8xf32> {cs336.kind = "parameter", cs336.name = "b_c"},
    %ab: tensor<8x8xf32> {cs336.kind = "parameter", cs336.name = "a_b"},
    %c: tensor<8x8xf32> {cs336.kind = "parameter", cs336.name = "c"})
    -> (tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>) {
  %0 = cs336.linear %x, %a : tensor<8x8xf32>, tensor<8x8xf32> -> tensor<8x8xf32> loc("a")
  %1 = cs336.linear %x, %bc : tensor<8x8xf32>, tensor<8x8xf32> -> tensor<8x8xf32> loc("b")
  %2 = cs336.linear %z, %ab : tensor<8x8xf32>, tensor<8x8xf32> -> tensor<8x8xf32> loc("c")
  %3 = cs336.linear %z, %c : tensor<8x8xf32>, tensor<8x8xf32> -> tensor<8x8xf32> loc("d")
  return %0, %1, %2, %3 : tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>
}

// -----

// Gradients name the weights as they are.
func.func @differentiated(%x: tensor<8x8xf32>,
    %w1: tensor<8x8xf32> {cs336.kind = "parameter", cs336.name = "w1"},
    %w3: tensor<8x8xf32> {cs336.kind = "parameter", cs336.name = "w3"})
    -> (tensor<8x8xf32> {cs336.kind = "gradient", cs336.name = "w1"}, tensor<8x8xf32> {cs336.kind = "gradient", cs336.name = "w3"}) {
  %0 = cs336.linear %x, %w1 : tensor<8x8xf32>, tensor<8x8xf32> -> tensor<8x8xf32>
  %1 = cs336.linear %x, %w3 : tensor<8x8xf32>, tensor<8x8xf32> -> tensor<8x8xf32>
  return %0, %1 : tensor<8x8xf32>, tensor<8x8xf32>
}

// -----

// Parts of two parameters, one after the other, are not a part of both together.
// CHECK-LABEL: func.func @parts(
// CHECK-COUNT-2: cs336.linear
// REMARK: "p"{{.*}}its weight is a part of a sharded parameter
func.func @parts(%x: tensor<8x8xf32>,
    %w1: tensor<4x8xf32> {cs336.kind = "parameter", cs336.name = "w1", cs336.shards = 2 : i64},
    %w3: tensor<4x8xf32> {cs336.kind = "parameter", cs336.name = "w3", cs336.shards = 2 : i64}) -> (tensor<8x4xf32>, tensor<8x4xf32>) {
  %0 = cs336.linear %x, %w1 : tensor<8x8xf32>, tensor<4x8xf32> -> tensor<8x4xf32> loc("p")
  %1 = cs336.linear %x, %w3 : tensor<8x8xf32>, tensor<4x8xf32> -> tensor<8x4xf32> loc("q")
  return %0, %1 : tensor<8x4xf32>, tensor<8x4xf32>
}
