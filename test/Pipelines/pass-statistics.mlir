// The statistics of each pass for two functions, which threads handle at the same time.

// RUN: cs336-opt %s --cs336-pipeline=fusion=none --pass-statistics -o %t.mlir 2> %t.table
// RUN: FileCheck %s < %t.table
// RUN: cs336-opt %s --cs336-pipeline=fusion=none --pass-statistics --mlir-disable-threading -o %t.mlir 2>&1 | diff %t.table -
// RUN: cs336-translate %s --emit-executable --fusion none --pass-statistics -o %t.cs336x 2>&1 | diff %t.table -

// CHECK:      {{^}}pass {{ *}}statistic {{ *}}value  description{{$}}
// CHECK-NEXT: {{^}}cs336-name-ports {{ *}}num-entries {{ *}}0  Number of functions made entry points{{$}}
// CHECK-NEXT: cs336-bound-indices {{ *}}num-bounded {{ *}}0  Number of inputs that got a bound
// CHECK-NEXT: cs336-bound-indices {{ *}}num-proved {{ *}}0  Number of operands whose indices are in bounds
// CHECK-NEXT: cs336-bound-indices {{ *}}num-checked {{ *}}0  Number of operands whose indices are checked as the program runs
// CHECK-NEXT: cs336-merge-gemms {{ *}}num-merged {{ *}}4  Number of linears replaced
// CHECK-NEXT: cs336-merge-gemms {{ *}}num-packed {{ *}}2  Number of packed linears made
// CHECK-NEXT: cs336-decompose {{ *}}num-decomposed {{ *}}6  Number of composites replaced
// CHECK-NEXT: cs336-differentiate {{ *}}num-adjoints {{ *}}16  Number of adjoints built
// CHECK-NEXT: cs336-differentiate {{ *}}num-gradients {{ *}}4  Number of gradients returned
// CHECK-NEXT: cs336-differentiate {{ *}}num-erased {{ *}}2  Number of backward operations erased because unused
// CHECK-NEXT: cs336-recompute-pointwise {{ *}}num-dropped {{ *}}0  Number of results dropped
// CHECK-NEXT: cs336-optimizer {{ *}}num-updates {{ *}}2  Number of parameters updated
// CHECK:      convert-cs336-to-exec {{ *}}num-entries {{ *}}2  Number of entry points
// CHECK-NEXT: convert-cs336-to-exec {{ *}}num-kernels {{ *}}[[#]]  Number of distinct kernels
// CHECK:      exec-plan-memory {{ *}}num-allocations {{ *}}[[#]]  Number of allocations and outputs placed
// CHECK-NEXT: exec-plan-memory {{ *}}arena-bytes {{ *}}[[#]]  Bytes of all arenas
// CHECK-NEXT: exec-plan-memory {{ *}}live-bytes {{ *}}[[#]]  Bytes of the largest live sets, which no plan can go below{{$}}
// CHECK-NOT:  {{.}}

// Numbers that can be counted in the planned IR.
// RUN: awk '$2 ~ /^(num-kernels|num-launches|num-allocations|arena-bytes)$/ {print $2, $3}' %t.table > %t.said
// RUN: awk '/exec.kernel @/ {kernels++} /exec.launch/ {launches++} /exec.(alloc|output)/ {allocations++} \
// RUN:   match($0, /arena_bytes = [0-9]+/) {bytes += substr($0, RSTART + 14)} END { \
// RUN:   print "num-kernels", kernels; print "num-launches", launches; \
// RUN:   print "num-allocations", allocations; print "arena-bytes", bytes}' %t.mlir > %t.counted
// RUN: diff %t.said %t.counted

// The IR is what it is without the table, and without the flag nothing is printed.
// RUN: cs336-opt %s --cs336-pipeline=fusion=none -o %t.quiet.mlir 2>&1 | count 0
// RUN: diff %t.mlir %t.quiet.mlir

