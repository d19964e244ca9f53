"""Random encodings, right and wrong, for the property tests."""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import strategies as st

from mlir_sparse.encoding import TypedValue

FORMATS = ("dense", "batch", "compressed", "loose_compressed", "singleton", "structured[2, 4]")
PROPERTIES = ("nonunique", "nonordered", "soa")
_WIDTHS = st.sampled_from([0, 0, 8, 16, 32, 64])


@st.composite
def level_types(draw: st.DrawFn) -> str:
    """Any level format with any properties, most of them allowed."""
    level_format = draw(st.sampled_from(FORMATS))
    likely = level_format in ("compressed", "loose_compressed", "singleton")
    words = draw(st.lists(st.sampled_from(PROPERTIES), max_size=2 if likely else 0, unique=True))
    return f"{level_format}({', '.join(words)})" if words else level_format


@st.composite
def expressions(draw: st.DrawFn, rank: int) -> list[str]:
    """A permutation of the dimensions, some split into blocks."""
    dims = draw(st.permutations([f"x{d}" for d in range(rank)]))
    levels = list(dims)
    for dim in draw(st.lists(st.sampled_from(dims), max_size=2, unique=True)):
        size = draw(st.sampled_from([2, 3, 4]))
        at = levels.index(dim)
        levels[at] = f"{dim} floordiv {size}"
        levels.insert(draw(st.integers(at + 1, len(levels))), f"{dim} mod {size}")
    return levels


@st.composite
def typed_values(draw: st.DrawFn, *, zero: bool = False) -> str:
    """A literal of one of the element types, in MLIR's canonical text."""
    dtype = draw(st.sampled_from(["i8", "i32", "i64", "f16", "bf16", "f32", "f64", "complex<f32>", "complex<f64>"]))
    if zero:
        return str(TypedValue.of(0, dtype))
    if dtype.startswith("i"):
        bits = int(dtype[1:])
        return str(TypedValue.of(draw(st.integers(-(1 << bits - 1), (1 << bits - 1) - 1)), dtype))
    if dtype.startswith("complex"):
        return str(TypedValue.of(draw(st.complex_numbers(allow_nan=False)), dtype))
    return str(TypedValue.of(draw(st.floats()), dtype))


@dataclass(frozen=True)
class Text:
    """An encoding's text, and the names of its dimensions."""

    attribute: str
    names: tuple[str, ...]


@st.composite
def encodings(draw: st.DrawFn) -> Text:
    """Attribute text inside the grammar; MLIR's verifier may refuse the level types."""
    rank = draw(st.integers(1, 4))
    levels = draw(expressions(rank))
    kinds = [draw(level_types()) for _ in levels]
    if draw(st.booleans()):  # mostly right ones, or the verifier would refuse nearly all
        kinds = [k if k.startswith(("compressed", "dense", "loose")) and "soa" not in k else "dense" for k in kinds]
    names = [f"x{d}" for d in range(rank)]
    fields = [f"map = ({', '.join(names)}) -> ({', '.join(f'{e} : {k}' for e, k in zip(levels, kinds, strict=True))})"]
    fields += [f"{key} = {draw(_WIDTHS)}" for key in ("posWidth", "crdWidth") if draw(st.booleans())]
    fields += [f"explicitVal = {draw(typed_values())}"] if draw(st.booleans()) else []
    fields += [f"implicitVal = {draw(typed_values(zero=True))}"] if draw(st.booleans()) else []
    return Text(f"#sparse_tensor.encoding<{{ {', '.join(fields)} }}>", tuple(names))


_ANY_FORMAT = (
    *("dense", "compressed", "loose_compressed", "singleton", "singleton(soa)", "compressed(nonunique)", "range"),
    *("hashed", "offset", "dense[-2, 3]", "range[?, ?]", "range[?]", "batch", "structured[2, 4]"),
)


@st.composite
def any_maps(draw: st.DrawFn) -> str:
    """A map of our own: skews, nested blocks, slots, redundant levels, bounds; nobody may want it."""
    rank = draw(st.integers(1, 3))
    dims = [f"x{d}" for d in range(rank)]
    levels = list(draw(st.permutations(dims)))
    for at in range(len(levels)):
        if draw(st.booleans()) and rank > 1:
            other = draw(st.sampled_from(dims))
            levels[at] = f"{levels[at]} {draw(st.sampled_from(['+', '-', '+ 2 *']))} {other}"
    for _ in range(draw(st.integers(0, 2))):
        at = draw(st.integers(0, len(levels) - 1))
        size, whole = draw(st.sampled_from([2, 4])), levels[at]
        levels[at] = f"({whole}) floordiv {size}"
        levels.insert(draw(st.integers(0, len(levels))), f"({whole}) mod {size}")
    if has_slots := draw(st.integers(0, 3)) == 0:
        levels.insert(0, draw(st.sampled_from(["c * x0", "c * 3 * x0"])))
    kinds = [draw(st.sampled_from(_ANY_FORMAT)) for _ in levels]
    if draw(st.booleans()):
        bound = draw(st.sampled_from(dims))
        kinds[-1] = draw(st.sampled_from([f"range[0, {bound} + 1]", f"range[{bound}]", f"range[?, {bound} + 1]"]))
    if has_slots:
        kinds[0] = "dense"
    specs = ", ".join(f"{expr} : {kind}" for expr, kind in zip(levels, kinds, strict=True))
    return f"{'[c]' if has_slots else ''}({', '.join(dims)}) -> ({specs})"
