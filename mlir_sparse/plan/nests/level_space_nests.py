"""Loop nests over the levels of an operand that the dialect has no encoding for.

The operand is read as the plain tensor that its buffers are, with a dimension for
each level, and every index variable of it becomes the expression over levels that
it equals (DESIGN decision 3). For DIA, `y(i) = A(i,j) * x(j)` becomes
`y(i) += A.levels(A.l0,i) * x(A.l0 + i)`, where x has room before its first element.
"""

from __future__ import annotations

from dataclasses import replace

from mlir_sparse.affine import AffineExpr, Dim
from mlir_sparse.classes import dataclass
from mlir_sparse.encoding import Encoding
from mlir_sparse.encoding.level_space import LevelSpace
from mlir_sparse.errors import UnsupportedError
from mlir_sparse.notation import Access, AffineSubscript, Expr, IndexVar, Subscript, accesses_of, substitute
from mlir_sparse.plan.plan_steps import Frame
from mlir_sparse.text.identifiers import generated_name

__all__ = ["LevelNest", "level_nest", "space_of"]


@dataclass(frozen=True, slots=True)
class LevelNest:
    """A loop nest in level space.

    Args:
        target: the result at its subscripts.
        payload: the computation, the operand read as `view`.
        loops: the loop order: levels first, then what the operand does not have.
        frames: for each variable that levels only add up to, where it runs.
        fixed: whether each of these counts from 0 at every size of the tensor. The least of `l0 - j` is
            1 less the number of columns, which is no number that a subscript can add.
    """

    target: Access
    payload: Expr
    loops: tuple[IndexVar, ...]
    frames: tuple[Frame, ...]
    fixed: bool

    @property
    def lowers(self) -> bool:
        """Returns whether the sparsifier takes the nest: no loop may stand in two subscripts of one tensor."""
        return self.fixed and not any(_repeats(access) for access in (self.target, *accesses_of(self.payload)))


def space_of(encoding: Encoding) -> LevelSpace | None:
    """Returns an encoding's level space, or None where the storage has no plain view."""
    try:
        return encoding.level_space()
    except UnsupportedError:
        return None


def level_nest(
    space: LevelSpace, view: str, access: Access, target: Access, payload: Expr, indices: tuple[IndexVar, ...]
) -> LevelNest:
    """Returns a loop nest over the levels of one operand.

    Args:
        space: the level space of the operand.
        view: the name of the value that shows it.
        access: the operand; its subscripts are distinct variables.
        target: the result, at plain variables.
        payload: the computation, all of whose subscripts are plain variables.
        indices: the variables reduced.
    """
    variables = tuple(s for s in access.subscripts if isinstance(s, IndexVar))
    others = [v for v in (*_plain(target), *indices) if v not in variables]
    levels = _level_variables(space, access.tensor, variables)
    instead: dict[IndexVar, Subscript] = {}
    frames: list[Frame] = []
    fixed = True
    for dim, variable in enumerate(variables):
        if variable in levels:
            continue
        subscript = _from_zero(space, dim, levels)
        fixed = fixed and subscript is not None
        if subscript is None:
            continue
        instead[variable] = subscript
        frames.append(Frame(variable, subscript, access.tensor, dim))
    moved = {a: replace(a, subscripts=tuple(_moved(s, instead) for s in a.subscripts)) for a in accesses_of(payload)}
    moved[access] = Access(view, levels)
    subscripts = tuple(_moved(s, instead) for s in target.subscripts)
    return LevelNest(
        replace(target, subscripts=subscripts), substitute(payload, moved), (*levels, *others), tuple(frames), fixed
    )


def _repeats(access: Access) -> bool:
    found: list[IndexVar] = []
    for subscript in access.subscripts:
        match subscript:
            case IndexVar():
                found.append(subscript)
            case AffineSubscript(terms):
                found += [variable for _, variable in terms]
            case _:
                raise AssertionError("gathered elements are picked before")
    return len(found) > len(set(found))


def _plain(access: Access) -> list[IndexVar]:
    return [subscript for subscript in access.subscripts if isinstance(subscript, IndexVar)]


def _moved(subscript: Subscript, instead: dict[IndexVar, Subscript]) -> Subscript:
    return instead.get(subscript, subscript) if isinstance(subscript, IndexVar) else subscript


def _level_variables(space: LevelSpace, operand: str, variables: tuple[IndexVar, ...]) -> tuple[IndexVar, ...]:
    """Returns a loop variable per level: the user's where the level is a dimension, else one named as the level."""
    known = {
        expr.position: variables[dim] for dim, expr in enumerate(space.lvl_to_dim.results) if isinstance(expr, Dim)
    }
    names = (generated_name(operand, name) for name in space.encoding.dim_names)
    return tuple(known.get(level, IndexVar(name)) for level, name in enumerate(names))


def _from_zero(space: LevelSpace, dim: int, levels: tuple[IndexVar, ...]) -> AffineSubscript | None:
    """Returns a dimension as a sum of levels, counted from the least value it takes; None if that varies with sizes."""
    expr, (low, _) = space.lvl_to_dim.results[dim], space.dim_bounds[dim]
    symbols = space.lvl_to_dim.num_symbols
    # All is linear, so that sizes cancel if one more of each changes nothing.
    ones = (1,) * symbols
    constants = {
        _at(expr, len(levels), None, sizes) - int(low.evaluate((), sizes))
        for sizes in (ones, *(tuple(1 + (s == more) for s in range(symbols)) for more in range(symbols)))
    }
    if len(constants) > 1:
        return None
    at_zero = _at(expr, len(levels), None, ones)
    factors = [_at(expr, len(levels), level, ones) - at_zero for level in range(len(levels))]
    terms = tuple((factor, levels[level]) for level, factor in enumerate(factors) if factor)
    return AffineSubscript(terms, constants.pop())


def _at(expr: AffineExpr, levels: int, one: int | None, sizes: tuple[int, ...]) -> int:
    return int(expr.evaluate([int(level == one) for level in range(levels)], sizes))
