"""Which of upstream's tests fail here, and why: a list by suite, of which nothing else may fail, and all must."""

from __future__ import annotations

import tomllib
from pathlib import Path

__all__ = ["causes_of"]


def causes_of(suite: str, tools: str) -> dict[str, str]:
    """Returns the cause of each failure, by test or by test and configuration: `name` or `name [configuration]`.

    Args:
        suite: the suite.
        tools: what runs it: the name of bindings, or `llvm` for LLVM's own programs.
    """
    path = Path(__file__).with_name("expected") / tools / f"{suite}.toml"
    if not path.exists():
        return {}
    return {name: cause for cause, names in tomllib.loads(path.read_text()).items() for name in names}
