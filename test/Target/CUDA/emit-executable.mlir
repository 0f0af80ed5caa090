// An executable for GPUs, without a GPU: code for several architectures, what is dumped, and what the cache saves.
// REQUIRES: nvrtc

// RUN: rm -rf %t.dump %t.cache %t.whole
// RUN: env CS336_CACHE_DIR=%t.cache cs336-translate --emit-executable --device cuda --arch sm_80,sm_90a,sm_100a,sm_120 %s --timing --dump-dir %t.dump -o %t.cold.cs336x 2>&1 | FileCheck %s --check-prefix=COLD
// COLD: AddWorkspacesPass
// COLD: Load NVRTC
// COLD: Write CUDA text
// COLD: NVRTC: 8 of 8 cubins
// COLD: {{[a-z0-9_]+}} sm_{{80|90a|100a|120}}{{$}}

// Each kernel is a file of its own, with what it takes from the device library.
// RUN: ls %t.dump/kernels | FileCheck %s --check-prefix=FILES
// FILES: exp_[[HASH:[0-9a-f]+]].cu
// FILES-NEXT: exp_[[HASH]].sm_100a.cubin
// FILES-NEXT: exp_[[HASH]].sm_120.cubin
// FILES-NEXT: exp_[[HASH]].sm_80.cubin
// FILES-NEXT: exp_[[HASH]].sm_90a.cubin
// FILES-NEXT: neg_{{.*}}.cu
// RUN: cs336-nvrtc-check %t.dump/kernels/exp_*.cu --arch sm_89 | FileCheck %s --check-prefix=TEXT
// TEXT: sm_89: 1 kernels
// RUN: FileCheck %s --check-prefix=TABLE < %t.dump/kernels.txt
// TABLE: architecture blocks threads shared registers spilled function
// TABLE: sm_80 {{[0-9]+}} {{[0-9]+}} 0 {{[0-9]+}} 0 neg_
// RUN: FileCheck %s --check-prefix=PLAN < %t.dump/planned.mlir
// PLAN: alignment = 256
// PLAN: workspace(

// The same code from the cache, by a run that compiles nothing, and without it.
// RUN: env CS336_CACHE_DIR=%t.cache cs336-translate --emit-executable --device cuda --arch sm_80,sm_90a,sm_100a,sm_120 %s --timing -o %t.warm.cs336x 2>&1 | FileCheck %s --check-prefix=WARM
// WARM: NVRTC: 0 of 8 cubins
// RUN: cmp %t.cold.cs336x %t.warm.cs336x
// RUN: env CS336_CACHE_DIR=%t.cache cs336-translate --emit-executable --device cuda --arch sm_80,sm_90a,sm_100a,sm_120 %s --no-cache --timing -o %t.own.cs336x 2>&1 | FileCheck %s --check-prefix=NO-CACHE
// NO-CACHE-NOT: Look for cubins
// NO-CACHE: NVRTC: 8 of 8 cubins
// RUN: cmp %t.cold.cs336x %t.own.cs336x
// One architecture more is compiled for that one only.
// RUN: env CS336_CACHE_DIR=%t.cache cs336-translate --emit-executable --device cuda --arch sm_80,sm_89 %s --timing -o %t.more.cs336x 2>&1 | FileCheck %s --check-prefix=MORE
// MORE: NVRTC: 2 of 4 cubins
// RUN: not cs336-translate --emit-executable --device cuda --arch sm_89,sm_89 %s -o %t.twice.cs336x 2>&1 | FileCheck %s --check-prefix=TWICE
// TWICE: for the --arch option: it names 'sm_89' twice

// --no-cache writes nothing either.
// RUN: env CS336_CACHE_DIR=%t.unused cs336-translate --emit-executable --device cuda %s --no-cache -o %t.own.cs336x
// RUN: not ls %t.unused

// Entries that were cut short are compiled again, and replaced.
// RUN: %python -c "import pathlib, sys; [p.write_bytes(p.read_bytes()[:100]) for p in pathlib.Path(sys.argv[1]).glob('cubins/llvmcache-*')]" %t.cache
// RUN: env CS336_CACHE_DIR=%t.cache cs336-translate --emit-executable --device cuda --arch sm_80,sm_90a,sm_100a,sm_120 %s --timing -o %t.again.cs336x 2>&1 | FileCheck %s --check-prefix=COLD
// RUN: cmp %t.cold.cs336x %t.again.cs336x
// RUN: env CS336_CACHE_DIR=%t.cache cs336-translate --emit-executable --device cuda --arch sm_80,sm_90a,sm_100a,sm_120 %s --timing -o %t.again.cs336x 2>&1 | FileCheck %s --check-prefix=WARM

// A cache that cannot be written to costs a warning.
// RUN: env CS336_CACHE_DIR=%s cs336-translate --emit-executable --device cuda --arch sm_80,sm_90a,sm_100a,sm_120 %s -o %t.own.cs336x 2>&1 | FileCheck %s --check-prefix=UNWRITABLE
// UNWRITABLE: warning: compiled kernels are not kept for the next run: cannot write to '{{.*}}emit-executable.mlir/cubins': {{.*}}Not a directory
// UNWRITABLE-NOT: warning
// RUN: cmp %t.cold.cs336x %t.own.cs336x

// The executable itself is kept as well, where nothing is asked for besides; architectures are parts of its key.
// RUN: env CS336_CACHE_DIR=%t.whole cs336-translate --emit-executable --device cuda --arch sm_80,sm_90a,sm_100a,sm_120 %s -o %t.again.cs336x
// RUN: cmp %t.cold.cs336x %t.again.cs336x
// RUN: rm -r %t.whole/cubins
// RUN: env CS336_CACHE_DIR=%t.whole cs336-translate --emit-executable --device cuda --arch sm_80,sm_90a,sm_100a,sm_120 %s -o %t.again.cs336x
// RUN: cmp %t.cold.cs336x %t.again.cs336x
// RUN: not ls %t.whole/cubins
// RUN: env CS336_CACHE_DIR=%t.whole cs336-translate --emit-executable --device cuda --arch sm_90a %s -o %t.again.cs336x
// RUN: ls %t.whole/executables/llvmcache-* | count 2

// Planned IR needs no more passes, and keeps the architectures that it was planned for.
// RUN: cs336-opt --cuda-select-schedules=arch=sm_80,sm_90a,sm_100a,sm_120 --cs336-pipeline=target=cuda %s | cs336-translate --emit-executable --device cuda --arch sm_80,sm_90a,sm_100a,sm_120 -o %t.planned.cs336x
// RUN: cmp %t.cold.cs336x %t.planned.cs336x

func.func @forward(%a: tensor<64x128xf32>, %b: tensor<128x32xf32>) -> tensor<64x32xf32> {
  %0 = cs336.exp %a : tensor<64x128xf32>
  %1 = cs336.matmul %0, %b : tensor<64x128xf32>, tensor<128x32xf32> -> tensor<64x32xf32>
  %2 = cs336.neg %1 : tensor<64x32xf32>
  return %2 : tensor<64x32xf32>
}
