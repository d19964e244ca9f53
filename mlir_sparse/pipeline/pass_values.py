"""Passes and pipelines as values that print to MLIR's own syntax."""

from __future__ import annotations

import re
from collections.abc import Iterator

from mlir_sparse.classes import dataclass
from mlir_sparse.errors import UnsupportedError

__all__ = ["Pass", "Pipeline", "pass_items", "pass_name"]


@dataclass(frozen=True, slots=True)
class Pass:
    """One pass, and why it is there.

    Args:
        name: the pass's command-line name.
        reason: why it is there.
        options: (name, value) pairs; booleans and numbers print as MLIR reads them.
        on_functions: whether it runs on each `func.func` rather than on the module.
        on_kernels: whether it runs on each `gpu.module`.
        optional: whether results are right, if later, without it: only then can it be taken out of a pipeline.
    """

    name: str
    reason: str
    options: tuple[tuple[str, bool | int | str], ...] = ()
    on_functions: bool = False
    on_kernels: bool = False
    optional: bool = False

    def __str__(self) -> str:
        options = " ".join(f"{key}={_option(value)}" for key, value in self.options)
        text = f"{self.name}{{{options}}}" if options else self.name
        if self.on_kernels:
            return f"gpu.module({text})"
        return f"func.func({text})" if self.on_functions else text


@dataclass(frozen=True, slots=True)
class Pipeline:
    """Passes in the order they run, on a module.

    >>> str(Pipeline((Pass("canonicalize", "folds", on_functions=True), Pass("cse", "shares"))))
    'builtin.module(func.func(canonicalize),cse)'
    """

    passes: tuple[Pass, ...]

    def then(self, other: Pipeline) -> Pipeline:
        """Returns this pipeline followed by another."""
        return Pipeline(self.passes + other.passes)

    def without(self, name: str) -> Pipeline:
        """Returns this pipeline without a pass, to measure its effect.

        Raises:
            UnsupportedError: for a required pass, or one that is not in the pipeline.
        """
        found = [step for step in self.passes if step.name == name]
        if not found or not all(step.optional for step in found):
            known = ", ".join(dict.fromkeys(step.name for step in self.passes if step.optional))
            raise UnsupportedError(f"expected a pass that can be taken out ({known}), but got {name!r}")
        return Pipeline(tuple(step for step in self.passes if step.name != name))

    def through_optional(self) -> Pipeline:
        """Returns the passes up to the last optional one: the required ones after it are the same for all."""
        last = max((at for at, step in enumerate(self.passes, 1) if step.optional), default=0)
        return Pipeline(self.passes[:last])

    def __str__(self) -> str:
        return f"builtin.module({','.join(map(str, self.passes))})"


def _option(value: bool | int | str) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def pass_items(text: str) -> Iterator[str]:
    """Yields what stands between commas outside of brackets: the passes of a pipeline."""
    depth, start = 0, 0
    for at, character in enumerate(text):
        depth += (character in "({[") - (character in ")}]")
        if character == "," and depth == 0:
            yield text[start:at]
            start = at + 1
    if text:
        yield text[start:]


def pass_name(item: str) -> str:
    """Returns the name of a pass in MLIR's syntax, inside of what it is nested in.

    >>> pass_name("gpu.module(func.func(cse{a=1}))")
    'cse'
    """
    return re.sub(r"^(?:[\w.]+\()+", "", item).partition("{")[0].rstrip(")")
