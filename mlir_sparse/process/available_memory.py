"""Memory that is still available: allocations that would not fit are refused with their figures."""

from __future__ import annotations

import os
import re
import time
from numbers import Real
from typing import Any

from mlir_sparse.errors import OperandError, TooLargeError

__all__ = ["NEVER_CHECKED", "available_bytes", "bytes_of", "check_fits", "in_units", "plenty"]

# Smaller allocations are not checked: the system call would take longer than they do.
NEVER_CHECKED = 1 << 26
_CGROUP = "/sys/fs/cgroup"
# The last figure counts for this many seconds, as long as no more than this part of it is needed.
_RECENT, _PLENTY = 1.0, 8
_last_look = (-_RECENT, 0)


_AMOUNT = r"((?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE]\+?[0-9]{1,2})?)\s*([A-Za-z]*)"
_UNITS = {
    "": 1,
    "b": 1,
    **{f"{letter}b": 1000**power for power, letter in enumerate("kmgtp", 1)},
    **{f"{letter}ib": 1024**power for power, letter in enumerate("kmgtp", 1)},
}


def available_bytes() -> int:
    """Returns the bytes that this process can still allocate, as the system and its container report."""
    global _last_look
    limits = _meminfo_available(), _cgroup_available(), _address_space_left()
    available = min(limit for limit in limits if limit is not None)
    _last_look = (time.monotonic(), available)
    return available


def plenty() -> int:
    """Returns a number of bytes that this process can surely allocate: many times as much was available a moment ago.

    To look takes longer than to build a small tensor. Refuse nothing by this figure: more may be available.
    """
    at, available = _last_look
    return (available if time.monotonic() - at < _RECENT else available_bytes()) // _PLENTY


def _text(path: str) -> str:
    with open(path, encoding="ascii") as file:
        return file.read()


def _meminfo_available() -> int:
    try:
        for line in _text("/proc/meminfo").splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    except OSError:
        pass  # not Linux
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError, AttributeError):
        return 1 << 62  # unknown: leave it to the allocator


def _cgroup_available() -> int | None:
    try:
        limit = int(_text(f"{_CGROUP}/memory.max"))
        used = int(_text(f"{_CGROUP}/memory.current"))
        stat = dict(line.split() for line in _text(f"{_CGROUP}/memory.stat").splitlines())
        return max(0, limit - used + int(stat.get("inactive_file", 0)))  # file pages are given back
    except (OSError, ValueError):  # none, or "max"
        return None


def _address_space_left() -> int | None:
    """Returns the bytes that the process may still map under its own limit (`ulimit -v`), if it has one."""
    try:
        # Not with the module `resource`: a user's script may have a file of that name beside it.
        lines = _text("/proc/self/limits").splitlines()
        limit = next(line.split()[3] for line in lines if line.startswith("Max address space"))
        if limit == "unlimited":
            return None
        pages = int(_text("/proc/self/statm").split()[0])
        return max(0, int(limit) - pages * os.sysconf("SC_PAGE_SIZE"))
    except (OSError, ValueError, StopIteration, IndexError):
        return None


def check_fits(nbytes: int, what: str) -> None:
    """Raises TooLargeError when an allocation exceeds the memory available.

    Args:
        nbytes: bytes about to be allocated.
        what: the purpose, for the message.
    """
    if nbytes <= NEVER_CHECKED:
        return
    available = available_bytes()
    if nbytes > available:
        raise TooLargeError(
            f"expected {what} to fit in the {in_units(available)} of memory available, but got {in_units(nbytes)}: "
            "choose compressed levels, or fewer entries"
        )


def in_units(nbytes: int) -> str:
    """Returns a number of bytes in readable units.

    >>> in_units(3), in_units(5_000_000_000)
    ('3 B', '4.66 GiB')
    """
    amount, units = float(nbytes), ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"]
    while amount >= 1024 and len(units) > 1:
        amount /= 1024
        units.pop(0)
    return f"{nbytes} B" if units[0] == "B" else f"{amount:.3g} {units[0]}"


def bytes_of(given: Any, what: str) -> int:
    """Returns a number of bytes, given as a number or with a unit.

    Args:
        given: `1 << 30`, `"1GiB"`, `"500 MB"`.
        what: the argument, for messages.

    Raises:
        OperandError: for anything else.

    >>> bytes_of("1.5 KiB", "memory"), bytes_of("2MB", "memory"), bytes_of(2e9, "memory")
    (1536, 2000000, 2000000000)
    """
    is_number = isinstance(given, Real) and not isinstance(given, bool)
    if is_number and given > 0 and given % 1 == 0:  # 2e9 is a number of bytes as well
        return int(given)
    found = re.fullmatch(_AMOUNT, given.strip()) if isinstance(given, str) else None
    nbytes = int(float(found[1]) * _UNITS[found[2].lower()]) if found and found[2].lower() in _UNITS else 0
    if nbytes <= 0:
        raise OperandError(f'expected {what} as a number of bytes or as text such as "1GiB", but got {given!r}')
    return nbytes
