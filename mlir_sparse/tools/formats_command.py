"""`mlir-sparse formats`: each preset, or any encoding, its storage, and the kernels that support it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from mlir_sparse.dtypes import REAL
from mlir_sparse.encoding import PRESETS, Encoding, Preset, TensorType, encoding
from mlir_sparse.encoding.presets import find_preset
from mlir_sparse.errors import SparseError
from mlir_sparse.notation import Access, parse, walk
from mlir_sparse.plan import plan
from mlir_sparse.program import Conversion
from mlir_sparse.spec import KernelSpec, infer_output

__all__ = ["describe_encoding", "describe_format", "describe_formats", "table", "works_with"]

# Common kernels by rank. A, and C as a target, have the preset's storage; all else is dense.
KERNELS: dict[int, dict[str, str]] = {
    1: {
        "dot product": "a = A(i) * x(i)",
        "scaled": "C(i) = 2 * A(i)",
        "sum of two": "C(i) = A(i) + B(i)",
    },
    2: {
        "SpMV": "y(i) = A(i,j) * x(j)",
        "transposed SpMV": "y(j) = A(i,j) * x(i)",
        "SpMM": "Y(i,k) = A(i,j) * X(j,k)",
        "SDDMM": "C(i,j) = A(i,j) * X(i,k) * Y(k,j)",
        "sum of two": "C(i,j) = A(i,j) + B(i,j)",
        "elementwise product": "C(i,j) = A(i,j) * B(i,j)",
        "SpGEMM": "C(i,j) = A(i,k) * B(k,j)",
    },
    3: {
        "TTV": "Y(i,j) = A(i,j,k) * x(k)",
        "TTM": "Y(i,j,l) = A(i,j,k) * X(k,l)",
        "MTTKRP": "Y(i,l) = A(i,j,k) * X(k,l) * Z(j,l)",
        "inner product": "a = A(i,j,k) * B(i,j,k)",
        "sum of two": "C(i,j,k) = A(i,j,k) + B(i,j,k)",
    },
}

_SIGNS = {"runs as stored": "●", "converts first": "in", "converts the result": "out", "refused": ""}


def describe_formats(names: Iterable[str] = ()) -> Iterator[str]:
    """Yields a paragraph for each preset, or for the formats that are named.

    Args:
        names: presets, also with parameters (`BSR(2, 2)`, `CSR(unordered)`), maps, or attribute text.

    Raises:
        UnknownPresetError: for a name that is no preset, with the nearest ones.
        EncodingSyntaxError: for text outside the grammar, with a caret.
    """
    for name in names or PRESETS:
        is_written = "(" in name or "<" in name
        yield (describe_encoding(name) if is_written else describe_format(find_preset(name)[0])) + "\n"


def describe_format(preset: Preset) -> str:
    """Returns the description of a preset: attribute text, levels, storage arrays and kernels."""
    return _described(f"{preset.name}: {preset.doc} ({_ranks(preset)})", encoding(preset.name))


def describe_encoding(text: str) -> str:
    """Returns the description of an encoding, given as `encoding` takes it.

    >>> print(describe_encoding("BSR(2, 2)"))
    BSR(2, 2): (i, j) -> (i floordiv 2 : dense, j floordiv 2 : compressed, i mod 2 : dense, j mod 2 : dense)
    ...
    """
    value = encoding(text)
    title, *_ = value.describe().splitlines()
    return _described(title, value)


def _described(title: str, value: Encoding) -> str:
    _, *rest = value.describe().splitlines()
    lines = [title, f"  {value}", *rest]
    found = works_with(value)
    for how in dict.fromkeys(found.values()):
        lines.append(f"  {how}: {', '.join(name for name, other in found.items() if other == how)}")
    return "\n".join(lines)


def _ranks(preset: Preset) -> str:
    if preset.max_rank is None:
        return f"rank {preset.min_rank} or more"
    return f"rank {preset.min_rank}" + (f" to {preset.max_rank}" if preset.max_rank > preset.min_rank else "")


def works_with(storage: Encoding) -> dict[str, str]:
    """Plans each common kernel for a storage format, and classifies the plan.

    Returns:
        kernel to "runs as stored", "converts first", "converts the result" or "refused".

    >>> works_with(encoding("CSR"))["SpMV"]
    'runs as stored'
    """
    return {name: _outcome(text, storage) for name, text in KERNELS.get(storage.dim_rank, {}).items()}


def table(rank: int) -> str:
    """Returns a Markdown table of the presets of a rank and the common kernels.

    >>> print(table(1))
    | | dot product | scaled | sum of two |
    |---|:-:|:-:|:-:|
    | DenseVector | ... |
    """
    kernels = list(KERNELS[rank])
    lines = [f"| | {' | '.join(kernels)} |", f"|---|{':-:|' * len(kernels)}"]
    for preset in PRESETS.values():
        if preset.min_rank <= rank and (preset.max_rank is None or rank <= preset.max_rank):
            found = works_with(encoding(preset.name, rank=rank))
            if set(found.values()) == {"refused"}:
                continue
            lines.append(f"| {preset.name} | {' | '.join(_SIGNS[found[name]] for name in kernels)} |")
    return "\n".join(lines)


def _outcome(text: str, storage: Encoding) -> str:
    assignment = parse(text)
    ranks = {n.tensor: len(n.subscripts) for n in walk(assignment.value) if isinstance(n, Access)}
    types = {name: _type(rank, storage if name in "AB" else None) for name, rank in ranks.items()}
    try:
        output = infer_output(assignment, types)
        if assignment.target.tensor == "C":
            output = replace(output, encoding=storage)
        program = plan(KernelSpec(assignment, tuple(types.items()), output))
    except SparseError:
        return "refused"
    conversions = [step for step in program.steps if isinstance(step, Conversion)]
    if any(step.operand in types for step in conversions):
        return "converts first"
    return "converts the result" if conversions else "runs as stored"


def _type(rank: int, storage: Encoding | None) -> TensorType:
    return TensorType(REAL, (None,) * rank, storage)
