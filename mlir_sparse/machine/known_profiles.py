"""Which profile plans go by: the one that is asked for, the one measured here, or that of the nearest make."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path

from mlir_sparse._native import __version__
from mlir_sparse.errors import SettingError
from mlir_sparse.machine.machine_profile import MachineProfile
from mlir_sparse.machine.processor import this_processor
from mlir_sparse.process import settings

__all__ = ["PROFILES", "machine_profile", "measured_profile_file", "shipped_profiles"]

PROFILES = Path(__file__).parent / "profiles"
"""The folder of the profiles that the package comes with."""


@cache
def shipped_profiles() -> Mapping[str, MachineProfile]:
    """Returns the profiles that the package comes with, by name.

    >>> sorted(shipped_profiles())
    ['amd-epyc-family-25', 'intel-xeon-family-6']
    """
    paths = sorted(PROFILES.glob("*.json"))
    return {path.stem: replace(MachineProfile.parse(path.read_text("utf-8")), name=path.stem) for path in paths}


def measured_profile_file() -> Path | None:
    """Returns where `mlir-sparse tune --machine` keeps this processor's profile; None where nothing is kept."""
    folder = settings.user_folder()
    name = f"{this_processor().label}-{__version__}.json"
    return None if folder is None else Path(folder) / "machine" / name


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
        found = shipped.get(name) or replace(MachineProfile.parse(Path(name).read_text("utf-8")), name=name)
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
        found = MachineProfile.parse(path.read_text("utf-8"))
        return replace(found, name=path.stem, source=f"measured on this processor, {path}")
    except (OSError, ValueError):
        return None


def _nearest() -> MachineProfile:
    here = this_processor()
    found = max(shipped_profiles().values(), key=lambda one: here.likeness(one.processor))
    measured = "`mlir-sparse tune --machine` measures this one"
    return replace(found, source=f"of the nearest make that the package comes with; {measured}")
