"""The interpreter of a process that loads MLIR, and its path to modules: nothing of where the user stands."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import sys
from collections.abc import Iterator

from mlir_sparse.errors import SettingError
from mlir_sparse.process import settings, start_process

__all__ = ["command", "environment", "interpreter"]

# What the compiler imports: this package, its native part, and the packages below it.
_OWN = ("mlir_sparse._native", "mlir_sparse._cuda")
_OTHERS = ("numpy", "ml_dtypes", "llvmlite")
# What takes a third of the time to start and is there for messages of errors alone.
_LATE = ("numpy",)
_PYTHONS = re.compile(r"(python|pypy|graalpy)[\w.-]*$", re.IGNORECASE)
# Python's variables for its home and its cache; others would change how it starts.
_KEPT = ("PYTHONHOME", "PYTHONPLATLIBDIR", "PYTHONDONTWRITEBYTECODE", "PYTHONPYCACHEPREFIX")


def interpreter() -> str:
    """Returns the Python to run the compiler with: MLIR_SPARSE_PYTHON, or this process's own.

    Raises:
        SettingError: in a program that embeds Python, without an interpreter beside Python's library.
    """
    asked = settings.PYTHON.value
    if asked is not None:
        return asked
    own = sys.executable or ""
    if _PYTHONS.match(os.path.basename(own)) and not hasattr(sys, "frozen"):
        return own
    name = f"python{sys.version_info.major}.{sys.version_info.minor}"
    found = (os.path.join(prefix, "bin", name) for prefix in (sys.exec_prefix, sys.base_exec_prefix))
    beside = next((path for path in found if os.access(path, os.X_OK)), None)
    if beside is None:
        raise SettingError(
            f"expected a Python interpreter to run the compiler with, but this process is {own or 'no such program'}, "
            f"and there is no {name} in {os.path.join(sys.exec_prefix, 'bin')}: "
            f"set {settings.PYTHON.name} to the path of a {name}"
        )
    return beside


def command(python: str, bindings: str, module: str, argument: object) -> list[str]:
    """Returns the command that starts a process with MLIR's bindings.

    Args:
        python: the interpreter.
        bindings: the name of the bindings' module.
        module: the module of this package whose `main` the process runs.
        argument: what `main` is given; JSON carries it.
    """
    asked = {
        "interpreter": [sys.implementation.cache_tag, sys.maxsize],
        "places": {name: place for name in _names(bindings) if (place := _place(name)) is not None} | _own_package(),
        "late": _LATE,
        "path": list(_folders()),
        "module": module,
        "argument": argument,
    }
    # Running it by path with -P keeps the user's folders off the path, and -s those in the home folder.
    return [python, "-P", "-s", os.path.abspath(start_process.__file__), json.dumps(asked)]


def _own_package() -> dict[str, tuple[None, list[str]]]:
    """Returns the folders of this package as those of a namespace: the compiler imports rooms, and no public names."""
    package = __name__.partition(".")[0]
    return {package: (None, [os.path.abspath(folder) for folder in sys.modules[package].__path__])}


def _names(bindings: str) -> Iterator[str]:
    yield from _OWN
    yield from _OTHERS
    yield bindings.partition(".")[0]


def _place(name: str) -> tuple[str | None, list[str] | None] | None:
    """Returns the file of a module (None for a namespace) and its folders; None for a missing module.

    Nothing is imported.
    """
    loaded = sys.modules.get(name)
    try:
        spec = loaded.__spec__ if loaded is not None else importlib.util.find_spec(name)
    except (ImportError, ValueError):
        return None
    if spec is None:
        return None
    folders = spec.submodule_search_locations
    absolute = None if folders is None else [os.path.abspath(one) for one in folders]
    if spec.origin is not None and os.path.isfile(spec.origin):
        return os.path.abspath(spec.origin), absolute
    return None if absolute is None else (None, absolute)


def _folders() -> Iterator[str]:
    """Yields the entries of this process's path that depend neither on the current folder nor on the first one."""
    users = {_real(os.curdir)}
    main = getattr(sys.modules.get("__main__"), "__file__", None)
    if main is not None:
        users.add(_real(os.path.dirname(main)))
    for entry in sys.path:
        if isinstance(entry, str) and os.path.isabs(entry) and _real(entry) not in users:
            yield entry


def _real(path: str) -> str:
    try:
        return os.path.realpath(path or os.curdir)
    except OSError:
        return ""  # the current folder was removed


def environment(bindings: str) -> dict[str, str]:
    """Returns the environment of a process with these bindings, with absolute paths."""
    found = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON") or name in _KEPT}
    found.pop(settings.LIBDEVICE.name, None)
    found[settings.BINDINGS.name] = bindings
    library = settings.LIBDEVICE.value
    if library is not None:
        found[settings.LIBDEVICE.name] = library
    if settings.CACHE.text is not None:
        found[settings.CACHE.name] = settings.CACHE.value
    return found
