"""What `mlir-sparse opt` is asked to do with a module's text."""

from __future__ import annotations

from mlir_sparse.classes import dataclass

__all__ = ["GPU", "OptOptions"]

GPU = "gpu"
"""A pipeline whose passes a module decides: those of the plan, or those for a module that has none."""


@dataclass(frozen=True, slots=True)
class OptOptions:
    """What to do with a module's text; the names are those of `mlir-opt`.

    Args:
        items: passes and pipelines in MLIR's syntax, each to run on a module.
        split_input_file: whether the text is several modules.
        verify_diagnostics: whether comments say what MLIR must say.
        before: passes to print the module before; `*` for all.
        after: likewise after.
        after_change: whether only passes that change something are printed.
        module_scope: whether to print the module around what a pass ran on.
        generic: whether operations are printed in their generic form.
        debug_info: whether locations are printed.
        local_scope: whether types and attributes are printed in place.
        elide: the elements from which on constants are left out; None for none.
        allow_unregistered: whether operations may be of dialects that are not there.
        verify_each: whether the module is verified after each pass.
        timing: whether to print what time passes take.
        statistics: whether to print what passes counted.
    """

    items: tuple[str, ...] = ()
    split_input_file: bool = False
    verify_diagnostics: bool = False
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    after_change: bool = False
    module_scope: bool = False
    generic: bool = False
    debug_info: bool = False
    local_scope: bool = False
    elide: int | None = None
    allow_unregistered: bool = False
    verify_each: bool = True
    timing: bool = False
    statistics: bool = False
