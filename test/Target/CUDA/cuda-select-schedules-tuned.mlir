// Schedules from a file that --autotune writes: they become attributes, for problems and architectures in the file.
// RUN: sed 's/@PROBLEM@/attention bf16 by tensor cores, causal, batches 4, queries 256, keys 256, query heads 12, key heads 12, head_dim 64, Query 196608\/768\/64 aligned to 16, Key 196608\/768\/64 aligned to 16, Value 196608\/768\/64 aligned to 16, Output 196608\/768\/64 aligned to 16/' %S/Inputs/tuned.json > %t.json
// RUN: cs336-opt --cuda-select-schedules="arch=sm_80,sm_86 tuned=%t.json" --mlir-print-debuginfo=false --remark-format=emitRemark --remarks-filter=cuda-select-schedules %s 2> %t.remarks | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARK < %t.remarks
// REMARK: remark: [Passed] Tuned | Category:cuda-select-schedules |{{.*}}attend: attention {forward = {rows = 128 : i64, tile = 32 : i64}}, which took 12.5 us; 20.2 us without tuning
// REMARK: remark: [Missed] NotTuned | Category:cuda-select-schedules |{{.*}}longer: no tuned schedule for attention bf16 by tensor cores, batches 4, queries 512
// REMARK-NOT: remark

// The pass completes the parameters. Other architectures, other
// problems and kernels with a selection get what they get without the file.
// CHECK: exec.kernel @attend
// CHECK-SAME: exec.schedules = {sm_80 = [{forward = {keep_left = {{true|false}}, rows = 128 : i64, slices = 1 : i64, stages = {{[0-9]}} : i64, tile = 32 : i64, warps = {{[0-9]}} : i64}, schedule = "attention"}],
// CHECK-SAME: sm_86 = [{forward = {keep_left = true, rows = 64 : i64, slices = 1 : i64, stages = 2 : i64, tile = 64 : i64, warps = 4 : i64}, schedule = "attention"}]}
// CHECK: exec.kernel @longer
// CHECK-SAME: sm_80 = [{forward = {keep_left = true, rows = 64 : i64,
// CHECK: exec.kernel @selected
// CHECK-SAME: sm_80 = [{forward = {keep_left = true, rows = 64 : i64, slices = 1 : i64, stages = 2 : i64, tile = 32 : i64,

// The pipeline runs the pass if it has a file, before workspaces are added.
// RUN: cs336-opt --cs336-pipeline="target=cuda tuned-schedules=%t.json" %s | FileCheck %s --check-prefix=PIPELINE
// PIPELINE: exec.schedules = {portable = [
// RUN: not cs336-opt --cs336-pipeline="tuned-schedules=%t.json" %s 2>&1 | FileCheck %s --check-prefix=CPU
// CPU: error: the option tuned-schedules of the pipeline requires target=cuda: the CPU's kernels have no schedules

// A schedule that does not accept its kernel is an error.
// RUN: sed 's/"tile": 32/"tile": 24/' %t.json > %t.tile.json
// RUN: not cs336-opt --cuda-select-schedules="arch=sm_80 tuned=%t.tile.json" %s 2>&1 | FileCheck %s --check-prefix=TILE
// TILE: error: kernel 'attend' cannot have the selected schedule 'attention': {{.*}}tile must be a multiple of 16 from 16 to 256

// Files that cannot be read.
// RUN: not cs336-opt --cuda-select-schedules="arch=sm_80 tuned=%t.absent.json" %s 2>&1 | FileCheck %s --check-prefix=ABSENT
// ABSENT: error: option tuned: cannot read '{{.*}}absent.json': No such file or directory
// RUN: head -c 100 %t.json > %t.half.json
// RUN: not cs336-opt --cuda-select-schedules="arch=sm_80 tuned=%t.half.json" %s 2>&1 | FileCheck %s --check-prefix=HALF
// HALF: error: option tuned: {{.*}}half.json: malformed JSON
// RUN: sed 's/"format": 1/"format": 2/' %t.json > %t.format.json
// RUN: not cs336-opt --cuda-select-schedules="arch=sm_80 tuned=%t.format.json" %s 2>&1 | FileCheck %s --check-prefix=FORMAT
// FORMAT: error: option tuned: {{.*}}format.json: is not a file of tuned schedules in format 1
// RUN: sed 's/"schedule": "attention"/"schedule": 3/' %t.json > %t.entry.json
// RUN: not cs336-opt --cuda-select-schedules="arch=sm_80 tuned=%t.entry.json" %s 2>&1 | FileCheck %s --check-prefix=ENTRY
// ENTRY: error: option tuned: {{.*}}entry.json: the problem 'attention bf16 {{.*}}' requires 'schedules', such as [{"schedule": "attention"}], 'microseconds', 'default_microseconds' and 'kernels'

exec.kernel @attend(%q: tensor<4x256x12x64xbf16>, %k: tensor<4x256x12x64xbf16>, %v: tensor<4x256x12x64xbf16>)
    : (memref<4x256x12x64xbf16>, memref<4x256x12x64xbf16>, memref<4x256x12x64xbf16>) -> memref<4x256x12x64xbf16> {
  %o, %l = cs336.attention %q, %k, %v {scale = 0.125 : f64, causal}
      : tensor<4x256x12x64xbf16>, tensor<4x256x12x64xbf16> -> tensor<4x12x256xf32>
  exec.yield %o : tensor<4x256x12x64xbf16>
}
exec.kernel @longer(%q: tensor<4x512x12x64xbf16>, %k: tensor<4x512x12x64xbf16>, %v: tensor<4x512x12x64xbf16>)
    : (memref<4x512x12x64xbf16>, memref<4x512x12x64xbf16>, memref<4x512x12x64xbf16>) -> memref<4x512x12x64xbf16> {
  %o, %l = cs336.attention %q, %k, %v {scale = 0.125 : f64}
      : tensor<4x512x12x64xbf16>, tensor<4x512x12x64xbf16> -> tensor<4x12x512xf32>
  exec.yield %o : tensor<4x512x12x64xbf16>
}
exec.kernel @selected(%q: tensor<4x256x12x64xbf16>, %k: tensor<4x256x12x64xbf16>, %v: tensor<4x256x12x64xbf16>)
    : (memref<4x256x12x64xbf16>, memref<4x256x12x64xbf16>, memref<4x256x12x64xbf16>) -> memref<4x256x12x64xbf16>
    attributes {exec.schedules = {sm_80 = [{forward = {rows = 64 : i64, tile = 32 : i64}, schedule = "attention"}]}} {
  %o, %l = cs336.attention %q, %k, %v {scale = 0.125 : f64, causal}
      : tensor<4x256x12x64xbf16>, tensor<4x256x12x64xbf16> -> tensor<4x12x256xf32>
  exec.yield %o : tensor<4x256x12x64xbf16>
}
