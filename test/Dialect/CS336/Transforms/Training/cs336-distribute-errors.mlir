// RUN: cs336-opt %s --split-input-file --cs336-distribute=world-size=2 --verify-diagnostics
// RUN: not cs336-opt %s --split-input-file --cs336-distribute=world-size=0 2>&1 | FileCheck %s --check-prefix=WORLD
// RUN: not cs336-opt %s --split-input-file --cs336-distribute='world-size=2 bucket-mib=-1' 2>&1 | FileCheck %s --check-prefix=BUCKET
// RUN: not cs336-opt %s --split-input-file --cs336-distribute='world-size=2 bucket-mib=nan' 2>&1 | FileCheck %s --check-prefix=NAN
// RUN: not cs336-opt %s --split-input-file --cs336-distribute='world-size=2 predict-on=h300' 2>&1 | FileCheck %s --check-prefix=DEVICE
// RUN: not cs336-opt %s --split-input-file --cs336-distribute='world-size=2 mode=zero1 prefetch=-2' 2>&1 | FileCheck %s --check-prefix=PREFETCH
// RUN: not cs336-opt %s --split-input-file --cs336-distribute='world-size=2 mode=zero1 gather-layers=0' 2>&1 | FileCheck %s --check-prefix=LAYERS
// RUN: not cs336-opt %s --split-input-file --cs336-distribute='world-size=2 mode=zero1 factors=-0.5' 2>&1 | FileCheck %s --check-prefix=FACTORS
// RUN: not cs336-opt %s --split-input-file --cs336-distribute='world-size=2 mode=zero1' 2>&1 | FileCheck %s --check-prefix=SHARDED
// RUN: not cs336-opt %s --cs336-distribute=mode=ring 2>&1 | FileCheck %s --check-prefix=MODE

// WORLD: cannot be distributed: world-size is 0, must be at least 1
// BUCKET: cannot be distributed: bucket-mib is -1.00, must be above 0, or 0 for a size by the gradients
// NAN: for the --bucket-mib option: 'nan' is neither a finite number of MiB nor auto
// DEVICE: cannot be distributed: unknown predict-on 'h300': expected h200, h100, a100 or cpu
// PREFETCH: cannot be distributed: prefetch is -2, must not be negative, except -1, which chooses it by the mode
// LAYERS: cannot be distributed: gather-layers is 0, must be at least 1
// FACTORS: cannot be distributed: factors is -0.50, must not be negative
// MODE: unknown mode 'ring': expected per-parameter, flat, overlap, bucket, zero1 or fsdp

// expected-error@+1 {{returns no gradients to average over ranks; run --cs336-distribute after --cs336-differentiate and before --cs336-optimizer}}
func.func @no_gradients(%a: tensor<f32> {cs336.kind = "parameter", cs336.name = "a"}) -> (tensor<f32> {cs336.kind = "output", cs336.name = "loss"})
    attributes {cs336.mode = #cs336.mode<train>} {
  return %a : tensor<f32>
}

// -----

// expected-error@+1 {{has several blocks; only straight-line functions are distributed}}
func.func @blocks(%a: tensor<f32> {cs336.kind = "parameter", cs336.name = "a"}) -> (tensor<f32> {cs336.kind = "gradient", cs336.name = "a"})
    attributes {cs336.mode = #cs336.mode<train>} {
  cf.br ^next
^next:
  return %a : tensor<f32>
}

// -----

// The new value would have to be divided, too.
// SHARDED: 'func.func' op returns the new value of 'w', which would be sharded; run --cs336-distribute before --cs336-optimizer
func.func @updated(%w: tensor<4x4xf32> {cs336.kind = "parameter", cs336.name = "w"})
    -> (tensor<4x4xf32> {cs336.kind = "parameter", cs336.name = "w"}, tensor<4x4xf32> {cs336.kind = "gradient", cs336.name = "w"})
    attributes {cs336.mode = #cs336.mode<train>} {
  %g = cs336.neg %w : tensor<4x4xf32>
  return %w, %g : tensor<4x4xf32>, tensor<4x4xf32>
}
