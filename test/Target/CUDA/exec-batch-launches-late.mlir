// Launches that depend on the last collectives stay apart from the others, if they are a small part of all, or if the
// collectives may still run after the backward pass.
// RUN: cs336-opt --exec-batch-launches=min-members=3 --mlir-print-debuginfo=false %s | FileCheck %s
// RUN: cs336-opt --exec-batch-launches=min-members=3 %s -o %t.once.mlir
// RUN: cs336-opt --exec-batch-launches=min-members=3 %t.once.mlir | diff %t.once.mlir -
// RUN: cs336-opt --exec-batch-launches=min-members=3 --pass-statistics %s 2>&1 >/dev/null | FileCheck %s --check-prefix=COUNTS
// RUN: cs336-opt --exec-batch-launches=min-members=3 --remarks-filter-passed=exec-batch-launches %s 2>&1 >/dev/null | FileCheck %s --check-prefix=REMARK --implicit-check-not=LateApart

// A group of one rank exchanges nothing.
// RUN: sed 's/group = 2/group = 1/' %s | cs336-opt --exec-batch-launches=min-members=3 --mlir-print-debuginfo=false | FileCheck %s --check-prefix=ONE

// All collectives are before the last command of the backward pass.
// RUN: sed 's/"optimizer"/"backward"/' %s | cs336-opt --exec-batch-launches=min-members=3 --mlir-print-debuginfo=false | FileCheck %s --check-prefix=FINISHED

// COUNTS: exec-batch-launches num-launches {{ *}}25  Number of launches that became part of another
// COUNTS-NEXT: exec-batch-launches num-batches {{ *}}8  Number of launches that they became
// COUNTS: exec-batch-launches num-late {{ *}}6  Number of launches kept out of a batch that would wait for their collectives

exec.variable @a parameter : memref<28xf32>
exec.variable @b parameter : memref<28xf32>
exec.variable @c parameter : memref<28xf32>
exec.variable @d parameter : memref<12xf32>
exec.variable @e parameter : memref<6xf32>
exec.variable @f parameter : memref<6xf32>

exec.kernel @update28(%p: tensor<28xf32>, %g: tensor<28xf32>) : (memref<28xf32>, memref<28xf32>) -> memref<28xf32> {
  %0 = cs336.sub %p, %g : tensor<28xf32>
  exec.yield %0 : tensor<28xf32>
}
exec.kernel @update12(%p: tensor<12xf32>, %g: tensor<12xf32>) : (memref<12xf32>, memref<12xf32>) -> memref<12xf32> {
  %0 = cs336.sub %p, %g : tensor<12xf32>
  exec.yield %0 : tensor<12xf32>
}
exec.kernel @update6(%p: tensor<6xf32>, %g: tensor<6xf32>) : (memref<6xf32>, memref<6xf32>) -> memref<6xf32> {
  %0 = cs336.sub %p, %g : tensor<6xf32>
  exec.yield %0 : tensor<6xf32>
}

// The last collective's gradient is an eighth of all. Its update also depends on the collective through a copy.
// CHECK-LABEL: exec.entry @last
// CHECK: exec.launch @update12 ins(%d, %hd :
// CHECK-NEXT: exec.launch @sub_batch_{{.*}} ins(%a, %ga, %b, %gb, %c, %gc :
// CHECK-NOT: exec.launch
// REMARK: LateApart
// REMARK-SAME: 1 launches like this one stay apart from 3 others, which do not wait for the last collectives
// ONE-LABEL: exec.entry @last
// ONE: exec.launch @sub_batch_{{.*}} ins(%d, %hd, %a, %ga, %b, %gb, %c, %gc :
// ONE-NOT: exec.launch
// ONE-LABEL: exec.entry @two
// ONE: exec.launch @sub_batch_{{.*}} ins(%e, %ge, %a, %ga, %f, %gf, %b, %gb, %c, %gc :
// ONE-NOT: exec.launch
// ONE-LABEL: exec.entry @large
exec.entry @last mode<train> {
  %x28 = exec.input "x28" : memref<28xf32>
  %x12 = exec.input "x12" : memref<12xf32>
  %a = exec.get @a : memref<28xf32>
  %ga = exec.alloc : memref<28xf32> loc("ga")
  %b = exec.get @b : memref<28xf32>
  %gb = exec.alloc : memref<28xf32> loc("gb")
  %c = exec.get @c : memref<28xf32>
  %gc = exec.alloc : memref<28xf32> loc("gc")
  %d = exec.get @d : memref<12xf32>
  %gd = exec.alloc : memref<12xf32> loc("gd")
  %hd = exec.alloc : memref<12xf32> loc("hd")
  exec.collective all_reduce mean ins(%x28, %x28, %x28 : memref<28xf32>, memref<28xf32>, memref<28xf32>) outs(%ga, %gb, %gc : memref<28xf32>, memref<28xf32>, memref<28xf32>) group = 2
  exec.collective all_reduce mean ins(%x12 : memref<12xf32>) outs(%gd : memref<12xf32>) group = 2
  exec.copy ins(%gd : memref<12xf32>) outs(%hd : memref<12xf32>)
  exec.launch @update12 ins(%d, %hd : memref<12xf32>, memref<12xf32>) outs(%d : memref<12xf32>)
  exec.launch @update28 ins(%a, %ga : memref<28xf32>, memref<28xf32>) outs(%a : memref<28xf32>)
  exec.launch @update28 ins(%b, %gb : memref<28xf32>, memref<28xf32>) outs(%b : memref<28xf32>)
  exec.launch @update28 ins(%c, %gc : memref<28xf32>, memref<28xf32>) outs(%c : memref<28xf32>)
}

