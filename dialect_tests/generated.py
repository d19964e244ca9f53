"""Hypothesis strategies: notation as text and as trees, kernels with data, encodings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import ml_dtypes
import numpy as np
from hypothesis import assume
from hypothesis import strategies as st

from dialect_tests import oracle
from mlir_sparse.encoding.encoding_value import Encoding
from mlir_sparse.encoding.presets import PRESETS, preset_encoding
from mlir_sparse.notation import (
    FUNCTIONS,
    Access,
    AffineSubscript,
    Assignment,
    AssignOp,
    Binary,
    BinaryOp,
    Call,
    Expr,
    IndexVar,
    Literal,
    Negate,
    Reduce,
    ReduceOp,
    Subscript,
    index_vector,
    is_index_vector,
    parse,
    reads,
    walk,
)

__all__ = [
    "DTYPES",
    "FAMILY",
    "WITH_INDICES",
    "KernelCase",
    "any_assignments",
    "assignments",
    "dense_data",
    "dtypes",
    "encodings",
    "extent_classes",
    "gathered_classes",
    "has_meaning",
    "kernels",
    "needs_order",
    "notation_text",
    "operands",
    "places",
]

Array = np.ndarray[Any, Any]

_NAMES = (
    "int8",
    "int16",
    "int32",
    "int64",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "float16",
    "float32",
    "float64",
    "complex64",
    "complex128",
)
DTYPES: tuple[np.dtype[Any], ...] = (*map(np.dtype, _NAMES), np.dtype(ml_dtypes.bfloat16), np.dtype(np.bool_))

# Kernels of the literature and of every shape that the summation rule tells apart. No two are of one kind.
FAMILY = (
    "y(i) = A(i,j) * x(j)",
    "y(j) = A(i,j) * x(i)",
    "y(i) = b(i) - A(i,j) * x(j)",
    "y(i) = alpha * A(j,i) * x(j) + beta * z(i)",
    "y(i) += A(i,j) * x(j)",
    "C(i,j) = A(i,k) * B(k,j)",
    "C(i,j) = A(i,j) * B(i,j)",
    "C(i,j) = A(i,j) + B(i,j)",
    "C(i,j) = A(i,j) + B(i,j) + D(i,j)",
    "C(i,j) = (A(i,j) + B(i,j)) * D(i,j)",
    "C(i,j) = A(i,j) - B(j,i)",
    "C(i,j) = A(i,j) + A(j,i)",
    "C(i,j) = S(i,j) * (U(i,k) * V(j,k))",
    "C(i,j) = A(i,k) * B(k,l) * D(l,j)",
    "C(j,i) = 2 * A(i,j)",
    "C(i,j) = -A(i,j)",
    "C(i,j) = u(i) * v(j)",
    "a = A(i,j)",
    "a = x(i) * y(i)",
    "a = A(i,j) * B(i,j)",
    "a += x(i)",
    "y(i) = A(i,j)",
    "y(j) = A(i,j)",
    "y(i) = A(i,j) + x(i)",
    "y(i) = A(i,j) * x(j) + B(i,k) * z(k)",
    "y(i) = A(i,j) * (B(j,k) * x(k))",
    "y(i) = (A(i,j) + B(i,j)) * x(j)",
    "C(i,j) = T(i,j,k) * x(k)",
    "C(i,j,l) = T(i,j,k) * M(l,k)",
    "C(i,j) = T(i,k,l) * D(l,j) * E(k,j)",
    "a = T(i,j,k) * R(i,j,k)",
    "y(k) = A(i,j) * T(i,j,k)",
    "C(i,j,k) = T(i,j,k) + R(i,j,k) + Q(i,j,k)",
    "y(i) = relu(A(i,j) * x(i))",
    "y(i) = max(j : A(i,j))",
    "y(i) = max(x(i), z(i))",
    "y(i) max=! A(i,j)",
    "y(i) or=! A(i,j) > 1",
    "y(i) and= x(i) != 1",
    "C(i,j) = A(i,j) > B(i,j)",
    "C(i,j) = A(i,j) != 0 & x(i) == 1 | B(i,j)",
    "C(i,j) = where(A(i,j) > 1, A(i,j), B(i,j))",
    "C(i,j) = where(A(i,j) > 1, B(i,j), D(i,j))",
    "C(i,j) = where(A(i,j) >= x(j), A(i,j), 0)",
    "C(i,j) = (A(i,j) >= 0) * B(i,j)",
    "C(i,j) = exp(A(i,j)) - 1",
    "C(i,j) = A(i,j) ** 2 * !B(i,j)",
    "y(i) = (A(i,j) > 0) * x(j)",
    "y(i) = (A(i,j) * x(j) > 1) + 0.5 * count(k : A(i,k) == B(i,k))",
    "y(i) = or(j : A(i,j) > 1) & and(k : B(i,k) > -3)",
    "y(i) = where(sum(j : A(i,j)) > 1, x(i), sum(j : B(i,j)))",
    "y(i) min= x(i)",
    "y(i) *= x(i)",
    "y(i) = x(i + k) * w(k)",
    "y(i) = x(2*i + 1)",
    "d(i) = A(i,i)",
    "C(i,j) = T(i,i,j) + A(j,i)",
    "C(i,j) = A(i + 1,2*j)",
    "y(i) = A(2*i + 1,j) * x(j)",
    "y(i) = x(I(i))",
    "C(i,j) = x(J(i,j)) * A(i,j)",
    "C(i,j) = A(I(i),j)",
    "C(i,j) = A(j,I(i)) * B(i,j)",
    "C(i,j) = A(I(i),K(j)) + B(i,j)",
    "y(i) = A(I(i),i) + A(i,I(I(i)))",
    "y(i) = A(I(i),j) * x(j)",
    "y(i) = argmax(j : A(i,j))",
    "C(i,j) = argmin(k : T(i,j,k))",
    "y(i) = argmax(j : A(i,j) - B(i,j)) * x(i)",
    "s = argmin(i : x(i))",
    "C(i,j) = stored(exp(A(i,j)) + 1)",
    "y(i) = stored(cos(A(i,j)) * x(j))",
    "C(i,j) = stored(A(i,j) + B(i,j)) * 2",
    "y(i) = max(j : stored(A(i,j) >= 0))",
)


# Index variables as values, and conditions on them.
WITH_INDICES = (
    "y(i) = A(i,j) * j",
    "y(j) = A(i,j) * x(i) * (i - j)",
    "C(i,j) = where(j <= i, A(i,j), 0)",
    "C(i,j) = A(i,k) * where(k < j, B(k,j), 1) * i",
    "y(i) = max(j : A(i,j) * j) + i",
    "C(i,j) = A(i,j) * (i == j) + B(i,j)",
    "a = sum(i, j : A(i,j) * i * j)",
    "y(i) = x(I(i)) * i",
)


def dtypes() -> st.SearchStrategy[np.dtype[Any]]:
    """Draws one of the element types."""
    return st.sampled_from(DTYPES)


# -- text ---------------------------------------------------------------------------------------------------

_PIECES = (
    *("A(i,j)", "y(i) = ", "a", "x[j]", "i", "é", "²", "_", "sum(j : ", "max(", "exp(", "complex(1.0, -2)", "sum"),
    *(
        "+",
        "-",
        "*",
        "/",
        "**",
        "(",
        ")",
        "[",
        "]",
        ",",
        ":",
        "=",
        "+=",
        "max=",
        "=!",
        "!",
        "?",
        " if ",
        " else ",
        " not ",
        "#a",
        "//",
        "\n",
        " ",
    ),
    *(" not ", "0", "12", "1.5", "2j", "1e999", "0x1F", "12ab", "9" * 30, "\0", "\t", "'", '"'),
)


def notation_text() -> st.SearchStrategy[str]:
    """Draws any text, most of it close to notation."""
    return st.one_of(
        st.text(max_size=40),
        st.lists(st.sampled_from(_PIECES), max_size=12).map("".join),
        st.lists(st.sampled_from(_PIECES), max_size=12).map(lambda pieces: "y(i) = " + "".join(pieces)),
    )


# -- trees --------------------------------------------------------------------------------------------------

_INDICES = tuple(IndexVar(name) for name in ("i", "j", "k", "μ", "exp"))
_TENSORS = ("A", "x", "T_1", "α", "max", "sum", "complex", "exp", "i")


def _literals() -> st.SearchStrategy[Literal]:
    return st.one_of(
        st.integers(-(2**63), 2**63 - 1),
        st.floats(allow_nan=False, allow_infinity=False),
        st.complex_numbers(allow_nan=False, allow_infinity=False),
    ).map(Literal)


# Axes that places are gathered from are at least as long.
PLACES = 3


@st.composite
def _subscripts(draw: st.DrawFn) -> Subscript:
    if draw(st.booleans()):
        return draw(st.sampled_from(_INDICES))
    variables = draw(st.lists(st.sampled_from(_INDICES), unique=True, max_size=3))
    coefficients = [draw(st.integers(-4, 4).filter(bool)) for _ in variables]
    constant = draw(st.integers(-(2**40), 2**40))
    if coefficients == [1] and constant == 0:
        return variables[0]  # the same subscript has one form only
    return AffineSubscript(tuple(zip(coefficients, variables, strict=True)), constant)


def _accesses() -> st.SearchStrategy[Access]:
    return st.builds(Access, st.sampled_from(_TENSORS), st.lists(_subscripts(), max_size=3).map(tuple))


def _larger(inner: st.SearchStrategy[Expr]) -> st.SearchStrategy[Expr]:
    over = st.lists(st.sampled_from(_INDICES), min_size=1, max_size=2).map(tuple)
    return st.one_of(
        st.builds(Negate, inner),
        st.builds(Binary, st.sampled_from(BinaryOp), inner, inner),
        st.builds(Call, st.sampled_from(sorted(FUNCTIONS)), st.lists(inner, max_size=3).map(tuple)),
        st.builds(Reduce, st.sampled_from(ReduceOp), over, inner),
    )


def any_assignments() -> st.SearchStrategy[Assignment]:
    """Draws trees that can be written, with a meaning or without."""
    values = st.recursive(st.one_of(_literals(), _accesses()), _larger, max_leaves=12)
    return st.builds(Assignment, _accesses(), st.sampled_from(AssignOp), values)


# Each tensor has one rank; `s` and `t` are scalars.
_RANKS = {"s": 0, "t": 0, "x": 1, "z": 1, "A": 2, "B": 2, "R": 3}


@st.composite
def _meaningful(draw: st.DrawFn, scope: tuple[str, ...], depth: int) -> Expr:
    kinds = ["leaf", "leaf", "sum", "product", "negate", "call", "reduce", "compare", "logic", "where", "test"]
    kind = draw(st.sampled_from(kinds if depth else ["leaf"]))
    match kind:
        case "sum" | "product":
            op = draw(st.sampled_from([BinaryOp.ADD, BinaryOp.SUB] if kind == "sum" else [BinaryOp.MUL]))
            return Binary(op, draw(_meaningful(scope, depth - 1)), draw(_meaningful(scope, depth - 1)))
        case "compare" | "logic":
            chosen = [op for op in BinaryOp if op.compares] if kind == "compare" else [BinaryOp.AND, BinaryOp.OR]
            op = draw(st.sampled_from(chosen))
            return Binary(op, draw(_meaningful(scope, depth - 1)), draw(_meaningful(scope, depth - 1)))
        case "where":
            return Call("where", tuple(draw(_meaningful(scope, depth - 1)) for _ in range(3)))
        case "negate":
            return Negate(draw(_meaningful(scope, depth - 1)))
        case "call":
            return Call(draw(st.sampled_from(["abs", "relu", "logical_not"])), (draw(_meaningful(scope, depth - 1)),))
        case "reduce":
            # A variable of its own, named by the depth: nothing else may use it.
            bound = f"r{depth}"
            body = Binary(BinaryOp.MUL, Access("x", (IndexVar(bound),)), draw(_meaningful((*scope, bound), depth - 1)))
            return Reduce(draw(st.sampled_from([ReduceOp.SUM, ReduceOp.MAX])), (IndexVar(bound),), body)
        case "test":
            bound = f"r{depth}"
            body = Binary(BinaryOp.SUB, Access("x", (IndexVar(bound),)), draw(_meaningful((*scope, bound), depth - 1)))
            return Reduce(draw(st.sampled_from([ReduceOp.OR, ReduceOp.AND, ReduceOp.COUNT])), (IndexVar(bound),), body)
        case _:
            return draw(_leaf(scope))


@st.composite
def _leaf(draw: st.DrawFn, scope: tuple[str, ...]) -> Expr:
    kind = draw(st.integers(0, 9))
    if kind < 2:
        return Literal(draw(st.integers(-3, 3)))
    if kind == 2:
        return index_vector(IndexVar(draw(st.sampled_from(scope))))
    tensor = draw(st.sampled_from(sorted(_RANKS)))
    return Access(tensor, tuple(IndexVar(draw(st.sampled_from(scope))) for _ in range(_RANKS[tensor])))


@st.composite
def assignments(draw: st.DrawFn, depth: int = 3) -> Assignment:
    """Draws assignments with a meaning, over tensors of fixed ranks; their arithmetic stays within integers."""
    target = draw(st.sampled_from([(), ("i",), ("i", "j"), ("j", "i")]))
    op = draw(
        st.sampled_from(
            [AssignOp.ASSIGN] * 4
            + [AssignOp.ADD, AssignOp.REDUCE_ADD, AssignOp.REDUCE_MAX]
            + [AssignOp.MIN, AssignOp.MAX, AssignOp.MUL]
            + [AssignOp.OR, AssignOp.AND, AssignOp.REDUCE_OR, AssignOp.REDUCE_AND]
        )
    )
    value = draw(_meaningful(("i", "j", "k"), depth))
    # A name that is a value only is a scalar, and no index variable.
    named = {*target, *(v.name for a in reads(value) if not is_index_vector(a.tensor) for v in a.indices)}
    assume(all(a.indices[0].name in named for a in reads(value) if is_index_vector(a.tensor)))
    return Assignment(Access("y", tuple(IndexVar(name) for name in target)), op, value)


# -- data ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class KernelCase:
    """An assignment and dense data for it.

    Args:
        assignment: what to compute.
        tensors: the operands, and the target where its present value is read.
        extents: the extent of every index variable.
        dtype: the element type of all operands.
    """

    assignment: Assignment
    tensors: Mapping[str, Array]
    extents: Mapping[str, int]
    dtype: np.dtype[Any]

    @property
    def terms(self) -> int:
        """Returns how many products are added up in one element of the result, at most."""
        kept = self.assignment.target.indices
        extents = [self.extents[index.name] for index in self.assignment.indices if index not in kept]
        return max(1, int(np.prod(extents, dtype=np.int64))) * len(list(walk(self.assignment.value)))


def dense_data(shape: tuple[int, ...], dtype: np.dtype[Any], density: float, seed: int) -> Array:
    """Returns small integers, of which a share `density` is nonzero: exact in every type while sums stay small."""
    random = np.random.default_rng(seed)
    values = random.integers(1, 4, shape) * random.choice([-1, 1], shape)
    data = np.where(random.random(shape) < density, values, 0)
    if dtype.kind == "c":
        return (data + 1j * data * random.integers(-1, 2, shape)).astype(dtype)
    return data.astype(dtype)


def operands(
    assignment: Assignment, extents: Mapping[str, int], dtype: np.dtype[Any], density: float = 0.4, seed: int = 0
) -> dict[str, Array]:
    """Returns dense data for every tensor that an assignment reads, as large as its subscripts reach."""
    shapes: dict[str, tuple[int, ...]] = {}
    for access in _reads(assignment):
        reached = tuple(_reach(subscript, extents) for subscript in access.subscripts)
        known = shapes.get(access.tensor, reached)
        shapes[access.tensor] = tuple(max(pair) for pair in zip(known, reached, strict=True))
    data = {}
    for number, (name, shape) in enumerate(shapes.items()):
        limits = [shapes[tensor][axis] for tensor, axis in _uses(assignment, name)]
        data[name] = (
            np.random.default_rng(seed + number).integers(0, min(limits), shape)
            if limits
            else dense_data(shape, dtype, density, seed + number)
        )
    return data


@st.composite
def kernels(
    draw: st.DrawFn,
    texts: tuple[str, ...] = FAMILY,
    element_types: st.SearchStrategy[np.dtype[Any]] | None = None,
    largest: int = 5,
) -> KernelCase:
    """Draws a kernel with extents from 0 to `largest` and data of many zeros.

    Args:
        texts: the assignments to choose from.
        element_types: by default all that the kernel has a meaning in.
        largest: the greatest extent.
    """
    assignment = parse(draw(st.sampled_from(texts)))
    choice = (
        element_types if element_types is not None else dtypes().filter(lambda dtype: has_meaning(assignment, dtype))
    )
    dtype = draw(choice)
    leaders = extent_classes(assignment)
    fixed = gathered_classes(assignment)
    drawn = {name: PLACES if name in fixed else draw(st.integers(0, largest)) for name in sorted(set(leaders.values()))}
    extents = {name: drawn[leader] for name, leader in leaders.items()}
    data = operands(assignment, extents, dtype, draw(st.sampled_from([0.0, 0.3, 0.6, 1.0])), draw(st.integers(0, 99)))
    return KernelCase(assignment, data, extents, dtype)


def has_meaning(assignment: Assignment, dtype: np.dtype[Any]) -> bool:
    """Returns whether NumPy computes an assignment of tensors of one type: orders them, or takes differences."""
    return not (dtype.kind == "c" and needs_order(assignment)) and not (dtype == np.bool_ and _subtracts(assignment))


@cache
def _subtracts(assignment: Assignment) -> bool:
    """Returns whether an assignment has differences of truth values where all its tensors hold those."""
    extents = dict.fromkeys((index.name for index in assignment.indices), PLACES)
    try:
        oracle.evaluate(assignment, operands(assignment, extents, np.dtype(np.bool_)), extents=extents)
    except TypeError:
        return True
    return False


def needs_order(assignment: Assignment) -> bool:
    """Returns whether an assignment means nothing on complex numbers, which have no order."""
    names = [assignment.op.value]
    for node in walk(assignment.value):
        match node:
            case Binary(op) if op.value in ("<", "<=", ">", ">="):
                return True
            case Reduce(op):
                names.append(op.value)
            case Call(function):
                names.append(function)
            case _:
                pass
    return any(part in name for name in names for part in ("max", "min", "relu"))


def places(assignment: Assignment) -> set[str]:
    """Returns the tensors whose elements are places in others."""
    subscripts = (subscript for access in _reads(assignment) for subscript in access.subscripts)
    return {subscript.tensor for subscript in subscripts if isinstance(subscript, Access)}


def _uses(assignment: Assignment, name: str) -> Iterator[tuple[str, int]]:
    """Yields the tensors and axes in which a tensor's elements are places."""
    for access in _reads(assignment):
        for axis, subscript in enumerate(access.subscripts):
            if isinstance(subscript, Access) and subscript.tensor == name:
                yield access.tensor, axis


