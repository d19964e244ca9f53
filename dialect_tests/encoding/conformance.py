"""What the dialect's parser and verifier take and refuse.

The cases of upstream's `roundtrip_encoding.mlir` and `invalid_encoding.mlir`
in their current spelling, the examples of the dialect's documentation, and one
case for every rule of the verifier.
"""

from __future__ import annotations


def attribute(body: str) -> str:
    return f"#sparse_tensor.encoding<{{ {body} }}>"


VALID_MAPS = [
    "(d0) -> (d0 : compressed)",
    "(i, j) -> (i : dense, j : compressed)",
    "(i,j)->(i:dense,j:compressed)",
    "{l0, l1} (d0 = l0, d1 = l1) -> (l0 = d0 : dense, l1 = d1 : compressed)",
    "{a, b}(i, j) -> (a = j : dense, b = i : dense)",
    "{a, b}(i = b, j = a) -> (a = j : dense, b = i : dense)",
    "{}(i) -> (i : dense)",
    "[](i) -> (i : dense())",
    "(d.0, d$1) -> (d.0 : dense, d$1 : dense)",
    "(i, j) -> (j : dense, i : compressed)",
    "(i, j) -> (i : compressed(nonunique, nonordered), j : singleton(nonordered))",
    "(i, j) -> (i : compressed(nonordered, nonunique, nonunique), j : singleton)",
    "(i, j) -> (i : compressed(nonunique), j : singleton(soa))",
    "(i, j, k) -> (i : compressed(nonunique), j : singleton(soa, nonunique), k : singleton(soa))",
    "(i, j) -> (i : compressed, j : singleton)",
    "(i, j, k, l) -> (i : compressed, j : singleton, k : compressed, l : singleton(soa))",
    "(i, j, k) -> (i : compressed(nonunique), j : singleton, k : dense)",
    "(i, j, k) -> (i : compressed(nonunique), j : compressed(nonunique), k : singleton)",
    "(i, j, k) -> (i : dense, j : loose_compressed(nonunique), k : singleton)",
    "(i) -> (i : loose_compressed(nonordered))",
    "(i, j, k) -> (i : batch, j : dense, k : compressed)",
    "(i, j) -> (i : batch, j : batch)",
    "(i, j) -> (i floordiv 2 : dense, j floordiv 3 : compressed, i mod 2 : dense, j mod 3 : dense)",
    (
        "{il, jl, ii, jj}(i = il * 2 + ii, j = jl * 3 + jj) -> (il = i floordiv 2 : dense,"
        " jl = j floordiv 3 : compressed, ii = i mod 2 : dense, jj = j mod 3 : dense)"
    ),
    (
        "(i, j, k) -> (i floordiv 2 : dense, j floordiv 3 : dense, k floordiv 4 : compressed,"
        " i mod 2 : dense, j mod 3 : dense, k mod 4 : dense)"
    ),
    "(i) -> (i floordiv 2 : compressed, i mod 2 : dense)",
    "(i, j) -> (i floordiv 2 : dense, j : dense, i mod 2 : dense)",
    "(i, j) -> (i : dense, j floordiv 4 : dense, j mod 4 : structured[2, 4])",
    "(i, j, k) -> (i : dense, k floordiv 4 : dense, j : dense, k mod 4 : structured[2, 4])",
    "(i) -> (i floordiv 8 : dense, i mod 8 : structured[0, 8])",
    "(i) -> (i : structured[2, 4])",
    "(i : #sparse_tensor<slice(1, 4, 1)>, j : #sparse_tensor<slice(1, 4, 2)>) -> (i : dense, j : compressed)",
    "(i : #sparse_tensor<slice(1, ?, 1)>, j : #sparse_tensor<slice(?, 4, 2)>) -> (i : dense, j : compressed)",
    "(i : #sparse_tensor<slice(?, ?, ?)>, j) -> (j : dense, i : compressed)",
    "[c](i, j) -> (c * 3 * i : dense, i : dense, j : compressed)",
    "[s](i, j) -> (i + s : dense, j : dense)",
    "[s, t](i, j) -> (j * s : dense, i * t : dense)",
    "[s](i) -> (i mod s : dense, i ceildiv 3 : dense, i floordiv -2 : dense)",
    "[s](i, j) -> (i - j : dense, j - 3*i + 5 : dense, (i+j) mod 4 : dense, -i-s : dense, -(i+j) * 2 : dense)",
    "[s](i, j) -> (i * -1 : dense, i + 2 - (j - i) : dense)",
    "(i, j) -> (i + 0 : dense, j * 1 : compressed)",
    "(i, j) -> (i + i - i : dense, (j * 4) floordiv 4 : compressed)",
]

