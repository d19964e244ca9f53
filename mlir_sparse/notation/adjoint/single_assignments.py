"""Programs in which each statement assigns a tensor of its own: static single assignment (Cytron et al. 1991)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from mlir_sparse.errors import UnsupportedError
from mlir_sparse.notation.ast import Access, Assignment, AssignOp, Binary, BinaryOp, Call, Expr, children, reads
from mlir_sparse.notation.definition import fresh_name
from mlir_sparse.notation.rebuild import rebuild
from mlir_sparse.notation.summation import with_explicit_sums

__all__ = ["one_name_each"]


def one_name_each(
    statements: Iterable[Assignment], outputs: Sequence[str], taken: set[str]
) -> tuple[tuple[Assignment, ...], dict[str, str]]:
    """Returns statements in which each assigns a tensor of its own, and by output the name that it has in the end.

    A statement that reads its target's present value reads the value before by its name, and combines them itself.
    """
    now: dict[str, str] = {}
    assigned: set[str] = set()
    found: list[Assignment] = []
    for statement in statements:
        name = statement.target.tensor
        value = _reading(_combined(statement), now)
        exists = tuple(replace(access, tensor=now.get(access.tensor, access.tensor)) for access in statement.exists)
        present = name in assigned or any(access.tensor == name for access in reads(value))
        new = fresh_name(name, taken) if present else name
        taken.add(new)
        assigned.add(name)
        now[name] = new
        found.append(replace(statement, target=replace(statement.target, tensor=new), op=AssignOp.ASSIGN, value=value,
                             exists=exists))  # fmt: skip
    return tuple(found), {name: now[name] for name in outputs}


def _reading(node: Expr, now: dict[str, str]) -> Expr:
    if isinstance(node, Access):
        subscripts = tuple(_reading(s, now) if isinstance(s, Access) else s for s in node.subscripts)
        return replace(node, tensor=now.get(node.tensor, node.tensor), subscripts=subscripts)  # type: ignore[arg-type]
    return rebuild(node, tuple(_reading(child, now) for child in children(node)))


def _combined(statement: Assignment) -> Expr:
    """Returns what a statement assigns, its target's present value included."""
    explicit = with_explicit_sums(statement)
    value, target = explicit.value, statement.target
    if not statement.op.reads_target:
        return value
    match statement.op:
        case AssignOp.ADD:
            return Binary(BinaryOp.ADD, target, value)
        case AssignOp.MUL:
            return Binary(BinaryOp.MUL, target, value)
        case AssignOp.MAX | AssignOp.MIN:
            return Call("max" if statement.op is AssignOp.MAX else "min", (target, value))
        case _:
            raise UnsupportedError(
                f"expected a statement with a derivative, but got truth values by `{statement.op.value}` in "
                f"`{statement}`; leave it out of what is differentiated"
            )
