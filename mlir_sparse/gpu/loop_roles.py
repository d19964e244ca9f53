"""What becomes of loops by their roles: modules of `gpu/kernels` say which they write, and are found by being there."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import TYPE_CHECKING

from mlir_sparse._mlir import ir
from mlir_sparse.classes import dataclass
from mlir_sparse.gpu import kernels
from mlir_sparse.gpu.unmapped_error import UnmappedError
from mlir_sparse.program.launch_values import Work

if TYPE_CHECKING:
    from mlir_sparse.gpu.write_loops import Emitter

__all__ = ["LoopRole", "NestWriter", "nest_writer", "role_of"]

NestWriter = Callable[["Emitter"], Work]
"""Writes a whole nest; returns how many iterations there are, and how many of them a row of threads makes."""


@dataclass(frozen=True, slots=True)
class LoopRole:
    """How loops of a role are written: a module has a dictionary ROLES of them, and NESTS of writers of whole nests.

    Args:
        write: takes what writes the kernel, the loop in the function, and how many it is in; returns what it yields.
        divides: whether iterations go to several threads, so that the loop must count by ones.
        shares: whether threads exchange values, so that those of a warp, or of a block, must stay together; where they
            do not, iterations that are divided must store to elements of their own.
        grid: the axis of the grid that has as many blocks as there are iterations for; empty where it has none.
    """

    write: Callable[[Emitter, ir.Operation, int], list[ir.Value]]
    divides: bool = True
    shares: bool = False
    grid: str = ""


def role_of(name: str) -> LoopRole:
    """Returns how loops of a role are written.

    Raises:
        UnmappedError: for a role that no module writes.
    """
    roles, _ = _found()
    if name not in roles:
        raise UnmappedError(f"expected a role of {', '.join(sorted(roles))}, but got {name}")
    return roles[name]


def nest_writer(name: str) -> NestWriter | None:
    """Returns what writes nests whose outermost loop has a role; None where loops are written one by one."""
    return _found()[1].get(name)


@cache
def _found() -> tuple[Mapping[str, LoopRole], Mapping[str, NestWriter]]:
    modules = [import_module(f"{kernels.__name__}.{one.name}") for one in iter_modules(kernels.__path__)]
    roles = {name: role for module in modules for name, role in getattr(module, "ROLES", {}).items()}
    return roles, {name: write for module in modules for name, write in getattr(module, "NESTS", {}).items()}