def _reads(assignment: Assignment) -> Iterator[Access]:
    if assignment.op.reads_target:
        yield assignment.target
    yield from (access for access in reads(assignment.value) if not is_index_vector(access.tensor))


def extent_classes(assignment: Assignment) -> dict[str, str]:
    """Returns, for every index variable, the one whose extent it shares: `A(i,j) + A(j,i)` has one extent."""
    leader = {index.name: index.name for index in assignment.indices}
    axes: dict[tuple[str, int], str] = {}
    for access in _reads(assignment):
        for axis, subscript in enumerate(access.subscripts):
            if isinstance(subscript, IndexVar):
                first = axes.setdefault((access.tensor, axis), subscript.name)
                old, new = leader[subscript.name], leader[first]
                leader = {name: new if known == old else known for name, known in leader.items()}
    return leader


def gathered_classes(assignment: Assignment) -> frozenset[str]:
    """Returns the classes of variables that run along an axis of PLACES elements: one that is gathered from as well."""
    leaders = extent_classes(assignment)
    axes = [((a.tensor, axis), s) for a in _reads(assignment) for axis, s in enumerate(a.subscripts)]
    gathered = {axis for axis, subscript in axes if isinstance(subscript, Access)}
    return frozenset(leaders[s.name] for axis, s in axes if axis in gathered and isinstance(s, IndexVar))


