"""What memory, vectors and threads take on a machine, one step at a time: figures that choices in code depend on."""

from __future__ import annotations

from mlir_sparse.classes import dataclass

__all__ = ["ENTRY_DISTANCES", "GATHER_DISTANCES", "ROW_DISTANCES", "WORKING_SETS", "MachineFigures"]

# Bytes of the arrays that lines of memory are read from and written to: in the first, second and third cache of most
# processors, and in none.
WORKING_SETS = (1 << 14, 1 << 18, 1 << 22, 1 << 26)
# Places between an entry of storage and the one that it asks for.
ENTRY_DISTANCES = (64, 128, 256, 512, 1024, 2048)
# Entries between one that names an element of an array and the one whose element it asks for; 0 for none.
GATHER_DISTANCES = (0, 8, 16, 32, 64)
# Entries between one that names a row and the one whose row it asks for; 0 for none.
ROW_DISTANCES = (0, 2, 4, 8, 16, 32)


@dataclass(frozen=True, slots=True)
class MachineFigures:
    """Times in nanoseconds; None for what was not measured on a make.

    Args:
        caches: bytes of the first, second and third cache.
        latencies: a load whose address is what the load before it read, in `WORKING_SETS`.
        read_lines: a cache line that is read in order, likewise.
        kept_lines: a line that is written in order, then read, likewise.
        past_lines: the same, written by stores past the caches.
        page: a page that the process has not touched.
        gather: eight elements, read at places in no order by vector instructions.
        loads: the same, one by one.
        scatter: eight elements, written at places in no order by one instruction.
        stores: the same, one by one.
        wrong_guess: a branch that is not foreseen.
        hand_over: a call on two threads that have nothing to do, where the second one watches for work.
        wake: the same, where it sleeps.
        far_entries: an entry of rows that are summed up, of a matrix that caches do not hold, which asks for entries
            at `ENTRY_DISTANCES`.
        near_entries: the same, of a matrix that outer caches hold.
        named_elements: an entry of rows of one to three, which name elements in no order, in memory, and ask for
            elements at `GATHER_DISTANCES`.
        named_lines: a line of rows of eight lines that entries name in no order, which ask for rows at
            `ROW_DISTANCES`.
    """

    caches: tuple[float, ...] | None = None
    latencies: tuple[float, ...] | None = None
    read_lines: tuple[float, ...] | None = None
    kept_lines: tuple[float, ...] | None = None
    past_lines: tuple[float, ...] | None = None
    page: float | None = None
    gather: float | None = None
    loads: float | None = None
    scatter: float | None = None
    stores: float | None = None
    wrong_guess: float | None = None
    hand_over: float | None = None
    wake: float | None = None
    far_entries: tuple[float, ...] | None = None
    near_entries: tuple[float, ...] | None = None
    named_elements: tuple[float, ...] | None = None
    named_lines: tuple[float, ...] | None = None


LENGTHS = {
    "caches": 3,
    "latencies": len(WORKING_SETS),
    "read_lines": len(WORKING_SETS),
    "kept_lines": len(WORKING_SETS),
    "past_lines": len(WORKING_SETS),
    "far_entries": len(ENTRY_DISTANCES),
    "near_entries": len(ENTRY_DISTANCES),
    "named_elements": len(GATHER_DISTANCES),
    "named_lines": len(ROW_DISTANCES),
}
"""How many numbers a figure has that has several."""
