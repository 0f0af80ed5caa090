// RUN: cs336-opt %s --exec-kernels-to-cpu --split-input-file --verify-diagnostics

// What lies between operations that share no rows does not fit beside them.
// expected-error @below {{kernel 'wide' needs 4194304 bytes of memory for values between its operations, and has 1048576; put them into separate kernels}}
exec.kernel @wide(%x: tensor<1024x1024xf32>) : (memref<1024x1024xf32>) -> memref<1024x1024xf32> {
  %e = cs336.exp %x : tensor<1024x1024xf32>
  %t = cs336.transpose %e perm = [1, 0] : tensor<1024x1024xf32> -> tensor<1024x1024xf32>
  %y = cs336.add %e, %t : tensor<1024x1024xf32>
  exec.yield %y : tensor<1024x1024xf32>
}
