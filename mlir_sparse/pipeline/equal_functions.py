"""Compiles functions once that differ only in their names.

A sum of three sparse tensors has two steps, each of which adds two tensors; if all have the same storage, so have the
loops.
"""

from __future__ import annotations

from collections.abc import Mapping

from mlir_sparse._mlir import ir

__all__ = ["erase_equal_functions", "restore_interfaces"]

_INTERFACE = "_mlir_ciface_"


def erase_equal_functions(module: ir.Module) -> dict[str, str]:
    """Erases each function that equals an earlier one.

    Args:
        module: a module before any pass; functions with C interfaces do not call each other.

    Returns:
        for the name of each erased function, that of its equal.
    """
    functions = [op.operation for op in module.body.operations if "llvm.emit_c_interface" in op.attributes]
    if len(functions) < 2:
        return {}
    stays: dict[str, str] = {}
    equals: dict[str, str] = {}
    for function in functions:
        name = _name(function)
        first = stays.setdefault(str(function).replace(f"@{name}(", "@(", 1), name)
        if first != name:
            equals[name] = first
            function.erase()
    return equals


def restore_interfaces(module: ir.Module, equals: Mapping[str, str]) -> None:
    """Adds C interfaces for the erased functions, which call those of their equals."""
    if not equals:
        return
    functions = {_name(op.operation): op.operation for op in module.body.operations if "sym_name" in op.attributes}
    for name, first in equals.items():
        made = ir.Module.parse(_calling(f"{_INTERFACE}{name}", functions[f"{_INTERFACE}{first}"]))
        caller, *_ = made.body.operations
        module.body.append(caller.detach_from_parent())


def _calling(name: str, function: ir.Operation) -> str:
    """Returns, as text, a function that only calls another of the same type, and the declaration of that one."""
    kinds = [str(argument.type) for argument in function.regions[0].blocks[0].arguments]
    values = [f"%{number}" for number in range(len(kinds))]
    parameters = ", ".join(f"{value}: {kind}" for value, kind in zip(values, kinds, strict=True))
    # C interfaces write results to the address in their first argument.
    call = f"llvm.call @{_name(function)}({', '.join(values)}) : ({', '.join(kinds)}) -> ()"
    caller = f"llvm.func @{name}({parameters}) attributes {{always_inline}} {{ {call} llvm.return }}"
    return f"{caller} llvm.func @{_name(function)}({', '.join(kinds)})"


def _name(function: ir.Operation) -> str:
    return str(ir.StringAttr(function.attributes["sym_name"]).value)
