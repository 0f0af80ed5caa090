// The text of updates by gradients, on architectures with wgmma; others have a kernel that adds products one by one.
// RUN: cs336-opt --cuda-select-schedules=arch=sm_90a --mlir-print-debuginfo=false %s | FileCheck %s --check-prefix=SELECT
// RUN: cs336-translate --emit-cuda --require-all %s | FileCheck %s

// SELECT: exec.kernel @two{{.*}} attributes {exec.schedules = {sm_90a = [{schedule = "gradient_update"}]}}
// SELECT: exec.kernel @parts{{.*}} attributes {exec.schedules = {sm_90a = [{schedule = "gradient_update"}]}}
// SELECT: exec.kernel @other_parts{{.*}} attributes {exec.schedules = {sm_90a = [{schedule = "{{[a-z_]+}}_reduction"}]}}
// SELECT: exec.kernel @narrow{{.*}} attributes {exec.schedules = {sm_90a = [{schedule = "{{[a-z_]+}}_reduction"}]}}
// SELECT: exec.kernel @stored{{.*}} attributes {exec.schedules = {sm_90a = [{schedule = "gradient_update"}]}}
// SELECT: exec.kernel @gradient{{.*}} attributes {exec.schedules = {sm_90a = [{schedule = "{{[a-z_]+}}_reduction"}]}}

// CHECK-LABEL: //===- two -===//
// CHECK: // Schedule gradient_update: 2 gradients in 4 tiles of 128 x 256 elements; a block of two warpgroups multiplies by wgmma while two others update.
// CHECK-NEXT: // Grid of 4 blocks of 640 threads with 214016 bytes of shared memory in clusters of 2.
// CHECK: // in1 is not in memory, but computed from operands 1 and 2 of each member.
// CHECK: struct two_Operands {
// CHECK-NEXT: void *pointers[9];
// CHECK: struct two_Maps {
// CHECK-NEXT: TensorMap maps[4];
// CHECK: two_firstTiles[3] = {
// CHECK-NEXT: 0, 2, 4};
// CHECK: GradientSizes two_sizes[2] = {
// CHECK-NEXT: {128, 64, {40}},
// CHECK-NEXT: {64, 192, {33}}};
// CHECK: static constexpr int tiles = 4, parts = 1;
// CHECK: struct Update {
// CHECK: const float x2;
// CHECK-NEXT: const Divisor divisor2;
// CHECK: in0(static_cast<const float *>(operands.pointers[member * 3])),
// CHECK: fetchLine(in0 + i0);
// CHECK: return {loadVector<4>(in0 + i0)};
// CHECK: approximateRoot({{.*}} / divisor2)
// CHECK: storeVector(out0 + i0, y0);
// CHECK: extern "C" __global__ void __launch_bounds__(640, 1)
// CHECK-NEXT: two(const __grid_constant__ two_Operands operands,
// CHECK-NEXT: const __grid_constant__ two_Maps maps) {

// CHECK-LABEL: //===- parts -===//
// CHECK: // in1 is not in memory, but computed from operands 1 and 3, and from 2 and 4 of each member.
// CHECK: TensorMap maps[4];
// CHECK: GradientSizes parts_sizes[1] = {
// CHECK-NEXT: {128, 64, {32, 8}}};
// CHECK: static constexpr int tiles = 2, parts = 2;

// CHECK-LABEL: //===- stored -===//
// CHECK: // in1 is not in memory, but computed from operands 1 and 2 of each member.
// CHECK: __device__ void apply({{.*}}, const Vector<__nv_bfloat16, 4> &gradient) const {
// CHECK: y1[lane] = __float2bfloat16_rn(value0);
// CHECK: storeVector(out1 + i0, y1);

