"""Writes IR that nests 20,000 levels deep in one of several ways, or that is long and flat."""

import sys

DEPTH = 20000

FLAT = """func.func private @f{0}() attributes {{a = "((((", b = [#map], c = [-1, 1.0e-5]}} // ((((
func.func private @g{0}(tensor<2xf32>) -> tensor<2xf32>
"""


def chain(sigil: str, first: str, rest: str) -> str:
    """Return aliases, each of which names the previous one."""
    return "\n".join([f"{sigil}a0 = {first}", *(f"{sigil}a{i} = {rest % (i - 1)}" for i in range(1, DEPTH))])


TEXTS = {
    "regions": lambda: '"x.x"() ({\n' * DEPTH + "}) : () -> ()\n" * DEPTH,
    "attributes": lambda: "module attributes {a.a = " + "[" * DEPTH + "]" * DEPTH + "} {}",
    "types": lambda: "func.func private @f(" + "tuple<" * DEPTH + ">" * DEPTH + ")",
    "locations": lambda: "module {} loc(" + 'callsite("a" at ' * DEPTH + "unknown" + ")" * DEPTH + ")",
    "negations": lambda: "#m = affine_map<(d0) -> (" + "-" * DEPTH + "d0)>",
    "sums": lambda: "#m = affine_map<(d0) -> (" + "d0 + (d0) + " * DEPTH + "d0)>",
    "remainders": lambda: "#m = affine_map<(d0) -> (d0" + " mod 7" * DEPTH + ")>",
    "attribute-aliases": lambda: chain("#", "[1]", "[#a%d]"),
    "type-aliases": lambda: chain("!", "tuple<f32>", "tuple<!a%d>"),
    "location-aliases": lambda: chain("#", 'loc("a")', 'loc("a"(#a%d))'),
    "flat": lambda: "#map = affine_map<(d0) -> (d0)>\n" + "".join(FLAT.format(i) for i in range(1000)),
}

print(TEXTS[sys.argv[1]]())
