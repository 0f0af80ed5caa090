"""A program in which one command is the first to write a NaN, and inputs with which it does and does not."""

from __future__ import annotations

import numpy as np

# The second command computes the logarithm of -1. The first is fine, and the third only propagates the NaN.
PROGRAM = """
func.func @forward(%x: tensor<2x3xf32>, %w: tensor<3x3xf32>) -> tensor<2x3xf32> {
  %0 = cs336.matmul %x, %w : tensor<2x3xf32>, tensor<3x3xf32> -> tensor<2x3xf32> loc("first")
  %1 = cs336.log %0 : tensor<2x3xf32> loc("second")
  %2 = cs336.matmul %1, %w : tensor<2x3xf32>, tensor<3x3xf32> -> tensor<2x3xf32> loc("third")
  return %2 : tensor<2x3xf32>
}
"""

GOOD = {"arg0": np.array([[1, 2, 3], [4, 5, 6]], np.float32), "arg1": np.eye(3, dtype=np.float32)}
BAD = {**GOOD, "arg0": np.array([[1, 2, 3], [4, -1, 6]], np.float32)}
