// Operations that the exec dialect's verifiers reject.
// RUN: cs336-opt %s --split-input-file --verify-diagnostics

// expected-error@below {{views cover 3 rows of 4}}
exec.variable @w parameter : memref<4x2xf32> {views = [#cs336.view<"a", 3>]}

// -----

// expected-error@below {{dense row-major memref of static sizes}}
exec.variable @w parameter : memref<4x2xf32, strided<[1, 4]>>

// -----

exec.entry @f mode<forward> {
  // expected-error@below {{none of them 0, and at most 2^48 bytes}}
  %x = exec.input "x" : memref<4x0xf32>
}

// -----

exec.entry @f mode<forward> {
  // expected-error@below {{none of them 0, and at most 2^48 bytes}}
  %x = exec.alloc : memref<4611686018427387904x8xf32>
}

// -----

exec.entry @f mode<forward> {
  // expected-error@below {{there is no variable @w}}
  %w = exec.get @w : memref<4xf32>
}

// -----

exec.variable @w parameter : memref<5xf32>
exec.entry @f mode<forward> {
  // expected-error@below {{has type 'memref<4xf32>', but the variable's is 'memref<5xf32>'}}
  %w = exec.get @w : memref<4xf32>
}

// -----

// expected-error@below {{operand 0 of type 'tensor<4xf32>' does not lie in 'memref<5xf32>'}}
exec.kernel @k(%a: tensor<4xf32>) : (memref<5xf32>) -> memref<4xf32> {
  %0 = cs336.neg %a : tensor<4xf32>
  exec.yield %0 : tensor<4xf32>
}

// -----

// expected-error@below {{operand 0 of type 'tensor<4xf32>' does not lie in 'memref<4xf32, strided<[1], offset: 4>>'}}
exec.kernel @k(%a: tensor<4xf32>) : (memref<4xf32, strided<[1], offset: 4>>) -> memref<4xf32> {
  %0 = cs336.neg %a : tensor<4xf32>
  exec.yield %0 : tensor<4xf32>
}

// -----

// expected-error@below {{has 1 results and layouts for 2}}
exec.kernel @k(%a: tensor<4xf32>) : (memref<4xf32>) -> (memref<4xf32>, memref<4xf32>) {
  %0 = cs336.neg %a : tensor<4xf32>
  exec.yield %0 : tensor<4xf32>
}

// -----

// expected-error@below {{result must be written densely}}
exec.kernel @k(%a: tensor<4xf32>) : (memref<4xf32>) -> memref<4xf32, strided<[2]>> {
  %0 = cs336.neg %a : tensor<4xf32>
  exec.yield %0 : tensor<4xf32>
}

// -----

exec.kernel @k(%a: tensor<4x4xf32>) : (memref<4x4xf32>) -> memref<4x4xf32> {
  // expected-error@below {{is in a kernel but does not implement FusibleOpInterface}}
  %0 = cs336.linear %a, %a : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
  exec.yield %0 : tensor<4x4xf32>
}

// -----

exec.entry @f mode<forward> {
  %x = exec.input "x" : memref<4xf32>
  // expected-error@below {{is neither a buffer nor a command: it cannot stand in an entry}}
  %0 = arith.constant 1 : index
}

// -----

exec.entry @f mode<forward> {
  %x = exec.input "x" : memref<4xf32>
  // expected-error@below {{there are two inputs of this name}}
  %y = exec.input "x" : memref<4xf32>
}

// -----

exec.entry @f mode<forward> {
  // expected-error@below {{bound must be a positive integer on a buffer of i64 or i32}}
  %x = exec.input "x" bound = 4 : memref<4xf32>
}

// -----

exec.entry @f mode<forward> {
  // expected-error@below {{no command writes this output}}
  %y = exec.output "y" output : memref<4xf32>
}

// -----

exec.entry @f mode<forward> {
  %x = exec.input "x" : memref<4xf32>
  %y = exec.output "y" output : memref<4xf32>
  exec.copy ins(%x : memref<4xf32>) outs(%y : memref<4xf32>)
  // expected-error@below {{there are two outputs of this name}}
  %z = exec.output "y" gradient : memref<4xf32>
}

// -----

exec.entry @f mode<forward> {
  %y = exec.output "y" output : memref<4xf32>
  // expected-note@below {{the buffer's storage is here}}
  %a = exec.alloc : memref<4x2xf32>
  %v = exec.view %a : memref<4x2xf32> to memref<4xf32, strided<[2]>>
  // expected-error@below {{reads a buffer that no command has written}}
  exec.copy ins(%v : memref<4xf32, strided<[2]>>) outs(%y : memref<4xf32>)
}

// -----

exec.entry @f mode<forward> {
  %x = exec.input "x" : memref<4xf32>
  %y = exec.input "y" : memref<4xf32>
  // expected-error@below {{writes an input, which belongs to the caller}}
  exec.copy ins(%x : memref<4xf32>) outs(%y : memref<4xf32>)
}

// -----

exec.variable @w state : memref<4xf32>
exec.entry @f mode<forward_backward> {
  %x = exec.input "x" : memref<4xf32>
  %w = exec.get @w : memref<4xf32>
  // expected-error@below {{writes state @w, which an entry of mode forward_backward must leave as it is}}
  exec.copy ins(%x : memref<4xf32>) outs(%w : memref<4xf32>)
}

// -----

// Preparation fills what is derived from parameters, not parameters.
exec.variable @w parameter : memref<4xf32>
exec.variable @d derived : memref<4xf32>
exec.entry @f mode<prepare> {
  %d = exec.get @d : memref<4xf32>
  %w = exec.get @w : memref<4xf32>
  exec.copy ins(%w : memref<4xf32>) outs(%d : memref<4xf32>)
  // expected-error@below {{writes parameter @w, which an entry of mode prepare must leave as it is}}
  exec.copy ins(%d : memref<4xf32>) outs(%w : memref<4xf32>)
}

// -----

exec.entry @f mode<forward> {
  %x = exec.input "x" : memref<4x4xf32>
  %a = exec.alloc : memref<4x4xf32>
  exec.copy ins(%x : memref<4x4xf32>) outs(%a : memref<4x4xf32>)
  %t = exec.view %a : memref<4x4xf32> to memref<4x4xf32, strided<[1, 4]>>
  // expected-error@below {{reads storage that it writes through another view}}
  exec.copy ins(%t : memref<4x4xf32, strided<[1, 4]>>) outs(%a : memref<4x4xf32>)
}

// -----

// The views have one element in common. Without it, the first copy is valid.
exec.entry @f mode<forward> {
  %x = exec.input "x" : memref<16xf32>
  %a = exec.alloc : memref<16xf32>
  exec.copy ins(%x : memref<16xf32>) outs(%a : memref<16xf32>)
  %head = exec.view %a : memref<16xf32> to memref<8xf32>
  %tail = exec.view %a : memref<16xf32> to memref<8xf32, strided<[1], offset: 8>>
  %middle = exec.view %a : memref<16xf32> to memref<8xf32, strided<[1], offset: 7>>
  exec.copy ins(%head : memref<8xf32>) outs(%tail : memref<8xf32, strided<[1], offset: 8>>)
  // expected-error@below {{reads storage that it writes through another view}}
  exec.copy ins(%head : memref<8xf32>) outs(%middle : memref<8xf32, strided<[1], offset: 7>>)
}

// -----

// A variable has one piece of storage, however often it is named.
exec.variable @w parameter : memref<4x4xf32>
exec.entry @f mode<train> {
  %w = exec.get @w : memref<4x4xf32>
  %v = exec.get @w : memref<4x4xf32>
  // expected-error@below {{reads storage that it writes through another view}}
  exec.copy ins(%w : memref<4x4xf32>) outs(%v : memref<4x4xf32>)
}

// -----

exec.kernel @two(%a: tensor<4xf32>) : (memref<4xf32>) -> (memref<4xf32>, memref<4xf32>) {
  %0 = cs336.neg %a : tensor<4xf32>
  exec.yield %0, %0 : tensor<4xf32>, tensor<4xf32>
}
exec.entry @f mode<forward> {
  %x = exec.input "x" : memref<4xf32>
  %y = exec.output "y" output : memref<4xf32>
  // expected-error@below {{writes the same storage twice}}
  exec.launch @two ins(%x : memref<4xf32>) outs(%y, %y : memref<4xf32>, memref<4xf32>)
}

// -----

exec.entry @f mode<forward> {
  %x = exec.input "x" : memref<4xf32>
  %y = exec.output "y" output : memref<4xf32>
  // expected-error@below {{there is no kernel @k}}
  exec.launch @k ins(%x : memref<4xf32>) outs(%y : memref<4xf32>)
}

// -----

exec.kernel @k(%a: tensor<4xf32>) : (memref<4xf32>) -> memref<4xf32> {
  %0 = cs336.neg %a : tensor<4xf32>
  exec.yield %0 : tensor<4xf32>
}
exec.entry @f mode<forward> {
  %x = exec.input "x" : memref<8xf32>
  %y = exec.output "y" output : memref<4xf32>
  %v = exec.view %x : memref<8xf32> to memref<4xf32, strided<[2], offset: 1>>
  // expected-error@below {{ins[0] is 'memref<4xf32, strided<[2], offset: 1>>', but the kernel's is 'memref<4xf32>'}}
  exec.launch @k ins(%v : memref<4xf32, strided<[2], offset: 1>>) outs(%y : memref<4xf32>)
}

// -----

exec.kernel @k(%a: tensor<4xf32>) : (memref<4xf32>) -> memref<4xf32> {
  %0 = cs336.neg %a : tensor<4xf32>
  exec.yield %0 : tensor<4xf32>
}
exec.entry @f mode<forward> {
  %x = exec.input "x" : memref<4xf32>
  %y = exec.output "y" output : memref<4xf32>
  // expected-error@below {{passes 2 ins, but the kernel has 1}}
  exec.launch @k ins(%x, %x : memref<4xf32>, memref<4xf32>) outs(%y : memref<4xf32>)
}

// -----

// The second element of the result needs the first of the operand, which would be gone.
exec.kernel @reverse(%a: tensor<2x2xf32>) : (memref<2x2xf32>) -> memref<2x2xf32> {
  %0 = cs336.transpose %a perm = [1, 0] : tensor<2x2xf32> -> tensor<2x2xf32>
  exec.yield %0 : tensor<2x2xf32>
}
exec.entry @f mode<forward> {
  %x = exec.input "x" : memref<2x2xf32>
  %y = exec.output "y" output : memref<2x2xf32>
  exec.copy ins(%x : memref<2x2xf32>) outs(%y : memref<2x2xf32>)
  // expected-error@below {{writes outs[0] over ins[0], which @reverse does not read element by element}}
  exec.launch @reverse ins(%y : memref<2x2xf32>) outs(%y : memref<2x2xf32>)
}

// -----

// A row of the result needs the sums of all rows, which would be gone.
exec.kernel @sums(%a: tensor<4x4xf32>) : (memref<4x4xf32>) -> memref<4x4xf32> {
  %0 = cs336.reduce sum %a axes = [1] : tensor<4x4xf32> -> tensor<4xf32>
  %1 = cs336.broadcast %0 dims = [1] : tensor<4xf32> -> tensor<4x4xf32>
  %2 = cs336.add %a, %1 : tensor<4x4xf32>
  exec.yield %2 : tensor<4x4xf32>
}
exec.entry @f mode<forward> {
  %x = exec.input "x" : memref<4x4xf32>
  %y = exec.output "y" output : memref<4x4xf32>
  exec.copy ins(%x : memref<4x4xf32>) outs(%y : memref<4x4xf32>)
  // expected-error@below {{writes outs[0] over ins[0], which @sums does not read element by element}}
  exec.launch @sums ins(%y : memref<4x4xf32>) outs(%y : memref<4x4xf32>)
}

// -----

// Operations that are independent of the first result may run after it, and they read the operand.
exec.kernel @both(%a: tensor<4xf32>, %b: tensor<4xf32>)
    : (memref<4xf32>, memref<4xf32>) -> (memref<4xf32>, memref<4xf32>) {
  %0 = cs336.neg %a : tensor<4xf32>
  %1 = cs336.add %a, %b : tensor<4xf32>
  exec.yield %0, %1 : tensor<4xf32>, tensor<4xf32>
}
exec.entry @f mode<forward> {
  %x = exec.input "x" : memref<4xf32>
  %y = exec.output "y" output : memref<4xf32>
  %z = exec.output "z" output : memref<4xf32>
  exec.copy ins(%x : memref<4xf32>) outs(%y : memref<4xf32>)
  // expected-error@below {{writes outs[0] over ins[0], which @both does not read element by element}}
  exec.launch @both ins(%y, %x : memref<4xf32>, memref<4xf32>) outs(%y, %z : memref<4xf32>, memref<4xf32>)
}

// -----

exec.entry @f mode<forward> {
  %x = exec.input "x" : memref<8xf32>
  // expected-error@below {{reaches element 8 of storage that has 8}}
  %v = exec.view %x : memref<8xf32> to memref<4xf32, strided<[2], offset: 2>>
}

// -----

exec.entry @f mode<forward> {
  %x = exec.input "x" : memref<8xf32>
  // expected-error@below {{changes the element type}}
  %v = exec.view %x : memref<8xf32> to memref<8xi32>
}

// -----

exec.entry @f mode<forward> {
  %x = exec.input "x" : memref<8x8xf32>
  %y = exec.output "y" output : memref<4x4xf32>
  %v = exec.view %x : memref<8x8xf32> to memref<4x4xf32, strided<[16, 2]>>
  // expected-error@below {{one of the last two strides must be 1}}
  exec.gemm ins(%v, %v : memref<4x4xf32, strided<[16, 2]>>, memref<4x4xf32, strided<[16, 2]>>) outs(%y : memref<4x4xf32>)
}

// -----

exec.entry @f mode<forward> {
  %x = exec.input "x" : memref<4x8xf32>
  %y = exec.output "y" output : memref<4x4xf32>
  // expected-error@below {{shapes must be […, M, K], […, K, N] and […, M, N]}}
  exec.gemm ins(%x, %x : memref<4x8xf32>, memref<4x8xf32>) outs(%y : memref<4x4xf32>)
}

// -----

exec.entry @f mode<forward> {
  %x = exec.input "x" : memref<4x4xf32>
  %y = exec.output "y" output : memref<4x4xf32>
  exec.copy ins(%x : memref<4x4xf32>) outs(%y : memref<4x4xf32>)
  // expected-error@below {{writes over an operand that libraries read again and again: only an addend may be the output}}
  exec.gemm ins(%x, %y : memref<4x4xf32>, memref<4x4xf32>) outs(%y : memref<4x4xf32>)
}

// -----

exec.entry @f mode<forward> {
  %x = exec.input "x" : memref<4x4xf32>
  %y = exec.output "y" output : memref<4x4xf32>
  %w = exec.alloc : memref<4xf64>
  // expected-error@below {{must be one-dimensional buffer of f32}}
  exec.gemm ins(%x, %x : memref<4x4xf32>, memref<4x4xf32>) outs(%y : memref<4x4xf32>) workspace(%w : memref<4xf64>)
}

// -----

exec.entry @f mode<forward> {
  %x = exec.input "x" : memref<4x4xi32>
  %y = exec.output "y" output : memref<4x4xi32>
  // expected-error@below {{operands must have one floating-point element type}}
  exec.gemm ins(%x, %x : memref<4x4xi32>, memref<4x4xi32>) outs(%y : memref<4x4xi32>)
}

// -----

exec.entry @f mode<forward> {
  %x = exec.input "x" : memref<4x4xf32>
  %b = exec.input "b" : memref<5xf32>
  %y = exec.output "y" output : memref<4x4xf32>
  // expected-error@below {{the bias must be a dense row of the output's elements, is 'memref<5xf32>' and 'memref<4x4xf32>'}}
  exec.gemm ins(%x, %x : memref<4x4xf32>, memref<4x4xf32>) bias(%b : memref<5xf32>) outs(%y : memref<4x4xf32>)
}

// -----

exec.entry @f mode<forward> {
  %x = exec.input "x" : memref<4x4xf32>
  %b = exec.input "b" : memref<4xf32>
  %y = exec.output "y" output : memref<4x4xf32>
  %t = exec.view %y : memref<4x4xf32> to memref<4x4xf32, strided<[1, 4]>>
  // expected-error@below {{with a bias the output's rows must be contiguous}}
  exec.gemm ins(%x, %x : memref<4x4xf32>, memref<4x4xf32>) bias(%b : memref<4xf32>) outs(%t : memref<4x4xf32, strided<[1, 4]>>)
}

// -----

exec.entry @f mode<forward> {
  %x = exec.input "x" : memref<4x4xf32>
  %y = exec.output "y" output : memref<4x4xf32>
  %t = exec.view %x : memref<4x4xf32> to memref<4x4xf32, strided<[1, 4]>>
  // expected-error@below {{the addend must lie as the output does, is 'memref<4x4xf32, strided<[1, 4]>>' and 'memref<4x4xf32>'}}
  exec.gemm ins(%x, %x : memref<4x4xf32>, memref<4x4xf32>) add(%t : memref<4x4xf32, strided<[1, 4]>>) outs(%y : memref<4x4xf32>)
}

// -----

exec.entry @f mode<forward> {
  %x = exec.input "x" : memref<4x4xf32>
  %y = exec.output "y" output : memref<4x4xf32>
  // expected-note@below {{the buffer's storage is here}}
  %a = exec.alloc : memref<4x4xf32>
  // expected-error@below {{reads a buffer that no command has written}}
  exec.gemm ins(%x, %x : memref<4x4xf32>, memref<4x4xf32>) add(%a : memref<4x4xf32>) outs(%y : memref<4x4xf32>)
}

// -----

// A GEMM reads its output if that is its addend.
exec.entry @f mode<forward> {
  %x = exec.input "x" : memref<4x4xf32>
  // expected-note@below {{the buffer's storage is here}}
  %y = exec.output "y" output : memref<4x4xf32>
  // expected-error@below {{reads a buffer that no command has written}}
  exec.gemm ins(%x, %x : memref<4x4xf32>, memref<4x4xf32>) add(%y : memref<4x4xf32>) outs(%y : memref<4x4xf32>)
}

// -----

exec.entry @f mode<forward> {
  %x = exec.input "x" : memref<4xf32>
  %y = exec.output "y" output : memref<2x2xf32>
  // expected-error@below {{source and target must agree in sizes and elements}}
  exec.copy ins(%x : memref<4xf32>) outs(%y : memref<2x2xf32>)
}

// -----

exec.entry @f mode<forward> {
  %x = exec.input "x" : memref<4x4xf32>
  %y = exec.output "y" output : memref<4x4xf32>
  %v = exec.view %x : memref<4x4xf32> to memref<4x4xf32, strided<[1, 4]>>
  // expected-error@below {{needs dense buffers}}
  exec.collective all_reduce sum ins(%v : memref<4x4xf32, strided<[1, 4]>>) outs(%y : memref<4x4xf32>) group = 2
}

// -----

exec.entry @f mode<forward> {
  %x = exec.input "x" : memref<4x4xf32>
  %y = exec.output "y" output : memref<4x4xf32>
  // expected-error@below {{the shape of all 2 parts must be [8, 4]}}
  exec.collective all_gather ins(%x : memref<4x4xf32>) outs(%y : memref<4x4xf32>) group = 2
}

// -----

exec.entry @f mode<forward> {
  %x = exec.input "x" : memref<4x4xf32>
  %y = exec.output "y" output : memref<4x4xf32>
  // expected-error@below {{root 2 is not a rank of a group of 2}}
  exec.collective broadcast ins(%x : memref<4x4xf32>) outs(%y : memref<4x4xf32>) group = 2 root = 2
}

// -----

exec.entry @f mode<forward> {
  // expected-error@below {{waits for event 1, which no earlier command records}}
  exec.wait 1
  exec.record 1 {stream = 1 : i64}
}

// -----

exec.entry @f mode<forward> {
  exec.record 1 {stream = 1 : i64}
  // expected-error@below {{records event 1 a second time}}
  exec.record 1
}

// -----

exec.entry @stride_overflows mode<forward> {
  %x = exec.input "x" : memref<4x8xf32>
  // expected-error@below {{with static sizes, strides and offset, at most 2^56 bytes, whose last element is one of the first 2^48}}
  %v = exec.view %x : memref<4x8xf32> to memref<4x8xf32, strided<[9223372036854775807, 1]>>
}

// -----

exec.entry @repeats_too_often mode<forward> {
  %x = exec.input "x" : memref<f32>
  // expected-error@below {{at most 2^56 bytes}}
  %v = exec.view %x : memref<f32> to memref<9223372036854775807xf32, strided<[0]>>
}

// -----

exec.entry @unknown_stride mode<forward> {
  %x = exec.input "x" : memref<4x8xf32>
  // expected-error@below {{with static sizes, strides and offset}}
  %v = exec.view %x : memref<4x8xf32> to memref<4x8xf32, strided<[?, 1]>>
}

// -----

// expected-error@below {{operand 0 of type 'tensor<4x8xf32>' does not lie in 'memref<4x8xf32, strided<[?, 1]>>'}}
exec.kernel @unknown_stride(%x: tensor<4x8xf32>) : (memref<4x8xf32, strided<[?, 1]>>) -> memref<4x8xf32> {
  %y = cs336.neg %x : tensor<4x8xf32>
  exec.yield %y : tensor<4x8xf32>
}

// -----

// expected-error@below {{operand 0 of type 'tensor<4x8xindex>' does not lie in 'memref<4x8xindex>'}}
exec.kernel @index(%x: tensor<4x8xindex>, %y: tensor<4xf32>) : (memref<4x8xindex>, memref<4xf32>) -> memref<4xf32> {
  %z = cs336.neg %y : tensor<4xf32>
  exec.yield %z : tensor<4xf32>
}

// -----

exec.entry @offset_overflows mode<forward> arena_bytes = 64 alignment = 64 {
  // expected-error@below {{'offset' failed to satisfy constraint}}
  %a = exec.alloc offset = 9223372036854775807 : memref<4xf32>
}

// -----

// expected-error@below {{'alignment' failed to satisfy constraint}}
exec.entry @alignment mode<forward> arena_bytes = 64 alignment = 4611686018427387904 {
}

// -----

// expected-error@below {{views cover 9223372036854775807 rows of 2}}
exec.variable @w parameter : memref<2xf32> {views = [#cs336.view<"a", 9223372036854775807>, #cs336.view<"b", 9223372036854775807>, #cs336.view<"c", 4>]}

// -----

exec.entry @world_overflows mode<forward> {
  %x = exec.input "x" : memref<4xf32>
  %y = exec.output "y" output : memref<4xf32>
  // expected-error@below {{the shape of all 4611686018427387905 parts must be [9223372036854775807]}}
  exec.collective all_gather ins(%x : memref<4xf32>) outs(%y : memref<4xf32>) group = 4611686018427387905
}

// -----

// expected-error@below {{'exec.variable' op has an empty name}}
exec.variable @"" parameter : memref<4xf32>

// -----

// expected-error@below {{'exec.entry' op has an empty name}}
exec.entry @"" mode<forward> {
}

// -----

exec.entry @forward mode<forward> {
  // expected-error@below {{'exec.input' op has an empty name}}
  %x = exec.input "" : memref<4xf32>
}

// -----

exec.entry @forward mode<forward> {
  // expected-error@below {{'exec.output' op has an empty name}}
  %y = exec.output "" output : memref<4xf32>
}

// -----

// The parts of an all_to_all may be columns of a dense matrix. These rows are further apart.
exec.entry @f mode<forward> {
  %x = exec.input "x" : memref<3x4x3xf32>
  %y = exec.output "y" output : memref<2x3x2xf32>
  %v = exec.view %x : memref<3x4x3xf32> to memref<2x3x2xf32, strided<[2, 5, 1]>>
  // expected-error@below {{needs dense buffers, has 'memref<2x3x2xf32, strided<[2, 5, 1]>>'}}
  exec.collective all_to_all ins(%v : memref<2x3x2xf32, strided<[2, 5, 1]>>) outs(%y : memref<2x3x2xf32>) group = 2
}

// -----

// There must be a part for each rank.
exec.entry @f mode<forward> {
  %x = exec.input "x" : memref<3x8xf32>
  %y = exec.output "y" output : memref<4x3x2xf32>
  %v = exec.view %x : memref<3x8xf32> to memref<4x3x2xf32, strided<[2, 8, 1]>>
  // expected-error@below {{needs dense buffers, has 'memref<4x3x2xf32, strided<[2, 8, 1]>>'}}
  exec.collective all_to_all ins(%v : memref<4x3x2xf32, strided<[2, 8, 1]>>) outs(%y : memref<4x3x2xf32>) group = 2
}

// -----

// Other collectives have no parts of columns.
exec.entry @f mode<forward> {
  %x = exec.input "x" : memref<3x4xf32>
  %y = exec.output "y" output : memref<2x3x2xf32>
  %v = exec.view %x : memref<3x4xf32> to memref<2x3x2xf32, strided<[2, 4, 1]>>
  // expected-error@below {{needs dense buffers, has 'memref<2x3x2xf32, strided<[2, 4, 1]>>'}}
  exec.collective broadcast ins(%v : memref<2x3x2xf32, strided<[2, 4, 1]>>) outs(%y : memref<2x3x2xf32>) group = 2 root = 1
}

// -----

exec.entry @f mode<forward> {
  %x = exec.input "x" : memref<4xf32>
  %y = exec.output "y" output : memref<4xf32>
  // expected-error@below {{writes outs[0] over ins[0], which other ranks may still read: only all_reduce and broadcast can run in place}}
  exec.collective all_to_all ins(%y : memref<4xf32>) outs(%y : memref<4xf32>) group = 2
}

// -----

exec.entry @f mode<forward> {
  %x = exec.input "x" : memref<4xf32>
  %y = exec.output "y" output : memref<4xf32>
  %z = exec.output "z" output : memref<4xf32>
  // expected-error@below {{writes outs[1] over ins[0], which other ranks may still read}}
  exec.collective all_reduce sum ins(%y, %x : memref<4xf32>, memref<4xf32>) outs(%z, %y : memref<4xf32>, memref<4xf32>) group = 2
}

// -----

exec.entry @f mode<forward> {
  %x = exec.input "x" : memref<4xf32>
  %y = exec.output "y" output : memref<4xf32>
  // expected-error@below {{writes outs[0] twice}}
  exec.collective all_reduce sum ins(%x, %x : memref<4xf32>, memref<4xf32>) outs(%y, %y : memref<4xf32>, memref<4xf32>) group = 2
}

// -----

// expected-error@below {{shards must be at least 2, is 1}}
exec.variable @w parameter : memref<4x2xf32> {shards = 1 : i64}

// -----

// expected-error@below {{shards must be at least 2, is -2}}
exec.variable @w parameter : memref<4x2xf32> {shards = -2 : i64}

// -----

// expected-error@below {{views cover 4 rows of 8}}
exec.variable @w parameter : memref<4x2xf32> {shards = 2 : i64, views = [#cs336.view<"a", 4>]}

// -----

// expected-error@below {{is sharded, but only floating-point variables of rank 1 or more can be}}
exec.variable @w state : memref<4xi64> {shards = 2 : i64}

// -----

// expected-error@below {{is sharded, but only floating-point variables of rank 1 or more can be}}
exec.variable @w state : memref<f32> {shards = 2 : i64}

// -----

// expected-error@below {{has 70368744177664 shards, together above 2^48 bytes}}
exec.variable @w state : memref<2xf32> {shards = 70368744177664 : i64}

// -----

// expected-error@below {{is gathered, but has no shards}}
exec.variable @w parameter : memref<64xf32> {gathered}

// -----

// expected-error@below {{keeps the parts of other ranks, but is not gathered}}
exec.variable @w parameter : memref<64xf32> {kept, shards = 2 : i64}

// -----

// expected-error@below {{is gathered, but its parts of 192 bytes are not multiples of 256}}
exec.variable @w parameter : memref<48xf32> {gathered, shards = 2 : i64}

// -----

exec.variable @w parameter : memref<64xf32> {shards = 2 : i64}
exec.entry @e mode<train> {
  // expected-error@below {{names the parts of all ranks, but @w is not gathered}}
  %w = exec.get gathered @w : memref<128xf32>
}

// -----

exec.variable @w parameter : memref<64xf32> {gathered, shards = 2 : i64}
exec.entry @e mode<train> {
  // expected-error@below {{has type 'memref<64xf32>', but the variable's is 'memref<128xf32>'}}
  %w = exec.get gathered @w : memref<64xf32>
}

// -----

exec.variable @w parameter : memref<64xf32> {gathered, shards = 2 : i64}
exec.entry @e mode<train> {
  // expected-error@below {{has type 'memref<128xf32>', but the variable's is 'memref<64xf32>'}}
  %w = exec.get @w : memref<128xf32>
}

// -----

// The own part may be any half of the whole.
exec.variable @w parameter : memref<64xf32> {gathered, shards = 2 : i64}
exec.entry @e mode<train> {
  %w = exec.get @w : memref<64xf32>
  %all = exec.get gathered @w : memref<128xf32>
  %second = exec.view %all : memref<128xf32> to memref<64xf32, strided<[1], offset: 64>>
  exec.collective all_gather ins(%w : memref<64xf32>) outs(%all : memref<128xf32>) group = 2
  // expected-error@below {{reads storage that it writes through another view}}
  exec.copy ins(%second : memref<64xf32, strided<[1], offset: 64>>) outs(%w : memref<64xf32>)
}

// -----

exec.variable @w parameter : memref<64xf32> {gathered, shards = 2 : i64}
exec.entry @e mode<train> {
  // expected-note@below {{the buffer's storage is here}}
  %all = exec.get gathered @w : memref<128xf32>
  %y = exec.output "y" output : memref<128xf32>
  // expected-error@below {{reads the parts of other ranks, which no command has gathered}}
  exec.copy ins(%all : memref<128xf32>) outs(%y : memref<128xf32>)
}

// -----

exec.variable @w parameter : memref<64xf32> {gathered, shards = 2 : i64}
exec.entry @e mode<train> {
  %w = exec.get @w : memref<64xf32>
  %all = exec.get gathered @w : memref<128xf32>
  %first = exec.view %all : memref<128xf32> to memref<64xf32>
  // expected-error@below {{reads storage that it writes through another view}}
  exec.collective all_to_all ins(%w : memref<64xf32>) outs(%first : memref<64xf32>) group = 2
}

// -----

// A gather of a half of the part would move it.
exec.variable @w parameter : memref<64xf32> {gathered, shards = 2 : i64}
exec.entry @e mode<train> {
  %w = exec.get @w : memref<64xf32>
  %half = exec.view %w : memref<64xf32> to memref<32xf32>
  %all = exec.get gathered @w : memref<128xf32>
  %first = exec.view %all : memref<128xf32> to memref<64xf32>
  // expected-error@below {{reads storage that it writes through another view}}
  exec.collective all_gather ins(%half : memref<32xf32>) outs(%first : memref<64xf32>) group = 2
}

// -----

exec.variable @w parameter : memref<64xf32> {gathered, shards = 2 : i64}
exec.entry @e mode<forward> {
  %w = exec.get @w : memref<64xf32>
  %all = exec.get gathered @w : memref<128xf32>
  // expected-error@below {{writes parameter @w, which an entry of mode forward must leave as it is}}
  exec.collective all_gather ins(%w : memref<64xf32>) outs(%all : memref<128xf32>) group = 2
}

// -----

// The new part makes those of other ranks outdated.
exec.variable @w parameter : memref<64xf32> {gathered, shards = 2 : i64}
exec.entry @e mode<train> {
  %w = exec.get @w : memref<64xf32>
  // expected-note@below {{the buffer's storage is here}}
  %all = exec.get gathered @w : memref<128xf32>
  %x = exec.input "x" : memref<64xf32>
  %y = exec.output "y" output : memref<128xf32>
  exec.collective all_gather ins(%w : memref<64xf32>) outs(%all : memref<128xf32>) group = 2
  exec.copy ins(%x : memref<64xf32>) outs(%w : memref<64xf32>)
  // expected-error@below {{reads the parts of other ranks, which no command has gathered}}
  exec.copy ins(%all : memref<128xf32>) outs(%y : memref<128xf32>)
}

// -----

// No entry gathers the parts that callers set.
exec.variable @w parameter : memref<64xf32> {gathered, kept, shards = 2 : i64}
exec.entry @e mode<forward> {
  // expected-note@below {{the buffer's storage is here}}
  %all = exec.get gathered @w : memref<128xf32>
  %y = exec.output "y" output : memref<128xf32>
  // expected-error@below {{reads the parts of other ranks, which no command has gathered}}
  exec.copy ins(%all : memref<128xf32>) outs(%y : memref<128xf32>)
}

// -----

exec.variable @w parameter : memref<64xf32> {gathered, kept, shards = 2 : i64}
// expected-error@below {{does not gather the parts of "w", which other entries read}}
exec.entry @prepare mode<prepare> {
}

// -----

exec.variable @w derived : memref<64xf32> {gathered, kept, shards = 2 : i64}
// expected-error@below {{writes "w", but does not gather its parts afterwards}}
exec.entry @e mode<train> {
  %w = exec.get @w : memref<64xf32>
  %all = exec.get gathered @w : memref<128xf32>
  %x = exec.input "x" : memref<64xf32>
  exec.collective all_gather ins(%w : memref<64xf32>) outs(%all : memref<128xf32>) group = 2
  exec.copy ins(%x : memref<64xf32>) outs(%w : memref<64xf32>)
}

// -----

exec.variable @v parameter : memref<64xf32> {gathered, kept, shards = 2 : i64}
exec.variable @w parameter : memref<64xf32> {gathered, kept, shards = 2 : i64}
exec.entry @prepare mode<prepare> {
  %v = exec.get @v : memref<64xf32>
  %w = exec.get @w : memref<64xf32>
  %all = exec.get gathered @v : memref<128xf32>
  // expected-error@below {{writes parameter @v, which an entry of mode prepare must leave as it is}}
  exec.collective all_gather ins(%w : memref<64xf32>) outs(%all : memref<128xf32>) group = 2
}

// -----

exec.entry @f mode<forward> {
  %x = exec.input "x" : memref<4xf32>
  %y = exec.output "y" output : memref<4xf32>
  // expected-error@below {{all_reduce cannot have only the parts of other ranks: all_gather and all_to_all can}}
  exec.collective all_reduce sum others ins(%x : memref<4xf32>) outs(%y : memref<4xf32>) group = 2
}

// -----

exec.entry @f mode<forward> {
  %x = exec.input "x" : memref<4xf32>
  %y = exec.output "y" output : memref<4xf32>
  // expected-error@below {{has the parts of other ranks, but its group has 1 rank}}
  exec.collective all_gather others ins(%x : memref<4xf32>) outs(%y : memref<4xf32>) group = 1
}

// -----

exec.entry @f mode<forward> {
  %x = exec.input "x" : memref<4xf32>
  %y = exec.output "y" output : memref<12xf32>
  // expected-error@below {{the shape of all 2 parts must be [8], 2 times 'memref<4xf32>' along axis 0, is 'memref<12xf32>'}}
  exec.collective all_gather others ins(%x : memref<4xf32>) outs(%y : memref<12xf32>) group = 3
}

// -----

exec.entry @f mode<forward> {
  %x = exec.input "x" : memref<6x4xf32>
  %y = exec.output "y" output : memref<6x4xf32>
  // expected-error@below {{the shape of all 2 parts must be [4, 4], 2 times 'memref<2x4xf32>' along axis 0, is 'memref<6x4xf32>'}}
  exec.collective all_to_all others ins(%x : memref<6x4xf32>) outs(%y : memref<6x4xf32>) group = 3
}

// -----

exec.entry @f mode<forward> {
  %x = exec.input "x" : memref<2x16xf32>
  // expected-error@below {{source must be an allocation, a variable, or a view of one}}
  %p = exec.part %x : memref<2x16xf32> -> memref<16xf32>
}

// -----

exec.entry @f mode<forward> {
  %x = exec.alloc : memref<2x2x16xf32>
  %p = exec.part %x : memref<2x2x16xf32> -> memref<2x16xf32>
  // expected-error@below {{source must be an allocation, a variable, or a view of one}}
  %q = exec.part %p : memref<2x16xf32> -> memref<16xf32>
}

// -----

exec.entry @f mode<forward> {
  %x = exec.alloc : memref<2x16xi32>
  // expected-error@below {{source must have floating-point elements, has 'i32'}}
  %p = exec.part %x : memref<2x16xi32> -> memref<16xi32>
}

// -----

exec.entry @f mode<forward> {
  %x = exec.alloc : memref<2x16xf32>
  // expected-error@below {{must be the source without axis 0, is 'memref<8xf32>' of 'memref<2x16xf32>'}}
  %p = exec.part %x : memref<2x16xf32> -> memref<8xf32>
}

// -----

exec.entry @f mode<forward> {
  %x = exec.alloc : memref<2x8xf32>
  // expected-error@below {{the distance of parts must be a multiple of 64 bytes, is 32}}
  %p = exec.part %x : memref<2x8xf32> -> memref<8xf32>
}

// -----

exec.entry @f mode<forward> {
  %x = exec.alloc : memref<2x16xf32>
  %p = exec.part %x : memref<2x16xf32> -> memref<16xf32>
  // expected-error@below {{source is the part of a rank, whose place in the storage is not known}}
  %v = exec.view %p : memref<16xf32> to memref<8xf32>
}

// -----

exec.entry @f mode<forward> {
  %x = exec.input "x" : memref<16xf32>
  %y = exec.alloc : memref<2x16xf32>
  // expected-error@below {{the shift must be below the number of parts, is 2 of 2}}
  %p = exec.part rank + 2 of %y : memref<2x16xf32> -> memref<16xf32>
}

// -----

exec.variable @w parameter : memref<2x16xf32> {shards = 2 : i64}
exec.entry @f mode<train> {
  %w = exec.get @w : memref<2x16xf32>
  // expected-error@below {{source is in variable @w, of which each rank stores a part}}
  %p = exec.part %w : memref<2x16xf32> -> memref<16xf32>
}

// -----

// The rows of a part are 128 bytes apart, those of two parts 64.
exec.entry @f mode<forward> {
  %x = exec.input "x" : memref<2x16xf32>
  %y = exec.alloc : memref<64xf32>
  %v = exec.view %y : memref<64xf32> to memref<2x2x16xf32, strided<[16, 32, 1]>>
  %p = exec.part %v : memref<2x2x16xf32, strided<[16, 32, 1]>> -> memref<2x16xf32, strided<[32, 1]>>
  // expected-error@below {{writes the part of a rank, which shares bytes with other parts}}
  exec.copy ins(%x : memref<2x16xf32>) outs(%p : memref<2x16xf32, strided<[32, 1]>>)
}

// -----

// Any two parts can be the same rows, because their places depend on the rank.
exec.entry @f mode<forward> {
  %x = exec.input "x" : memref<2x16xf32>
  %y = exec.alloc : memref<2x16xf32>
  exec.copy ins(%x : memref<2x16xf32>) outs(%y : memref<2x16xf32>)
  %p = exec.part %y : memref<2x16xf32> -> memref<16xf32>
  %q = exec.part rank + 1 of %y : memref<2x16xf32> -> memref<16xf32>
  // expected-error@below {{reads storage that it writes through another view}}
  exec.copy ins(%p : memref<16xf32>) outs(%q : memref<16xf32>)
}

// -----

exec.entry @f mode<forward> {
  %x = exec.input "x" : memref<16xf32>
  %y = exec.alloc : memref<2x16xf32>
  %p = exec.part %y : memref<2x16xf32> -> memref<16xf32>
  %q = exec.part rank + 1 of %y : memref<2x16xf32> -> memref<16xf32>
  // expected-error@below {{writes the same storage twice}}
  exec.collective broadcast ins(%x, %x : memref<16xf32>, memref<16xf32>) outs(%p, %q : memref<16xf32>, memref<16xf32>) group = 2 root = 0
}

// -----

// Ranks gather the own part into its place alone, not that of another rank.
exec.entry @f mode<forward> {
  %x = exec.input "x" : memref<16xf32>
  %y = exec.alloc : memref<32xf32>
  %v = exec.view %y : memref<32xf32> to memref<2x16xf32>
  %p = exec.part rank + 1 of %v : memref<2x16xf32> -> memref<16xf32>
  exec.copy ins(%x : memref<16xf32>) outs(%p : memref<16xf32>)
  // expected-error@below {{reads storage that it writes through another view}}
  exec.collective all_gather ins(%p : memref<16xf32>) outs(%y : memref<32xf32>) group = 2
}

// -----

// The part does not lie in the place that the gather has for it.
exec.entry @f mode<forward> {
  %x = exec.input "x" : memref<16xf32>
  %y = exec.alloc : memref<48xf32>
  %v = exec.view %y : memref<48xf32> to memref<2x16xf32>
  %p = exec.part %v : memref<2x16xf32> -> memref<16xf32>
  exec.copy ins(%x : memref<16xf32>) outs(%p : memref<16xf32>)
  %w = exec.view %y : memref<48xf32> to memref<32xf32, strided<[1], offset: 16>>
  // expected-error@below {{reads storage that it writes through another view}}
  exec.collective all_gather ins(%p : memref<16xf32>) outs(%w : memref<32xf32, strided<[1], offset: 16>>) group = 2
}

// -----

// A part can be any of the rows.
exec.entry @f mode<forward> {
  %x = exec.input "x" : memref<2x16xf32>
  %y = exec.alloc : memref<2x16xf32>
  exec.copy ins(%x : memref<2x16xf32>) outs(%y : memref<2x16xf32>)
  %p = exec.part %y : memref<2x16xf32> -> memref<16xf32>
  %v = exec.view %y : memref<2x16xf32> to memref<16xf32, strided<[1], offset: 16>>
  // expected-error@below {{reads storage that it writes through another view}}
  exec.copy ins(%p : memref<16xf32>) outs(%v : memref<16xf32, strided<[1], offset: 16>>)
}
