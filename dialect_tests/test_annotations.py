"""Annotations of the public interface are types that Python finds: what validators, command lines and editors read."""

from __future__ import annotations

import functools
import inspect
import subprocess
import sys
import typing
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import mlir_sparse as ms


def _members(kind: type) -> Iterator[tuple[str, Any]]:
    for name, value in inspect.getmembers_static(kind):
        if isinstance(value, property | functools.cached_property):
            yield name, value.fget if isinstance(value, property) else value.func
        elif isinstance(value, classmethod | staticmethod):
            yield name, value.__func__
        elif inspect.isfunction(value) and (value.__module__ or "").startswith("mlir_sparse"):
            yield name, value


def _public() -> Iterator[tuple[str, Any]]:
    for name in ms.__all__:
        value = getattr(ms, name)
        if inspect.isclass(value):
            yield from ((f"{name}.{member}", function) for member, function in _members(value))
            yield name, value
        elif inspect.ismodule(value):
            yield from ((f"{name}.{one}", found) for one in dir(value) if callable(found := getattr(value, one)))
        elif callable(value):
            yield name, value


def test_annotations_are_types_that_python_finds() -> None:
    found = 0
    for _, value in _public():
        if not isinstance(value, np.ufunc):
            found += typing.get_type_hints(value) is not None
    assert found > 700


@pytest.mark.parametrize("name", ["Kernel.remarks", "SparseTensor.spy", "SparseTensor.transpose", "tensor", "lazy"])
def test_annotations_are_found_before_anything_else_is_used(name: str) -> None:
    """They name types of modules that nothing has imported yet."""
    code = f"import typing, mlir_sparse as ms; print(typing.get_type_hints(ms.{name})['return'].__module__)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.startswith(("mlir_sparse", "builtins"))


def test_functions_dispatch_on_annotated_types() -> None:
    @functools.singledispatch
    def kind(of: object) -> str:
        return "other"

    @kind.register
    def _(of: ms.SparseTensor) -> str:
        return "sparse"

    @kind.register
    def _(of: ms.LazyArray) -> str:
        return "lazy"

    A = ms.eye(3)
    assert [kind(one) for one in (A, ms.lazy(A), A.to_numpy())] == ["sparse", "lazy", "other"]
