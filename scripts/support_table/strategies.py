"""The strategies that apply to each format, kernel and element type, and the reasons of others, as Markdown."""

from __future__ import annotations

import click

import mlir_sparse as ms
from mlir_sparse.encoding.presets import find_preset
from mlir_sparse.notation import walk
from support_table.cells import KERNELS, Cell, cells

__all__ = ["said_of", "table"]

_CHOSEN = ("CSR", "CSC", "DCSR", "COO", "BSR", "ELL", "DIA", "CSF")
_TYPES = ("f64", "f32", "f16", "i32", "i64", "c128")


def said_of(cell: Cell) -> tuple[str, ...]:
    """Returns what strategies say of a kernel: names of those applied, whole sentences of others; or its refusal."""
    text, storage = KERNELS[cell.rank][cell.kernel]
    assignment = ms.parse(text)
    stored = {"A": cell.preset, "B": cell.preset, "M": "CSR"}
    types = {
        name: f"{cell.dtype}[{','.join('?' * _rank(assignment, name))}] {stored.get(name, '')}".strip()
        for name in assignment.inputs
    }
    try:
        out = cell.preset if storage == "format" else storage
        remarks = ms.compile(text, out=out, tensors=types).remarks()
    except ms.SparseError as error:
        return (f"refused: {str(error).splitlines()[0]}",)
    return tuple(dict.fromkeys(one.strategy if one.applied else str(one) for one in remarks))


def _rank(assignment: ms.Assignment, name: str) -> int:
    return next(len(access.subscripts) for access in walk(assignment.value) if getattr(access, "tensor", "") == name)


def table(kernel: str, rank: int, formats: tuple[str, ...], types: tuple[str, ...]) -> str:
    """Returns the strategies applied to a kernel, a row a format, and below what stands in the way of others, where."""
    asked = [cell for cell in cells(formats, types) if (cell.kernel, cell.rank) == (kernel, rank)]
    said = {cell: said_of(cell) for cell in asked}
    rows = [f"| {kernel} | {' | '.join(types)} |", "|---" * (len(types) + 1) + "|"]
    for preset in dict.fromkeys(cell.preset for cell in asked):
        each = [[one for one in said[cell] if " " not in one] for cell in asked if cell.preset == preset]
        rows.append(f"| {preset} | {' | '.join(', '.join(names) or '-' for names in each)} |")
    where: dict[str, list[str]] = {}
    for cell, remarks in said.items():
        for one in remarks:
            if " " in one:
                where.setdefault(one, []).append(f"{cell.preset} of {cell.dtype}")
    return "\n".join([*rows, "", *(f"- {one} ({', '.join(places)})" for one, places in where.items()), ""])


@click.command()
@click.argument("formats", nargs=-1)
@click.option("--types", default=",".join(_TYPES), show_default=True, help="Element types.")
def main(formats: tuple[str, ...], types: str) -> None:
    """Prints a table for each kernel of FORMATS, or of the common ones."""
    chosen = tuple(find_preset(name)[0].name for name in formats or _CHOSEN)
    ranks = sorted({cell.rank for cell in cells(chosen, ("f64",))})
    for rank in ranks:
        for kernel in KERNELS[rank]:
            click.echo(table(kernel, rank, chosen, tuple(types.split(","))))


if __name__ == "__main__":
    main()