VALID = [attribute(f"map = {text}") for text in VALID_MAPS] + [
    "#sparse_tensor<encoding<{ map = (i) -> (i : dense) }>>",
    "#sparse_tensor.encoding<{map=(i)->(i:dense),}>",
    *(
        attribute(f"map = (i, j) -> (i : dense, j : compressed), {fields}")
        for fields in [
            "posWidth = 0, crdWidth = 0",
            "posWidth = 8, crdWidth = 16",
            "crdWidth = 32, posWidth = 64",
            "posWidth = 0x20, crdWidth = 32 : i32",
            "posWidth = 32, posWidth = 64",
            "explicitVal = 1, implicitVal = 0",
            "explicitVal = 1.0 : f32, implicitVal = 0.0 : f32",
            "explicitVal = -1.5e3 : bf16",
            "explicitVal = 3.3 : f16",
            "explicitVal = 0x3F800000 : f32",
            "explicitVal = 0x7FF0000000000000 : f64",
            "explicitVal = 0x7FC1 : bf16",
            "explicitVal = 70000.0 : f16",
            "explicitVal = 1.0e400",
            "explicitVal = 0.30000000000000004, implicitVal = -0.0",
            "explicitVal = 123456789012.0 : f64",
            "explicitVal = 255 : i8, implicitVal = 0 : i8",
            "explicitVal = 255 : ui8, implicitVal = 0 : si16",
            "explicitVal = 9223372036854775808",
            "explicitVal = 1 : index, implicitVal = false",
            "explicitVal = true",
            "explicitVal = #complex.number<:f64 1.0, -0.5>",
            "explicitVal = #complex.number<:f32 3.3, 0.0> : complex<f32>",
            "explicitVal = #complex.number<:f64 123456789012.0, 0x7FF0000000000000>",
        ]
    ),
]

# Text, and where it goes wrong in it. MLIR's message is asked of MLIR itself.
REFUSED = [
    ("(i, j) -> (i : dense, j : compress)", "compress)"),
    ("(i, j) -> (i : dense, j : compressed(unique))", "unique"),
    ("(i, j) -> (i : dense, j : compressed(3))", "3))"),
    ("(i, j) -> (i : dense, j : 3)", "3)"),
    ("(i, j) -> (i : dense(nonunique), j : compressed)", "dense(nonunique)"),
    ("(i, j) -> (i : batch(nonordered), j : compressed)", "batch(nonordered)"),
    ("(i) -> (i floordiv 4 : dense, i mod 4 : structured[2, 4](nonunique))", "structured[2"),
    ("(i) -> (i : structured)", "structured"),
    ("(i) -> (i : structured[2])", "structured"),
    ("(i) -> (i : structured[4, 2])", "structured"),
    ("(i) -> (i : singleton)", "i : singleton"),
    ("(i, j, k) -> (i : compressed, j : singleton(soa), k : singleton)", "k : singleton"),
    ("(i, j) -> (i : dense, j : batch)", "j : batch"),
    ("(i, j) -> (i : compressed(nonunique), j : dense)", "j : dense"),
    ("(i, j, k) -> (i : compressed, j : singleton(nonunique), k : dense)", "k : dense"),
    ("(i) -> (i : compressed(soa))", "i : compressed"),
    ("(i, j) -> (i : structured[2, 4], j : dense)", "i : structured"),
    ("(i, j) -> (i : compressed, j floordiv 4 : dense, j mod 4 : structured[2, 4])", "j mod 4"),
    ("(i, j) -> (i : dense, j floordiv 4 : dense, j mod 4 : structured[2, 8])", "j mod 4"),
    ("(i, j) -> (i floordiv 2 : dense, i mod 2 : dense, j floordiv 4 : dense, j mod 4 : structured[2, 4])", "j mod 4"),
    ("(i) -> (i : dense, i : structured[2, 4])", "i : structured"),
    ("(d0) -> (d0 : dense, d1 : compressed)", "d1"),
    ("(d0, d1) -> (d0 : dense)", "(d0, d1)"),
    ("(i, j) -> (i : dense, i : compressed)", "(i, j)"),
    ("(i, j) -> (i : dense, 0 : dense, j : dense)", "(i, j)"),
    ("(i) -> (i floordiv 2 : dense, i mod 3 : dense)", "(i)"),
    ("(i) -> (i floordiv 1 : dense, i mod 1 : dense)", "(i)"),
    ("(i) -> (i floordiv 0 : dense, i mod 0 : dense)", "(i)"),
    ("(i) -> (i ceildiv 2 : dense, i mod 2 : dense)", "(i)"),
    ("{a, b}(i = b, j = a) -> (a = i : dense, b = j : dense)", "b, j"),
    ("{a, b}(i = b, j) -> (a = j : dense, b = i : dense)", "j) ->"),
    ("(d0 = 3, d1) -> (d0 : dense, d1 : compressed)", "d1)"),
    ("[s](i, j) -> (i * s : dense)", "[s]"),
    ("(i, j) -> (i * j : dense, j : dense)", "* j"),
    ("(i, j) -> (i floordiv j : dense, j : dense)", "floordiv"),
    ("(i, j) -> (i mod j : dense, j : dense)", "mod"),
    ("(i, j) -> (i + : dense, j : dense)", ": dense, j"),
    ("(i) -> (i + 9223372036854775808 : dense)", "9223372036854775808"),
    ("(i, i) -> (i : dense, i : dense)", "i) ->"),
    ("{i}(i) -> (i = i : dense)", "i) ->"),
    ("{l0, l1, l2} (d0, d1) -> (l0 = d0 : dense, l1 = d1 : compressed)", "(l0"),
    ("{l0} (d0, d1) -> (l0 = d0 : dense, l1 = d1 : compressed)", "l1"),
    ("{l1, l0} (d0, d1) -> (l0 = d0 : dense, l1 = d1 : compressed)", "l0 ="),
    ("{l0, l1} (d0 = d1, d1) -> (l0 = d0 : dense, l1 = d1 : compressed)", "d1,"),
    ("(i : 3, j) -> (i : dense, j : compressed)", "3"),
    ("(i : #sparse_tensor<slice(-1, ?, 1)>, j) -> (i : dense, j : compressed)", "-1"),
    ("(i : #sparse_tensor<slice(0, 0, 1)>, j) -> (i : dense, j : compressed)", "#sparse_tensor<"),
    ("(i : #sparse_tensor<slice(0, 1, 0)>, j) -> (i : dense, j : compressed)", "#sparse_tensor<"),
    ("(i, j : #sparse_tensor<slice(?, ?, ?)>) -> (i floordiv 2 : dense, j : dense, i mod 2 : dense)", "j : #"),
    ("(1) -> (1 : dense)", "1) ->"),
    ("(i, j) (i : dense, j : dense)", "(i : dense"),
    ("(i, j) -> (i : dense, j : dense,)", ")"),
]

