"""What this machine's steps take: profiles that were measured, and which of them plans go by."""

from mlir_sparse.machine.known_profiles import PROFILES, machine_profile, measured_profile_file, shipped_profiles
from mlir_sparse.machine.machine_choices import CHOICES, MachineChoice
from mlir_sparse.machine.machine_figures import MachineFigures
from mlir_sparse.machine.machine_profile import MachineProfile
from mlir_sparse.machine.machine_times import FAR_SIZES, MachineTimes
from mlir_sparse.machine.processor import Processor, cpu_features, cpu_info, this_processor

__all__ = [
    "CHOICES",
    "FAR_SIZES",
    "PROFILES",
    "MachineChoice",
    "MachineFigures",
    "MachineProfile",
    "MachineTimes",
    "Processor",
    "cpu_features",
    "cpu_info",
    "machine_profile",
    "measured_profile_file",
    "shipped_profiles",
    "this_processor",
]