def _reach(subscript: Subscript, extents: Mapping[str, int]) -> int:
    if isinstance(subscript, IndexVar):
        return extents[subscript.name]
    if isinstance(subscript, Access):
        return PLACES
    ends = [c * max(0, extents[variable.name] - 1) for c, variable in subscript.terms if c > 0]
    return max(0, subscript.constant + sum(ends) + 1)


# -- encodings ----------------------------------------------------------------------------------------------


@st.composite
def encodings(draw: st.DrawFn, rank: int, without: tuple[str, ...] = ("CSR_SLICE",), foreign: bool = False) -> Encoding:
    """Draws a preset of the rank, with parameters and widths.

    Args:
        rank: the number of dimensions.
        without: presets to leave out; a slice is a view of another tensor, which no test can pack.
        foreign: whether to draw those that the dialect has no encoding for as well.
    """
    fitting = [preset.name for preset in PRESETS.values() if preset.min_rank <= rank <= (preset.max_rank or rank)]
    names = [name for name in fitting if foreign or preset_encoding(name, rank).is_native]
    name = draw(st.sampled_from([name for name in names if name not in without]))
    widths = st.sampled_from([0, 8, 16, 32, 64])
    match PRESETS[name].parameter:
        case "order":
            encoding = preset_encoding(name, rank, order=draw(st.permutations(range(rank))))
        case "block":
            smallest = 2 if name == "CSB" else 1  # CSB has a level for each dimension inside a block
            block = draw(st.lists(st.integers(smallest, 3), min_size=rank, max_size=rank))
            encoding = preset_encoding(name, rank, block=block)
        case "n_m":
            m = draw(st.integers(2, 4))
            encoding = preset_encoding(name, rank, n=draw(st.integers(1, m)), m=m)
        case _:
            encoding = preset_encoding(name, rank)
    return encoding.with_widths(draw(widths), draw(widths))
