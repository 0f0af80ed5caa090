// Entries that the memory plan rejects.
// RUN: cs336-opt %s --split-input-file --exec-plan-memory --verify-diagnostics
// RUN: not cs336-opt %S/exec-plan-memory.mlir --split-input-file --exec-plan-memory=alignment=48 2>&1 | FileCheck %s --check-prefix=ALIGNMENT
// RUN: not cs336-opt %S/exec-plan-memory.mlir --split-input-file --exec-plan-memory=alignment=0 2>&1 | FileCheck %s --check-prefix=ZERO

// RUN: not cs336-opt %S/exec-plan-memory.mlir --split-input-file --exec-plan-memory=alignment=9223372036854775808 2>&1 | FileCheck %s --check-prefix=LARGE

// ALIGNMENT: error: alignment must be a power of two up to 2097152, is 48
// ZERO: error: alignment must be a power of two up to 2097152, is 0
// LARGE: error: alignment must be a power of two up to 2097152, is 9223372036854775808

exec.entry @read_races mode<forward> {
  %x = exec.input "x" : memref<16xf32>
  %y = exec.output "y" output : memref<16xf32>
  %a = exec.alloc : memref<16xf32>
  // expected-note@below {{the other command is here}}
  exec.copy ins(%x : memref<16xf32>) outs(%a : memref<16xf32>)
  // expected-error@below {{'exec.copy' on stream 1 reads storage that stream 0 may still be using; record an event there and wait for it}}
  exec.copy ins(%a : memref<16xf32>) outs(%y : memref<16xf32>) {stream = 1 : i64}
}

// -----

exec.variable @w parameter : memref<16xf32>
exec.entry @write_races mode<train> {
  %x = exec.input "x" : memref<16xf32>
  %w = exec.get @w : memref<16xf32>
  %v = exec.get @w : memref<16xf32>
  %y = exec.output "y" output : memref<16xf32>
  // expected-note@below {{the other command is here}}
  exec.copy ins(%w : memref<16xf32>) outs(%y : memref<16xf32>) {stream = 2 : i64}
  // expected-error@below {{'exec.copy' on stream 0 writes storage that stream 2 may still be using}}
  exec.copy ins(%x : memref<16xf32>) outs(%v : memref<16xf32>)
}

// -----

// The event was recorded before the write that it should cover.
exec.entry @recorded_too_early mode<forward> {
  %x = exec.input "x" : memref<16xf32>
  %y = exec.output "y" output : memref<16xf32>
  %a = exec.alloc : memref<16xf32>
  exec.record 0
  // expected-note@below {{the other command is here}}
  exec.copy ins(%x : memref<16xf32>) outs(%a : memref<16xf32>)
  exec.wait 0 {stream = 1 : i64}
  // expected-error@below {{'exec.copy' on stream 1 reads storage that stream 0 may still be using}}
  exec.copy ins(%a : memref<16xf32>) outs(%y : memref<16xf32>) {stream = 1 : i64}
}
