// RUN: cs336-opt --exec-fuse-updates=always=true --mlir-print-debuginfo=false %s | FileCheck %s
// RUN: cs336-opt --exec-fuse-updates=always=true %s -o %t.once.mlir
// RUN: cs336-opt --exec-fuse-updates=always=true %t.once.mlir | diff %t.once.mlir -
// RUN: cs336-opt --exec-fuse-updates=always=true --pass-statistics %s 2>&1 >/dev/null | FileCheck %s --check-prefix=COUNTS
// RUN: cs336-opt --exec-fuse-updates=always=true --remarks-filter=exec-fuse-updates %s 2>&1 >/dev/null | FileCheck %s --check-prefix=REMARK
// Small updates stay apart, and all of them where an architecture has no wgmma or the architecture is not known.
// RUN: cs336-opt --exec-fuse-updates --mlir-print-debuginfo=false %s | FileCheck %s --check-prefix=APART
// RUN: sed 's/"sm_90a"/"sm_90a", "sm_80"/' %s | cs336-opt --exec-fuse-updates=always=true --mlir-print-debuginfo=false | FileCheck %s --check-prefix=APART
// RUN: sed 's/exec.architectures = \["sm_90a"\]//' %s | cs336-opt --exec-fuse-updates=always=true --mlir-print-debuginfo=false | FileCheck %s --check-prefix=APART

// COUNTS: exec-fuse-updates num-updates {{ *}}9  Number of GEMMs that became part of the update by their result
// COUNTS: exec-fuse-updates num-launches {{ *}}8  Number of launches that do both

// APART-NOT: cs336.matmul
// APART: exec.gemm
// APART: exec.launch @step_a

