"""The rules for encodings, in the order and the words of the dialect's verifier.

The rules are those of `SparseTensorEncodingAttr::verify`. Encodings that upstream accepts but later code relies on not
to exist are refused too: a map of only some dimensions, a wrong inverse that equals the inferred one. Encodings that
the dialect refuses only because it lacks them (`mlir_sparse.encoding.unsupported_by_dialect`) pass.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any

from mlir_sparse.affine import AffineBinary, AffineMap, AffineOp, Constant, Dim
from mlir_sparse.classes import dataclass
from mlir_sparse.encoding.dim_slice import DimSlice
from mlir_sparse.encoding.level_map import LevelSpec
from mlir_sparse.encoding.level_maps import infer_lvl_to_dim, inverts, levels_needed
from mlir_sparse.encoding.level_type import LevelType
from mlir_sparse.encoding.levels.level_functions import Assembly, Brackets
from mlir_sparse.encoding.levels.level_property import LevelProperty
from mlir_sparse.encoding.typed_literal import TypedValue
from mlir_sparse.encoding.unsupported_by_dialect import are_native
from mlir_sparse.errors import EncodingError
from mlir_sparse.text.given_arguments import several_of, shown

__all__ = ["EncodingFault", "checked_levels", "checked_slices", "first_fault", "level_type_fault"]

_WIDTHS = (0, 8, 16, 32, 64)


@dataclass(frozen=True, slots=True)
class EncodingFault:
    """A broken rule and its place: "map", "level" or "dim" with its index, or the name of a key."""

    message: str
    place: str = "map"
    index: int = 0


@dataclass(frozen=True, slots=True)
class Draft:
    """The parts of an encoding before verification."""

    dim_rank: int
    levels: tuple[LevelSpec, ...]
    slices: tuple[DimSlice | None, ...]
    pos_width: int
    crd_width: int
    implicit_val: TypedValue | None
    lvl_to_dim_given: AffineMap | None
    num_symbols: int

    @property
    def types(self) -> list[LevelType]:
        return [level.type for level in self.levels]

    @property
    def dim_to_lvl(self) -> AffineMap:
        return AffineMap(self.dim_rank, self.num_symbols, tuple(level.expr for level in self.levels))


def checked_levels(dim_names: Sequence[str], levels: Sequence[LevelSpec]) -> tuple[LevelSpec, ...]:
    """Returns the levels of an encoding that code makes, not a parser.

    Raises:
        EncodingError: for names of dimensions that are no text, and for levels that are no `LevelSpec`.
    """
    _all_of((str,), dim_names, "a name as text for each dimension")
    return _all_of((LevelSpec,), levels, "a LevelSpec for each level")


def checked_slices(slices: Sequence[DimSlice | None]) -> tuple[DimSlice | None, ...]:
    """Returns its slices, likewise.

    Raises:
        EncodingError: for slices that are neither a `DimSlice` nor None.
    """
    return _all_of((DimSlice, type(None)), slices, "a DimSlice or None for each dimension")


def _all_of(kinds: tuple[type, ...], given: Sequence[Any], what: str) -> tuple[Any, ...]:
    found = given if type(given) is tuple else () if isinstance(given, str) else tuple(several_of(given, what))
    if isinstance(given, str) or not all(isinstance(one, kinds) for one in found):
        raise EncodingError(
            f"expected {what}, but got {shown(given)}: ms.encoding makes an encoding of text, "
            "such as '(i, j) -> (i : dense, j : compressed)'"
        )
    return found


@lru_cache(maxsize=1024)
def first_fault(draft: Draft) -> EncodingFault | None:
    """Returns the first rule that the parts break, or None."""
    return next(_faults(draft), None)


def _faults(draft: Draft) -> Iterator[EncodingFault]:
    if not draft.levels:
        yield EncodingFault("expected a non-empty array for lvlTypes, but got no level")
        return
    yield from _level_types(draft.types)
    yield from _widths(draft)
    yield from _singletons(draft.types)
    yield from _batches(draft.types)
    yield from _soa(draft.types)
    yield from _dense_after_nonunique(draft.types)
    yield from _structured(draft)
    yield from _maps(draft)
    yield from _slices(draft)
    if draft.implicit_val is not None and not draft.implicit_val.is_zero:
        yield EncodingFault(f"implicit value must be zero, but got {draft.implicit_val}", "implicitVal")


def _level_types(types: Sequence[LevelType]) -> Iterator[EncodingFault]:
    for lvl, kind in enumerate(types):
        if message := level_type_fault(kind):
            yield EncodingFault(message, "level", lvl)


def level_type_fault(kind: LevelType) -> str | None:
    """Returns the fault of a level type by itself, or None."""
    if kind.functions.brackets is Brackets.SIZES:
        if kind.n is None or kind.m is None:
            return "expected exactly 2 structured sizes, but got none"
        if kind.n > kind.m:
            return f"expected n <= m in n_out_of_m, but got n = {kind.n} and m = {kind.m}"
        if kind.n < 0 or kind.m > 255:
            return f"expected structured sizes of 0 to 255, but got [{kind.n}, {kind.m}]"
    if kind.interval is not None and (message := _interval_fault(kind)):
        return message
    # `soa` has a rule of its own.
    allowed = (*kind.functions.declares, *([LevelProperty.SOA] if kind.functions.declares else []))
    if any(p not in allowed for p in kind.properties):
        return f"invalid level type: level format doesn't support the properties, but got {kind}"
    return None


def _interval_fault(kind: LevelType) -> str | None:
    interval = kind.interval
    assert interval is not None
    if kind.functions.brackets is Brackets.EXPRESSIONS:
        return None
    if kind.functions.brackets is not Brackets.NUMBERS:
        return f"expected [low, high] only after dense and range, but got {kind}"
    low, high = interval.low, interval.high
    if not isinstance(low, Constant) or not isinstance(high, Constant):
        return (
            f"expected numbers as the bounds of a dense level, as dense[-1, 2], but got {kind}: range takes expressions"
        )
    if low.value >= high.value:
        return f"expected low < high in dense[low, high], but got low = {low} and high = {high}"
    return None


def _widths(draft: Draft) -> Iterator[EncodingFault]:
    for key, word, width in (
        ("posWidth", "position", draft.pos_width),
        ("crdWidth", "coordinate", draft.crd_width),
    ):
        if width not in _WIDTHS:
            yield EncodingFault(f"unexpected {word} bitwidth: {width}, expected 0, 8, 16, 32 or 64", key)


def _singletons(types: Sequence[LevelType]) -> Iterator[EncodingFault]:
    above: LevelType | None = None
    for lvl, kind in enumerate(types):
        if kind.functions.is_chained:
            # Batch levels are separate, and n:m levels are innermost: neither has singletons below it.
            if above is None or above.functions.is_axis or above.functions.is_grouped:
                rule = "expected compressed or loose_compressed level before singleton level"
                yield EncodingFault(f"{rule}, but got {above or 'no level'} before it", "level", lvl)
            elif above.functions.is_chained and above.soa != kind.soa:
                rule = "expected all singleton lvlTypes stored in the same memory layout (SoA vs AoS)"
                yield EncodingFault(f"{rule}, but got {above} and {kind}", "level", lvl)
        above = kind


def _batches(types: Sequence[LevelType]) -> Iterator[EncodingFault]:
    leading = True
    for lvl, kind in enumerate(types):
        is_batch = kind.functions.is_axis
        if is_batch and not leading:
            yield EncodingFault(
                f"Batch lvlType can only be leading levels, but got {types[lvl - 1]} before one", "level", lvl
            )
        leading = leading and is_batch


def _soa(types: Sequence[LevelType]) -> Iterator[EncodingFault]:
    for lvl, kind in enumerate(types):
        if LevelProperty.SOA in kind.properties and not kind.functions.is_chained:
            yield EncodingFault(f"SoA is only applicable to singleton lvlTypes, but got {kind}", "level", lvl)


def _dense_after_nonunique(types: Sequence[LevelType]) -> Iterator[EncodingFault]:
    above: LevelType | None = None
    for lvl, kind in enumerate(types):
        # A dense level below a coordinate belongs to one parent only.
        if kind.functions.assembly is Assembly.INSERT and above is not None and not above.unique:
            rule = f"{kind.format.value} level cannot follow a non-unique level"
            yield EncodingFault(f"{rule}, but got {above} before it", "level", lvl)
        if not kind.functions.is_computed:  # a computed level has a coordinate for each one above it, repeated or not
            above = kind


def _structured(draft: Draft) -> Iterator[EncodingFault]:
    types = draft.types
    at = next((lvl for lvl, kind in enumerate(types) if kind.functions.is_grouped), None)
    if at is None:
        return
    if at != len(types) - 1:
        yield EncodingFault(
            f"expected n_out_of_m to be the last level type, but got {types[at + 1]} after it", "level", at
        )
    for kind in types[:at]:
        if not kind.functions.has_full_loop:
            rule = "expected all dense lvlTypes before a n_out_of_m level"
            yield EncodingFault(f"{rule}, but got {kind}", "level", at)
    if draft.dim_rank != len(types):
        yield from _structured_map(draft.dim_to_lvl, types[at], at)


def _structured_map(dim_to_lvl: AffineMap, kind: LevelType, at: int) -> Iterator[EncodingFault]:
    if not _is_block_sparsity(dim_to_lvl):
        rule = "expected 1xm block structure for n_out_of_m level"
        yield EncodingFault(f"{rule}: d floordiv {kind.m} at a dense level, d mod {kind.m} at this one", "level", at)
        return
    sizes = _block_sizes(dim_to_lvl)
    if len(set(sizes)) > 1:
        rule = "expected only one blocked level with the same coefficients"
        yield EncodingFault(f"{rule}, but got {' and '.join(map(str, sizes))}", "level", at)
    if sizes[-1] != kind.m:
        # The misspelling is MLIR's.
        rule = "expected coeffiencts of Affine expressions to be equal to m of n_out_of_m level"
        yield EncodingFault(f"{rule}, but got {sizes[-1]} and {kind}", "level", at)


def _is_block_sparsity(dim_to_lvl: AffineMap) -> bool:
    """Returns whether every result is `d`, `d floordiv c` or a later `d mod c`, and one is `mod`."""
    seen: dict[int, int] = {}
    for result in dim_to_lvl.results:
        match result:
            case Dim(dim) if dim not in seen:
                seen[dim] = 0
            case AffineBinary(AffineOp.FLOORDIV, Dim(dim), Constant(c)) if c > 0 and dim not in seen:
                seen[dim] = c
            case AffineBinary(AffineOp.MOD, Dim(dim), Constant(c)) if seen.get(dim) == c:
                pass
            case _:
                return False
    return bool(_block_sizes(dim_to_lvl))


def _block_sizes(dim_to_lvl: AffineMap) -> list[int]:
    sizes = []
    for result in dim_to_lvl.results:
        match result:
            case AffineBinary(AffineOp.MOD, _, Constant(c)):
                sizes.append(c)
    return sizes


def _maps(draft: Draft) -> Iterator[EncodingFault]:
    dim_to_lvl, given = draft.dim_to_lvl, draft.lvl_to_dim_given
    inverse: AffineMap | str | None = infer_lvl_to_dim(draft.dim_rank, tuple(draft.levels))
    is_given_right = given is not None and inverts(given, draft.dim_rank, draft.levels)
    if isinstance(inverse, str) and not is_given_right:
        # MLIR accepts any map with symbols.
        if draft.num_symbols == 0 or not are_native(draft.types):
            yield EncodingFault(f"failed to infer lvlToDim from dimToLvl: {inverse}, but got {dim_to_lvl}")
        inverse = None
    if given is not None and not is_given_right:
        rule = "expected lvlToDim to be an inverse of dimToLvl"
        yield EncodingFault(f"{rule}, {inverse or 'which has none'}, but got {given}", "lvlToDim")
    if draft.dim_rank > len(draft.levels):
        yield EncodingFault(f"unexpected dimToLvl mapping from {draft.dim_rank} to {len(draft.levels)}")
    lvl_to_dim = given if isinstance(inverse, str) else inverse
    if lvl_to_dim is not None:
        yield from _determined(draft, lvl_to_dim)


def _determined(draft: Draft, lvl_to_dim: AffineMap) -> Iterator[EncodingFault]:
    """Checks that the levels above decide offsets and bounds."""
    for lvl, level in enumerate(draft.levels):
        interval = level.type.interval
        wanted = [("offset", level.expr)] if level.type.functions.is_computed else []
        wanted += [("bounds", bound) for bound in interval.exprs] if interval is not None else []
        for word, expr in wanted:
            if any(needed >= lvl for needed in levels_needed(expr, lvl_to_dim)):
                yield EncodingFault(
                    f"expected {word} that the levels above determine, but got {expr} in {level}", "level", lvl
                )


def _slices(draft: Draft) -> Iterator[EncodingFault]:
    if not any(draft.slices):
        return
    if len(draft.slices) != draft.dim_rank:
        rule = "dimension-rank mismatch between dimSlices and dimToLvl"
        yield EncodingFault(f"{rule}: {len(draft.slices)} != {draft.dim_rank}")
    if draft.dim_rank != len(draft.levels):
        rule = "dimSlices expected dimension-rank to match level-rank"
        sliced = next(d for d, part in enumerate(draft.slices) if part is not None)
        yield EncodingFault(f"{rule}: {draft.dim_rank} != {len(draft.levels)}", "dim", sliced)
