"""Ways out that messages name work as they are written: names, options, commands and packages exist."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mlir_sparse as ms
import mlir_sparse.dask
from dialect_tests.hints import Hint, calls_of, messages
from mlir_sparse.device.device_array import DeviceArray
from mlir_sparse.tools.cli import main

MESSAGES = list(messages())
PROJECT = tomllib.loads((Path(__file__).resolve().parent.parent / "pyproject.toml").read_text())["project"]
OURS = (ms.SparseTensor, ms.FilledTensor, ms.DeviceTensor, DeviceArray)
# Methods and attributes of other libraries' arrays, which messages about those name.
THEIRS = {
    "coalesce": "torch",
    "contiguous": "torch",
    "coords": "sparse",
    "cpu": "torch",
    "data": "sparse",
    "detach": "torch",
    "filled": "numpy.ma",
    "get_adjacency_sparse": "igraph",
    "indices": "jax",
    "map_blocks": "dask.array",
    "resolve_conj": "torch",
    "sum_duplicates": "cupyx",
    "to_dense": "torch",
    "to_padded_tensor": "torch",
    "to_scipy_sparse": "sparse",
    "to_sparse_coo": "torch",
    "to_sparse_csr": "torch",
    "to_tensor": "torch",
    "todense": "sparse",
    "values": "tensorflow",
}
# Installed by hand, for what no extra is about.
BY_HAND = {"cupy-cuda12x", "graphblas", "lit", "pypardiso", "scikit-umfpack", "tensorflow"}


def _home(name: str) -> Any:
    """Returns what `ms.a.b` or `mlir_sparse.a.b` is.

    Raises:
        AttributeError, ModuleNotFoundError: where it is nothing.
    """
    _, *parts = name.split(".")
    found: Any = ms
    for at, part in enumerate(parts):
        if not hasattr(found, part):
            importlib.import_module(".".join(["mlir_sparse", *parts[: at + 1]]))
        found = getattr(found, part)
    return found


def _check_call(function: Callable[..., Any], call: ast.Call, hint: Hint, *, bound: bool) -> None:
    """Checks that a function takes the arguments of a call; `...` stands for any that others leave open."""
    signature = inspect.signature(function)
    given = [arg for arg in call.args if not (isinstance(arg, ast.Constant) and arg.value is ...)]
    named = {word.arg: None for word in call.keywords if word.arg}
    positional = [None] * (len(given) + (not bound))
    if len(given) < len(call.args):
        signature.bind_partial(**named)
    else:
        try:
            signature.bind(*positional, **named)
        except TypeError as error:
            raise AssertionError(f"{hint.place}: {ast.unparse(call)}: {error}") from error


def test_names_in_messages_exist_and_take_what_is_written() -> None:
    checked = 0
    for hint in MESSAGES:
        for name, call in calls_of(hint.text):
            owner, _, rest = name.partition(".")
            if owner in ("ms", "mlir_sparse"):
                found = _home(name)
                checked += 1
                if call is not None:
                    _check_call(found, call, hint, bound=True)
            elif owner in ("A", "b", "x") and call is not None:
                first = rest.partition(".")[0]
                classes = [kind for kind in OURS if hasattr(kind, first)]
                assert classes or first in THEIRS, f"{hint.place}: {name}"
                checked += 1
                if classes and first == rest:
                    _check_call(getattr(classes[0], first), call, hint, bound=False)
    assert checked > 60


@pytest.mark.parametrize("name", sorted(THEIRS))
def test_names_of_other_libraries_exist(name: str) -> None:
    package = THEIRS[name]
    classes = {
        "torch": lambda: [
            importlib.import_module("torch").Tensor,
            importlib.import_module("torch.masked").MaskedTensor,
        ],
        "numpy.ma": lambda: [np.ma.MaskedArray],
        "sparse": lambda: [importlib.import_module("sparse").COO.from_numpy(np.eye(2))],
        "dask.array": lambda: [importlib.import_module("dask.array").Array],
        "igraph": lambda: [importlib.import_module("igraph").Graph],
        "jax": lambda: [importlib.import_module("jax.experimental.sparse").BCOO.fromdense(np.eye(2))],
        "tensorflow": lambda: [importlib.import_module("tensorflow").SparseTensor],
        "cupyx": lambda: [importlib.import_module("cupyx.scipy.sparse").coo_matrix],
    }
    pytest.importorskip(package.partition(".")[0], reason=f"expected the package {package}")
    assert any(hasattr(one, name) for one in classes[package]())


def test_commands_in_messages_exist() -> None:
    """With each option that stands behind one."""
    checked = 0
    for hint in MESSAGES:
        for name, rest in re.findall(r"mlir-sparse ([a-z][a-z-]*)\b([^`\n|]*)", hint.text):
            command = main.get_command(None, name)  # type: ignore[arg-type]  # which asks nothing of it
            assert command is not None, f"{hint.place}: {name}"
            checked += 1
            if name in ("opt", "runner"):  # whose options are passes, as MLIR's own have them
                continue
            options = {one for parameter in command.params for one in parameter.opts}
            asked = set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", rest))
            assert asked <= options, f"{hint.place}: {asked - options} of {name}"
    assert checked >= 8


def test_options_of_the_command_line_in_messages_exist() -> None:
    commands = [main.get_command(None, name) for name in main.list_commands(None)]  # type: ignore[arg-type]
    options = {one for command in commands if command for parameter in command.params for one in parameter.opts}
    own = [hint for hint in MESSAGES if "mlir_sparse/tools/" in hint.place and hint.text.startswith("expected")]
    # Those of `opt` and `runner`, which read their command lines as MLIR does.
    as_mlir = {"--pass-pipeline", "--shared-libs", "--entry-point-result"}
    found = {(one, hint.place) for hint in own for one in re.findall(r"(?<![\w-])--[a-z][a-z-]*", hint.text)}
    assert len(found) > 10
    assert not {(one, place) for one, place in found if one not in options | as_mlir}


def test_packages_in_messages_can_be_installed() -> None:
    """They are dependencies, of extras or of the package itself, which are tested to have wheels."""
    extras = PROJECT["optional-dependencies"]
    asked = [*PROJECT["dependencies"], *(one for extra in extras.values() for one in extra)]
    known = {re.match(r"[\w.-]+", one)[0].lower() for one in asked}  # type: ignore[index]
    named = {
        one.lower().rstrip(".,`")
        for hint in MESSAGES
        for one in re.findall(r"pip install ([\w.-]+)", hint.text)
        if one != "_"
    }
    for path in (Path(ms.__file__).parent / "tensor" / "borders").glob("*.py"):
        named |= set(re.findall(r'_?imported\(\s*"[\w.]+", "[^"]+", "([\w.-]+)"\)', path.read_text()))
    assert len(named) >= 8
    assert named <= known | BY_HAND, named - known - BY_HAND
