"""Plans on disk, for later processes: what plans takes as long to load as hundreds of small calls take.

A file has the plans of a statement of one text and types, by what was known of its operands.
"""

from __future__ import annotations

import contextlib
import pickle
import sys
from collections import deque
from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple

from mlir_sparse.machine import machine_profile
from mlir_sparse.runtime import disk_cache
from mlir_sparse.spec import KernelSpec, Rewriting

__all__ = ["MadePlan", "has_planner", "keep_plans", "kept_plans", "note_plan"]

# The module that a search for plans loads.
_PLANNER = "mlir_sparse.plan.algebra.choose_rewriting"
# So many plans of a statement are kept, those of the last ones.
_MOST = 16


class MadePlan(NamedTuple):
    """A plan that was made in this process.

    Args:
        spec: the statement as it is written.
        optimize: how it is optimized.
        data: everything that is known of its operands and decides the plan.
        rewriting: the plan; None for the way that it is written.
    """

    spec: KernelSpec
    optimize: str
    data: object
    rewriting: Rewriting | None


_made = deque[MadePlan](maxlen=64)


def has_planner() -> bool:
    """Returns whether this process has loaded what plans: it plans in less time than it reads."""
    return _PLANNER in sys.modules


@lru_cache(maxsize=64)
def kept_plans(spec: KernelSpec, optimize: str) -> Mapping[str, Rewriting | None]:
    """Returns the plans of a statement that processes before have kept, by the text of what decides them.

    Args:
        spec: the statement as it is written.
        optimize: how it is optimized.
    """
    return _read(_key(spec, optimize))


def _read(key: str) -> dict[str, Rewriting | None]:
    entry = disk_cache.fetch_entry(key, disk_cache.PLANS)
    # As trustworthy as the machine code beside it.
    return {} if entry is None else pickle.loads(entry[0])


def _key(spec: KernelSpec, optimize: str) -> str:
    """Returns everything that decides the plans of a statement, but for its data and the sources of this package."""
    return f"plans {optimize}\n{spec!r}\n{machine_profile()!r}"


def note_plan(plan: MadePlan) -> None:
    """Notes a plan for `keep_plans`."""
    _made.append(plan)


def keep_plans() -> None:
    """Keeps the plans that were made since the last time for other processes, if possible."""
    if not _made:
        return
    able = disk_cache.cache_folder() is not None and not disk_cache.sources_changed()
    while _made:
        with contextlib.suppress(IndexError):  # another thread took it
            plan = _made.popleft()
            if able:
                _keep(plan)


def _keep(plan: MadePlan) -> None:
    key, data = _key(plan.spec, plan.optimize), str(plan.data)
    plans = _read(key)
    if data in plans:
        return
    kept = [*plans.items(), (data, plan.rewriting)][-_MOST:]
    disk_cache.store_entry(key, pickle.dumps(dict(kept)), b"", (), disk_cache.PLANS)
