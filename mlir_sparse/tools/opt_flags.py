"""The flags of `mlir-sparse opt` as `mlir-opt` has them: each pass is one, in the order they run."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import click

from mlir_sparse import pipeline
from mlir_sparse.classes import dataclass
from mlir_sparse.pipeline import gpu_passes
from mlir_sparse.pipeline.opt_options import GPU, OptOptions
from mlir_sparse.pipeline.pass_values import pass_items

__all__ = ["OptRequest", "parse_flags"]


@dataclass(frozen=True, slots=True)
class OptRequest:
    """What a command line asks for.

    Args:
        source: the file to read, `-` for standard input.
        target: the file to write; `-` for standard output.
        options: passes, and what to print.
        lists: whether to list the passes, in place of all else.
        plugins: Python files that register passes.
        reproduces: whether the file says which passes to run: one that a failure of the compiler left.
    """

    source: str = "-"
    target: str = "-"
    options: OptOptions = OptOptions()
    lists: bool = False
    plugins: tuple[str, ...] = ()
    reproduces: bool = False


def _switch(name: str) -> Callable[[OptOptions, str], OptOptions]:
    return lambda options, value: _with(options, name, _truth(value))


def _names(name: str) -> Callable[[OptOptions, str], OptOptions]:
    return lambda options, value: _with(options, name, tuple(value.split(",")))


def _all(name: str) -> Callable[[OptOptions, str], OptOptions]:
    return lambda options, value: _with(options, name, ("*",) if _truth(value) else ())


def _with(options: OptOptions, name: str, value: Any) -> OptOptions:
    return replace(options, **{name: value})


def _truth(value: str) -> bool:
    if value.lower() in ("", "true", "1"):
        return True
    if value.lower() in ("false", "0"):
        return False
    raise click.UsageError(f"expected a switch to be true or false, but got {value!r}")


_FLAGS: dict[str, Callable[[OptOptions, str], OptOptions]] = {
    "split-input-file": lambda options, _: replace(options, split_input_file=True),
    "verify-diagnostics": lambda options, _: replace(options, verify_diagnostics=True),
    "verify-each": _switch("verify_each"),
    "allow-unregistered-dialect": _switch("allow_unregistered"),
    "mlir-print-ir-before": _names("before"),
    "mlir-print-ir-after": _names("after"),
    "mlir-print-ir-before-all": _all("before"),
    "mlir-print-ir-after-all": _all("after"),
    "mlir-print-ir-after-change": _switch("after_change"),
    "mlir-print-ir-module-scope": _switch("module_scope"),
    "mlir-print-op-generic": _switch("generic"),
    "mlir-print-debuginfo": _switch("debug_info"),
    "mlir-print-local-scope": _switch("local_scope"),
    "mlir-print-elementsattrs-with-hex-if-larger": lambda options, _: options,  # the bindings never print hex
    "mlir-elide-elementsattrs-if-larger": lambda options, value: replace(options, elide=int(value)),
    "mlir-timing": _switch("timing"),
    "mlir-pass-statistics": _switch("statistics"),
    "mlir-disable-threading": lambda options, _: options,  # nothing here depends on it
}
_VALUED = ("mlir-print-ir-before", "mlir-print-ir-after", "mlir-elide-elementsattrs-if-larger")


def parse_flags(arguments: Sequence[str]) -> OptRequest:
    """Returns what a command line asks for; a flag that is none of `mlir-opt`'s here is a pass or a pipeline.

    Raises:
        click.UsageError: for two files, or a flag without its value.
    """
    request = OptRequest()
    items: list[str] = []
    files: list[str] = []
    left = iter(arguments)
    for word in left:
        if word == "-" or not word.startswith("-"):
            files.append(word)
            continue
        name, separator, value = word.lstrip("-").partition("=")
        if name == "o" or (name in _VALUED and not separator) or (name == "pass-pipeline" and not separator):
            value = _next(left, word) if not separator else value
        if name == "o":
            request = replace(request, target=value)
        elif name == "pass-pipeline":
            items += _pipeline(value)
        elif name == "load-pass-plugin":
            request = replace(request, plugins=(*request.plugins, value if separator else _next(left, word)))
        elif name == "run-reproducer":
            request = replace(request, reproduces=True)
        elif name == "list-passes":
            request = replace(request, lists=True)
        elif name in _FLAGS:
            request = replace(request, options=_FLAGS[name](request.options, value))
        else:
            items += _named(name, value)
    if len(files) > 1:
        raise click.UsageError(f"expected one file, but got {' and '.join(files)}")
    options = replace(request.options, items=tuple(items))
    return replace(request, source=files[0] if files else "-", options=options)


def _next(left: Iterator[str], flag: str) -> str:
    value = next(left, None)
    if value is None:
        raise click.UsageError(f"expected a value behind {flag}")
    return value


def _pipeline(text: str) -> Iterator[str]:
    """Yields the passes of a pipeline on modules."""
    inside = text.strip()
    for anchor in ("builtin.module(", "any("):
        if inside.startswith(anchor) and inside.endswith(")"):
            return pass_items(inside.removeprefix(anchor)[:-1])
    raise click.UsageError(f"expected --pass-pipeline='builtin.module(...)', but got {text!r}")


def _named(name: str, value: str) -> Iterator[str]:
    """Yields the passes of a flag: a pipeline of this project's, or a pass with its options."""
    if name == "cpu":
        yield from map(str, pipeline.sparsifier().then(pipeline.cpu()).passes)
    elif name == "gpu":
        chip = value or "sm_90"
        gpu_passes.ptx(chip)  # refuses a chip before a file is read
        yield f"{GPU}{{chip={chip}}}"
    elif name == "user-module":
        yield from map(str, pipeline.module_to_buffers().then(pipeline.module_to_llvm()).passes)
    else:
        yield f"{name}{{{value}}}" if value else name
