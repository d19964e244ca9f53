"""Which of upstream's tests fail here, and why: a list by suite, of which nothing else may fail, and all must."""

from __future__ import annotations

import tomllib
from pathlib import Path

__all__ = ["causes_of"]


def causes_of(suite: str) -> dict[str, str]:
    """Returns the cause of each failure, by test or by test and configuration: `name` or `name [configuration]`."""
    path = Path(__file__).with_name("expected") / f"{suite}.toml"
    if not path.exists():
        return {}
    return {name: cause for cause, names in tomllib.loads(path.read_text()).items() for name in names}
