"""Times of steps from times of kernels: what a kernel takes, less what is known of it already."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from mlir_sparse.compile.tuning.timed_kernels import (
    ARRAY,
    COLUMNS,
    DEGREE,
    ENTERING,
    LARGE,
    LINES,
    MATRIX,
    NEAR_ENTRIES,
    SHORT,
    SMALL,
    SQUARE,
    STACK,
    THIN,
    sizes,
)
from mlir_sparse.machine import FAR_SIZES, MachineTimes

__all__ = ["fitted"]

# No step takes less: a time of 0 would make it free.
_LEAST = 0.01


def fitted(timed: Mapping[str, float], entries: float, products: float) -> MachineTimes:
    """Returns the times of steps.

    Args:
        timed: what each kernel takes, in nanoseconds.
        entries: the entries of the matrix of most kernels.
        products: how many products of entries the products of matrices have.
    """
    call = float(timed["call"])
    lane = timed["arrays"] / (2 * 64 * 256 * 256)
    write = _each(timed["written"] - call, ARRAY) - lane
    look_up = _each(timed["vector"] - timed["rows"], entries)
    walk = _each(timed["rows"] - call - MATRIX * (write + look_up), entries + MATRIX)
    rows = call + MATRIX * (write + look_up + walk)
    lines = LINES * DEGREE
    walked = LINES * walk + lines * walk
    begins = max(0.0, timed["entered"] - walked - products * (walk + look_up))
    entering = ENTERING * DEGREE
    enters = {
        size: _each(timed[f"entered {size}"] - call - entering * (walk + SHORT * (walk + look_up)), entering)
        for size in (NEAR_ENTRIES, *FAR_SIZES)
    }
    read = lines * COLUMNS * lane + walked
    sparse = timed["sparse_result"] - call
    found = MachineTimes(
        walk=walk,
        look_up=look_up,
        far_look_ups=tuple(_each(timed[f"vector {size}"] - timed["rows"], entries) for size in FAR_SIZES),
        scatter=_of_scatter(timed, MATRIX, entries, walk),
        far_scatters=tuple(_of_scatter(timed, size, entries, walk) for size in FAR_SIZES),
        meet=_each(timed["met"] - rows, 2 * entries),
        enter=enters[NEAR_ENTRIES],
        far_enters=tuple(enters[size] for size in FAR_SIZES),
        lane=lane,
        append=_each(timed["scaled"] - sparse - entries * (walk + look_up), entries),
        insert=_each(timed["inserted"] - sparse - walked - begins - products * walk, products),
        near_line=_each(timed["near_lines"] - read, lines * COLUMNS / 8),
        far_line=_each(timed["far_lines"] - read, lines * COLUMNS / 8),
        write=write,
        fresh_write=_each(timed["fresh"], LARGE) - lane,
        call=call,
        sparse_result=sparse,
        convert=_each(timed["converted"], entries),
        far_converts=tuple(_each(timed[f"converted {size}"], entries) for size in FAR_SIZES),
        function=_each(timed["functions"] - call, ARRAY) - lane - write,
        lone_function=_each(timed["functions of rows"] - timed["vector"], MATRIX),
        **_of_blas(timed),
        near=_rises_at({size: timed[f"near {size}"] for size in sizes(14, 22)}),
        kept=_rises_at({size: timed[f"kept {size}"] / size for size in sizes(14, 22)}),
    )
    return MachineTimes(**{field.name: _at_least(getattr(found, field.name)) for field in fields(found)})


def _at_least(time: float | tuple[float, ...]) -> Any:
    """Returns a time, or several, with the least one in place of those that noise has made less."""
    return tuple(map(_at_least, time)) if isinstance(time, tuple) else max(_LEAST, time)


def _of_scatter(timed: Mapping[str, float], size: int, entries: float, walk: float) -> float:
    """Returns the time of adding to an element of a result of a size."""
    return _each(timed[f"scattered {size}"] - timed[f"cleared {size}"], entries) - walk


def _of_blas(timed: Mapping[str, float]) -> dict[str, float]:
    """Returns the times of BLAS: of the arithmetic of large matrices, of elements of thin ones, and of small ones."""
    multiply_add = timed["square"] / SQUARE**3
    rows, columns = THIN
    element = _each(timed["thin"] - rows * rows * columns * multiply_add, rows * rows + 2 * rows * columns)
    matrices = _each(timed["stack"] - STACK * SMALL**3 * multiply_add, STACK)
    return {"multiply_add": multiply_add, "element": element, "matrices": matrices}


def _each(total: float, count: float) -> float:
    return max(_LEAST, total / count)


def _rises_at(times: Mapping[int, float]) -> float:
    """Returns the largest size up to which times are nearer to the least than to that of the largest size."""
    ordered = sorted(times)
    between = math.sqrt(min(times.values()) * times[ordered[-1]])
    return float(max(size for size in ordered if times[size] <= between))
