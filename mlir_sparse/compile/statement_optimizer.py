"""Which way a statement is computed on the data at hand: as it is written, or rewritten by cost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from functools import cache, lru_cache
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

from mlir_sparse.classes import dataclass
from mlir_sparse.compile.kept_plans import MadePlan, has_planner, kept_plans, note_plan
from mlir_sparse.dtypes import WIDE_TYPES
from mlir_sparse.encoding import Sketch
from mlir_sparse.errors import UnsupportedError
from mlir_sparse.machine import machine_profile
from mlir_sparse.notation import Access
from mlir_sparse.plan.algebra.single_product import is_single_product
from mlir_sparse.process import settings
from mlir_sparse.process.first_use import import_at_first_call
from mlir_sparse.process.forks import importing
from mlir_sparse.spec import Alternative, Alternatives, KernelSpec, Rewriting
from mlir_sparse.tensor import SparseTensor
from mlir_sparse.tensor.symmetric_matrix import has_one_value, is_symmetric

if TYPE_CHECKING:
    from mlir_sparse.plan.algebra.ruled_statement import RuledStatement
    from mlir_sparse.plan.algebra.tensor_facts import TensorFacts
    from mlir_sparse.tensor.sketch_of import sketch_of
else:
    import_at_first_call(__name__, {"tensor.sketch_of": ("sketch_of",)})

__all__ = [
    "DataSketches",
    "account",
    "alternatives",
    "check_optimize",
    "depends_on_data",
    "get_optimize",
    "rewriting_for",
    "rewriting_for_types",
    "rounded_sketches",
    "set_optimize",
    "sketches_before_calls",
    "sketches_of",
    "sketches_of_values",
]

_chosen: str | None = None
_SHOWN = 2  # so many other ways, after the one that is taken


def set_optimize(optimize: str | None) -> None:
    """Sets how statements of this process are optimized where `optimize=` does not say.

    Args:
        optimize: "auto", "off" or "algebra", as for `compile`; None restores the default.

    Raises:
        UnsupportedError: for anything else.

    >>> set_optimize("off")
    >>> get_optimize()
    'off'
    >>> set_optimize(None)
    """
    global _chosen
    _chosen = None if optimize is None else check_optimize(optimize)


def get_optimize() -> str:
    """Returns how statements are optimized: as `set_optimize` says, else `MLIR_SPARSE_OPTIMIZE`, else "auto"."""
    return settings.OPTIMIZE.value if _chosen is None else _chosen


def check_optimize(optimize: Any) -> str:
    """Returns an argument `optimize`, that of the process when None.

    Raises:
        UnsupportedError: for a name that no optimization has.
    """
    if optimize is None:
        return get_optimize()
    if not isinstance(optimize, str) or optimize not in settings.OPTIMIZATIONS:
        raise UnsupportedError(f"expected optimize= one of {', '.join(settings.OPTIMIZATIONS)}, but got {optimize!r}")
    return optimize


@dataclass(frozen=True, slots=True)
class DataSketches:
    """What is known of the operands; data that is alike, but for factors below 4, is equal and has one plan.

    Args:
        sketches: of each operand, in the order of the kernel's inputs.
        rounded: their numbers, rounded.
        symmetric: the numbers of operands that are their own transposes, of those that a statement reads repeatedly, or
            in an order in which loops scatter.
        unasked: the numbers of those that may be, by a sample, but that nobody has looked at: calls will.
        of_one_value: of the symmetric ones those whose values are all equal.
    """

    sketches: tuple[Sketch, ...] = field(compare=False)
    rounded: tuple[object, ...]
    symmetric: tuple[int, ...] = ()
    unasked: tuple[int, ...] = ()
    of_one_value: tuple[int, ...] = ()


def sketches_of(
    spec: KernelSpec, value_of: Callable[[str], SparseTensor | np.ndarray[Any, Any]], *, looks_later: bool = False
) -> DataSketches:
    """Returns what is known of the operands of a statement.

    Args:
        spec: the statement.
        value_of: returns the data of a tensor.
        looks_later: whether calls look at matrices that are taken to be symmetric, and plan again where one is not.
            Graphs that were found to be before are then not looked at here: only what was written since could matter.
    """
    values = [value_of(name) for name, _ in spec.inputs]
    found = _with_likely(spec, sketches_of_values(values))
    if not found.unasked:
        return found
    symmetric: list[int] = []
    alike: list[int] = []
    often = _times_read(spec)
    for number in found.unasked:
        (name, _), value = spec.inputs[number], values[number]
        if not isinstance(value, SparseTensor):
            continue
        known = looks_later and _was_known(value, found.sketches[number])
        has_one = known or has_one_value(value)
        # Where values differ, to compare them takes longer than to scatter does.
        if (has_one or often[name] > 1) and (known or is_symmetric(value)):
            symmetric.append(number)
            alike += [number] if has_one else []
    return replace(found, symmetric=tuple(symmetric), unasked=(), of_one_value=tuple(alike))


def sketches_before_calls(spec: KernelSpec, sketches: Sequence[Sketch]) -> DataSketches:
    """Returns what is known of the operands of a statement whose values only its calls have.

    Args:
        spec: the statement.
        sketches: of each operand, in the order of the kernel's inputs.
    """
    return _with_likely(spec, rounded_sketches(tuple(sketches)))


def _with_likely(spec: KernelSpec, data: DataSketches) -> DataSketches:
    """Returns what is known of operands, and which may be symmetric by a sample; those without one are small."""
    patterns = [sketch.pattern for sketch in data.sketches]
    mirrored = [number for number, one in enumerate(patterns) if one is not None and one.mirrored == 1.0]
    if not mirrored:
        return data
    often = _times_read(spec)
    again = [number for number in mirrored if often[spec.inputs[number][0]] > 1]
    scattered = {access.tensor for access in spec.explicit.reads if _is_scattered(access, spec)}
    graphs = [number for number, one in enumerate(patterns) if number in mirrored and one and one.of_one_value]
    turned = [number for number in graphs if spec.inputs[number][0] in scattered]
    return replace(data, unasked=tuple(sorted({*again, *turned})))


def _times_read(spec: KernelSpec) -> Counter[str]:
    return Counter([access.tensor for access in spec.explicit.reads])


def _is_scattered(access: Access, spec: KernelSpec) -> bool:
    """Returns whether loops over a matrix add to the elements of the result that its entries name."""
    dims, target = _known_facts().levels_of(spec.type_of(access.tensor).encoding)[1], spec.assignment.target.subscripts
    if dims is None or len(dims) != 2 or len(target) != 1:
        return False
    outer, inner = (access.subscripts[dim] for dim in dims)
    return outer not in target and inner in target


def _was_known(value: SparseTensor, sketch: Sketch) -> bool:
    """Returns whether a tensor was found to be symmetric and, by a sample, to have one value."""
    return bool(value._mirrored and sketch.pattern is not None and sketch.pattern.of_one_value)


def sketches_of_values(values: Iterable[SparseTensor | np.ndarray[Any, Any]]) -> DataSketches:
    """Returns what is known of operands."""
    return rounded_sketches(tuple(map(sketch_of, values)))


def rounded_sketches(sketches: tuple[Sketch, ...]) -> DataSketches:
    """Returns what is known of operands, given the sketch of each."""
    return DataSketches(sketches, tuple(sketch.rounded for sketch in sketches))


def rewriting_for(spec: KernelSpec, data: DataSketches, optimize: str = "auto") -> Rewriting | None:
    """Returns the cheapest way by estimate to compute a statement on data; None for the way it is written.

    Args:
        spec: the statement, which passed `check_spec`; a rewriting that it has does not count.
        data: what is known of its operands.
        optimize: "auto" or "algebra".
    """
    spec = _plain(spec)
    kept = _kept(spec, optimize)
    decides = str(_deciding(data)) if kept else ""
    return kept[decides] if decides in kept else _cheapest(spec, data, optimize)


def rewriting_for_types(spec: KernelSpec, optimize: str) -> Rewriting | None:
    """Returns the way to compute a statement that is cheapest whatever sizes its types leave open; None for none.

    Args:
        spec: the statement; a rewriting that it has does not count.
        optimize: "auto" or "algebra".
    """
    return _dominant(_plain(spec), optimize)


def depends_on_data(spec: KernelSpec, optimize: str) -> bool:
    """Returns whether data decides how a statement is computed; a rewriting that it has does not count."""
    if optimize == "off":
        return False
    spec = _plain(spec)
    return bool(_kept(spec, optimize)) or _open_statement(spec, optimize) is not None


def alternatives(spec: KernelSpec, data: DataSketches | None, optimize: str) -> tuple[Alternative, ...]:
    """Returns the ways to compute a statement on data, cheapest first by estimate.

    Args:
        spec: the statement.
        data: what is known of its operands; None for a statement that does not depend on data.
        optimize: "auto" or "algebra".
    """
    spec = _plain(spec)
    return Alternatives((Alternative(spec, None, 0.0),) if data is None else _ranked(spec, data, optimize))


def account(spec: KernelSpec, data: DataSketches, optimize: str) -> Iterator[str]:
    """Yields what `explain()` says of how a statement is computed, a line each.

    Args:
        spec: the statement, with the rewriting that is taken.
        data: what is known of its operands.
        optimize: "auto" or "algebra".
    """
    ways = alternatives(spec, data, optimize)
    chosen = spec.rewriting and replace(spec.rewriting, of_one_value=())  # an alternative is for other values too
    taken = next((way for way in ways if way.spec.rewriting == chosen), None)
    if taken is None:
        return
    yield from replace(taken, spec=spec).lines()
    written = [f"; {way.milliseconds} as written" for way in ways if way is not taken and way.is_as_written]
    yield f"because: {taken.milliseconds} by estimate{''.join(written)}"
    others = [way for way in ways if way is not taken and not way.is_as_written]
    for way in others[:_SHOWN]:
        yield f"  next: {way.milliseconds} with {', '.join(map(str, way.parts)) or way.statement}"
    if taken.rules:
        yield f"rules: {', '.join(taken.rules)}"
    yield f"estimates: by the times of steps on {machine_profile()}"
    if data.unasked:
        names = ", ".join(spec.inputs[number][0] for number in data.unasked)
        yield f"calls are planned again where they find symmetric: {names}"


def _plain(spec: KernelSpec) -> KernelSpec:
    return spec.rewritten(None)


@lru_cache(maxsize=512)
def _has_no_other_way(spec: KernelSpec) -> bool:
    return bool(spec.assignment.ranges or spec.assignment.exists) or is_single_product(spec)


def _kept(spec: KernelSpec, optimize: str) -> Mapping[str, Rewriting | None]:
    """Returns the plans that processes before have kept: a statement that has some depends on data."""
    return {} if has_planner() or _has_no_other_way(spec) else kept_plans(spec, optimize)


def _deciding(data: DataSketches) -> tuple[object, ...]:
    """Returns what equal data has in common, by which plans are chosen."""
    return data.rounded, data.symmetric, data.unasked, data.of_one_value


@lru_cache(maxsize=512)
def _open_statement(spec: KernelSpec, optimize: str) -> RuledStatement | None:
    """Returns a statement as rules take it; None where there is nothing to choose, whatever the data are."""
    if _has_no_other_way(spec):
        return None
    rules, gathers, gain = _rules()
    ruled: RuledStatement | None = rules.ruled_statement(spec)
    if ruled is None:
        return None
    numbers = ruled.of_numbers
    arrays = {name for name, kind in spec.inputs if numbers and kind.encoding is None and kind.dtype in WIDE_TYPES}
    products = gathers.gathers_as_products(ruled.assignment, dict(spec.inputs)).assignment
    return ruled if gain.may_gain(products, arrays, cancels=_may_cancel(ruled, optimize)) else None


def _may_cancel(ruled: RuledStatement, optimize: str) -> bool:
    return ruled.may_cancel(licensed=optimize == "algebra")


def _licence(spec: KernelSpec, ruled: RuledStatement, optimize: str) -> dict[str, bool]:
    into_array = ruled.of_numbers and spec.output.encoding is None
    return {"has_blas": ruled.of_numbers, "cancels": _may_cancel(ruled, optimize), "into_array": into_array}


def _facts(spec: KernelSpec, data: DataSketches) -> dict[str, TensorFacts]:
    known = _known_facts()
    found: dict[str, TensorFacts] = {}
    for number, ((name, kind), sketch) in enumerate(zip(spec.inputs, data.sketches, strict=True)):
        symmetric, pattern = number in data.symmetric, sketch.pattern
        if symmetric and pattern is not None and pattern.of_one_value != (number in data.of_one_value):
            # Values may have been written since the sample was taken.
            sketch = replace(sketch, pattern=replace(pattern, of_one_value=not pattern.of_one_value))
        found[name] = known.TensorFacts(kind, sketch, symmetric=symmetric)
    return found


def _keeps_entries(rewriting: Rewriting, spec: KernelSpec) -> bool:
    return bool(_rules()[0].keeps_entries(rewriting, spec))


# Modules of rules are imported once: to ask for one takes as long as to look at a part of a small statement.
@cache
def _rules() -> tuple[ModuleType, ModuleType, ModuleType]:
    with importing():
        from mlir_sparse.plan.algebra import gathers_as_products, possible_gain, ruled_statement

    return ruled_statement, gathers_as_products, possible_gain  # most statements are single products


@cache
def _known_facts() -> ModuleType:
    with importing():
        from mlir_sparse.plan.algebra import tensor_facts  # few matrices are symmetric

    return tensor_facts


@cache
def _ways() -> ModuleType:
    with importing():
        from mlir_sparse.plan.algebra import choose_rewriting  # few statements are searched for ways

    return choose_rewriting


@lru_cache(maxsize=256)
def _cheapest(spec: KernelSpec, data: DataSketches, optimize: str) -> Rewriting | None:
    found = _searched(spec, data, optimize)
    if _open_statement(spec, optimize) is not None:
        note_plan(MadePlan(spec, optimize, _deciding(data), found))
    return found


def _searched(spec: KernelSpec, data: DataSketches, optimize: str) -> Rewriting | None:
    ruled = _open_statement(spec, optimize)
    if ruled is None:
        return None
    chosen = _ways().choose_rewriting(ruled.assignment, _facts(spec, data), **_licence(spec, ruled, optimize))
    found = chosen and ruled.restored(chosen)
    if found is None or not _keeps_entries(found, spec):
        return None
    alike = {spec.inputs[number][0] for number in data.of_one_value}
    return replace(found, of_one_value=tuple([name for name in found.symmetric if name in alike]))


@lru_cache(maxsize=256)
def _dominant(spec: KernelSpec, optimize: str) -> Rewriting | None:
    if _open_statement(spec, optimize) is None:
        return None
    with importing():
        from mlir_sparse.plan.algebra.assumed_sketches import assumed_sketches  # as above

    found: Rewriting | None = None
    for number, sketches in enumerate(assumed_sketches(spec)):
        data = rounded_sketches(sketches)
        best = _searched(spec, data, optimize)
        # Whether more rows are gathered than there are, no type says.
        if best is None or best.gathered or (number and best != found):
            return None
        found = best
    # Sizes were assumed.
    return found and replace(found, parts=tuple(replace(part, estimate=None) for part in found.parts))


@lru_cache(maxsize=64)
def _ranked(spec: KernelSpec, data: DataSketches, optimize: str) -> tuple[Alternative, ...]:
    ruled = _open_statement(spec, optimize)
    if ruled is None:
        return alternatives(spec, None, optimize)
    ways = _ways().ranked_ways(ruled.assignment, _facts(spec, data), **_licence(spec, ruled, optimize))
    found = [replace(way, rewriting=way.rewriting and ruled.restored(way.rewriting)) for way in ways]
    return tuple(
        Alternative(spec.rewritten(way.rewriting), way.nanoseconds, way.nbytes, way.rules)
        for way in found
        if way.rewriting is None or _keeps_entries(way.rewriting, spec)
    )
