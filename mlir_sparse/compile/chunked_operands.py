"""Operands that are cut already, as `dask.array`s are: their statements are computed chunk by chunk where they lie."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from importlib import import_module
from typing import Any, cast

from mlir_sparse.compile.call_limits import check_static
from mlir_sparse.compile.compile_options import CompileOptions
from mlir_sparse.compile.compiled_kernel import Result
from mlir_sparse.encoding import TensorType
from mlir_sparse.errors import DTypeError, OperandError, RankError, UnsupportedError
from mlir_sparse.notation import Assignment, Comprehension, Semiring
from mlir_sparse.plan.schedule import STATIC
from mlir_sparse.runtime import operand_check
from mlir_sparse.spec import KernelSpec
from mlir_sparse.tensor.borders.dask_arrays import is_in_chunks

__all__ = [
    "called_in_chunks",
    "evaluated_in_chunks",
    "explained_in_chunks",
    "refuse_chosen_way",
    "type_in_chunks",
    "with_types_of_chunks",
]


def with_types_of_chunks(given: Mapping[str, Any]) -> dict[str, Any]:
    """Returns operands by name, of collections of Dask the types of their chunks; see `type_in_chunks`."""
    return {name: type_in_chunks(name, one) if is_in_chunks(one) else one for name, one in given.items()}


def type_in_chunks(name: str, value: Any) -> TensorType:
    """Returns the type of a dask.array's chunks.

    Args:
        name: what stands for it in messages.
        value: a collection of Dask.

    Raises:
        OperandError: for another collection than an array, and for chunks of unknown sizes.
    """
    if not hasattr(type(value), "chunks"):  # the type's: a delayed value has any attribute
        raise OperandError(
            f"expected a dask.array for {name}, but got {type(value).__name__}: compute it before, or make an array of "
            "it, as by dask.array.from_delayed"
        )
    if any(extent != extent for extent in value.shape):
        raise OperandError(
            f"expected chunks of known sizes, but got {name} of shape {value.shape}: call its compute_chunk_sizes() "
            "before"
        )
    return cast(TensorType, import_module("mlir_sparse.dask.array_chunks").type_of_chunks(value))


def evaluated_in_chunks(
    statement: Assignment | Comprehension,
    operands: Mapping[str, Any],
    out: Any,
    semiring: str | Semiring | None,
    options: CompileOptions,
) -> Result:
    """Returns what is computed of operands of which some are in chunks, as `dask.array`s that are not computed yet.

    Raises:
        UnsupportedError: for a GPU, a schedule, and results that are the same for any threads.
    """
    _refuse_options(options)
    evaluate = import_module("mlir_sparse.dask").evaluate
    limits = {"semiring": semiring, "threads": options.threads, "optimize": options.optimize}
    return cast(Result, evaluate(statement, out=out, tensors=operands, **limits))


def _refuse_options(options: CompileOptions) -> None:
    if options.target != "cpu" or options.tuned or options.schedule != STATIC or options.deterministic:
        raise UnsupportedError(
            "expected a statement on dask.arrays without target=, schedule= and deterministic=, but got one: "
            "leave it out, or compute the arrays first"
        )


def refuse_chosen_way(spec: KernelSpec, optimize: str) -> None:
    """Refuses a kernel that computes its statement in one way whatever its operands are: pieces are planned anew.

    Raises:
        UnsupportedError: for a kernel of an alternative, and for a loaded one of several steps.
    """
    if spec.rewriting is not None and optimize == "off":
        raise UnsupportedError(
            f"expected a kernel that is planned for its operands, to cut it along those of dask.arrays, but got one of "
            f"chosen steps for {spec.assignment}: compile the text"
        )


def called_in_chunks(
    statement: Assignment | Comprehension,
    types: Mapping[str, TensorType],
    given: Mapping[str, Any],
    out: Any,
    storage: TensorType | Mapping[str, Any] | None,
    options: CompileOptions,
) -> Result:
    """Returns the result of a kernel's call with operands in chunks, as `evaluated_in_chunks` does.

    Args:
        statement: what the kernel computes.
        types: the type of each operand.
        given: the operands by name, some of them dask.arrays.
        out: the array of the call.
        storage: that of the result; a mapping by name for several.
        options: the options that the kernel was compiled with.

    Raises:
        OperandError: for an array to write to, and for chunks stored otherwise than the kernel reads.
        DTypeError, RankError, ExtentError: for operands that do not fit the kernel.
        UnsupportedError: as `evaluated_in_chunks` does.
    """
    _refuse_array(out)
    return evaluated_in_chunks(statement, _checked(types, given), storage, None, options)


def explained_in_chunks(
    statement: Assignment | Comprehension,
    types: Mapping[str, TensorType],
    given: Mapping[str, Any],
    options: CompileOptions,
) -> str:
    """Returns how a kernel's statement is cut for operands in chunks: `mlir_sparse.dask.explain`.

    Raises:
        SparseError: as `called_in_chunks` does.
    """
    _refuse_options(options)
    explain = import_module("mlir_sparse.dask").explain
    return cast(str, explain(statement, tensors=_checked(types, given), optimize=options.optimize))


def _refuse_array(out: Any) -> None:
    if out is not None:
        raise OperandError(
            f"expected no out= for a call with dask.arrays, but got {type(out).__name__}: leave it out, and "
            "write what is computed to it, `out[...] = found.compute()`"
        )


def _checked(types: Mapping[str, TensorType], given: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the operands that a kernel reads, which fit it; each piece takes chunks of any widths."""
    found = dict[str, Any]()
    for name, kind in types.items():
        value = given[name]
        if not is_in_chunks(value):
            found[name] = operand_check.as_argument(name, value, kind)
        else:
            _check_chunks(name, type_in_chunks(name, value), kind)
            found[name] = value
    check_static(types.items(), {name: tuple(value.shape) for name, value in found.items()})
    return found


def _check_chunks(name: str, got: TensorType, kind: TensorType) -> None:
    if got.rank != kind.rank:
        raise RankError(f"expected {name} of {kind.rank} dimensions, but got a dask.array of {got.rank}")
    if got.dtype != kind.dtype:
        raise DTypeError(
            f"expected {kind.dtype} for {name}, but got a dask.array of {got.dtype}: pass "
            f"{name}.astype({kind.dtype.numpy.name!r}), or compile for {got.dtype}"
        )
    if got.encoding is not None and kind.encoding is not None:
        widths = kind.encoding.pos_width, kind.encoding.crd_width
        got = replace(got, encoding=got.encoding.with_widths(*widths))
    try:
        operand_check.check_storage(name, got, kind)
    except OperandError as error:
        wanted = "dense" if kind.encoding is None else kind.encoding.to_text()
        raise OperandError(
            f"{error.message.partition(': pass')[0]} in chunks: give each another storage by {name}.map_blocks(...), "
            f"such as part.convert({wanted!r}), or compile for {name} as it is"
        ) from None
