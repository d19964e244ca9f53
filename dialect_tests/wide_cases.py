"""Random products and sums over many index variables, with tensors read more than once, of extents 1 and 2 mostly."""

from __future__ import annotations

from random import Random

import numpy as np
from hypothesis import strategies as st

import mlir_sparse as ms
from dialect_tests.generated import KernelCase, extent_classes, operands
from dialect_tests.test_kernel_properties import StoredCase
from mlir_sparse.encoding import Encoding
from mlir_sparse.notation import Assignment, parse

__all__ = ["case_of", "cases"]

# More than the alphabet has, fewer than NumPy has axes for the oracle.
_MOST_VARIABLES = 30
_MOST_POINTS = 1 << 16
_JOINTS = (" * ", " * ", " * ", " + ", " - ")


def _text(random: Random) -> str:
    """Returns a statement of a few accesses, some of one tensor at other variables."""
    names = [f"v{number}" for number in range(random.choice((3, 8, _MOST_VARIABLES)))]
    ranks: dict[str, int] = {}
    accesses: list[str] = []
    left = list(names)
    while left and len(accesses) < 9:
        name = random.choice((*ranks, f"T{len(ranks)}", f"T{len(ranks)}"))
        rank = ranks.setdefault(name, random.choice((0, 1, 2, 3, 5, 7)))
        fresh, left = left[: rank // 2 + 1], left[rank // 2 + 1 :]
        chosen = [random.choice((*fresh, *random.sample(names, 2))) for _ in range(rank)]
        accesses.append(f"{name}({', '.join(chosen)})" if chosen else name)
    used = sorted(
        {word for access in accesses for word in access.replace(")", "").replace(",", "").split("(")[-1].split()}
    )
    used = [word for word in used if word.startswith("v")]
    target = random.sample(used, min(len(used), random.choice((0, 1, 2, 4))))
    value = accesses[0]
    for access in accesses[1:]:
        value += random.choice(_JOINTS) + (f"({access} * 2)" if random.random() < 0.2 else access)
    return f"y({', '.join(target)}) = {value}" if target else f"y = {value}"


def case_of(seed: int) -> StoredCase:
    """Returns the statement of a seed, with data."""
    random = Random(seed)
    parsed = parse(_text(random))
    assert isinstance(parsed, Assignment)
    leaders = extent_classes(parsed)
    extents = {leader: random.choice((1, 1, 2, 2, 3)) for leader in sorted(set(leaders.values()))}
    if random.random() < 0.1 and extents:
        extents[random.choice(sorted(extents))] = 0
    while np.prod([float(extents[leader]) for leader in leaders.values()]) > _MOST_POINTS:
        extents[max(sorted(extents), key=extents.__getitem__)] = 1
    sizes = {name: extents[leader] for name, leader in leaders.items()}
    dtype = np.dtype(random.choice(("int64", "float64", "int8")))
    data = operands(parsed, sizes, dtype, random.choice((0.3, 0.7, 1.0)), seed)
    storage = {
        name: _encoding(array.ndim, random) for name, array in data.items() if array.ndim and random.random() < 0.6
    }
    rank = len(parsed.target.subscripts)
    out = _encoding(rank, random) if rank and random.random() < 0.3 else None
    return StoredCase(KernelCase(parsed, data, sizes, dtype), storage, out)


def _encoding(rank: int, random: Random) -> Encoding:
    return ms.encoding("SparseVector" if rank == 1 else random.choice(("COO", "CSF", "SoA-COO")), rank=rank)


def cases() -> st.SearchStrategy[StoredCase]:
    """Draws statements over up to _MOST_VARIABLES index variables."""
    return st.builds(case_of, st.integers(0, 2**32))