# Text that MLIR refuses for want of a word, the level at fault and the words it lacks.
FOREIGN = [
    ("(i, j) -> (i : dense, j : singleton)", 1, "expected compressed or loose_compressed level before singleton level"),
    (
        "(i, j, k, l) -> (i : compressed, j : singleton, k : dense, l : singleton)",
        3,
        "expected compressed or loose_compressed level before singleton level",
    ),
    ("(i, j) -> (j - i : dense, i : compressed)", 0, "failed to infer lvlToDim from dimToLvl"),
    ("(i, j) -> (i : dense, j + 1 : dense)", 1, "failed to infer lvlToDim from dimToLvl"),
    ("(i) -> (i mod 2 : dense, i floordiv 2 : dense)", 0, "failed to infer lvlToDim from dimToLvl"),
    (
        "(i) -> (i floordiv 4 : dense, (i mod 4) floordiv 2 : dense, i mod 2 : dense)",
        1,
        "failed to infer lvlToDim from dimToLvl",
    ),
    (
        "(i, j) -> (i floordiv 8 : dense, j : compressed, (i mod 8) floordiv 2 : dense, i mod 2 : dense)",
        2,
        "failed to infer lvlToDim from dimToLvl",
    ),
    (
        "(i, j) -> ((j - i) floordiv 4 : compressed, i : dense, (j - i) mod 4 : dense)",
        0,
        "failed to infer lvlToDim from dimToLvl",
    ),
    (
        "{a, b}(i = (a + b) floordiv 2, j = (a - b) floordiv 2) -> (a = i + j : compressed, b = i - j : compressed)",
        0,
        "failed to infer lvlToDim from dimToLvl",
    ),
    ("(i, j) -> (j - i : compressed, i : range)", 1, "no level format range"),
    ("(i, j) -> (j - i : compressed, i : range, j : offset)", 1, "no level format range"),
    ("{d, r}(i = r, j = d + r) -> (d = j - i : compressed, r = i : range)", 1, "no level format range"),
    ("(i, j) -> (i : dense, j : range[0, i + 1])", 1, "no level format range"),
    ("(i, j) -> (i : dense, j : range[i])", 1, "no level format range"),
    ("(i, j) -> (i : dense, j : range[?, i + 1])", 1, "no level format range"),
    ("(i, j) -> (i : dense, j : range[?, ?])", 1, "no level format range"),
    ("(i, j) -> (j - i : dense[-1, 2], i : range)", 0, "no bounds on dense levels"),
    ("(i, j) -> (i : dense, j : compressed, j - i : offset)", 2, "no level format offset"),
    ("(i) -> (i : hashed)", 0, "no level format hashed"),
    ("(i, j) -> (i : hashed, j : hashed)", 0, "no level format hashed"),
    (
        "[c](i, j) -> (c * i : dense, i : dense, j : singleton)",
        2,
        "expected compressed or loose_compressed level before singleton level",
    ),
]

