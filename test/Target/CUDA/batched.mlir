// The text of kernels that do one thing to many buffers: one grid, one body, tables of what differs.
// RUN: cs336-translate --emit-cuda --require-all %s | FileCheck %s

// CHECK: inline int findMember(

// CHECK: //===- scale_batch -===//
// CHECK: // Computes cs336.broadcast, cs336.mul.
// CHECK: // Schedule batched: 3 members with 14359 elements in all, 4096 elements of one member per block.
// CHECK-NEXT: // Grid of 6 blocks of 256 threads.
// CHECK-NEXT: //
// CHECK-NEXT: //   in0: f32, operand 0, 1, …, one per member
// CHECK-NEXT: //   in1: f32, operand 3, the same for all members
// CHECK-NEXT: //   out0: f32, operand 4, 5, …, one per member
// CHECK-NEXT: //
// CHECK: struct scale_batch_Operands {
// CHECK-NEXT:   void *pointers[7];
// CHECK-NEXT: };
// CHECK: static __constant__ const unsigned scale_batch_firstBlocks[4] = {
// CHECK-NEXT:     0, 3, 4, 6};
// CHECK-NEXT: static __constant__ const unsigned scale_batch_sizes[3] = {
// CHECK-NEXT:     10000, 7, 4352};
// CHECK-EMPTY:
// CHECK-NEXT: extern "C" __global__ void __launch_bounds__(256)
// CHECK-NEXT: scale_batch(const __grid_constant__ scale_batch_Operands operands) {
// CHECK-NEXT:   const int member = findMember(scale_batch_firstBlocks, blockIdx.x);
// CHECK-NEXT:   const float *const in0 = static_cast<const float *>(operands.pointers[member]);
// CHECK-NEXT:   const float *const in1 = static_cast<const float *>(operands.pointers[3]);
// CHECK-NEXT:   float *const out0 = static_cast<float *>(operands.pointers[4 + member]);
// CHECK-NEXT:   const unsigned begin = (blockIdx.x - scale_batch_firstBlocks[member]) * 4096;
// CHECK-NEXT:   const unsigned left = scale_batch_sizes[member] - begin;
// CHECK-NEXT:   const unsigned end = begin + (left < 4096 ? left : 4096);
// An element that all members share is loaded once per thread.
// CHECK-NEXT:   const float x1 = in1[0];
// CHECK-NEXT:   for (unsigned i0 = begin + threadIdx.x * 4; i0 + 3 < end; i0 += 1024) {
// CHECK-NEXT:     const Vector<float, 4> x0 = loadVector<4>(in0 + i0);
// CHECK-NEXT:     Vector<float, 4> y0;
// CHECK-NEXT: #pragma unroll
// CHECK-NEXT:     for (int lane = 0; lane < 4; ++lane) {
// CHECK-NEXT:       y0[lane] = x0[lane] * x1;
// CHECK-NEXT:     }
// CHECK-NEXT:     storeVector(out0 + i0, y0);
// CHECK-NEXT:   }
// CHECK-NEXT:   // Fewer than a vector at the end of a member.
// CHECK-NEXT:   for (unsigned i0 = end - end % 4 + threadIdx.x; i0 < end; i0 += 256) {
// CHECK-NEXT:     const float x0 = in0[i0];
// CHECK-NEXT:     out0[i0] = x0 * x1;
// CHECK-NEXT:   }
// CHECK-NEXT: }
exec.kernel @scale_batch(%a: tensor<100x100xf32>, %b: tensor<7xf32>, %c: tensor<4352xf32>, %s: tensor<f32>)
    : (memref<100x100xf32>, memref<7xf32>, memref<4352xf32>, memref<f32>)
    -> (memref<100x100xf32>, memref<7xf32>, memref<4352xf32>) {
  %0 = cs336.broadcast %s dims = [] : tensor<f32> -> tensor<100x100xf32>
  %1 = cs336.mul %a, %0 : tensor<100x100xf32>
  %2 = cs336.broadcast %s dims = [] : tensor<f32> -> tensor<7xf32>
  %3 = cs336.mul %b, %2 : tensor<7xf32>
  %4 = cs336.broadcast %s dims = [] : tensor<f32> -> tensor<4352xf32>
  %5 = cs336.mul %c, %4 : tensor<4352xf32>
  exec.yield %1, %3, %5 : tensor<100x100xf32>, tensor<7xf32>, tensor<4352xf32>
}

// Sizes beyond 32 bits, and no rest where vectors leave none.
// CHECK: static __constant__ const unsigned huge_firstBlocks[3] = {
// CHECK-NEXT:     0, 1048576, 1048577};
// CHECK-NEXT: static __constant__ const unsigned long long huge_sizes[2] = {
// CHECK-NEXT:     4294967296, 64};
// CHECK: const unsigned long long begin = (blockIdx.x - huge_firstBlocks[member]) * 4096ull;
// CHECK: for (unsigned long long i0 =
// CHECK-NOT: for (unsigned long long
exec.kernel @huge(%a: tensor<4294967296xf32>, %b: tensor<64xf32>)
    : (memref<4294967296xf32>, memref<64xf32>) -> (memref<4294967296xf32>, memref<64xf32>) {
  %0 = cs336.neg %a : tensor<4294967296xf32>
  %1 = cs336.neg %b : tensor<64xf32>
  exec.yield %0, %1 : tensor<4294967296xf32>, tensor<64xf32>
}

