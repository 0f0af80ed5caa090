// Attention and its gradient, whose schedules for sm_90a need more workspace than those for all architectures.
func.func @forward(%q: tensor<2x2048x12x64xbf16>, %k: tensor<2x2048x12x64xbf16>, %v: tensor<2x2048x12x64xbf16>,
                   %g: tensor<2x2048x12x64xbf16>)
    -> (tensor<2x2048x12x64xbf16>, tensor<2x2048x12x64xbf16>, tensor<2x2048x12x64xbf16>) {
  %o, %l = cs336.attention %q, %k, %v {scale = 0.125 : f64, causal}
      : tensor<2x2048x12x64xbf16>, tensor<2x2048x12x64xbf16> -> tensor<2x12x2048xf32>
  %dq, %dk, %dv = cs336.attention_backward %q, %k, %v, %o, %l, %g {scale = 0.125 : f64, causal}
      : tensor<2x2048x12x64xbf16>, tensor<2x2048x12x64xbf16>, tensor<2x12x2048xf32>
  return %dq, %dk, %dv : tensor<2x2048x12x64xbf16>, tensor<2x2048x12x64xbf16>, tensor<2x2048x12x64xbf16>
}
