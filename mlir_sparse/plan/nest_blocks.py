"""How loops over blocks are given to threads."""

from __future__ import annotations

from mlir_sparse.encoding import Encoding
from mlir_sparse.errors import UnsupportedError
from mlir_sparse.notation import Access, IndexVar
from mlir_sparse.plan.mapping import CPU, Case, Mapped
from mlir_sparse.plan.nests import THREADS, Nest
from mlir_sparse.plan.wording import listed

__all__ = ["map_blocks"]


def map_blocks(nest: Nest, lead: Access, encoding: Encoding) -> Mapped:
    """Maps a nest over blocks: block rows to rows of threads, rows of blocks or columns across."""
    own = [s for s in lead.subscripts if isinstance(s, IndexVar)]
    dims = [spec.expr.dims()[0] for spec in encoding.levels]
    first = lead.subscripts[dims[0]]
    if not nest.only(lead) or encoding.lvl_rank != 4 or first not in nest.parallel:
        raise UnsupportedError(
            f"expected blocks of a matrix along {listed(nest.parallel)}, for a GPU, but got {lead} stored as "
            f"{encoding.map_text()}: convert it to CSR, or {CPU}"
        )
    kept, _ = nest.free(own)
    both = all(variable in nest.parallel for variable in own)
    block = encoding.block_of(dims[0])
    why = f"a row of threads each row of blocks of {lead}"
    # The sparsifier's loops: block rows, blocks, rows of a block, columns of a block, what the blocks do not have.
    if kept:
        roles = ("rows", "run", "run", "run", *["run"] * (len(kept) - 1), "columns")
        return Mapped(nest.step, tuple(nest.wide(roles, kept[-1])), nest.combine, why)
    width = min(32, 1 << max(block - 1, 0).bit_length())
    roles = ("rows", "run", "columns") if not both else ("rows", "run", "run", "run")
    threads = (width, THREADS // width) if not both else (1, THREADS)
    return Mapped(nest.step, (Case("blocks", roles, threads),), nest.combine, why)
