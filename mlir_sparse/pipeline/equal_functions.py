"""Functions that differ in nothing but their names: compiled once.

A sum of three sparse tensors is made in two steps, each of which adds two; where the
storage of all is the same, so are the loops of both.
"""

from __future__ import annotations

from collections.abc import Mapping

from mlir_sparse._mlir import ir

__all__ = ["put_back_twins", "take_out_twins"]

_INTERFACE = "_mlir_ciface_"


def take_out_twins(module: ir.Module) -> dict[str, str]:
    """Erases each function that is the same as one before it.

    Args:
        module: before any pass; functions with C interfaces call no other that has one.

    Returns:
        for the name of each function that is gone, that of the one that stays.
    """
    functions = [op.operation for op in module.body.operations if "llvm.emit_c_interface" in op.attributes]
    if len(functions) < 2:
        return {}
    stays: dict[str, str] = {}
    twins: dict[str, str] = {}
    for function in functions:
        name = _name(function)
        first = stays.setdefault(str(function).replace(f"@{name}(", "@(", 1), name)
        if first != name:
            twins[name] = first
            function.erase()
    return twins


def put_back_twins(module: ir.Module, twins: Mapping[str, str]) -> None:
    """Gives functions that were taken out C interfaces again, which call those of their twins.

    Args:
        module: in the LLVM dialect.
        twins: what `take_out_twins` returned.
    """
    if not twins:
        return
    functions = {_name(op.operation): op.operation for op in module.body.operations if "sym_name" in op.attributes}
    for name, first in twins.items():
        made = ir.Module.parse(_calling(f"{_INTERFACE}{name}", functions[f"{_INTERFACE}{first}"]))
        caller, *_ = made.body.operations
        module.body.append(caller.detach_from_parent())


def _calling(name: str, function: ir.Operation) -> str:
    """Returns a function that does nothing but call another of the same type, and what declares that one, as text."""
    kinds = [str(argument.type) for argument in function.regions[0].blocks[0].arguments]
    values = [f"%{number}" for number in range(len(kinds))]
    parameters = ", ".join(f"{value}: {kind}" for value, kind in zip(values, kinds, strict=True))
    # Results of C interfaces are written where the first argument points.
    call = f"llvm.call @{_name(function)}({', '.join(values)}) : ({', '.join(kinds)}) -> ()"
    caller = f"llvm.func @{name}({parameters}) attributes {{always_inline}} {{ {call} llvm.return }}"
    return f"{caller} llvm.func @{_name(function)}({', '.join(kinds)})"


def _name(function: ir.Operation) -> str:
    return str(ir.StringAttr(function.attributes["sym_name"]).value)
