"""Names of tasks: the dashboard shows them, and Dask expects tasks whose names begin alike to take equally long."""

from __future__ import annotations

import dask.config

__all__ = [
    "DIVISION",
    "IMAGE",
    "KERNEL",
    "PLACES",
    "SEND",
    "WHOLE",
    "before_dash",
    "beside",
    "expect_short_tasks",
    "pieces_beside",
]

KERNEL, WHOLE, DIVISION, IMAGE = "piece-kernel", "operand-whole", "part-division", "image-known"
"""Begin the names of what goes with a graph: kernels, operands that all pieces read, and what one of them reads."""
PLACES, SEND = "image-places", "image-send"
"""Begin the names of tasks that take out where the image of a part lies in a chunk, and of those that send it."""


def before_dash(label: str) -> str:
    """Returns a label for keys of tasks: the dashboard shows what stands before the first dash."""
    return label.replace("-", "−")


def beside(name: str, what: str) -> str:
    """Returns the name of tasks that others of a name need.

    Dask expects tasks alike in what stands before their first dash to take equally long, and places tasks by that:
    were those that send a part's image named as pieces are, a worker would seem busy for so long that pieces were
    computed away from their parts.

    >>> beside("y(i)=A(i,j)*x(j)-5b2f", SEND)
    'image-send-y(i)=A(i,j)*x(j)-5b2f'
    """
    return f"{what}-{name}"


def pieces_beside(name: str) -> str:
    """Returns the name of tasks that compute pieces, where those of a name join or add them.

    >>> pieces_beside("s=x(i)-5b2f")
    'piece of s=x(i)-5b2f'
    """
    return f"piece of {name}"


def expect_short_tasks() -> None:
    """Has schedulers of this process know, before the first of them, that tasks beside pieces take no half second.

    So long Dask expects a task to take of which it knows nothing: pieces would leave parts of less than 50 MB for a
    worker that has nothing to send.
    """
    durations = {SEND: "1ms"} | dict.fromkeys((KERNEL, WHOLE, DIVISION, IMAGE, PLACES), "1us")
    dask.config.update_defaults({"distributed": {"scheduler": {"default-task-durations": durations}}})
