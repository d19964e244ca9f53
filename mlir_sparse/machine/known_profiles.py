"""Which profile plans go by: the one that is asked for, the one measured here, or that of the nearest make."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from functools import cache

from mlir_sparse._native import __version__
from mlir_sparse.errors import SettingError
from mlir_sparse.machine.machine_profile import MachineProfile
from mlir_sparse.machine.processor import this_processor
from mlir_sparse.process import settings

__all__ = ["PROFILES", "machine_profile", "measured_profile_file", "shipped_profiles"]

PROFILES = os.path.join(os.path.dirname(__file__), "profiles")
"""The folder of the profiles that the package comes with."""


@cache
def shipped_profiles() -> Mapping[str, MachineProfile]:
    """Returns the profiles that the package comes with, by name.

    >>> sorted(shipped_profiles())
    ['amd-epyc-family-25', 'amd-epyc-family-25-model-17', 'intel-xeon-family-6']
    """
    names = sorted([name.removesuffix(".json") for name in os.listdir(PROFILES) if name.endswith(".json")])
    return {name: _read(os.path.join(PROFILES, f"{name}.json"), name) for name in names}


def _read(path: str, name: str) -> MachineProfile:
    with open(path, encoding="utf-8") as file:
        return replace(MachineProfile.parse(file.read()), name=name)


def measured_profile_file() -> str | None:
    """Returns where `mlir-sparse tune --machine` keeps this processor's profile; None where nothing is kept."""
    folder = settings.user_folder()
    name = f"{this_processor().label}-{__version__}.json"
    return None if folder is None else os.path.join(folder, "machine", name)


@cache
def machine_profile() -> MachineProfile:
    """Returns the profile that plans of this process go by.

    It is the one that `MLIR_SPARSE_MACHINE` names, or else the one that `mlir-sparse tune --machine` has measured on
    this processor, or else the one of the nearest make that the package comes with.

    Raises:
        SettingError: if `MLIR_SPARSE_MACHINE` names none.
    """
    asked = settings.MACHINE.value
    return _asked(asked) if asked else _measured() or _nearest()


def _asked(name: str) -> MachineProfile:
    shipped = shipped_profiles()
    source = f"named by {settings.MACHINE.name}"
    try:
        found = shipped.get(name) or _read(name, name)
        return replace(found, source=source)
    except (OSError, ValueError) as error:
        names = ", ".join(shipped)
        raise SettingError(
            f"expected the name of a profile ({names}), or a file that `mlir-sparse tune --machine` wrote, in the "
            f"environment variable {settings.MACHINE.name}, but got {name!r}: mend it, or unset it for the default"
        ) from error


def _measured() -> MachineProfile | None:
    """Returns the profile that was measured on this processor; None without one that can be read."""
    path = measured_profile_file()
    try:
        if path is None:
            return None
        name = os.path.basename(path).removesuffix(".json")
        return replace(_read(path, name), source=f"measured on this processor, {path}")
    except (OSError, ValueError):
        return None


def _nearest() -> MachineProfile:
    here = this_processor()
    found = max(shipped_profiles().values(), key=lambda one: here.likeness(one.processor))
    measured = "`mlir-sparse tune --machine` measures this one"
    return replace(found, source=f"of the nearest make that the package comes with; {measured}")
