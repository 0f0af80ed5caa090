// A sum of factors is computed when the exchange of four more buckets has begun, or of two in mode fsdp: the last sums
// follow all exchanges. Each bucket has one gradient here.
// RUN: cs336-opt %s --cs336-distribute='world-size=2 mode=zero1 factors=9 bucket-mib=0.0001' | grep -E 'all_to_all|all_gather|matmul' > %t.zero1
// RUN: FileCheck %s --input-file=%t.zero1
// RUN: cs336-opt %s --cs336-distribute='world-size=2 mode=fsdp factors=9 bucket-mib=0.0001' | grep -E 'all_to_all|all_gather|matmul' > %t.fsdp
// RUN: FileCheck %s --check-prefix=FSDP --input-file=%t.fsdp

// CHECK: all_to_all
// CHECK-NEXT: all_gather
// CHECK-NEXT: all_to_all
// CHECK-NEXT: all_gather
// CHECK-NEXT: all_to_all
// CHECK-NEXT: all_gather
// CHECK-NEXT: all_to_all
// CHECK-NEXT: all_gather
// CHECK-NEXT: all_to_all
// CHECK-NEXT: all_gather
// CHECK-NEXT: cs336.matmul {{.*}} -> tensor<64x96xbf16>
// CHECK-NEXT: all_to_all
// CHECK-NEXT: all_gather
// CHECK-COUNT-5: cs336.matmul {{.*}} -> tensor<64x96xbf16>
// CHECK-NOT: cs336

// FSDP: all_to_all
// FSDP-NEXT: all_gather
// FSDP-NEXT: all_to_all
// FSDP-NEXT: all_gather
// FSDP-NEXT: all_to_all
// FSDP-NEXT: all_gather
// FSDP-NEXT: cs336.matmul {{.*}} -> tensor<64x96xbf16>
// FSDP-NEXT: all_to_all
// FSDP-NEXT: all_gather
// FSDP-NEXT: cs336.matmul {{.*}} -> tensor<64x96xbf16>
// FSDP-NEXT: all_to_all

func.func @train(%x0: tensor<8x96xbf16> {cs336.kind = "input", cs336.name = "x0"}, %x1: tensor<8x96xbf16> {cs336.kind = "input", cs336.name = "x1"},
                 %x2: tensor<8x96xbf16> {cs336.kind = "input", cs336.name = "x2"}, %x3: tensor<8x96xbf16> {cs336.kind = "input", cs336.name = "x3"},
                 %x4: tensor<8x96xbf16> {cs336.kind = "input", cs336.name = "x4"}, %x5: tensor<8x96xbf16> {cs336.kind = "input", cs336.name = "x5"},
                 %y0: tensor<8x128xbf16> {cs336.kind = "input", cs336.name = "y0"}, %y1: tensor<8x128xbf16> {cs336.kind = "input", cs336.name = "y1"},
                 %y2: tensor<8x128xbf16> {cs336.kind = "input", cs336.name = "y2"}, %y3: tensor<8x128xbf16> {cs336.kind = "input", cs336.name = "y3"},
                 %y4: tensor<8x128xbf16> {cs336.kind = "input", cs336.name = "y4"}, %y5: tensor<8x128xbf16> {cs336.kind = "input", cs336.name = "y5"},
                 %w0: tensor<128x96xbf16> {cs336.kind = "parameter", cs336.name = "w0"}, %w1: tensor<128x96xbf16> {cs336.kind = "parameter", cs336.name = "w1"},
                 %w2: tensor<128x96xbf16> {cs336.kind = "parameter", cs336.name = "w2"}, %w3: tensor<128x96xbf16> {cs336.kind = "parameter", cs336.name = "w3"},
                 %w4: tensor<128x96xbf16> {cs336.kind = "parameter", cs336.name = "w4"}, %w5: tensor<128x96xbf16> {cs336.kind = "parameter", cs336.name = "w5"})
    -> (tensor<128x96xbf16> {cs336.kind = "gradient", cs336.name = "w0"}, tensor<128x96xbf16> {cs336.kind = "gradient", cs336.name = "w1"},
        tensor<128x96xbf16> {cs336.kind = "gradient", cs336.name = "w2"}, tensor<128x96xbf16> {cs336.kind = "gradient", cs336.name = "w3"},
        tensor<128x96xbf16> {cs336.kind = "gradient", cs336.name = "w4"}, tensor<128x96xbf16> {cs336.kind = "gradient", cs336.name = "w5"})
    attributes {cs336.mode = #cs336.mode<train>, cs336.optimizer = #cs336.optimizer<max_norm = 0.0>} {
  %d0 = cs336.matmul %y0, %x0 {transpose_a} : tensor<8x128xbf16>, tensor<8x96xbf16> -> tensor<128x96xbf16>
  %d1 = cs336.matmul %y1, %x1 {transpose_a} : tensor<8x128xbf16>, tensor<8x96xbf16> -> tensor<128x96xbf16>
  %d2 = cs336.matmul %y2, %x2 {transpose_a} : tensor<8x128xbf16>, tensor<8x96xbf16> -> tensor<128x96xbf16>
  %d3 = cs336.matmul %y3, %x3 {transpose_a} : tensor<8x128xbf16>, tensor<8x96xbf16> -> tensor<128x96xbf16>
  %d4 = cs336.matmul %y4, %x4 {transpose_a} : tensor<8x128xbf16>, tensor<8x96xbf16> -> tensor<128x96xbf16>
  %d5 = cs336.matmul %y5, %x5 {transpose_a} : tensor<8x128xbf16>, tensor<8x96xbf16> -> tensor<128x96xbf16>
  return %d0, %d1, %d2, %d3, %d4, %d5 : tensor<128x96xbf16>, tensor<128x96xbf16>, tensor<128x96xbf16>, tensor<128x96xbf16>, tensor<128x96xbf16>, tensor<128x96xbf16>
}