// Two collectives have an eighth together. Their updates are one launch, though fewer than min-members.
// CHECK-LABEL: exec.entry @two
// CHECK: exec.launch @sub_batch_{{.*}} ins(%e, %ge, %f, %gf :
// CHECK-NEXT: exec.launch @sub_batch_{{.*}} ins(%a, %ga, %b, %gb, %c, %gc :
// CHECK-NOT: exec.launch
// REMARK: LateApart
// REMARK-SAME: 2 launches like this one stay apart from 3 others
exec.entry @two mode<train> {
  %x28 = exec.input "x28" : memref<28xf32>
  %x6 = exec.input "x6" : memref<6xf32>
  %a = exec.get @a : memref<28xf32>
  %ga = exec.alloc : memref<28xf32> loc("ga")
  %b = exec.get @b : memref<28xf32>
  %gb = exec.alloc : memref<28xf32> loc("gb")
  %c = exec.get @c : memref<28xf32>
  %gc = exec.alloc : memref<28xf32> loc("gc")
  %e = exec.get @e : memref<6xf32>
  %ge = exec.alloc : memref<6xf32> loc("ge")
  %f = exec.get @f : memref<6xf32>
  %gf = exec.alloc : memref<6xf32> loc("gf")
  exec.collective all_reduce mean ins(%x28, %x28, %x28 : memref<28xf32>, memref<28xf32>, memref<28xf32>) outs(%ga, %gb, %gc : memref<28xf32>, memref<28xf32>, memref<28xf32>) group = 2
  exec.collective all_reduce mean ins(%x6 : memref<6xf32>) outs(%ge : memref<6xf32>) group = 2
  exec.collective all_reduce mean ins(%x6 : memref<6xf32>) outs(%gf : memref<6xf32>) group = 2
  exec.launch @update6 ins(%e, %ge : memref<6xf32>, memref<6xf32>) outs(%e : memref<6xf32>)
  exec.launch @update28 ins(%a, %ga : memref<28xf32>, memref<28xf32>) outs(%a : memref<28xf32>)
  exec.launch @update6 ins(%f, %gf : memref<6xf32>, memref<6xf32>) outs(%f : memref<6xf32>)
  exec.launch @update28 ins(%b, %gb : memref<28xf32>, memref<28xf32>) outs(%b : memref<28xf32>)
  exec.launch @update28 ins(%c, %gc : memref<28xf32>, memref<28xf32>) outs(%c : memref<28xf32>)
}