module attributes {exec.architectures = ["sm_90a"]} {
exec.variable @a parameter : memref<128x64xf32>
exec.variable @b parameter : memref<64x192xf32>
exec.variable @c parameter : memref<64x64xf32>
exec.variable @c.rounded derived : memref<64x64xbf16>
exec.variable @d parameter : memref<64x64xf32>
exec.variable @d.rounded derived : memref<64x64xbf16>
exec.variable @e parameter : memref<256x64xf32>
exec.variable @count state : memref<f32>

exec.kernel @step_a(%p: tensor<128x64xf32>, %g: tensor<128x64xbf16>, %s: tensor<f32>)
    : (memref<128x64xf32>, memref<128x64xbf16>, memref<f32>) -> memref<128x64xf32> {
  %0 = cs336.cast %g : tensor<128x64xbf16> -> tensor<128x64xf32>
  %1 = cs336.broadcast %s dims = [] : tensor<f32> -> tensor<128x64xf32>
  %2 = cs336.mul %0, %1 : tensor<128x64xf32>
  %3 = cs336.sub %p, %2 : tensor<128x64xf32>
  exec.yield %3 : tensor<128x64xf32>
}
exec.kernel @step_b(%p: tensor<64x192xf32>, %g: tensor<64x192xbf16>, %s: tensor<f32>)
    : (memref<64x192xf32>, memref<64x192xbf16>, memref<f32>) -> memref<64x192xf32> {
  %0 = cs336.cast %g : tensor<64x192xbf16> -> tensor<64x192xf32>
  %1 = cs336.broadcast %s dims = [] : tensor<f32> -> tensor<64x192xf32>
  %2 = cs336.mul %0, %1 : tensor<64x192xf32>
  %3 = cs336.sub %p, %2 : tensor<64x192xf32>
  exec.yield %3 : tensor<64x192xf32>
}
exec.kernel @step_c(%p: tensor<64x64xf32>, %g: tensor<64x64xbf16>)
    : (memref<64x64xf32>, memref<64x64xbf16>) -> (memref<64x64xf32>, memref<64x64xbf16>) {
  %0 = cs336.cast %g : tensor<64x64xbf16> -> tensor<64x64xf32>
  %1 = cs336.sub %p, %0 : tensor<64x64xf32>
  %2 = cs336.cast %1 : tensor<64x64xf32> -> tensor<64x64xbf16>
  exec.yield %1, %2 : tensor<64x64xf32>, tensor<64x64xbf16>
}
exec.kernel @next(%c: tensor<f32>) : (memref<f32>) -> (memref<f32>, memref<f32>) {
  %0 = cs336.constant dense<1.0> : tensor<f32>
  %1 = cs336.add %c, %0 : tensor<f32>
  %2 = cs336.exp %1 : tensor<f32>
  exec.yield %1, %2 : tensor<f32>, tensor<f32>
}
exec.kernel @negate(%x: tensor<40x64xbf16>) : (memref<40x64xbf16>) -> memref<40x64xbf16> {
  %0 = cs336.neg %x : tensor<40x64xbf16>
  exec.yield %0 : tensor<40x64xbf16>
}
exec.kernel @read(%x: tensor<128x64xf32>) : (memref<128x64xf32>) -> memref<128x64xf32> {
  %0 = cs336.neg %x : tensor<128x64xf32>
  exec.yield %0 : tensor<128x64xf32>
}
exec.kernel @total(%g: tensor<128x64xbf16>) : (memref<128x64xbf16>) -> memref<f32> {
  %0 = cs336.cast %g : tensor<128x64xbf16> -> tensor<128x64xf32>
  %1 = cs336.reduce sum %0 axes = [0, 1] : tensor<128x64xf32> -> tensor<f32>
  exec.yield %1 : tensor<f32>
}

// The kernels of the launches that are left.
// CHECK-NOT: exec.kernel @step_b
// CHECK: exec.kernel @matmul_cast_mul_sub_[[ONE:[0-9a-f]{4}]](%[[P:.*]]: tensor<128x64xf32>, %[[L:.*]]: tensor<128x40xbf16>, %[[R:.*]]: tensor<40x64xbf16>, %[[S:.*]]: tensor<f32>) :
// CHECK-SAME: (memref<128x64xf32>, memref<128x40xbf16, strided<[1, 128]>>, memref<40x64xbf16>, memref<f32>) -> memref<128x64xf32>
// CHECK-NEXT: %[[G:.*]] = cs336.matmul %[[L]], %[[R]] : tensor<128x40xbf16>, tensor<40x64xbf16> -> tensor<128x64xbf16>
// CHECK-NEXT: cs336.cast %[[G]]
// CHECK: exec.kernel @matmul_cast_mul_sub_batch_[[BATCH:[0-9a-f]{4}]](
// CHECK-COUNT-2: cs336.matmul
// CHECK: exec.kernel @[[STORES:matmul_cast_mul_sub_[0-9a-f]{4}]]({{.*}}) -> (memref<128x64xf32>, memref<128x64xbf16>) {
// CHECK-NEXT: %[[G:.*]] = cs336.matmul
// CHECK: exec.yield %{{.*}}, %[[G]] : tensor<128x64xf32>, tensor<128x64xbf16>

// Two updates become one launch after the second GEMM. What the update of the step's number gives is needed before.
// CHECK-LABEL: exec.entry @two
// CHECK: exec.launch @next
// CHECK-NEXT: exec.launch @matmul_cast_mul_sub_batch_[[BATCH]] ins(%a, %{{[0-9]+}}, %y, %b, %{{[0-9]+}}, %v, %{{[0-9]+}} : {{.*}}) outs(%a, %b :
// CHECK-NOT: exec.gemm
// REMARK-DAG: Remark="2 updates with the GEMMs of their gradients in one launch of 4 tiles"
exec.entry @two mode<train> {
  %a = exec.get @a : memref<128x64xf32>
  %b = exec.get @b : memref<64x192xf32>
  %count = exec.get @count : memref<f32>
  %xt = exec.input "x" : memref<40x128xbf16>
  %x = exec.view %xt : memref<40x128xbf16> to memref<128x40xbf16, strided<[1, 128]>>
  %y = exec.input "y" : memref<40x64xbf16>
  %ut = exec.input "u" : memref<33x64xbf16>
  %u = exec.view %ut : memref<33x64xbf16> to memref<64x33xbf16, strided<[1, 64]>>
  %v = exec.input "v" : memref<33x192xbf16>
  %ga = exec.alloc : memref<128x64xbf16>
  exec.gemm ins(%x, %y : memref<128x40xbf16, strided<[1, 128]>>, memref<40x64xbf16>) outs(%ga : memref<128x64xbf16>)
  %gb = exec.alloc : memref<64x192xbf16>
  exec.gemm ins(%u, %v : memref<64x33xbf16, strided<[1, 64]>>, memref<33x192xbf16>) outs(%gb : memref<64x192xbf16>)
  %s = exec.alloc : memref<f32>
  exec.launch @next ins(%count : memref<f32>) outs(%count, %s : memref<f32>, memref<f32>)
  exec.launch @step_b ins(%b, %gb, %s : memref<64x192xf32>, memref<64x192xbf16>, memref<f32>) outs(%b : memref<64x192xf32>)
  exec.launch @step_a ins(%a, %ga, %s : memref<128x64xf32>, memref<128x64xbf16>, memref<f32>) outs(%a : memref<128x64xf32>)
}

// An update follows what reads the parameter.
// CHECK-LABEL: exec.entry @read_later
// CHECK: exec.launch @read ins(%a
// CHECK-NEXT: exec.launch @matmul_cast_mul_sub_[[ONE]] ins(%a, %{{[0-9]+}}, %y, %s
exec.entry @read_later mode<train> {
  %a = exec.get @a : memref<128x64xf32>
  %xt = exec.input "x" : memref<40x128xbf16>
  %x = exec.view %xt : memref<40x128xbf16> to memref<128x40xbf16, strided<[1, 128]>>
  %y = exec.input "y" : memref<40x64xbf16>
  %s = exec.input "s" : memref<f32>
  %out = exec.output "out" output : memref<128x64xf32>
  %g = exec.alloc : memref<128x64xbf16>
  exec.gemm ins(%x, %y : memref<128x40xbf16, strided<[1, 128]>>, memref<40x64xbf16>) outs(%g : memref<128x64xbf16>)
  exec.launch @read ins(%a : memref<128x64xf32>) outs(%out : memref<128x64xf32>)
  exec.launch @step_a ins(%a, %g, %s : memref<128x64xf32>, memref<128x64xbf16>, memref<f32>) outs(%a : memref<128x64xf32>)
}

// The storage of what a launch writes moves with it, and so do views of it.
// CHECK-LABEL: exec.entry @storage
// CHECK: %[[RESULT:.*]] = exec.alloc : memref<64x128xf32>
// CHECK-NEXT: %[[VIEW:.*]] = exec.view %[[RESULT]]
// CHECK-NEXT: exec.launch @matmul_cast_mul_sub_[[ONE]] ins(%a, %{{[0-9]+}}, %y, %s : {{.*}}) outs(%[[VIEW]] :
// CHECK: exec.launch @negate
exec.entry @storage mode<train> {
  %a = exec.get @a : memref<128x64xf32>
  %xt = exec.input "x" : memref<40x128xbf16>
  %x = exec.view %xt : memref<40x128xbf16> to memref<128x40xbf16, strided<[1, 128]>>
  %y = exec.input "y" : memref<40x64xbf16>
  %s = exec.input "s" : memref<f32>
  %z = exec.output "z" output : memref<40x64xbf16>
  %out = exec.output "out" output : memref<128x64xf32>
  %g = exec.alloc : memref<128x64xbf16>
  exec.gemm ins(%x, %y : memref<128x40xbf16, strided<[1, 128]>>, memref<40x64xbf16>) outs(%g : memref<128x64xbf16>)
  exec.launch @negate ins(%y : memref<40x64xbf16>) outs(%z : memref<40x64xbf16>)
  %r = exec.alloc : memref<64x128xf32>
  %v = exec.view %r : memref<64x128xf32> to memref<128x64xf32>
  exec.launch @step_a ins(%a, %g, %s : memref<128x64xf32>, memref<128x64xbf16>, memref<f32>) outs(%v : memref<128x64xf32>)
  exec.launch @read ins(%v : memref<128x64xf32>) outs(%out : memref<128x64xf32>)
}

// The first group ends before an operand of its GEMM is overwritten.
// CHECK-LABEL: exec.entry @overwritten
// CHECK: exec.launch @matmul_cast_mul_sub_{{.*}} ins(%a, %{{[0-9]+}}, %z, %s
// CHECK-NEXT: exec.launch @negate
// CHECK-NEXT: exec.launch @matmul_cast_mul_sub_{{.*}} ins(%b, %{{[0-9]+}}, %v, %s
exec.entry @overwritten mode<train> {
  %a = exec.get @a : memref<128x64xf32>
  %b = exec.get @b : memref<64x192xf32>
  %xt = exec.input "x" : memref<40x128xbf16>
  %x = exec.view %xt : memref<40x128xbf16> to memref<128x40xbf16, strided<[1, 128]>>
  %y = exec.input "y" : memref<40x64xbf16>
  %ut = exec.input "u" : memref<33x64xbf16>
  %u = exec.view %ut : memref<33x64xbf16> to memref<64x33xbf16, strided<[1, 64]>>
  %v = exec.input "v" : memref<33x192xbf16>
  %s = exec.input "s" : memref<f32>
  %z = exec.output "z" output : memref<40x64xbf16>
  exec.launch @negate ins(%y : memref<40x64xbf16>) outs(%z : memref<40x64xbf16>)
  %ga = exec.alloc : memref<128x64xbf16>
  exec.gemm ins(%x, %z : memref<128x40xbf16, strided<[1, 128]>>, memref<40x64xbf16>) outs(%ga : memref<128x64xbf16>)
  exec.launch @negate ins(%z : memref<40x64xbf16>) outs(%z : memref<40x64xbf16>)
  %gb = exec.alloc : memref<64x192xbf16>
  exec.gemm ins(%u, %v : memref<64x33xbf16, strided<[1, 64]>>, memref<33x192xbf16>) outs(%gb : memref<64x192xbf16>)
  exec.launch @step_a ins(%a, %ga, %s : memref<128x64xf32>, memref<128x64xbf16>, memref<f32>) outs(%a : memref<128x64xf32>)
  exec.launch @step_b ins(%b, %gb, %s : memref<64x192xf32>, memref<64x192xbf16>, memref<f32>) outs(%b : memref<64x192xf32>)
}

// A gradient with another reader, here the sum of its elements, is stored. So is one whose update waits for that sum.
// CHECK-LABEL: exec.entry @clipped
// CHECK: exec.gemm
// CHECK-NEXT: exec.alloc
// CHECK-NEXT: exec.launch @total
// CHECK-NEXT: exec.launch @step_a
exec.entry @clipped mode<train> {
  %a = exec.get @a : memref<128x64xf32>
  %xt = exec.input "x" : memref<40x128xbf16>
  %x = exec.view %xt : memref<40x128xbf16> to memref<128x40xbf16, strided<[1, 128]>>
  %y = exec.input "y" : memref<40x64xbf16>
  %g = exec.alloc : memref<128x64xbf16>
  exec.gemm ins(%x, %y : memref<128x40xbf16, strided<[1, 128]>>, memref<40x64xbf16>) outs(%g : memref<128x64xbf16>)
  %s = exec.alloc : memref<f32>
  exec.launch @total ins(%g : memref<128x64xbf16>) outs(%s : memref<f32>)
  exec.launch @step_a ins(%a, %g, %s : memref<128x64xf32>, memref<128x64xbf16>, memref<f32>) outs(%a : memref<128x64xf32>)
}

// CHECK-LABEL: exec.entry @waits
// CHECK-COUNT-2: exec.gemm
// CHECK: exec.launch @total
// CHECK: exec.launch @step_a
// REMARK-DAG: Remark="step_a stays apart from the GEMM that computes its gradient: the update has to wait for other commands"
exec.entry @waits mode<train> {
  %a = exec.get @a : memref<128x64xf32>
  %xt = exec.input "x" : memref<40x128xbf16>
  %x = exec.view %xt : memref<40x128xbf16> to memref<128x40xbf16, strided<[1, 128]>>
  %y = exec.input "y" : memref<40x64xbf16>
  %g = exec.alloc : memref<128x64xbf16>
  exec.gemm ins(%x, %y : memref<128x40xbf16, strided<[1, 128]>>, memref<40x64xbf16>) outs(%g : memref<128x64xbf16>)
  %h = exec.alloc : memref<128x64xbf16>
  exec.gemm ins(%x, %y : memref<128x40xbf16, strided<[1, 128]>>, memref<40x64xbf16>) outs(%h : memref<128x64xbf16>)
  %s = exec.alloc : memref<f32>
  exec.launch @total ins(%h : memref<128x64xbf16>) outs(%s : memref<f32>)
  exec.launch @step_a ins(%a, %g, %s : memref<128x64xf32>, memref<128x64xbf16>, memref<f32>) outs(%a : memref<128x64xf32>)
}

// The gradient of a factor depends on the other factor, so it is computed before the update of that one.
// CHECK-LABEL: exec.entry @factors
// CHECK: exec.launch @matmul_cast_sub_cast_[[FACTOR:[0-9a-f]{4}]] ins(%c, %{{[0-9]+}}, %d.rounded
// CHECK-NEXT: exec.launch @matmul_cast_sub_cast_[[FACTOR]] ins(%d, %{{[0-9]+}}, %y
exec.entry @factors mode<train> {
  %c = exec.get @c : memref<64x64xf32>
  %c.rounded = exec.get @c.rounded : memref<64x64xbf16>
  %d = exec.get @d : memref<64x64xf32>
  %d.rounded = exec.get @d.rounded : memref<64x64xbf16>
  %xt = exec.input "x" : memref<64x64xbf16>
  %x = exec.view %xt : memref<64x64xbf16> to memref<64x64xbf16, strided<[1, 64]>>
  %y = exec.input "y" : memref<64x64xbf16>
  %gc = exec.alloc : memref<64x64xbf16>
  exec.gemm ins(%x, %d.rounded : memref<64x64xbf16, strided<[1, 64]>>, memref<64x64xbf16>) outs(%gc : memref<64x64xbf16>)
  %gd = exec.alloc : memref<64x64xbf16>
  exec.gemm ins(%x, %y : memref<64x64xbf16, strided<[1, 64]>>, memref<64x64xbf16>) outs(%gd : memref<64x64xbf16>)
  exec.launch @step_c ins(%d, %gd : memref<64x64xf32>, memref<64x64xbf16>) outs(%d, %d.rounded : memref<64x64xf32>, memref<64x64xbf16>)
  exec.launch @step_c ins(%c, %gc : memref<64x64xf32>, memref<64x64xbf16>) outs(%c, %c.rounded : memref<64x64xf32>, memref<64x64xbf16>)
}

// A kernel cannot read what it overwrites at the same time: this gradient depends on the parameter itself.
// CHECK-LABEL: exec.entry @square
// CHECK: exec.gemm ins(%{{[0-9]+}}, %d.rounded
// CHECK-NEXT: exec.launch @step_c ins(%d
// REMARK-DAG: Remark="step_c stays apart from the GEMM that computes its gradient: the GEMM reads what an update writes"
exec.entry @square mode<train> {
  %d = exec.get @d : memref<64x64xf32>
  %d.rounded = exec.get @d.rounded : memref<64x64xbf16>
  %xt = exec.input "x" : memref<64x64xbf16>
  %x = exec.view %xt : memref<64x64xbf16> to memref<64x64xbf16, strided<[1, 64]>>
  %gd = exec.alloc : memref<64x64xbf16>
  exec.gemm ins(%x, %d.rounded : memref<64x64xbf16, strided<[1, 64]>>, memref<64x64xbf16>) outs(%gd : memref<64x64xbf16>)
  exec.launch @step_c ins(%d, %gd : memref<64x64xf32>, memref<64x64xbf16>) outs(%d, %d.rounded : memref<64x64xf32>, memref<64x64xbf16>)
}
// An all-gather of the gradient reads it too. The launch stores the gradient in its place among the rows of all ranks, and
// the gather follows the launch.
// CHECK-LABEL: exec.entry @gathered
// CHECK: %[[VALUES:.*]] = exec.view %e : memref<256x64xf32> to memref<2x128x64xf32>
// CHECK-NEXT: %[[OWN:.*]] = exec.part %[[VALUES]] : memref<2x128x64xf32> -> memref<128x64xf32>
// CHECK: %[[ALL:.*]] = exec.alloc : memref<256x64xbf16>
// CHECK-NEXT: %[[GRADIENTS:.*]] = exec.view %[[ALL]] : memref<256x64xbf16> to memref<2x128x64xbf16>
// CHECK-NEXT: %[[GRADIENT:.*]] = exec.part %[[GRADIENTS]] : memref<2x128x64xbf16> -> memref<128x64xbf16>
// CHECK-NEXT: exec.launch @[[STORES]] ins(%[[OWN]], %{{[0-9]+}}, %y, %s : {{.*}}) outs(%[[OWN]], %[[GRADIENT]] : memref<128x64xf32>, memref<128x64xbf16>)
// CHECK-NEXT: exec.collective all_gather ins(%[[GRADIENT]] : memref<128x64xbf16>) outs(%[[ALL]] : memref<256x64xbf16>) group = 2
// CHECK: exec.launch @step_a
// CHECK-NOT: exec.gemm
exec.entry @gathered mode<train> {
  %e = exec.get @e : memref<256x64xf32>
  %xt = exec.input "x" : memref<40x128xbf16>
  %x = exec.view %xt : memref<40x128xbf16> to memref<128x40xbf16, strided<[1, 128]>>
  %y = exec.input "y" : memref<40x64xbf16>
  %s = exec.input "s" : memref<f32>
  %g = exec.alloc : memref<128x64xbf16>
  exec.gemm ins(%x, %y : memref<128x40xbf16, strided<[1, 128]>>, memref<40x64xbf16>) outs(%g : memref<128x64xbf16>)
  %all = exec.alloc : memref<256x64xbf16>
  exec.collective all_gather ins(%g : memref<128x64xbf16>) outs(%all : memref<256x64xbf16>) group = 2
  %values = exec.view %e : memref<256x64xf32> to memref<2x128x64xf32>
  %own = exec.part %values : memref<2x128x64xf32> -> memref<128x64xf32>
  exec.launch @step_a ins(%own, %g, %s : memref<128x64xf32>, memref<128x64xbf16>, memref<f32>) outs(%own : memref<128x64xf32>)
  %next = exec.part rank + 1 of %values : memref<2x128x64xf32> -> memref<128x64xf32>
  %gradients = exec.view %all : memref<256x64xbf16> to memref<2x128x64xbf16>
  %other = exec.part rank + 1 of %gradients : memref<2x128x64xbf16> -> memref<128x64xbf16>
  exec.launch @step_a ins(%next, %other, %s : memref<128x64xf32>, memref<128x64xbf16>, memref<f32>) outs(%next : memref<128x64xf32>)
}
// A kernel stores gradients only for an all-gather.
// CHECK-LABEL: exec.entry @reduced
// CHECK: exec.gemm
// CHECK-NEXT: exec.collective all_reduce
// CHECK-NEXT: exec.launch @step_a
exec.entry @reduced mode<train> {
  %a = exec.get @a : memref<128x64xf32>
  %xt = exec.input "x" : memref<40x128xbf16>
  %x = exec.view %xt : memref<40x128xbf16> to memref<128x40xbf16, strided<[1, 128]>>
  %y = exec.input "y" : memref<40x64xbf16>
  %s = exec.input "s" : memref<f32>
  %sum = exec.output "sum" output : memref<128x64xbf16>
  %g = exec.alloc : memref<128x64xbf16>
  exec.gemm ins(%x, %y : memref<128x40xbf16, strided<[1, 128]>>, memref<40x64xbf16>) outs(%g : memref<128x64xbf16>)
  exec.collective all_reduce sum ins(%g : memref<128x64xbf16>) outs(%sum : memref<128x64xbf16>) group = 2
  exec.launch @step_a ins(%a, %g, %s : memref<128x64xf32>, memref<128x64xbf16>, memref<f32>) outs(%a : memref<128x64xf32>)
}// The gather cannot move behind a command that overwrites another of its operands.
// CHECK-LABEL: exec.entry @stale
// CHECK: exec.gemm
// CHECK: exec.collective all_gather
// CHECK-NEXT: exec.copy
// CHECK: exec.launch @step_a
// CHECK: exec.launch @step_a
exec.entry @stale mode<train> {
  %e = exec.get @e : memref<256x64xf32>
  %xt = exec.input "x" : memref<40x128xbf16>
  %x = exec.view %xt : memref<40x128xbf16> to memref<128x40xbf16, strided<[1, 128]>>
  %y = exec.input "y" : memref<40x64xbf16>
  %h0 = exec.input "h0" : memref<128x64xbf16>
  %h1 = exec.input "h1" : memref<128x64xbf16>
  %count = exec.get @count : memref<f32>
  %hs = exec.output "hs" output : memref<256x64xbf16>
  %h = exec.alloc : memref<128x64xbf16>
  exec.copy ins(%h0 : memref<128x64xbf16>) outs(%h : memref<128x64xbf16>)
  %g = exec.alloc : memref<128x64xbf16>
  exec.gemm ins(%x, %y : memref<128x40xbf16, strided<[1, 128]>>, memref<40x64xbf16>) outs(%g : memref<128x64xbf16>)
  %all = exec.alloc : memref<256x64xbf16>
  exec.collective all_gather ins(%g, %h : memref<128x64xbf16>, memref<128x64xbf16>) outs(%all, %hs : memref<256x64xbf16>, memref<256x64xbf16>) group = 2
  exec.copy ins(%h1 : memref<128x64xbf16>) outs(%h : memref<128x64xbf16>)
  %s = exec.input "s" : memref<f32>
  %old = exec.output "old" output : memref<256x64xf32>
  exec.copy ins(%e : memref<256x64xf32>) outs(%old : memref<256x64xf32>)
  %values = exec.view %e : memref<256x64xf32> to memref<2x128x64xf32>
  %own = exec.part %values : memref<2x128x64xf32> -> memref<128x64xf32>
  exec.launch @step_a ins(%own, %g, %s : memref<128x64xf32>, memref<128x64xbf16>, memref<f32>) outs(%own : memref<128x64xf32>)
  %next = exec.part rank + 1 of %values : memref<2x128x64xf32> -> memref<128x64xf32>
  %gradients = exec.view %all : memref<256x64xbf16> to memref<2x128x64xbf16>
  %other = exec.part rank + 1 of %gradients : memref<2x128x64xbf16> -> memref<128x64xbf16>
  exec.launch @step_a ins(%next, %other, %s : memref<128x64xf32>, memref<128x64xbf16>, memref<f32>) outs(%next : memref<128x64xf32>)
}}
