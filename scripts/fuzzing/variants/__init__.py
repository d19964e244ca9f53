"""Variants of a call: each must give the same result, or there is a defect."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from random import Random
from typing import Any

from dialect_tests.calls import Call, Results, Trial
from fuzzing.variants import arrangement, defined, layout, memory, names, processes, rewriting, threads, vectors
from fuzzing.variants.variant import Variant
from mlir_sparse.notation import (
    Assignment,
    Comprehension,
    Monoid,
    Operator,
    is_comprehension,
    parse,
    parse_comprehension,
)

__all__ = ["HOW_MANY", "VARIANTS", "again", "chosen"]

VARIANTS: Mapping[str, Variant] = {
    variant.name: variant
    for room in (names, layout, threads, arrangement, defined, rewriting, vectors, memory, processes)
    for variant in room.VARIANTS
}
HOW_MANY = ("few", "all", "none")


def chosen(how_many: str, seed: str, compiles: bool) -> Iterator[Variant]:
    """Yields the variants to try on a case.

    Args:
        how_many: all of them, none, or each as often as its share says.
        seed: decides on what is drawn.
        compiles: whether to take those that compile another kernel: one of the data of each kernel is enough.
    """
    random = Random(f"{seed} variants")
    for variant in VARIANTS.values():
        drawn = random.random()
        # Those that compile are tried once for a kernel, so that their share of cases is a larger one of kernels.
        few = variant.share * (8 if variant.compiles else 1)
        share = {"few": few, "all": variant.of_all, "none": 0.0}[how_many]
        if drawn < share and (compiles or not variant.compiles):
            yield variant


def again(name: str, text: str, tensors: Mapping[str, Any], options: Mapping[str, Any], seed: str) -> Results:
    """Returns the result of a variant of a call, for scripts that a failure prints."""
    call = Call(_program(text, tensors), tensors, **options)
    found: list[Results] = []
    VARIANTS[name].check(Trial(call, found.append), call.results(), seed)
    return found[0]


def _program(text: str, operands: Mapping[str, Any]) -> Assignment | Comprehension:
    """Returns what a text parses to: of a mere text no variant knows what it is about."""
    operators = {name: value for name, value in operands.items() if isinstance(value, Operator | Monoid)}
    return parse_comprehension(text, operators) if is_comprehension(text) else parse(text, operators)