// More than an eighth.
// CHECK-LABEL: exec.entry @large
// CHECK: exec.launch @sub_batch_{{.*}} ins(%d, %gd, %a, %ga, %b, %gb, %e, %ge, %f, %gf :
// CHECK-NOT: exec.launch
exec.entry @large mode<train> {
  %x28 = exec.input "x28" : memref<28xf32>
  %x12 = exec.input "x12" : memref<12xf32>
  %x6 = exec.input "x6" : memref<6xf32>
  %a = exec.get @a : memref<28xf32>
  %ga = exec.alloc : memref<28xf32> loc("ga")
  %b = exec.get @b : memref<28xf32>
  %gb = exec.alloc : memref<28xf32> loc("gb")
  %d = exec.get @d : memref<12xf32>
  %gd = exec.alloc : memref<12xf32> loc("gd")
  %e = exec.get @e : memref<6xf32>
  %ge = exec.alloc : memref<6xf32> loc("ge")
  %f = exec.get @f : memref<6xf32>
  %gf = exec.alloc : memref<6xf32> loc("gf")
  exec.collective all_reduce mean ins(%x28, %x28, %x6, %x6 : memref<28xf32>, memref<28xf32>, memref<6xf32>, memref<6xf32>) outs(%ga, %gb, %ge, %gf : memref<28xf32>, memref<28xf32>, memref<6xf32>, memref<6xf32>) group = 2
  exec.collective all_reduce mean ins(%x12 : memref<12xf32>) outs(%gd : memref<12xf32>) group = 2
  exec.launch @update12 ins(%d, %gd : memref<12xf32>, memref<12xf32>) outs(%d : memref<12xf32>)
  exec.launch @update28 ins(%a, %ga : memref<28xf32>, memref<28xf32>) outs(%a : memref<28xf32>)
  exec.launch @update28 ins(%b, %gb : memref<28xf32>, memref<28xf32>) outs(%b : memref<28xf32>)
  exec.launch @update6 ins(%e, %ge : memref<6xf32>, memref<6xf32>) outs(%e : memref<6xf32>)
  exec.launch @update6 ins(%f, %gf : memref<6xf32>, memref<6xf32>) outs(%f : memref<6xf32>)
}

// The others would be fewer than min-members.
// CHECK-LABEL: exec.entry @few
// CHECK: exec.launch @sub_batch_{{.*}} ins(%e, %ge, %a, %ga, %b, %gb :
// CHECK-NOT: exec.launch
exec.entry @few mode<train> {
  %x28 = exec.input "x28" : memref<28xf32>
  %x6 = exec.input "x6" : memref<6xf32>
  %a = exec.get @a : memref<28xf32>
  %ga = exec.alloc : memref<28xf32> loc("ga")
  %b = exec.get @b : memref<28xf32>
  %gb = exec.alloc : memref<28xf32> loc("gb")
  %e = exec.get @e : memref<6xf32>
  %ge = exec.alloc : memref<6xf32> loc("ge")
  exec.collective all_reduce mean ins(%x28, %x28 : memref<28xf32>, memref<28xf32>) outs(%ga, %gb : memref<28xf32>, memref<28xf32>) group = 2
  exec.collective all_reduce mean ins(%x6 : memref<6xf32>) outs(%ge : memref<6xf32>) group = 2
  exec.launch @update6 ins(%e, %ge : memref<6xf32>, memref<6xf32>) outs(%e : memref<6xf32>)
  exec.launch @update28 ins(%a, %ga : memref<28xf32>, memref<28xf32>) outs(%a : memref<28xf32>)
  exec.launch @update28 ins(%b, %gb : memref<28xf32>, memref<28xf32>) outs(%b : memref<28xf32>)
}

// All depend on the last collective.
// CHECK-LABEL: exec.entry @together
// CHECK: exec.launch @sub_batch_{{.*}} ins(%d, %gd, %a, %ga, %b, %gb, %c, %gc :
// CHECK-NOT: exec.launch
exec.entry @together mode<train> {
  %x28 = exec.input "x28" : memref<28xf32>
  %x12 = exec.input "x12" : memref<12xf32>
  %a = exec.get @a : memref<28xf32>
  %ga = exec.alloc : memref<28xf32> loc("ga")
  %b = exec.get @b : memref<28xf32>
  %gb = exec.alloc : memref<28xf32> loc("gb")
  %c = exec.get @c : memref<28xf32>
  %gc = exec.alloc : memref<28xf32> loc("gc")
  %d = exec.get @d : memref<12xf32>
  %gd = exec.alloc : memref<12xf32> loc("gd")
  exec.collective all_reduce mean ins(%x28, %x28, %x28, %x12 : memref<28xf32>, memref<28xf32>, memref<28xf32>, memref<12xf32>) outs(%ga, %gb, %gc, %gd : memref<28xf32>, memref<28xf32>, memref<28xf32>, memref<12xf32>) group = 2
  exec.launch @update12 ins(%d, %gd : memref<12xf32>, memref<12xf32>) outs(%d : memref<12xf32>)
  exec.launch @update28 ins(%a, %ga : memref<28xf32>, memref<28xf32>) outs(%a : memref<28xf32>)
  exec.launch @update28 ins(%b, %gb : memref<28xf32>, memref<28xf32>) outs(%b : memref<28xf32>)
  exec.launch @update28 ins(%c, %gc : memref<28xf32>, memref<28xf32>) outs(%c : memref<28xf32>)
}