# Text that we refuse although it is spelled in our own words: where, and for what reason.
WRONG = [
    ("(i, j) -> (i + j : dense, i - j : dense)", "(i, j)", "expected a unimodular map, but d0 is a fraction"),
    ("(i, j) -> (j - i : dense, i - j : dense)", "(i, j)", "expected levels that each say something new, but d0 - d1"),
    ("(i, j) -> (j - i : compressed, i : range, j : dense)", "(i, j)", "but d1 follows from the others"),
    ("(i) -> (i floordiv 8 : dense, i floordiv 2 : dense)", "(i)", "expected levels that determine d0"),
    ("(i) -> (i floordiv 8 : dense, i mod 2 : dense)", "(i)", "expected levels that determine d0"),
    ("(i) -> (i floordiv 6 : dense, (i mod 6) floordiv 4 : dense, i mod 4 : dense)", "(i)", "expected levels that are"),
    ("(i) -> (i floordiv 6 : dense, i mod 4 : dense)", "(i)", "expected block sizes of one dimension that divide"),
    ("(i) -> (i floordiv 0 : dense, i mod 0 : dense)", "(i)", "with c > 0"),
    ("{d, r}(i = r, j = d) -> (d = j - i : compressed, r = i : range)", "r,", "lvlToDim to be an inverse of dimToLvl"),
    (
        "{a, b}(i = (a + b) floordiv 3, j = (a - b) floordiv 2) -> (a = i + j : dense, b = i - j : dense)",
        "{a, b}",
        "failed to infer lvlToDim",
    ),
    (
        "[c]{s, r, l}(i = r + s, j = l) -> (s = c * i : dense, r = i : dense, l = j : singleton)",
        "r + s",
        "an inverse of",
    ),
    ("(i, j) -> (j : offset, i : dense, j - i : dense)", "j : offset", "offset that the levels above determine"),
    ("(i, j) -> (i : dense, j : range[0, j])", "j : range", "bounds that the levels above determine, but got d1"),
    ("(i, j) -> (i : dense[0, j], j : dense)", "dense[0", "expected numbers as the bounds of a dense level"),
    ("(i, j) -> (i : dense[2, 2], j : dense)", "dense[2", "expected low < high in dense[low, high]"),
    ("(i, j) -> (i : dense[?, 2], j : dense)", "dense[?", "expected numbers as the bounds of a dense level"),
    ("(i, j) -> (i : dense[1], j : dense)", "dense[1", "expected numbers as the bounds of a dense level"),
    ("(i, j) -> (i : dense, j : range[0, 1)", ")", "`]` after the bounds of a level"),
    ("(i, j) -> (i : dense, j : range[])", "])", "expected affine expression, but got `]`"),
    ("(i, j) -> (i : dense, j : range[0 1])", "1]", "`,` or `]` in the bounds of a level"),
    ("(i) -> (i : compressed[0, 1])", "[0", "expected `,` or `)` in level-specifier list"),
    ("(i) -> (i : hashed(nonunique))", "hashed(", "level format doesn't support the properties"),
    ("(i) -> (i : range(nonordered))", "range(", "level format doesn't support the properties"),
    ("(i, j) -> (i : compressed(nonunique), j : range)", "j : range", "range level cannot follow a non-unique level"),
    ("(i, j) -> (i : batch, j : singleton)", "j : singleton", "expected compressed or loose_compressed level before"),
]

REFUSED_FIELDS = [
    ("posWidth = 42", "42"),
    ("crdWidth = 128", "128"),
    ("posWidth = -8", "-8"),
    ("posWidth = 32.0", "32.0"),
    ("crdWidth = 1.5", "1.5"),
    ("key = 1", "key"),
    ("explicitVal = 300 : i8", "300"),
    ("explicitVal = -1 : ui8", "-1"),
    ("explicitVal = 1 : f32", "1 :"),
    ("explicitVal = 1.0 : i32", "1.0"),
    ("explicitVal = -0x7FC00001 : f32", "-0x"),
    ("explicitVal = 0x7FC00001FF : f32", "0x"),
    ("explicitVal = #complex.number<:f32 3.3, 1>", "#complex"),
]
