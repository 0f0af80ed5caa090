// Every operation reads back what it printed, and allocations and views are called what they come from.
// RUN: cs336-opt %s | cs336-opt --mlir-print-debuginfo=false | FileCheck %s

// CHECK: exec.variable @ln.weight parameter : memref<8xf32> {init = #cs336.init<ones>}
exec.variable @ln.weight parameter : memref<8xf32> {init = #cs336.init<ones>}
// CHECK: exec.variable @qkv state : memref<12x8xf32> {views = [#cs336.view<"q", 4>, #cs336.view<"kv", 8>]}
exec.variable @qkv state : memref<12x8xf32> {views = [#cs336.view<"q", 4>, #cs336.view<"kv", 8>]}
// CHECK: exec.variable @table parameter : memref<4x8xf32> {shards = 2 : i64, views = [#cs336.view<"a", 5>, #cs336.view<"b", 3>]}
exec.variable @table parameter : memref<4x8xf32> {shards = 2 : i64, views = [#cs336.view<"a", 5>, #cs336.view<"b", 3>]}
// CHECK: exec.variable @rows parameter : memref<4x16xf32>
exec.variable @rows parameter : memref<4x16xf32>
// CHECK: exec.variable @shadow.bf16.table derived : memref<4x8xbf16> {shards = 2 : i64}
exec.variable @shadow.bf16.table derived : memref<4x8xbf16> {shards = 2 : i64}
// CHECK: exec.variable @gathered parameter : memref<16x8xf32> {gathered, shards = 2 : i64}
exec.variable @gathered parameter : memref<16x8xf32> {gathered, shards = 2 : i64}
// CHECK: exec.variable @invariant.3f2a derived : memref<f32>
exec.variable @invariant.3f2a derived : memref<f32>

// CHECK-LABEL: exec.kernel @mul_3f2a(
// CHECK-SAME: %[[A:.*]]: tensor<4x8xf32>, %[[B:.*]]: tensor<8xf32>) : (memref<4x8xf32>, memref<8xf32>) -> memref<4x8xf32> {
// CHECK: exec.yield %{{.*}} : tensor<4x8xf32>
exec.kernel @mul_3f2a(%x: tensor<4x8xf32>, %w: tensor<8xf32>) : (memref<4x8xf32>, memref<8xf32>) -> memref<4x8xf32> {
  %0 = cs336.broadcast %w dims = [1] : tensor<8xf32> -> tensor<4x8xf32>
  %1 = cs336.mul %x, %0 : tensor<4x8xf32>
  exec.yield %1 : tensor<4x8xf32>
}

// CHECK-LABEL: exec.kernel @neg_12ab(
// CHECK-SAME: : (memref<4x4xf32, strided<[8, 1]>>) -> memref<4x4xf32> {
exec.kernel @neg_12ab(%x: tensor<4x4xf32>) : (memref<4x4xf32, strided<[8, 1]>>) -> memref<4x4xf32> {
  %0 = cs336.neg %x : tensor<4x4xf32>
  exec.yield %0 : tensor<4x4xf32>
}

// CHECK-LABEL: exec.kernel @constant_55aa() : () -> memref<2xi32> {
exec.kernel @constant_55aa() : () -> memref<2xi32> {
  %0 = cs336.constant dense<1> : tensor<2xi32>
  exec.yield %0 : tensor<2xi32>
}

// CHECK-LABEL: exec.entry @train mode<train> arena_bytes = 384 alignment = 64 {
exec.entry @train mode<train> arena_bytes = 384 alignment = 64 {
  // CHECK: %ln.weight = exec.get @ln.weight : memref<8xf32>
  %w = exec.get @ln.weight : memref<8xf32>
  // CHECK: %tokens = exec.input "tokens" bound = 97 : memref<2xi64>
  %tokens = exec.input "tokens" bound = 97 : memref<2xi64>
  // CHECK: %x = exec.input "x" : memref<4x8xf32>
  %x = exec.input "x" : memref<4x8xf32>
  // CHECK: %y = exec.output "y" output offset = 192 : memref<4x4xf32>
  %y = exec.output "y" output offset = 192 : memref<4x4xf32>
  // CHECK: %g = exec.output "g" gradient {views = [#cs336.view<"g0", 2>]} : memref<2xi32>
  %g = exec.output "g" gradient {views = [#cs336.view<"g0", 2>]} : memref<2xi32>
  // CHECK: %layers.0.ln1 = exec.alloc offset = 128 : memref<4x8xf32>
  %a = exec.alloc offset = 128 : memref<4x8xf32> loc("layers.0.ln1")
  // CHECK: exec.launch @mul_3f2a ins(%x, %ln.weight : memref<4x8xf32>, memref<8xf32>) outs(%layers.0.ln1 : memref<4x8xf32>)
  exec.launch @mul_3f2a ins(%x, %w : memref<4x8xf32>, memref<8xf32>) outs(%a : memref<4x8xf32>)
  // In place.
  // CHECK: exec.launch @mul_3f2a ins(%layers.0.ln1, %ln.weight : memref<4x8xf32>, memref<8xf32>) outs(%layers.0.ln1 : memref<4x8xf32>) {stream = 1 : i64}
  exec.launch @mul_3f2a ins(%a, %w : memref<4x8xf32>, memref<8xf32>) outs(%a : memref<4x8xf32>) {stream = 1 : i64}
  // CHECK: %layers.0.q = exec.view %layers.0.ln1 : memref<4x8xf32> to memref<4x4xf32, strided<[8, 1], offset: 4>>
  %q = exec.view %a : memref<4x8xf32> to memref<4x4xf32, strided<[8, 1], offset: 4>> loc("backward"("layers.0.q"))
  %at = exec.view %a : memref<4x8xf32> to memref<8x4xf32, strided<[1, 8]>>
  %b = exec.alloc offset = 256 : memref<4x4xf32>
  // CHECK: exec.gemm ins(%layers.0.ln1, %{{.*}} : memref<4x8xf32>, memref<8x4xf32, strided<[1, 8]>>) outs(%[[C:.*]] : memref<4x4xf32>)
  exec.gemm ins(%a, %at : memref<4x8xf32>, memref<8x4xf32, strided<[1, 8]>>) outs(%b : memref<4x4xf32>)
  // CHECK: exec.gemm ins({{.*}}) add(%{{.*}} : memref<4x4xf32>) outs(%{{.*}} : memref<4x4xf32>){{$}}
  %sum = exec.alloc : memref<4x4xf32>
  exec.gemm ins(%a, %at : memref<4x8xf32>, memref<8x4xf32, strided<[1, 8]>>) add(%b : memref<4x4xf32>) outs(%sum : memref<4x4xf32>)
  // CHECK: exec.gemm ins({{.*}}) add(%{{.*}} : memref<4x4xf32>) bias(%{{.*}} : memref<4xf32>) outs(%{{.*}} : memref<4x4xf32>) {relu}
  %row = exec.view %a : memref<4x8xf32> to memref<4xf32>
  exec.gemm ins(%a, %at : memref<4x8xf32>, memref<8x4xf32, strided<[1, 8]>>) add(%b : memref<4x4xf32>) bias(%row : memref<4xf32>) outs(%sum : memref<4x4xf32>) {relu}
  // CHECK: exec.gemm {{.*}} precision = tf32 {stream = 2 : i64}
  exec.gemm ins(%a, %at : memref<4x8xf32>, memref<8x4xf32, strided<[1, 8]>>) outs(%b : memref<4x4xf32>) precision = tf32 {stream = 2 : i64}
  %w1 = exec.alloc offset = 512 : memref<64xf32> loc("scratch")
  // CHECK: exec.gemm {{.*}} outs(%[[C]] : memref<4x4xf32>) workspace(%scratch : memref<64xf32>) precision = tf32
  exec.gemm ins(%a, %at : memref<4x8xf32>, memref<8x4xf32, strided<[1, 8]>>) outs(%b : memref<4x4xf32>) workspace(%w1 : memref<64xf32>) precision = tf32
  // CHECK: exec.launch @constant_55aa outs(%g : memref<2xi32>) workspace(%scratch : memref<64xf32>) {stream = 1 : i64}
  exec.launch @constant_55aa outs(%g : memref<2xi32>) workspace(%w1 : memref<64xf32>) {stream = 1 : i64}
  // CHECK: exec.launch @neg_12ab ins(%layers.0.q : memref<4x4xf32, strided<[8, 1], offset: 4>>)
  exec.launch @neg_12ab ins(%q : memref<4x4xf32, strided<[8, 1], offset: 4>>) outs(%y : memref<4x4xf32>)
  // CHECK: exec.launch @constant_55aa outs(%g : memref<2xi32>)
  exec.launch @constant_55aa outs(%g : memref<2xi32>)
  // CHECK: exec.copy ins(%[[C]] : memref<4x4xf32>) outs(%y : memref<4x4xf32>)
  exec.copy ins(%b : memref<4x4xf32>) outs(%y : memref<4x4xf32>)
  // CHECK: exec.record 3 {stream = 1 : i64}
  exec.record 3 {stream = 1 : i64}
  // CHECK: exec.wait 3{{$}}
  exec.wait 3
  // CHECK: exec.collective all_reduce sum ins(%[[C]] : memref<4x4xf32>) outs(%[[C]] : memref<4x4xf32>) group = 4
  exec.collective all_reduce sum ins(%b : memref<4x4xf32>) outs(%b : memref<4x4xf32>) group = 4
  %s = exec.alloc offset = 320 : memref<1x4xf32>
  // CHECK: exec.collective reduce_scatter max ins(%[[C]] : memref<4x4xf32>) outs(%[[S:.*]] : memref<1x4xf32>) group = 4
  exec.collective reduce_scatter max ins(%b : memref<4x4xf32>) outs(%s : memref<1x4xf32>) group = 4
  // CHECK: exec.collective all_gather ins(%[[S]] : memref<1x4xf32>) outs(%[[C]] : memref<4x4xf32>) group = 4
  exec.collective all_gather ins(%s : memref<1x4xf32>) outs(%b : memref<4x4xf32>) group = 4
  // CHECK: exec.collective broadcast ins(%[[S]] : memref<1x4xf32>) outs(%[[S]] : memref<1x4xf32>) group = 4 root = 2
  exec.collective broadcast ins(%s : memref<1x4xf32>) outs(%s : memref<1x4xf32>) group = 4 root = 2
  // CHECK: exec.collective all_reduce mean ins(%[[C]], %[[S]] : memref<4x4xf32>, memref<1x4xf32>) outs(%[[C]], %[[S]] : memref<4x4xf32>, memref<1x4xf32>) group = 4 {stream = 1 : i64}
  exec.collective all_reduce mean ins(%b, %s : memref<4x4xf32>, memref<1x4xf32>) outs(%b, %s : memref<4x4xf32>, memref<1x4xf32>) group = 4 {stream = 1 : i64}
}

// CHECK-LABEL: exec.entry @gather_in_place
exec.entry @gather_in_place mode<train> {
  %part = exec.get @gathered : memref<16x8xf32>
  // CHECK: [[ALL:%.*]] = exec.get gathered @gathered : memref<32x8xf32>
  %all = exec.get gathered @gathered : memref<32x8xf32>
  // CHECK: exec.collective all_gather ins({{.*}} : memref<16x8xf32>) outs([[ALL]] : memref<32x8xf32>) group = 2
  exec.collective all_gather ins(%part : memref<16x8xf32>) outs(%all : memref<32x8xf32>) group = 2
  %y = exec.output "gathered.y" output : memref<32x8xf32>
  exec.copy ins(%all : memref<32x8xf32>) outs(%y : memref<32x8xf32>)
}

// CHECK-LABEL: exec.entry @others
exec.entry @others mode<train> {
  %a = exec.alloc : memref<16x128xf32>
  %x = exec.input "x" : memref<16x128xf32>
  exec.copy ins(%x : memref<16x128xf32>) outs(%a : memref<16x128xf32>)
  %y = exec.output "y" output : memref<48x128xf32>
  // CHECK: exec.collective all_gather others ins(%[[A:.*]] : memref<16x128xf32>) outs(%{{.*}} : memref<48x128xf32>) group = 4
  exec.collective all_gather others ins(%a : memref<16x128xf32>) outs(%y : memref<48x128xf32>) group = 4
  %columns = exec.view %a : memref<16x128xf32> to memref<4x16x32xf32, strided<[32, 128, 1]>>
  %z = exec.output "z" output : memref<3x16x32xf32>
  // CHECK: exec.collective all_to_all others ins(%[[COLUMNS:.*]] : memref<4x16x32xf32, strided<[32, 128, 1]>>) outs(%{{.*}} : memref<3x16x32xf32>) group = 4
  exec.collective all_to_all others ins(%columns : memref<4x16x32xf32, strided<[32, 128, 1]>>) outs(%z : memref<3x16x32xf32>) group = 4
  // CHECK: exec.part %[[COLUMNS]] : memref<4x16x32xf32, strided<[32, 128, 1]>> -> memref<16x32xf32, strided<[128, 1]>>
  %own = exec.part %columns : memref<4x16x32xf32, strided<[32, 128, 1]>> -> memref<16x32xf32, strided<[128, 1]>>
  %o = exec.output "own" output : memref<16x32xf32>
  exec.copy ins(%own : memref<16x32xf32, strided<[128, 1]>>) outs(%o : memref<16x32xf32>)
}

// Commands write the part of any rank, and the own part has its place among those that a collective gathers.
// CHECK-LABEL: exec.entry @parts
exec.entry @parts mode<train> {
  %x = exec.input "x" : memref<16xf32>
  %z = exec.get @rows : memref<4x16xf32>
  // CHECK: %[[NEXT:.*]] = exec.part rank + 3 of %{{.*}} : memref<4x16xf32> -> memref<16xf32>
  %next = exec.part rank + 3 of %z : memref<4x16xf32> -> memref<16xf32>
  // CHECK: exec.copy ins(%{{.*}} : memref<16xf32>) outs(%[[NEXT]] : memref<16xf32>)
  exec.copy ins(%x : memref<16xf32>) outs(%next : memref<16xf32>)
  %a = exec.alloc : memref<64xf32>
  %v = exec.view %a : memref<64xf32> to memref<4x16xf32>
  // CHECK: %[[OWN:.*]] = exec.part %{{.*}} : memref<4x16xf32> -> memref<16xf32>
  %own = exec.part rank + 0 of %v : memref<4x16xf32> -> memref<16xf32>
  exec.copy ins(%x : memref<16xf32>) outs(%own : memref<16xf32>)
  // CHECK: exec.collective all_gather ins(%[[OWN]] : memref<16xf32>) outs(%{{.*}} : memref<64xf32>) group = 4
  exec.collective all_gather ins(%own : memref<16xf32>) outs(%a : memref<64xf32>) group = 4
}
