"""Variants with other names: those that users choose, and above all names like the compiler's own."""

from __future__ import annotations

import keyword
import string
from collections.abc import Iterator, Mapping
from dataclasses import replace
from random import Random
from typing import Any

import numpy as np

import mlir_sparse as ms
from dialect_tests.calls import Call, Results
from fuzzing.variants.variant import NotApplicableError, Variant
from mlir_sparse.notation import (
    Access,
    AffineSubscript,
    Apply,
    Assignment,
    Expr,
    Fold,
    IndexVar,
    Reduce,
    children,
    index_vector,
    is_index_vector,
    shifted_gather_of,
    tensors_given,
    walk,
)
from mlir_sparse.text.identifiers import normal_name
from mlir_sparse.text.lexer import is_name

__all__ = ["NAMES", "VARIANTS", "renamed"]

# What stages of ours add to a tensor's name, or have added.
_SUFFIXES = (
    *("fibres", "rows", "by_fibres", "natural", "dense", "extent", "converted", "levels", "located", "wide"),
    *("picked", "values", "place", "positions", "coordinates", "0", "1", "2", "pos", "crd", "nse", "out", "view"),
)
_OURS = (
    *("p", "t", "t1", "t_1", "t2", "out", "result", "kernel", "arg0", "d0", "d1", "s0", "l0", "l1", "i0", "lvl0"),
    *("values", "positions", "coordinates", "storage", "threads", "text", "target", "tensors", "semiring", "via"),
    *("schedule", "deterministic", "self", "operands", "main", "malloc", "free", "printf", "exp", "sqrt", "erf"),
    *("f64", "i8", "index", "tensor", "memref", "func", "module", "linalg", "true", "dense", "compressed", "map"),
)
_NUMPY = ("np", "numpy", "sum", "max", "min", "any", "all", "prod", "abs", "nan", "inf", "array", "dot", "mean")
_LONG = ("x" * 300, "A_" * 400, "_", "__", "___init__", "_0", "i" * 64)
_UNICODE = ("é", "μ", "ℵ", "变量", "ﬁ", "fi", "Ω", "Ωmega", "ª", "a\u0301", "ά", "𝒳", "نص", "ーé", "ǅ", "ß", "İ", "ı")
# Words of the grammar itself are no names where they are read as what they mean there.
_GRAMMAR = frozenset(("if", "not", "where", "in", "exists", "complex", "select", "or", "and"))
NAMES: tuple[str, ...] = tuple(
    name
    for name in dict.fromkeys(
        map(
            normal_name,
            (*string.ascii_letters, *_OURS, *keyword.kwlist, *keyword.softkwlist, *_NUMPY, *_LONG, *_UNICODE),
        )
    )
    if is_name(name) and name not in _GRAMMAR
)


def renamed(program: Assignment, names: Mapping[str, str]) -> Assignment:
    """Returns a program with other names of tensors and index variables."""
    return replace(
        program,
        target=_access(program.target, names),
        value=_expression(program.value, names),
        source=None,
        ranges=tuple(replace(r, variable=IndexVar(names[r.variable.name]), span=None) for r in program.ranges),
        exists=tuple(_access(access, names) for access in program.exists),
    )


def _expression(node: Expr, names: Mapping[str, str]) -> Expr:
    match node:
        case Access():
            return _access(node, names)
        case Reduce(indices=indices, body=body) | Fold(indices=indices, body=body):
            bound = tuple(IndexVar(names[index.name]) for index in indices)
            return replace(node, indices=bound, body=_expression(body, names))
        case _:
            below = tuple(_expression(child, names) for child in children(node))
            return _with_children(node, below)


def _with_children(node: Expr, below: tuple[Expr, ...]) -> Expr:
    fields = {1: ("operand",), 2: ("left", "right")}
    if not below:
        return node
    if hasattr(node, "arguments"):
        return replace(node, arguments=below)
    return replace(node, **dict(zip(fields[len(below)], below, strict=True)))  # type: ignore[arg-type]


def _access(access: Access, names: Mapping[str, str]) -> Access:
    if is_index_vector(access.tensor):  # it stands for its variable as a value
        return index_vector(_subscript(access.subscripts[0], names))
    if (gather := shifted_gather_of(access.tensor)) is not None:
        renamed = replace(gather, tensor=names[gather.tensor]).name
        return Access(renamed, tuple(_subscript(one, names) for one in access.subscripts))
    return Access(names[access.tensor], tuple(_subscript(one, names) for one in access.subscripts))


def _subscript(subscript: Any, names: Mapping[str, str]) -> Any:
    match subscript:
        case IndexVar(name):
            return IndexVar(names[name])
        case AffineSubscript(terms, constant):
            return AffineSubscript(tuple((c, IndexVar(names[v.name])) for c, v in terms), constant)
        case _:
            return _access(subscript, names)


def _own_names(program: Assignment) -> tuple[list[str], list[str], set[str]]:
    """Returns the names of tensors, of index variables, and of operators, which keep theirs."""
    tensors = dict.fromkeys((program.target.tensor, *tensors_given(program)))
    operators = {
        node.operator.name if isinstance(node, Apply) else node.monoid.operator.name
        for node in walk(program.value)
        if isinstance(node, Apply | Fold)
    }
    return list(tensors), [index.name for index in program.indices], operators


def _drawn(kinds: list[str], random: Random, taken: set[str]) -> Iterator[str]:
    """Yields names, each once: a half of them from what our stages would call things."""
    while True:
        name = random.choice(NAMES)
        if random.random() < 0.4:
            name = f"{random.choice([*taken, *kinds])}_{random.choice(_SUFFIXES)}"
        if name not in taken and is_name(name) and len(name) < 1000:
            taken.add(name)
            yield name


def _named_otherwise(call: Call, random: Random, picked: Mapping[str, str] | None = None) -> Results:
    program = ms.parse(call.program) if _is_plain_text(call) else call.program
    if not isinstance(program, Assignment):
        raise NotApplicableError
    tensors, indices, operators = _own_names(program)
    names = dict(picked or {})
    drawn = _drawn(tensors, random, {*operators, *names.values()})
    for name in (*tensors, *indices):
        names.setdefault(name, next(drawn))
    other = renamed(program, names)
    if operators:
        text: Any = other  # an operator has no notation that parses
    else:
        text = str(other)
        assert ms.parse(text) == other, f"{text} does not read back as it prints"
    operands = {names.get(name, name): value for name, value in call.operands.items()}
    return replace(call, program=text, operands=operands).results()


def _is_plain_text(call: Call) -> bool:
    return isinstance(call.program, str) and all(
        isinstance(value, ms.SparseTensor | np.ndarray) for value in call.operands.values()
    )


def _one_letter(call: Call, random: Random) -> Results:
    """Makes the call with one of its index variables called as a stage of ours would call one."""
    program = ms.parse(call.program) if _is_plain_text(call) else call.program
    if not isinstance(program, Assignment) or not program.indices:
        raise NotApplicableError
    index = random.choice(program.indices).name
    return _named_otherwise(call, random, {index: random.choice(("p", "t", "k", "i", "d0", "s"))})


VARIANTS = (
    Variant("other names", _named_otherwise, share=0.05, compiles=True, same_bits=True),
    Variant("a name of ours", _one_letter, share=0.03, compiles=True, same_bits=True),
)
