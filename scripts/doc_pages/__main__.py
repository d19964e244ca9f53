"""Writes pages into a folder: python -m doc_pages FOLDER [PAGE]..."""

from __future__ import annotations

import sys
from pathlib import Path

from doc_pages import (
    architecture,
    exploring,
    gradients,
    graphblas,
    guide,
    level_formats,
    level_space,
    neighbours,
    pictures,
    statement_plans,
    user_modules,
    wants,
)

PAGES = {
    "guide": guide.page,
    "architecture": architecture.page,
    "user_modules": user_modules.page,
    "exploring": exploring.page,
    "statement_plans": statement_plans.page,
    "gradients": gradients.page,
    "graphblas": graphblas.page,
    "neighbours": neighbours.page,
    "wants": wants.page,
    "pictures": pictures.page,
    "level_formats": level_formats.page,
    "level_space": level_space.page,
}


def main(arguments: list[str]) -> int:
    """Writes the pages, or those that are named."""
    if not arguments or not set(arguments[1:]) <= set(PAGES):
        print(f"usage: python -m doc_pages FOLDER [{'|'.join(PAGES)}]...", file=sys.stderr)
        return 2
    folder = Path(arguments[0])
    folder.mkdir(parents=True, exist_ok=True)
    for name in arguments[1:] or PAGES:
        (folder / f"{name}.html").write_text(PAGES[name](), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
