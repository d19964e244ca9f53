"""The functions that combine results of chunks by users' monoids, compiled with the loops that make these results."""

from __future__ import annotations

from dataclasses import replace

from mlir_sparse.encoding import TensorType
from mlir_sparse.notation import Access, IndexVar, Monoid
from mlir_sparse.plan.choose_cuts import choose_cut
from mlir_sparse.plan.chunk_operators import native_operator
from mlir_sparse.plan.plan_steps import AccumulateMode, Generic, NestFunction, Program, functions_of
from mlir_sparse.text.identifiers import generated_name

__all__ = ["combining_functions"]


def combining_functions(program: Program) -> dict[str, tuple[NestFunction, Program]]:
    """Returns the functions that combine results of chunks where native code has no operator for that.

    Each takes two vectors, and combines the first into the second: the elements of a chunk's result, and of the whole.

    Returns:
        each as one of a program of its own, by the name of the function whose results it combines.
    """
    found, types = {}, dict(program.types)
    for function in functions_of(program):
        monoid = function.step.combine
        if not isinstance(monoid, Monoid) or native_operator(monoid) is not None:
            continue
        cut = choose_cut(function.step, types)
        if not isinstance(cut, str) and cut.outcome == "added":
            found[function.name] = _combining(function, program, monoid)
    return found


def _combining(function: NestFunction, program: Program, monoid: Monoid) -> tuple[NestFunction, Program]:
    element, result = IndexVar("e"), function.step.result
    own, vector = generated_name(result, "chunk"), TensorType(program.type_of(result).dtype, (None,))
    nest = Generic(
        target=Access(result, (element,)),
        mode=AccumulateMode.CONTINUE,
        combine=replace(monoid, lift=None),  # chunks have applied it
        loops=(element,),
        reductions=(),
        payload=Access(own, (element,)),
        in_order=False,
        reason="results of chunks",
    )
    alone = replace(program, types=((own, vector), (result, vector)), steps=(nest,))
    return NestFunction(f"{function.name}_combine", nest, nest.operands), alone