module attributes {exec.architectures = ["sm_90a"]} {
exec.kernel @two(%p0: tensor<128x64xf32>, %l0: tensor<128x40xbf16>, %r0: tensor<40x64xbf16>, %p1: tensor<64x192xf32>, %l1: tensor<64x33xbf16>, %r1: tensor<33x192xbf16>, %s: tensor<f32>)
    : (memref<128x64xf32>, memref<128x40xbf16, strided<[1, 128]>>, memref<40x64xbf16>, memref<64x192xf32>, memref<64x33xbf16, strided<[1, 64]>>, memref<33x192xbf16>, memref<f32>)
    -> (memref<128x64xf32>, memref<64x192xf32>) {
  %g0 = cs336.matmul %l0, %r0 : tensor<128x40xbf16>, tensor<40x64xbf16> -> tensor<128x64xbf16>
  %c0 = cs336.cast %g0 : tensor<128x64xbf16> -> tensor<128x64xf32>
  %s0 = cs336.broadcast %s dims = [] : tensor<f32> -> tensor<128x64xf32>
  %q0 = cs336.div %c0, %s0 : tensor<128x64xf32>
  %t0 = cs336.sqrt %q0 : tensor<128x64xf32>
  %d0 = cs336.sub %p0, %t0 : tensor<128x64xf32>
  %g1 = cs336.matmul %l1, %r1 : tensor<64x33xbf16>, tensor<33x192xbf16> -> tensor<64x192xbf16>
  %c1 = cs336.cast %g1 : tensor<64x192xbf16> -> tensor<64x192xf32>
  %s1 = cs336.broadcast %s dims = [] : tensor<f32> -> tensor<64x192xf32>
  %q1 = cs336.div %c1, %s1 : tensor<64x192xf32>
  %t1 = cs336.sqrt %q1 : tensor<64x192xf32>
  %d1 = cs336.sub %p1, %t1 : tensor<64x192xf32>
  exec.yield %d0, %d1 : tensor<128x64xf32>, tensor<64x192xf32>
}
// The tokens of both factors are in two parts.
exec.kernel @parts(%p: tensor<128x64xf32>, %l0: tensor<128x32xbf16>, %l1: tensor<128x8xbf16>, %r0: tensor<32x64xbf16>, %r1: tensor<8x64xbf16>)
    : (memref<128x64xf32>, memref<128x32xbf16, strided<[1, 256]>>, memref<128x8xbf16, strided<[1, 128]>>, memref<32x64xbf16>, memref<8x64xbf16>) -> memref<128x64xf32> {
  %l = cs336.concat axis = 1 %l0, %l1 : tensor<128x32xbf16>, tensor<128x8xbf16> -> tensor<128x40xbf16>
  %r = cs336.concat axis = 0 %r0, %r1 : tensor<32x64xbf16>, tensor<8x64xbf16> -> tensor<40x64xbf16>
  %g = cs336.matmul %l, %r : tensor<128x40xbf16>, tensor<40x64xbf16> -> tensor<128x64xbf16>
  %c = cs336.cast %g : tensor<128x64xbf16> -> tensor<128x64xf32>
  %d = cs336.sub %p, %c : tensor<128x64xf32>
  exec.yield %d : tensor<128x64xf32>
}
// The parts of the factors have other tokens.
exec.kernel @other_parts(%p: tensor<128x64xf32>, %l0: tensor<128x32xbf16>, %l1: tensor<128x8xbf16>, %r0: tensor<8x64xbf16>, %r1: tensor<32x64xbf16>)
    : (memref<128x64xf32>, memref<128x32xbf16, strided<[1, 256]>>, memref<128x8xbf16, strided<[1, 128]>>, memref<8x64xbf16>, memref<32x64xbf16>) -> memref<128x64xf32> {
  %l = cs336.concat axis = 1 %l0, %l1 : tensor<128x32xbf16>, tensor<128x8xbf16> -> tensor<128x40xbf16>
  %r = cs336.concat axis = 0 %r0, %r1 : tensor<8x64xbf16>, tensor<32x64xbf16> -> tensor<40x64xbf16>
  %g = cs336.matmul %l, %r : tensor<128x40xbf16>, tensor<40x64xbf16> -> tensor<128x64xbf16>
  %c = cs336.cast %g : tensor<128x64xbf16> -> tensor<128x64xf32>
  %d = cs336.sub %p, %c : tensor<128x64xf32>
  exec.yield %d : tensor<128x64xf32>
}
// 96 columns are not whole slabs.
exec.kernel @narrow(%p: tensor<128x96xf32>, %l: tensor<128x40xbf16>, %r: tensor<40x96xbf16>)
    : (memref<128x96xf32>, memref<128x40xbf16, strided<[1, 128]>>, memref<40x96xbf16>) -> memref<128x96xf32> {
  %g = cs336.matmul %l, %r : tensor<128x40xbf16>, tensor<40x96xbf16> -> tensor<128x96xbf16>
  %c = cs336.cast %g : tensor<128x96xbf16> -> tensor<128x96xf32>
  %d = cs336.sub %p, %c : tensor<128x96xf32>
  exec.yield %d : tensor<128x96xf32>
}
// An all-gather reads the gradient.
exec.kernel @stored(%p: tensor<128x64xf32>, %l: tensor<128x40xbf16>, %r: tensor<40x64xbf16>)
    : (memref<128x64xf32>, memref<128x40xbf16, strided<[1, 128]>>, memref<40x64xbf16>) -> (memref<128x64xf32>, memref<128x64xbf16>) {
  %g = cs336.matmul %l, %r : tensor<128x40xbf16>, tensor<40x64xbf16> -> tensor<128x64xbf16>
  %c = cs336.cast %g : tensor<128x64xbf16> -> tensor<128x64xf32>
  %d = cs336.sub %p, %c : tensor<128x64xf32>
  exec.yield %d, %g : tensor<128x64xf32>, tensor<128x64xbf16>
}
// Nothing but the gradient is stored.
exec.kernel @gradient(%l: tensor<128x40xbf16>, %r: tensor<40x64xbf16>) : (memref<128x40xbf16, strided<[1, 128]>>, memref<40x64xbf16>) -> memref<128x64xbf16> {
  %g = cs336.matmul %l, %r : tensor<128x40xbf16>, tensor<40x64xbf16> -> tensor<128x64xbf16>
  exec.yield %g : tensor<128x64xbf16>
}
exec.variable @a parameter : memref<128x64xf32>
exec.variable @b parameter : memref<64x192xf32>
exec.variable @c parameter : memref<128x96xf32>
exec.entry @train mode<train> {
  %a = exec.get @a : memref<128x64xf32>
  %b = exec.get @b : memref<64x192xf32>
  %c = exec.get @c : memref<128x96xf32>
  %xt = exec.input "x" : memref<40x128xbf16>
  %x = exec.view %xt : memref<40x128xbf16> to memref<128x40xbf16, strided<[1, 128]>>
  %y = exec.input "y" : memref<40x64xbf16>
  %ut = exec.input "u" : memref<33x64xbf16>
  %u = exec.view %ut : memref<33x64xbf16> to memref<64x33xbf16, strided<[1, 64]>>
  %v = exec.input "v" : memref<33x192xbf16>
  %w = exec.input "w" : memref<40x96xbf16>
  %s = exec.input "s" : memref<f32>
  exec.launch @two ins(%a, %x, %y, %b, %u, %v, %s : memref<128x64xf32>, memref<128x40xbf16, strided<[1, 128]>>, memref<40x64xbf16>, memref<64x192xf32>, memref<64x33xbf16, strided<[1, 64]>>, memref<33x192xbf16>, memref<f32>)
      outs(%a, %b : memref<128x64xf32>, memref<64x192xf32>)
  exec.launch @narrow ins(%c, %x, %w : memref<128x96xf32>, memref<128x40xbf16, strided<[1, 128]>>, memref<40x96xbf16>) outs(%c : memref<128x96xf32>)
}
}
