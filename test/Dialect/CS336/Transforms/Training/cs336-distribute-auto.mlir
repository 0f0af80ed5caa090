// The size of buckets is chosen by predicted times: of GEMMs on the device, and of collectives on its links.

// DEFINE: %{options} = world-size=4
// DEFINE: %{distribute} = cs336-opt %s --cs336-distribute='bucket-mib=auto %{options}' --remarks-filter=cs336-distribute --remark-format=emitRemark
// DEFINE: %{remarks} = %{distribute} -o /dev/null 2>&1 | grep -o 'Remark=.*'
// RUN: %{remarks} | FileCheck %s --check-prefix=H200
// RUN: %{distribute} 2> %t.txt | FileCheck %s
// REDEFINE: %{options} = world-size=4 predict-on=cpu
// RUN: %{remarks} | FileCheck %s --check-prefix=CPU
// REDEFINE: %{options} = world-size=4 mode=zero1
// RUN: %{remarks} | FileCheck %s --check-prefix=ZERO1
// REDEFINE: %{options} = world-size=4 mode=overlap
// RUN: %{remarks} | FileCheck %s --check-prefix=OVERLAP

// A gradient has 4 MiB. A GEMM takes 2 us + 2^31 / 47e12 s = 47.7 us, and an all-reduce of 4 MiB takes 12 us + 6 · 0.6 us
// + 6.3 MB / 304e9 B/s = 36.3 us. Each all-reduce ends before the next gradient is ready, so only the last one counts.
// The others with at most 4 MiB have the same buckets.
// H200: Remark="@train: buckets of 4 MiB: 4 collectives take 0.145 ms, 0.036 ms of it after the computation of 0.191 ms, as predicted for 4 ranks on h200; the earliest end, 0.036 ms after the computation, has buckets of 0.0625 MiB"
// H200: Remark="@train: 4 values become means over 4 ranks, in 4 collectives"

// A GEMM takes 107 ms, and 1 % of the step is 4.3 ms. An all-reduce of 8 MiB takes 1.8 ms longer than one of 4 MiB, and
// one of 16 MiB takes 5.4 ms longer.
// CPU: Remark="@train: buckets of 8 MiB: 2 collectives take 7.338 ms, 3.669 ms of it after the computation of {{.*}} on cpu; the earliest end, 1.872 ms after the computation,
// CPU: bucket0 has 2 values, 8.000 MiB: w0, w1
// CPU: Remark="@train: 4 values become means over 4 ranks, in 2 collectives"

// A reduce-scatter sends half as much as an all-reduce, in half as many steps. Gathers are not counted.
// ZERO1: Remark="@train: buckets of 4 MiB: 4 collectives take 0.097 ms, 0.024 ms of it after

// OVERLAP-NOT: buckets
// OVERLAP: in 4 collectives

// CHECK: cs336.matmul
// CHECK-NEXT: cs336.collective all_reduce mean
// CHECK-NEXT: cs336.matmul
// CHECK-NEXT: cs336.collective all_reduce mean
func.func @train(%x: tensor<1024x1024xf32> {cs336.kind = "input", cs336.name = "x"},
                 %w0: tensor<1024x1024xf32> {cs336.kind = "parameter", cs336.name = "w0"},
                 %w1: tensor<1024x1024xf32> {cs336.kind = "parameter", cs336.name = "w1"},
                 %w2: tensor<1024x1024xf32> {cs336.kind = "parameter", cs336.name = "w2"},
                 %w3: tensor<1024x1024xf32> {cs336.kind = "parameter", cs336.name = "w3"})
    -> (tensor<1024x1024xf32> {cs336.kind = "gradient", cs336.name = "w0"}, tensor<1024x1024xf32> {cs336.kind = "gradient", cs336.name = "w1"},
        tensor<1024x1024xf32> {cs336.kind = "gradient", cs336.name = "w2"}, tensor<1024x1024xf32> {cs336.kind = "gradient", cs336.name = "w3"})
    attributes {cs336.mode = #cs336.mode<train>} {
  %d0 = cs336.matmul %x, %w0 : tensor<1024x1024xf32>, tensor<1024x1024xf32> -> tensor<1024x1024xf32>
  %d1 = cs336.matmul %d0, %w1 : tensor<1024x1024xf32>, tensor<1024x1024xf32> -> tensor<1024x1024xf32>
  %d2 = cs336.matmul %d1, %w2 : tensor<1024x1024xf32>, tensor<1024x1024xf32> -> tensor<1024x1024xf32>
  %d3 = cs336.matmul %d2, %w3 : tensor<1024x1024xf32>, tensor<1024x1024xf32> -> tensor<1024x1024xf32>
  return %d0, %d1, %d2, %d3 : tensor<1024x1024xf32>, tensor<1024x1024xf32>, tensor<1024x1024xf32>, tensor<1024x1024xf32>
}
