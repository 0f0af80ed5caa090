// A bucket of several gradients has at most 256 MiB, unless a size is given. A twentieth of all gradients has 435 MiB
// here, each matrix except the first one 128, and the first one 8192.

// RUN: cs336-opt %s --cs336-distribute='world-size=2' | FileCheck %s
// RUN: cs336-opt %s --cs336-distribute='world-size=2 bucket-mib=auto' | FileCheck %s --check-prefix=AUTO
// RUN: cs336-opt %s --cs336-distribute='world-size=2 bucket-mib=300' | FileCheck %s --check-prefix=GIVEN

// CHECK: cs336.collective all_reduce mean(%{{[0-9]+}}) group = 2 : (tensor<65536x32768xf32>)
// CHECK: cs336.collective all_reduce mean(%{{[0-9]+}}, %{{[0-9]+}}) group = 2
// CHECK: cs336.collective all_reduce mean(%{{[0-9]+}}, %{{[0-9]+}}) group = 2
// CHECK-NOT: cs336.collective

// AUTO: cs336.collective all_reduce mean(%{{[0-9]+}}) group = 2 : (tensor<65536x32768xf32>)
// AUTO-NOT: mean(%{{[0-9]+}}, %{{[0-9]+}}, %

// GIVEN: cs336.collective all_reduce mean(%{{[0-9]+}}) group = 2 : (tensor<65536x32768xf32>)
// GIVEN: cs336.collective all_reduce mean(%{{[0-9]+}}, %{{[0-9]+}}, %{{[0-9]+}}) group = 2
// GIVEN: cs336.collective all_reduce mean(%{{[0-9]+}}) group = 2 : (tensor<8192x4096xf32>)
func.func @train(%large: tensor<65536x32768xf32> {cs336.kind = "parameter", cs336.name = "large"},
                 %w0: tensor<8192x4096xf32> {cs336.kind = "parameter", cs336.name = "w0"},
                 %w1: tensor<8192x4096xf32> {cs336.kind = "parameter", cs336.name = "w1"},
                 %w2: tensor<8192x4096xf32> {cs336.kind = "parameter", cs336.name = "w2"},
                 %w3: tensor<8192x4096xf32> {cs336.kind = "parameter", cs336.name = "w3"})
    -> (tensor<65536x32768xf32> {cs336.kind = "gradient", cs336.name = "large"},
        tensor<8192x4096xf32> {cs336.kind = "gradient", cs336.name = "w0"},
        tensor<8192x4096xf32> {cs336.kind = "gradient", cs336.name = "w1"},
        tensor<8192x4096xf32> {cs336.kind = "gradient", cs336.name = "w2"},
        tensor<8192x4096xf32> {cs336.kind = "gradient", cs336.name = "w3"})
    attributes {cs336.mode = #cs336.mode<train>} {
  %0 = cs336.neg %large : tensor<65536x32768xf32>
  %1 = cs336.neg %w0 : tensor<8192x4096xf32>
  %2 = cs336.neg %w1 : tensor<8192x4096xf32>
  %3 = cs336.neg %w2 : tensor<8192x4096xf32>
  %4 = cs336.neg %w3 : tensor<8192x4096xf32>
  return %0, %1, %2, %3, %4 : tensor<65536x32768xf32>, tensor<8192x4096xf32>, tensor<8192x4096xf32>, tensor<8192x4096xf32>, tensor<8192x4096xf32>
}