// The last three collectives may still run after the backward pass. The members of the last one are apart, even if they
// are no small part, and those of the two before it are another part.
// CHECK-LABEL: exec.entry @several
// CHECK: exec.launch @sub_batch_{{.*}} ins(%f, %gf, %e, %ge :
// CHECK-NEXT: exec.launch @update28 ins(%c, %gc :
// CHECK-NEXT: exec.launch @sub_batch_{{.*}} ins(%a, %ga, %b, %gb, %d, %gd :
// CHECK-NOT: exec.launch
// REMARK: LateApart
// REMARK-SAME: 1 launches like this one stay apart from 5 others
// REMARK: LateApart
// REMARK-SAME: 2 launches like this one stay apart from 3 others
// FINISHED-LABEL: exec.entry @several
// FINISHED: exec.launch @sub_batch_{{.*}} ins(%a, %ga, %f, %gf, %b, %gb, %e, %ge, %c, %gc, %d, %gd :
// FINISHED-NOT: exec.launch
exec.entry @several mode<train> {
  %x28 = exec.input "x28" : memref<28xf32>
  %x12 = exec.input "x12" : memref<12xf32>
  %x6 = exec.input "x6" : memref<6xf32>
  %a = exec.get @a : memref<28xf32>
  %ga = exec.alloc : memref<28xf32> loc("ga")
  %b = exec.get @b : memref<28xf32>
  %gb = exec.alloc : memref<28xf32> loc("gb")
  %c = exec.get @c : memref<28xf32>
  %gc = exec.alloc : memref<28xf32> loc("gc")
  %d = exec.get @d : memref<12xf32>
  %gd = exec.alloc : memref<12xf32> loc("gd")
  %e = exec.get @e : memref<6xf32>
  %ge = exec.alloc : memref<6xf32> loc("ge")
  %f = exec.get @f : memref<6xf32>
  %gf = exec.alloc : memref<6xf32> loc("gf")
  %h = exec.alloc : memref<28xf32> loc("h")
  exec.collective all_reduce mean ins(%x28, %x28, %x12 : memref<28xf32>, memref<28xf32>, memref<12xf32>) outs(%ga, %gb, %gd : memref<28xf32>, memref<28xf32>, memref<12xf32>) group = 2
  exec.copy ins(%x28 : memref<28xf32>) outs(%h : memref<28xf32>) loc("backward"("h"))
  exec.collective all_reduce mean ins(%x6 : memref<6xf32>) outs(%gf : memref<6xf32>) group = 2
  exec.collective all_reduce mean ins(%x6 : memref<6xf32>) outs(%ge : memref<6xf32>) group = 2
  exec.collective all_reduce mean ins(%h : memref<28xf32>) outs(%gc : memref<28xf32>) group = 2
  exec.launch @update28 ins(%a, %ga : memref<28xf32>, memref<28xf32>) outs(%a : memref<28xf32>) loc("optimizer"("a"))
  exec.launch @update6 ins(%f, %gf : memref<6xf32>, memref<6xf32>) outs(%f : memref<6xf32>) loc("optimizer"("f"))
  exec.launch @update28 ins(%b, %gb : memref<28xf32>, memref<28xf32>) outs(%b : memref<28xf32>) loc("optimizer"("b"))
  exec.launch @update6 ins(%e, %ge : memref<6xf32>, memref<6xf32>) outs(%e : memref<6xf32>) loc("optimizer"("e"))
  exec.launch @update28 ins(%c, %gc : memref<28xf32>, memref<28xf32>) outs(%c : memref<28xf32>) loc("optimizer"("c"))
  exec.launch @update12 ins(%d, %gd : memref<12xf32>, memref<12xf32>) outs(%d : memref<12xf32>) loc("optimizer"("d"))
}
