"""Code and commands that are run for a page, which shows them with what they print."""

from __future__ import annotations

import ast
import contextlib
import io
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from doc_pages import markup

__all__ = ["command", "folder_of", "session"]


@contextlib.contextmanager
def folder_of(files: Mapping[str, str]) -> Iterator[None]:
    """Enters a folder of its own that has files."""
    before = Path.cwd()
    with tempfile.TemporaryDirectory(prefix="pages-") as folder:
        for name, text in files.items():
            Path(folder, name).write_text(text)
        os.chdir(folder)
        try:
            yield
        finally:
            os.chdir(before)


def session(code: str, names: dict[str, Any]) -> str:
    """Runs code, and returns it with what it prints."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(ast.parse(code), "<page>", "exec"), names)
    return markup.pre(code.strip()) + markup.pre(printed.getvalue())


def command(text: str) -> str:
    """Runs a command, and returns it with what it prints, errors too."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"
    ran = subprocess.run(
        ["bash", "-c", text],
        env=os.environ | {"PATH": path},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    return markup.pre(f"$ {text}") + markup.pre(ran.stdout.rstrip("\n"))
