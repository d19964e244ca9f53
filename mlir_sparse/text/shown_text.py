"""Text that notebooks show as it is, line by line: accounts of kernels, and values that print as text."""

from __future__ import annotations

from typing import Any

from mlir_sparse.text.html_table import html_text

__all__ = ["PrintedValue", "ShownText"]


class ShownText(str):
    r"""Text that shows itself at the end of a notebook's cell, or in IPython, as `print` does; else a string.

    >>> told = ShownText("a < b\nc")
    >>> told == "a < b\nc", "a &lt; b" in told._repr_html_()
    (True, True)
    """

    __slots__ = ()

    def _repr_html_(self) -> str:
        """Returns the text as HTML, for notebooks."""
        return html_text(str(self))

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        """Prints the text, in IPython."""
        for number, line in enumerate(self.splitlines()):
            if number:
                printer.break_()
            printer.text(line)


class PrintedValue:
    """A value that notebooks show as it prints."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        """Returns the value as HTML, for notebooks."""
        return html_text(str(self))
