"""Classes of other libraries whose arrays were tensors as they are: what makes a tensor of another one, by its class.

`tensor` takes such arrays in each step of some algorithms, and to find out what they are takes ten times as long as to
look at them. The arrays are looked at each time: what was valid may have been written to.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["keep_class", "known_tensor"]

_MOST = 256

_makers: dict[type, Callable[[Any], Any]] = {}


def known_tensor(source: object) -> Any:
    """Returns a tensor on the arrays of a source; None for one that must be looked at by other means."""
    maker = _makers.get(type(source))
    return None if maker is None else maker(source)


def keep_class(kind: type, maker: Callable[[Any], Any]) -> None:
    """Keeps what makes a tensor, or None, of a source of a class."""
    if len(_makers) >= _MOST:
        _makers.clear()
    _makers[kind] = maker
