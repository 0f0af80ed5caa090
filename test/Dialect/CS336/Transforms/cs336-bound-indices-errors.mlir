// Indices that are out of bounds whatever a run is given.
// RUN: cs336-opt %s --cs336-bound-indices --split-input-file --verify-diagnostics
// RUN: cs336-opt %s --cs336-pipeline --split-input-file --verify-diagnostics
// RUN: cs336-opt %s --cs336-pipeline=target=cuda --split-input-file --verify-diagnostics

func.func @input(%table: tensor<97x4xf32>, %ids: tensor<3xi64> {cs336.kind = "input", cs336.name = "ids", cs336.bound = 98 : i64})
    -> tensor<3x4xf32> {
  // expected-error@below {{'cs336.embedding' op indexes the 97 rows of its table with input 'ids', whose cs336.bound is 98: declare cs336.bound = 97 or clamp the indices}}
  %x = cs336.embedding %table, %ids : tensor<97x4xf32>, tensor<3xi64> -> tensor<3x4xf32>
  return %x : tensor<3x4xf32>
}

// -----

func.func @targets(%logits: tensor<3x5xf32>, %targets: tensor<3xi64> {cs336.kind = "input", cs336.name = "targets", cs336.bound = 6 : i64})
    -> tensor<f32> {
  // expected-error@below {{'cs336.cross_entropy' op indexes the 5 classes of its logits with input 'targets', whose cs336.bound is 6}}
  %x = cs336.cross_entropy %logits, %targets : tensor<3x5xf32>, tensor<3xi64> -> tensor<f32>
  return %x : tensor<f32>
}

// -----

func.func @gradient(%g: tensor<2x4xf32>, %ids: tensor<2xi32> {cs336.kind = "input", cs336.name = "ids", cs336.bound = 6 : i64})
    -> tensor<5x4xf32> {
  // expected-error@below {{'cs336.embedding_grad' op indexes the 5 rows of its result with input 'ids', whose cs336.bound is 6}}
  %x = cs336.embedding_grad %ids, %g : tensor<2xi32>, tensor<2x4xf32> -> tensor<5x4xf32>
  return %x : tensor<5x4xf32>
}

// -----

func.func @constant(%table: tensor<97x4xf32>) -> tensor<2x3x4xf32> {
  %ids = cs336.constant dense<[[0, 1, 2], [3, 4, 97]]> : tensor<2x3xi64>
  // expected-error@below {{'cs336.embedding' op indexes the 97 rows of its table with a constant that contains 97 at [1, 2]: every index must be in [0, 97)}}
  %x = cs336.embedding %table, %ids : tensor<97x4xf32>, tensor<2x3xi64> -> tensor<2x3x4xf32>
  return %x : tensor<2x3x4xf32>
}

// -----

func.func @splat(%table: tensor<97x1xf32>) -> tensor<268435456x1xf32> {
  %ids = cs336.constant dense<-1> : tensor<268435456xi32>
  // expected-error@below {{a constant that contains -1 at [0]: every index must be in [0, 97)}}
  %x = cs336.embedding %table, %ids : tensor<97x1xf32>, tensor<268435456xi32> -> tensor<268435456x1xf32>
  return %x : tensor<268435456x1xf32>
}

// -----

func.func @scalar(%table: tensor<97x4xf32>) -> tensor<4xf32> {
  %id = cs336.constant dense<97> : tensor<i64>
  // expected-error@below {{a constant that contains 97 at []: every index must be in [0, 97)}}
  %x = cs336.embedding %table, %id : tensor<97x4xf32>, tensor<i64> -> tensor<4xf32>
  return %x : tensor<4xf32>
}

// -----

func.func @outside(%table: tensor<97x4xf32>, %ids: tensor<3xi64> {cs336.kind = "input", cs336.name = "ids", cs336.bound = 9 : i64})
    -> tensor<3x4xf32> {
  %c = cs336.constant dense<100> : tensor<3xi64>
  %sum = cs336.add %ids, %c : tensor<3xi64>
  // expected-error@below {{with integers from 100 to 108: every index must be in [0, 97)}}
  %x = cs336.embedding %table, %sum : tensor<97x4xf32>, tensor<3xi64> -> tensor<3x4xf32>
  return %x : tensor<3x4xf32>
}

// -----

func.func @group(%table: tensor<97x4xf32>, %ids: tensor<3xi64> {cs336.kind = "input", cs336.name = "ids", cs336.bound = 97 : i64})
    -> tensor<3x4xf32> {
  %y = cs336.fused(%table, %ids) {
  ^bb0(%t: tensor<97x4xf32>, %i: tensor<3xi64>):
    %next = cs336.add %i, %i : tensor<3xi64>
    // expected-error@below {{with integers without a known range that its group computes: compute them outside the group}}
    %x = cs336.embedding %t, %next : tensor<97x4xf32>, tensor<3xi64> -> tensor<3x4xf32>
    cs336.yield %x : tensor<3x4xf32>
  } : (tensor<97x4xf32>, tensor<3xi64>) -> tensor<3x4xf32>
  return %y : tensor<3x4xf32>
}
