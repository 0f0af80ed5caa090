"""Print an attention whose score function compares the distance with the numbers from 1 on."""

import sys

count = int(sys.argv[1])
lines = ["%distance = cs336.sub %i, %j : tensor<i32>", "%one = cs336.constant dense<1.0> : tensor<f32>"]
lines += ["%none = cs336.constant dense<0.0> : tensor<f32>"]
for number in range(1, count + 1):
    before = "%s" if number == 1 else f"%sum{number - 1}"
    lines += [
        f"%bound{number} = cs336.constant dense<{number}> : tensor<i32>",
        f"%near{number} = cs336.compare lt %distance, %bound{number} : tensor<i32>",
        f"%term{number} = cs336.select %near{number}, %one, %none : tensor<f32>",
        f"%sum{number} = cs336.add {before}, %term{number} : tensor<f32>",
    ]
body = "\n".join(lines)
print(f"""
exec.kernel @segments(%q: tensor<1x1000x1x64xbf16>)
    : (memref<1x1000x1x64xbf16>) -> (memref<1x1000x1x64xbf16>, memref<1x1x1000xf32>) {{
  %o, %l = cs336.attention %q, %q, %q {{scale = 1.0 : f64, causal}}
      : tensor<1x1000x1x64xbf16>, tensor<1x1000x1x64xbf16> -> tensor<1x1x1000xf32> score() {{
  ^bb0(%s: tensor<f32>, %b: tensor<i32>, %h: tensor<i32>, %i: tensor<i32>, %j: tensor<i32>):
{body}
    cs336.yield %sum{count} : tensor<f32>
  }}
  exec.yield %o, %l : tensor<1x1000x1x64xbf16>, tensor<1x1x1000xf32>
}}
""")
