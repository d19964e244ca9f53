"""A statement compiled for pieces: the kernel of a piece, and the kernel that combines their results."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from math import isinf
from typing import Any

import numpy as np

from mlir_sparse.classes import dataclass
from mlir_sparse.compile.compiled_kernel import CompiledKernel
from mlir_sparse.compile.cpu_kernel import Kernel
from mlir_sparse.compile.entry_points import compile
from mlir_sparse.compile.statement_optimizer import (
    depends_on_data,
    rewriting_for,
    rewriting_for_types,
    sketches_before_calls,
)
from mlir_sparse.encoding import Sketch, TensorType
from mlir_sparse.errors import SparseError, UnsupportedError
from mlir_sparse.notation import (
    Access,
    Apply,
    Assignment,
    AssignOp,
    Fold,
    IndexVar,
    Monoid,
    Reduce,
    ReduceOp,
    Semiring,
    fresh_name,
    operator,
    where,
    with_plain_target,
)
from mlir_sparse.notation.semiring import MONOIDS
from mlir_sparse.plan.composed_cuts import ComposedCut
from mlir_sparse.plan.cut_steps import in_plain_names
from mlir_sparse.plan.statement_cuts import StatementCut, cuts
from mlir_sparse.spec import Rewriting, extreme_or
from mlir_sparse.tensor import SparseTensor
from mlir_sparse.text.listed_words import listed

__all__ = [
    "StatementPieces",
    "combined",
    "compile_ahead",
    "compile_pieces",
    "compile_sum",
    "cuts_along_parts",
    "rewriting_of_pieces",
    "values_and_update",
]


@dataclass(frozen=True, slots=True, eq=False)
class StatementPieces:
    """A statement that is computed in pieces.

    Args:
        cuts: where it is cut.
        kernel: computes a piece; its operands are those of `cuts.assignment`.
        combines: for each cut what combines the results of its pieces, an array of them or two tensors; None where they
            follow one another.
        types: the type of each operand, by its name in `cuts.assignment`.
    """

    cuts: ComposedCut
    kernel: CompiledKernel
    combines: tuple[CompiledKernel | None, ...]
    types: tuple[tuple[str, TensorType], ...]

    @property
    def cut(self) -> StatementCut:
        """Returns the cut of a statement that is cut along one variable."""
        (only,) = self.cuts.cuts
        return only

    @property
    def output(self) -> TensorType:
        """Returns the type of the result."""
        found = self.kernel.output
        assert isinstance(found, TensorType)  # of one statement
        return found

    def compile_ahead(self) -> None:
        """Compiles all kernels before their first calls, so that pickles of them have their machine code."""
        for kernel in (self.kernel, *self.combines):
            compile_ahead(kernel)

    def joined(self, results: Sequence[Any], number: int = 0) -> Any:
        """Returns what a cut has divided, given the results of all its pieces in order.

        Args:
            results: the results.
            number: the cut, counted from 0.
        """
        axis, combine = self.cuts.cuts[number].axis, self.combines[number]
        if axis is not None:
            return np.concatenate(results, axis)
        assert combine is not None
        return combined(combine, results)


def compile_ahead(kernel: CompiledKernel | None) -> None:
    """Compiles a kernel that has no code yet; what fails to compile is named where it is called."""
    if isinstance(kernel, Kernel) and not kernel.came_with_code:
        with suppress(SparseError):
            kernel.compile_ahead()


def combined(combine: CompiledKernel, results: Sequence[Any]) -> Any:
    """Returns what a combining kernel makes of results, in their order."""
    found = results[0]
    if isinstance(found, SparseTensor):
        for other in results[1:]:
            found = combine(P=found, Q=other)
        return found
    return combine(P=np.stack(results)) if len(results) > 1 else found


def cuts_along_parts(statement: Assignment, ring: Semiring, axes: Mapping[str, int]) -> list[StatementCut]:
    """Returns the cuts along the dimensions in which operands come in parts: several where subscripts are sums.

    Args:
        statement: the statement.
        ring: what `+` and `*` are.
        axes: the dimension of the parts of each such operand, by its name.

    Raises:
        UnsupportedError: where no variable allows it, with the reason for each.
    """
    legal, reasons = list[StatementCut](), []
    for variable, found in cuts(statement, ring).items():
        if isinstance(found, str):
            reasons.append(f"{variable}: {found}")
            continue
        read = {found.operand(name) for name in found.whole}
        wrong = [name for name, axis in axes.items() if found.parts.get(name) != axis or name in read]
        if not wrong:
            legal.append(found)
            continue
        reasons.append(f"{variable}: {listed(wrong)} would be read as a whole or cut along another dimension")
    if legal:
        return legal
    wanted = listed([f"{axis} of {name}" for name, axis in axes.items()])
    raise UnsupportedError(
        f"expected a statement that can be cut along dimension {wanted}, but got {statement}\n  " + "\n  ".join(reasons)
    )


def values_and_update(statement: Assignment) -> tuple[Assignment, Assignment]:
    """Returns a statement that reads its target as two: of the values, and of what they do to the present value.

    Pieces along a variable that is reduced make shares of the values; the present value counts once.

    >>> from mlir_sparse.notation import parse
    >>> print(*values_and_update(parse("y(i) += A(i,j) * x(j)")), sep="; ")
    y_values(i) = A(i,j) * x(j); y(i) += y_values(i)
    """
    plain = with_plain_target(statement)
    name = fresh_name(f"{statement.target.tensor}_values", {statement.target.tensor, *statement.inputs})
    values = replace(plain.target, tensor=name)
    return replace(plain, target=values, source=None), Assignment(plain.target, statement.op, values)


def compile_pieces(
    cuts: ComposedCut,
    types: Mapping[str, Any],
    out: Any,
    ring: Semiring,
    *,
    steps: Rewriting | None = None,
    optimize: str | None = None,
    **options: Any,
) -> StatementPieces:
    """Compiles the kernels of a cut statement.

    Args:
        cuts: where it is cut.
        types: the type of each operand, by the names of the statement that is cut.
        out: the storage of the result, as `compile` takes it.
        ring: what `+` and `*` are.
        steps: how every piece computes it; each plans for its own data when None.
        optimize: how pieces are optimized, as for `compile`.
        options: further options of `compile`.

    Raises:
        UnsupportedError: for sparse results that are combined by other than a sum or a monoid.
    """
    operands = {name: types[cuts.operand(name)] for name in cuts.names}
    optimized = "off" if steps is not None else optimize
    kernel = compile(cuts.assignment, out=out, semiring=ring, tensors=operands, optimize=optimized, **options)
    if steps is not None:
        assert isinstance(kernel, Kernel)  # as the statement that was planned
        kernel = kernel.rewritten(steps)
    output = kernel.output
    assert isinstance(output, TensorType)
    combines = (None if cut.combine is None else _combining(cut.combine, output, options) for cut in cuts.cuts)
    return StatementPieces(cuts, kernel, tuple(combines), tuple(operands.items()))


def rewriting_of_pieces(
    statement: Assignment, types: Mapping[str, Any], out: Any, sketch_of: Callable[[str], Sketch | None], optimize: str
) -> Rewriting | None:
    """Returns how a statement is computed in steps on operands in parts; None for the way it is written.

    Steps are those for any values: that a matrix is its own transpose holds for no part of it.

    Args:
        statement: the statement.
        types: the type of each operand.
        out: the storage of the result, as `compile` takes it.
        sketch_of: returns what is known of an operand, None for nothing: types alone decide then. It is asked where it
            matters.
        optimize: "auto", "off" or "algebra".
    """
    kernel = compile(statement, out=out, tensors=types, optimize="off")
    if not isinstance(kernel, Kernel) or not depends_on_data(kernel.spec, optimize):
        return None
    sketches = [sketch_of(name) for name, _ in kernel.spec.inputs]
    known = [one for one in sketches if one is not None]
    if len(known) < len(sketches):
        found = rewriting_for_types(kernel.spec, optimize)
    else:
        found = rewriting_for(kernel.spec, sketches_before_calls(kernel.spec, known), optimize)
    return None if found is None or found.gathered or found.symmetric else in_plain_names(found, statement)


def compile_sum(output: TensorType, **options: Any) -> CompiledKernel:
    """Compiles what adds results of a type, as `combined` calls it."""
    return _combining(ReduceOp.SUM, output, options)


def _combining(combine: ReduceOp | Monoid, output: TensorType, options: Mapping[str, Any]) -> CompiledKernel:
    variables = tuple(IndexVar(f"i{axis}") for axis in range(len(output.shape)))
    target, free = Access("R", variables), replace(output, shape=(None,) * len(variables))
    if isinstance(combine, Monoid):
        combine = _of_results(combine, output)
    if output.encoding is not None:
        monoid = _union_of(combine)
        value = Apply(monoid.union, (Access("P", variables), Access("Q", variables)))
        both = Assignment(target, AssignOp.ASSIGN, value)
        return compile(both, out=free, tensors={"P": free, "Q": free}, **options)
    piece = IndexVar("p")
    stacked = Access("P", (piece, *variables))
    body = Fold(combine, (piece,), stacked) if isinstance(combine, Monoid) else Reduce(combine, (piece,), stacked)
    stack = TensorType(output.dtype, (None,) * (1 + len(variables)))
    return compile(Assignment(target, AssignOp.ASSIGN, body), out=free, tensors={"P": stack}, **options)


def _of_results(monoid: Monoid, output: TensorType) -> Monoid:
    """Returns what combines results of a reduction by a monoid."""
    monoid = replace(monoid, lift=None)  # each piece has applied it
    if not monoid.takes_last or output.encoding is not None:
        return monoid
    # In an array, what has no entry has the identity, which leaves the entries before it as they are.
    absent = extreme_or(monoid.identity, output.dtype)
    if isinstance(absent, float) and isinf(absent):
        raise UnsupportedError(
            f"expected results of pieces that can be combined, but got those of {monoid.name}, which takes the last "
            f"entry, with the identity {absent}: give it a finite identity, or nan"
        )
    is_nan = absent != absent
    last = operator(lambda a, b: where(b == b if is_nan else b != absent, b, a), name=monoid.name)
    return replace(monoid, operator=last)


def _union_of(combine: ReduceOp | Monoid) -> Monoid:
    if isinstance(combine, Monoid):
        return combine
    if combine is ReduceOp.SUM:
        return MONOIDS["plus"]
    raise UnsupportedError(
        f"expected a dense result, or one whose pieces are added, but got pieces combined by {combine.value}: "
        'ask for out="dense"'
    )