// A launch whose second member begins in the middle of 16 bytes: no vectors for any.
// CHECK: //===- askew -===//
// CHECK: 1024 elements of one member per block
// CHECK: for (unsigned i0 = begin + threadIdx.x; i0 < end; i0 += 256) {
// CHECK-NOT: Vector
exec.kernel @askew(%a: tensor<8xf32>, %b: tensor<16xf32>) : (memref<8xf32>, memref<16xf32>) -> (memref<8xf32>, memref<16xf32>) {
  %0 = cs336.neg %a : tensor<8xf32>
  %1 = cs336.neg %b : tensor<16xf32>
  exec.yield %0, %1 : tensor<8xf32>, tensor<16xf32>
}

// Sums of squares: a block's in the workspace, then a warp adds up those of a member.
// CHECK: //===- norms -===//
// CHECK: // Schedule batched_reduction: 2 members with 20007 elements in all, 16384 elements of one member per block; then one warp per member.
// CHECK-NEXT: // Grid of 3 blocks of 256 threads, then 1 block of 256 threads; a workspace of 16 bytes.
// CHECK: struct norms_Operands {
// CHECK-NEXT:   void *pointers[5];
// CHECK: norms_parts(const __grid_constant__ norms_Operands operands) {
// CHECK: Vector<float, 4> partial0 = {0.0f, 0.0f, 0.0f, 0.0f};
// CHECK-NEXT: for (unsigned i0 = begin + threadIdx.x * 4; i0 + 3 < end; i0 += 1024) {
// CHECK: partial0[lane] = partial0[lane] + x0[lane] * x0[lane];
// CHECK: // Fewer than a vector at the end of a member.
// CHECK-NEXT: for (unsigned i0 = end - end % 4 + threadIdx.x; i0 < end; i0 += 256) {
// CHECK-NEXT:   const float x0 = in0[i0];
// CHECK-NEXT:   partial0[0] = partial0[0] + x0 * x0;
// CHECK-NEXT: }
// CHECK-NEXT: const auto result0 = reduceBlock<256>(reduceLanes(partial0, combine0), combine0);
// CHECK: unsigned char *const workspace = static_cast<unsigned char *>(operands.pointers[4]);
// CHECK: parts0[blockIdx.x] = result0;
// CHECK: norms(const __grid_constant__ norms_Operands operands) {
// CHECK-NEXT: const unsigned member = blockIdx.x * 8 + threadIdx.x / 32;
// CHECK: const unsigned end = norms_firstBlocks[member + 1];
// CHECK-NEXT: for (unsigned part = norms_firstBlocks[member] + threadIdx.x % 32; part < end; part += 32) {
// CHECK: out0[0] = sqrtf(result0);
exec.kernel @norms(%a: tensor<200x100xf32>, %b: tensor<7xf32>) : (memref<200x100xf32>, memref<7xf32>) -> (memref<f32>, memref<f32>) {
  %0 = cs336.mul %a, %a : tensor<200x100xf32>
  %1 = cs336.reduce sum %0 axes = [0, 1] : tensor<200x100xf32> -> tensor<f32>
  %2 = cs336.sqrt %1 : tensor<f32>
  %3 = cs336.mul %b, %b : tensor<7xf32>
  %4 = cs336.reduce sum %3 axes = [0] : tensor<7xf32> -> tensor<f32>
  %5 = cs336.sqrt %4 : tensor<f32>
  exec.yield %2, %5 : tensor<f32>, tensor<f32>
}

// Different computations are not batched, nor are equal ones of the same elements, which are better read once.
// CHECK: //===- two_things -===//
// CHECK: // Schedule pointwise: 4 consecutive elements per thread; 8 points.
exec.kernel @two_things(%a: tensor<8xf32>, %b: tensor<8xf32>) : (memref<8xf32>, memref<8xf32>) -> (memref<8xf32>, memref<8xf32>) {
  %0 = cs336.neg %a : tensor<8xf32>
  %1 = cs336.exp %b : tensor<8xf32>
  exec.yield %0, %1 : tensor<8xf32>, tensor<8xf32>
}
// CHECK: //===- shared -===//
// CHECK: // Schedule pointwise: 4 consecutive elements per thread; 8 points.
exec.kernel @shared(%a: tensor<8xf32>, %b: tensor<8xf32>, %c: tensor<8xf32>)
    : (memref<8xf32>, memref<8xf32>, memref<8xf32>) -> (memref<8xf32>, memref<8xf32>) {
  %0 = cs336.mul %a, %b : tensor<8xf32>
  %1 = cs336.mul %a, %c : tensor<8xf32>
  exec.yield %0, %1 : tensor<8xf32>, tensor<8xf32>
}

exec.entry @forward mode<forward> {
  %x = exec.input "x" : memref<8xf32>
  %wide = exec.input "wide" : memref<17xf32>
  %y = exec.output "y" output : memref<8xf32>
  %z = exec.output "z" output : memref<16xf32>
  %part = exec.view %wide : memref<17xf32> to memref<16xf32, strided<[1], offset: 1>>
  exec.launch @askew ins(%x, %part : memref<8xf32>, memref<16xf32, strided<[1], offset: 1>>) outs(%y, %z : memref<8xf32>, memref<16xf32>)
}
