"""This package with `optimize="off"`: statements in one fused loop nest, as TACO makes them."""

from __future__ import annotations

from collections.abc import Mapping

from benchmarks.libraries import Prepare
from benchmarks.libraries.as_optimized import set_threads
from benchmarks.libraries.own import TEXTS, called, plain
from benchmarks.libraries.programs_own import OFF

__all__ = ["CALLS", "plain", "set_threads"]

CALLS: Mapping[str, Prepare] = {**{name: called(text, out, "off") for name, (text, out) in TEXTS.items()}, **OFF}
