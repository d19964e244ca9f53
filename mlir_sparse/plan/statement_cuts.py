"""The legal cuts of a statement: along which index variable it can be computed in pieces, what each piece reads, and
how results meet.

They follow from the notation alone, before there are loops: streams from disk and task graphs over machines are made
of them. A piece of a statement is the statement itself, on parts of its operands.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from mlir_sparse.classes import dataclass
from mlir_sparse.errors import UnsupportedError
from mlir_sparse.notation import (
    Access,
    AffineSubscript,
    Apply,
    Assignment,
    Binary,
    BinaryOp,
    Expr,
    Fold,
    IndexVar,
    Monoid,
    Negate,
    Reduce,
    ReduceOp,
    Semiring,
    children,
    fresh_name,
    is_mask,
    reads,
    rebuild,
    walk,
    with_explicit_sums,
)
from mlir_sparse.notation.laws import PLUS_TIMES, Law, holds
from mlir_sparse.notation.linear_subscript import as_affine
from mlir_sparse.notation.masks import condition_and_value
from mlir_sparse.notation.positional_products import POSITIONAL
from mlir_sparse.plan.halos import Halo, factor_of, halo_of, refused_sum
from mlir_sparse.text.listed_words import listed

__all__ = ["Image", "StatementCut", "cuts"]


@dataclass(frozen=True, slots=True)
class Image:
    """What a piece reads of an operand that is not cut: coordinates of an axis that a part stores in one of its own.

    Args:
        operand: the operand that is not cut, by its name in the statement of the pieces.
        axis: its axis.
        part: the operand that is cut, whose coordinates name the elements.
        part_axis: the axis of the part that has the same index variable.
    """

    operand: str
    axis: int
    part: str
    part_axis: int


@dataclass(frozen=True, slots=True)
class StatementCut:
    """One way to compute a statement in pieces.

    Args:
        variable: the index variable whose values are divided.
        axis: the axis of the result along which the results of pieces follow one another; None where they are combined.
        combine: the reduction that combines the results of pieces; None where they follow one another.
        parts: the axis along which each operand that is cut is cut, by its name in `assignment`.
        whole: the operands that each piece reads without a cut.
        images: what of those a piece reads at most, where every product walks the part's entries.
        assignment: the statement of a piece, its sums explicit; an operand that is read both ways has two names.
        renamed: the operand behind each name that the statement did not have.
        halos: of the parts whose subscript is a sum with the variable, what pieces read.
    """

    variable: str
    axis: int | None
    combine: ReduceOp | Monoid | None
    parts: Mapping[str, int]
    whole: tuple[str, ...]
    images: tuple[Image, ...]
    assignment: Assignment
    renamed: Mapping[str, str]
    halos: Mapping[str, Halo]

    def operand(self, name: str) -> str:
        """Returns the operand that a name in the statement of a piece stands for."""
        return self.renamed.get(name, name)

    def part(self, name: str, low: int, high: int, extents: Mapping[IndexVar, int]) -> tuple[int, int]:
        """Returns the coordinates that a piece reads of an operand that is cut: the first, and the one behind the last.

        Args:
            name: the operand, by its name in the statement of the pieces.
            low: the piece's first value of the variable.
            high: the value behind its last.
            extents: the extent of each index variable; those beside the variable in sums are asked for.
        """
        halo = self.halos.get(name)
        return (low, high) if halo is None else halo.part(low, high, extents)

    def _cut_text(self, name: str) -> str:
        halo = self.halos.get(name)
        return f"axis {self.parts[name]} of {self.operand(name)}{'' if halo is None else f' ({halo})'}"

    def described(self, named: Mapping[str, str]) -> str:
        """Returns the cut as text.

        Args:
            named: operands of which each piece reads what a part names, in place of all, by the name of that part.
        """
        cut = ", ".join(map(self._cut_text, self.parts))
        whole = [self.operand(name) for name in self.whole if name not in named]
        read = [f"all of {listed(whole)}"] if whole else []
        read += [f"of {self.operand(name)} what {self.operand(part)} names" for name, part in named.items()]
        kept = f"; each piece reads {listed(read)}" if read else ""
        if self.axis is not None:
            return f"along {self.variable}: {cut}{kept}; results follow one another along axis {self.axis}"
        how = self.combine.value if isinstance(self.combine, ReduceOp) else getattr(self.combine, "name", "")
        return f"along {self.variable}: {cut}{kept}; results are combined by {how}"

    def __str__(self) -> str:
        return self.described({})


def cuts(assignment: Assignment, ring: Semiring = PLUS_TIMES) -> dict[str, StatementCut | str]:
    """Returns the cut along each index variable of a statement, or the reason why there is none.

    Args:
        assignment: a checked statement.
        ring: what `+` and `*` are.

    >>> from mlir_sparse.notation import parse
    >>> for found in cuts(parse("y(i) = b(i) - A(i,j) * x(j)")).values():
    ...     print(found)
    along i: axis 0 of b, axis 0 of A; each piece reads all of x; results follow one another along axis 0
    b(i) lacks j: each piece would count it
    """
    if ring.multiply.name in POSITIONAL:
        raise UnsupportedError(
            f"expected a semiring of values for a statement in pieces, but got {ring.name}, whose products are "
            "positions: convert the operands to whole tensors"
        )
    explicit = with_explicit_sums(assignment, ring)
    accesses = [*reads(explicit.value), *explicit.exists]
    variables = dict.fromkeys(index for access in (explicit.target, *accesses) for index in access.indices)
    return {variable.name: _cut(explicit, variable, ring) for variable in variables}


def _cut(statement: Assignment, variable: IndexVar, ring: Semiring) -> StatementCut | str:
    if any(one.variable == variable for one in statement.ranges):
        return f"{variable} has a range of its own"
    read = [*reads(statement.value), *statement.exists]
    if statement.op.reads_target:
        read.append(statement.target)
    for access in (*read, statement.target):
        refused = _refused_access(access, variable, statement)
        if refused:
            return refused
    if any(isinstance(one, AffineSubscript) and factor_of(one, variable) for one in statement.target.subscripts):
        return f"{statement.target} is written to at sums of {variable}"
    if all(_axis(access, variable) is None for access in read):
        return f"no operand has {variable}"
    axis, combine = _axis(statement.target, variable), None
    if axis is None:
        found = _combined(statement, variable, ring)
        if isinstance(found, str):
            return found
        combine = found
    names = _names(read, variable, statement)

    halos = {
        name: halo
        for role, name in names.items()
        if role.axis is not None and (halo := _halo(role, read, variable)) is not None
    }

    def renamed(access: Access) -> Access:
        role = _role(access, variable)
        halo, subscripts = halos.get(names[role]), list(access.subscripts)
        if halo is not None:
            assert role.axis is not None
            subscript = subscripts[role.axis]
            assert not isinstance(subscript, Access)
            subscripts[role.axis] = halo.shifted(as_affine(subscript))
        return replace(access, tensor=names[role], subscripts=tuple(subscripts))

    piece = replace(
        statement,
        value=_with_accesses(statement.value, renamed),
        exists=tuple(map(renamed, statement.exists)),
        source=None,
    )
    parts = {name: role.axis for role, name in names.items() if role.axis is not None}
    whole = tuple(name for role, name in names.items() if role.axis is None)
    others = {name: role.tensor for role, name in names.items() if name != role.tensor}
    images = _images(piece, parts, whole)
    return StatementCut(variable.name, axis, combine, parts, whole, images, piece, others, halos)


def _refused_access(access: Access, variable: IndexVar, statement: Assignment) -> str:
    axes = 0
    for subscript in access.subscripts:
        axes += factor_of(subscript, variable) != 0
        match subscript:
            case AffineSubscript() if factor_of(subscript, variable):
                refused = refused_sum(access, subscript, variable, (one.variable for one in statement.ranges))
                if refused:
                    return refused
            case Access():
                if variable in subscript.indices:
                    return f"{access} gathers along {variable}"
    return f"{access} has {variable} twice" if axes > 1 else ""


@dataclass(frozen=True, slots=True)
class _Role:
    """What pieces read of a tensor: all of it, or a part along an axis, for each value of the variable so many."""

    tensor: str
    axis: int | None
    factor: int


def _role(access: Access, variable: IndexVar) -> _Role:
    axis = _axis(access, variable)
    return _Role(access.tensor, axis, 0 if axis is None else factor_of(access.subscripts[axis], variable))


def _axis(access: Access, variable: IndexVar) -> int | None:
    return next((axis for axis, subscript in enumerate(access.subscripts) if factor_of(subscript, variable)), None)


def _halo(role: _Role, read: list[Access], variable: IndexVar) -> Halo | None:
    assert role.axis is not None
    return halo_of((one.subscripts[role.axis] for one in read if _role(one, variable) == role), variable)


def _names(read: list[Access], variable: IndexVar, statement: Assignment) -> dict[_Role, str]:
    """Returns a name for each operand and what pieces read of it: its own the first time."""
    names: dict[_Role, str] = {}
    taken = {access.tensor for access in read} | {statement.target.tensor}
    for access in read:
        key = _role(access, variable)
        if key in names:
            continue
        first = all(role.tensor != access.tensor for role in names)
        names[key] = access.tensor if first else fresh_name(f"{access.tensor}_whole", taken)
        taken.add(names[key])
    return names


def _images(piece: Assignment, parts: Mapping[str, int], whole: tuple[str, ...]) -> tuple[Image, ...]:
    """Returns what parts name of the other operands: a part must be in every product that reads them."""
    accesses = list(reads(piece.value))
    found: dict[Image, None] = {}
    for access in accesses:
        if access.tensor not in whole:
            continue
        for axis, subscript in enumerate(access.subscripts):
            for part in accesses:
                if part.tensor not in parts or not isinstance(subscript, IndexVar) or subscript not in part.subscripts:
                    continue
                if _always_multiplied(piece.value, access, part):
                    found[Image(access.tensor, axis, part.tensor, part.subscripts.index(subscript))] = None
    return tuple(found)


def _always_multiplied(node: Expr, access: Access, part: Access) -> bool:
    """Returns whether every read of an access is multiplied by a part, so that it counts where that has an entry."""
    match node:
        case Reduce(ReduceOp.SUM, _, body) | Fold(_, _, body):
            return _always_multiplied(body, access, part)
        case Binary(BinaryOp.MUL) | Apply() if _is_of_factors(node):
            factors = children(node)
            return any(part in list(walk(side)) and _is_product(side) for side in factors) or all(
                _always_multiplied(side, access, part) for side in factors
            )
        case Negate() | Binary(BinaryOp.ADD | BinaryOp.SUB):
            return all(_always_multiplied(side, access, part) for side in children(node))
        case Apply(operator) if operator.absent is None and condition_and_value(node) is None:
            return all(_always_multiplied(side, access, part) for side in children(node))
        case _:
            return access not in list(walk(node))


def _is_of_factors(node: Expr) -> bool:
    """Returns whether a node has entries only where all its operands have, as products under any semiring."""
    if isinstance(node, Apply):
        return node.operator.intersects and condition_and_value(node) is None
    return isinstance(node, Binary) and node.op is BinaryOp.MUL


def _is_product(node: Expr) -> bool:
    return isinstance(node, Access) or (_is_of_factors(node) and all(map(_is_product, children(node))))


def _combined(statement: Assignment, variable: IndexVar, ring: Semiring) -> ReduceOp | Monoid | str:
    """Returns what combines the contributions of a reduced variable to the whole right side, or why nothing does."""
    if statement.op.reads_target:
        return f"{statement.target}, which is read, lacks {variable}: each piece would count it"
    found = _reduction(statement.value, variable, ring)
    if found is ReduceOp.SUM and ring is not PLUS_TIMES:
        return ring.add
    return found


def _reduction(node: Expr, variable: IndexVar, ring: Semiring) -> ReduceOp | Monoid | str:
    match node:
        case Reduce(op, indices, body):
            if variable not in indices:
                inner = _reduction(body, variable, ring)
                return (
                    inner
                    if isinstance(inner, str) or inner is op
                    else f"{_word(inner)} of {variable} is inside {op.value}"
                )
            if op.finds:
                return f"{op.value} of {variable} keeps a place, not the value to compare"
            return ReduceOp.SUM if op is ReduceOp.COUNT else op
        case Fold(monoid, indices, _):
            return monoid if variable in indices else f"{variable} is reduced inside of {monoid.name}"
        case Negate(operand):
            return _linear(operand, variable, ring, Law.MINUS, "a minus")
        case Binary(BinaryOp.MUL, left, right):
            return _of_product(left, right, variable, ring)
        case Binary(BinaryOp.DIV, left, right):
            if _has(right, variable):
                return f"{variable} is in a denominator"
            return _linear(left, variable, ring, Law.MINUS, "a quotient")
        case Binary(BinaryOp.ADD | BinaryOp.SUB, left, right):
            return _of_sum(node, left, right, variable, ring)
        case Apply(_, (_, body)) if is_mask(node) and not _has(node.arguments[0], variable):
            return _reduction(body, variable, ring)
        case _:
            return f"{variable} is reduced inside of {node}"


def _of_product(left: Expr, right: Expr, variable: IndexVar, ring: Semiring) -> ReduceOp | Monoid | str:
    in_left, in_right = _has(left, variable), _has(right, variable)
    if in_left and in_right:
        return f"{variable} is in both factors of a product, reduced apart"
    return _linear(left if in_left else right, variable, ring, Law.LEFT if in_right else Law.RIGHT, "a product")


def _linear(node: Expr, variable: IndexVar, ring: Semiring, law: Law, what: str) -> ReduceOp | Monoid | str:
    """Returns the sum below something that distributes over sums."""
    inner = _reduction(node, variable, ring)
    if isinstance(inner, str):
        return inner
    if inner is not ReduceOp.SUM or not holds(law, ring):
        return f"{_word(inner)} of {variable} is below {what}"
    return inner


def _of_sum(node: Binary, left: Expr, right: Expr, variable: IndexVar, ring: Semiring) -> ReduceOp | Monoid | str:
    for side in (left, right):
        if not _has(side, variable):
            return f"{side} lacks {variable}: each piece would count it"
    found = [_reduction(side, variable, ring) for side in (left, right)]
    for one in found:
        if isinstance(one, str):
            return one
    if any(one is not ReduceOp.SUM for one in found):
        return f"{_word(found[0])} of {variable} is below a sum"
    return ReduceOp.SUM if node.op is BinaryOp.ADD or holds(Law.MINUS, ring) else f"{variable} is below a minus"


def _word(combine: ReduceOp | Monoid | str) -> str:
    match combine:
        case ReduceOp():
            return combine.value
        case Monoid():
            return combine.name
        case _:
            return combine


def _has(node: Expr, variable: IndexVar) -> bool:
    for one in walk(node):
        match one:
            case Access():
                if variable in one.indices:
                    return True
            case Reduce(_, indices) | Fold(_, indices):
                if variable in indices:
                    return True
    return False


def _with_accesses(node: Expr, renamed: Callable[[Access], Access]) -> Expr:
    if not isinstance(node, Access):
        return rebuild(node, tuple(_with_accesses(child, renamed) for child in children(node)))
    inner = tuple(renamed(one) if isinstance(one, Access) else one for one in node.subscripts)
    return renamed(replace(node, subscripts=inner))