// Every module has its own table (the quotes keep the test itself in one piece); a pipeline that fails prints what it had counted; MLIR's passes are not in it.
// RUN: cat %s > %t.twice.mlir
// RUN: echo "// ---"-- >> %t.twice.mlir
// RUN: cat %s >> %t.twice.mlir
// RUN: cs336-opt %t.twice.mlir --split-input-file --cs336-decompose --pass-statistics -o /dev/null 2>&1 | FileCheck %s --check-prefix=SPLIT
// SPLIT:      {{^}}cs336-decompose  num-decomposed {{ *}}8  Number of composites replaced
// SPLIT-NEXT: {{^}}pass
// SPLIT-NEXT: {{^}}cs336-decompose  num-decomposed {{ *}}8  Number of composites replaced
// RUN: not cs336-opt %s --cs336-decompose --cs336-optimizer --pass-statistics -o /dev/null 2>&1 | FileCheck %s --check-prefix=FAILED
// FAILED:      error: 'func.func' op returns no gradients
// FAILED:      {{^}}cs336-decompose  num-decomposed {{ *}}8  Number of composites replaced
// FAILED-NEXT: {{^}}cs336-optimizer  num-updates {{ *}}0  Number of parameters updated
// RUN: cs336-opt %s --canonicalize --cse --pass-statistics -o /dev/null 2>&1 | FileCheck %s --check-prefix=NONE
// NONE:     {{^}}pass  statistic  value  description
// NONE-NOT: {{.}}

// Files and the flags that only list are as without it.
// RUN: not cs336-opt %t.missing --pass-statistics 2>&1 | FileCheck %s --check-prefix=INPUT
// INPUT: cannot read '{{.*}}.missing': No such file or directory
// RUN: not cs336-opt %s --pass-statistics -o %t.missing/out.mlir 2>&1 | FileCheck %s --check-prefix=OUTPUT
// OUTPUT: cannot write '{{.*}}.missing/out.mlir'
// RUN: cs336-opt --pass-statistics --show-dialects | FileCheck %s --check-prefix=DIALECTS
// DIALECTS: Available Dialects: {{.*}}cs336

func.func @train(%x: tensor<4x8xf32> {cs336.kind = "input", cs336.name = "x"},
                 %w1: tensor<16x8xf32> {cs336.kind = "parameter", cs336.name = "w1"},
                 %w3: tensor<16x8xf32> {cs336.kind = "parameter", cs336.name = "w3"},
                 %w2: tensor<8x16xf32> {cs336.kind = "parameter", cs336.name = "w2"})
    -> (tensor<f32> {cs336.kind = "output", cs336.name = "loss"})
    attributes {cs336.mode = #cs336.mode<train>, cs336.optimizer = #cs336.optimizer<lr = 1.0e-03>} {
  %a = cs336.linear %x, %w1 : tensor<4x8xf32>, tensor<16x8xf32> -> tensor<4x16xf32>
  %b = cs336.linear %x, %w3 : tensor<4x8xf32>, tensor<16x8xf32> -> tensor<4x16xf32>
  %s = cs336.silu %a : tensor<4x16xf32>
  %g = cs336.mul %s, %b : tensor<4x16xf32>
  %y = cs336.linear %g, %w2 : tensor<4x16xf32>, tensor<8x16xf32> -> tensor<4x8xf32>
  %loss = cs336.reduce sum %y axes = [0, 1] : tensor<4x8xf32> -> tensor<f32>
  return %loss : tensor<f32>
}

func.func @gradients(%x: tensor<4x8xf32> {cs336.kind = "input", cs336.name = "x"},
                     %w1: tensor<16x8xf32> {cs336.kind = "parameter", cs336.name = "w1"},
                     %w3: tensor<16x8xf32> {cs336.kind = "parameter", cs336.name = "w3"},
                     %w2: tensor<8x16xf32> {cs336.kind = "parameter", cs336.name = "w2"})
    -> (tensor<f32> {cs336.kind = "output", cs336.name = "loss"})
    attributes {cs336.mode = #cs336.mode<forward_backward>} {
  %a = cs336.linear %x, %w1 : tensor<4x8xf32>, tensor<16x8xf32> -> tensor<4x16xf32>
  %b = cs336.linear %x, %w3 : tensor<4x8xf32>, tensor<16x8xf32> -> tensor<4x16xf32>
  %s = cs336.silu %a : tensor<4x16xf32>
  %g = cs336.mul %s, %b : tensor<4x16xf32>
  %y = cs336.linear %g, %w2 : tensor<4x16xf32>, tensor<8x16xf32> -> tensor<4x8xf32>
  %loss = cs336.reduce sum %y axes = [0, 1] : tensor<4x8xf32> -> tensor<f32>
  return %loss : tensor<f32>
}
