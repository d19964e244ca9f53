"""The presets, as `mlir-sparse formats` prints them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from mlir_sparse.encoding import PRESETS, Preset, encoding
from mlir_sparse.encoding.presets import find_preset

__all__ = ["describe_format", "describe_formats"]

# What code generation does for an encoding, by what its levels are.
_NOT_AS_OUTPUT = "operand; results are converted to it"


def describe_formats(names: Iterable[str] = ()) -> Iterator[str]:
    """Yields a paragraph for each preset, or for those named.

    Raises:
        UnknownPresetError: for a name that is none.
    """
    presets = [find_preset(name)[0] for name in names] or list(PRESETS.values())
    for preset in presets:
        yield describe_format(preset) + "\n"


def describe_format(preset: Preset) -> str:
    """Returns what a preset is: words, attribute text, levels and storage arrays."""
    value = encoding(preset.name)
    ranks = str(preset.min_rank) if preset.min_rank == preset.max_rank else f"{preset.min_rank} to {preset.max_rank}"
    if preset.max_rank is None:
        ranks = f"{preset.min_rank} or more"
    _, *rest = value.describe().splitlines()
    return "\n".join([f"{preset.name}: {preset.doc} (rank {ranks})", f"  {value}", *rest])
