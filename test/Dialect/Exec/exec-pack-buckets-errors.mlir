// RUN: cs336-opt %s --exec-pack-buckets --verify-diagnostics
// RUN: not cs336-opt %S/exec-pack-buckets.mlir --split-input-file --exec-pack-buckets=alignment=48 2>&1 | FileCheck %s --check-prefix=ALIGNMENT
// RUN: not cs336-opt %S/exec-pack-buckets.mlir --split-input-file --exec-pack-buckets=alignment=4194304 2>&1 | FileCheck %s --check-prefix=LARGE

// ALIGNMENT: error: alignment must be a power of two up to 2097152, is 48
// LARGE: error: alignment must be a power of two up to 2097152, is 4194304

exec.entry @races mode<forward> {
  %x = exec.input "x" : memref<16xf32>
  %a = exec.alloc : memref<16xf32>
  %b = exec.alloc : memref<16xf32>
  // expected-note@below {{the other command is here}}
  exec.copy ins(%x : memref<16xf32>) outs(%a : memref<16xf32>) {stream = 1 : i64}
  exec.copy ins(%x : memref<16xf32>) outs(%b : memref<16xf32>)
  // expected-error@below {{'exec.collective' on stream 0 reads storage that stream 1 may still be using}}
  exec.collective all_reduce mean ins(%a, %b : memref<16xf32>, memref<16xf32>) outs(%a, %b : memref<16xf32>, memref<16xf32>) group = 2
}
