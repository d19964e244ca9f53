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
