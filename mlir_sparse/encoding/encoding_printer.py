"""Encodings to attribute text, in the form of the dialect's own printer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # encoding_value imports this module
    from mlir_sparse.encoding.encoding_value import Encoding

__all__ = ["print_attribute", "print_encoding_map"]


def print_attribute(encoding: Encoding, dim_names: Sequence[str] = (), symbol_names: Sequence[str] = ()) -> str:
    """Returns `#sparse_tensor.encoding<{...}>`, by default with MLIR's canonical names."""
    fields = [f"map = {print_encoding_map(encoding, dim_names, symbol_names)}"]
    if encoding.pos_width:
        fields.append(f"posWidth = {encoding.pos_width}")
    if encoding.crd_width:
        fields.append(f"crdWidth = {encoding.crd_width}")
    if encoding.explicit_val is not None:
        fields.append(f"explicitVal = {encoding.explicit_val}")
    if encoding.implicit_val is not None:
        fields.append(f"implicitVal = {encoding.implicit_val}")
    return f"#sparse_tensor.encoding<{{ {', '.join(fields)} }}>"


def print_encoding_map(encoding: Encoding, dim_names: Sequence[str] = (), symbol_names: Sequence[str] = ()) -> str:
    """Returns the value of `map =`: symbols, dimensions with their slices, levels with their types."""
    dims = list(dim_names) or [f"d{d}" for d in range(encoding.dim_rank)]
    symbols = list(symbol_names) or [f"s{s}" for s in range(len(encoding.symbol_names))]
    bracket = f"[{', '.join(symbols)}]" if symbols else ""
    specs = [f"{dim} : {part}" for dim, part in zip(dims, encoding.slices, strict=True)] if encoding.slices else dims
    levels = [level.to_text(dims, symbols) for level in encoding.levels]
    if encoding.has_inferred_inverse:
        return f"{bracket}({', '.join(specs)}) -> ({', '.join(levels)})"
    names = _level_names(encoding, [*dims, *symbols]) if dim_names else [f"l{lvl}" for lvl in range(encoding.lvl_rank)]
    inverse = encoding.lvl_to_dim.results
    specs = [f"{dim} = {expr.to_text(names)}" for dim, expr in zip(dims, inverse, strict=True)]
    levels = [f"{name} = {level}" for name, level in zip(names, levels, strict=True)]
    return f"{bracket}{{{', '.join(names)}}}({', '.join(specs)}) -> ({', '.join(levels)})"


def _level_names(encoding: Encoding, taken: Sequence[str]) -> list[str]:
    """Returns a name for each level: its own, or one of l0, l1, ... that no dimension has."""
    names: list[str] = []
    for lvl, level in enumerate(encoding.levels):
        name = level.name or f"l{lvl}"
        while name in taken or name in names:
            name += "_"
        names.append(name)
    return names
