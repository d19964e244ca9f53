"""The processor: its make, as far as times depend on it, and the instructions that it has."""

from __future__ import annotations

import platform
from functools import cache

from mlir_sparse.classes import dataclass

__all__ = ["Processor", "cpu_features", "cpu_info", "this_processor"]

# From the widest on.
_VECTORS = ("avx512f", "avx2", "avx", "sve2", "sve", "asimd")
_LETTERS = frozenset("abcdefghijklmnopqrstuvwxyz0123456789")


@cache
def cpu_info() -> dict[str, str]:
    """Returns the first processor's entry of /proc/cpuinfo; empty without one."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
            text = file.read()
    except OSError:
        return {}
    pairs = (line.partition(":") for line in text.partition("\n\n")[0].splitlines())
    return {key.strip(): value.strip() for key, _, value in pairs}


def cpu_features() -> frozenset[str]:
    """Returns the host's instruction set extensions by Linux's names; empty if unknown."""
    info = cpu_info()
    return frozenset((info.get("flags") or info.get("Features") or "").split())


@dataclass(frozen=True, slots=True)
class Processor:
    """A make of processors.

    Args:
        architecture: the instruction set, as `x86_64`.
        vendor: who made it, as `AuthenticAMD`.
        family: which of theirs it is, as text.
        model: which of these.
        name: how it calls itself.
        vectors: its widest vector instructions, as Linux calls them, of those that makes of one family differ in.
    """

    architecture: str
    vendor: str
    family: str
    model: str
    name: str
    vectors: str = ""

    def likeness(self, other: Processor) -> tuple[int, bool]:
        """Returns how much two processors have in common: makers, families, vectors and models, in this order.

        Whether vectors are alike counts for processors of other families too. Numbers of models say nothing: those of
        one generation are between those of another.

        >>> rome = Processor("x86_64", "AuthenticAMD", "23", "49", "AMD EPYC 7742", "avx2")
        >>> milan = Processor("x86_64", "AuthenticAMD", "25", "1", "AMD EPYC 7763", "avx2")
        >>> genoa = Processor("x86_64", "AuthenticAMD", "25", "17", "AMD EPYC 9654", "avx512f")
        >>> raphael = Processor("x86_64", "AuthenticAMD", "25", "97", "AMD Ryzen 9 7950X", "avx512f")
        >>> rome.likeness(milan), rome.likeness(genoa), raphael.likeness(milan), raphael.likeness(genoa)
        ((2, True), (2, False), (3, False), (4, True))
        """
        mine = (self.architecture, self.vendor, self.family, self.vectors, self.model)
        others = (other.architecture, other.vendor, other.family, other.vectors, other.model)
        alike = next((place for place, (a, b) in enumerate(zip(mine, others, strict=True)) if a != b), len(mine))
        return alike, self.vectors == other.vectors

    @property
    def label(self) -> str:
        """Returns the make as the name of a file.

        >>> Processor("x86_64", "AuthenticAMD", "25", "1", "AMD EPYC").label
        'authenticamd-family-25-model-1'
        """
        words = f"{self.vendor} family {self.family} model {self.model}".lower()
        # Not by a regular expression, which takes as long to compile as a tenth of the first call of a process.
        return "-".join("".join([one if one in _LETTERS else " " for one in words]).split())

    def __str__(self) -> str:
        return f"{self.name}, family {self.family}" if self.family else self.name


@cache
def this_processor() -> Processor:
    """Returns the processor that this process runs on."""
    info, architecture = cpu_info(), platform.machine()
    vendor = info.get("vendor_id") or info.get("CPU implementer") or architecture
    family = info.get("cpu family") or info.get("CPU architecture") or ""
    model = info.get("model") or info.get("CPU part") or ""
    vectors = next((each for each in _VECTORS if each in cpu_features()), "")
    return Processor(
        architecture, vendor, family, model, info.get("model name") or platform.processor() or vendor, vectors
    )
