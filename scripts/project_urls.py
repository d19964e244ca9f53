"""Writes where a repository is into pyproject.toml and README.md, for PyPI's page: releases' workflow knows it."""

import argparse
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# By the labels that PyPI knows; each of the files and pages stands in the repository.
ADDRESSES = {
    "Source": "",
    "Documentation": "#readme",
    "Changelog": "/blob/HEAD/.github/CHANGELOG.md",
    "Issues": "/issues",
}
_TABLE = re.compile(r"(?<=\n\[project\.urls\]\n)(?:[^\[\n].*\n)*")


def with_urls(text: str, repository: str) -> str:
    """Returns the text of pyproject.toml with the addresses of a repository, in place of those it had.

    Raises:
        ValueError: for what is no address of a repository, and for a text without a table of addresses.
    """
    _check(repository)
    found = _TABLE.search(text)
    if found is None:
        raise ValueError("expected a table [project.urls], but got none")
    others = [line for line in found[0].splitlines() if line.partition("=")[0].strip().strip('"') not in ADDRESSES]
    lines = [f'{label} = "{repository}{path}"' for label, path in ADDRESSES.items()]
    return text[: found.start()] + "".join(f"{line}\n" for line in lines + others) + text[found.end() :]


def with_links(text: str, repository: str) -> str:
    """Returns the text of README.md with links to files of the repository in full: PyPI's page has no others.

    Raises:
        ValueError: for what is no address of a repository.
    """
    _check(repository)
    return re.sub(r"(\]\()(?!https?:|#)", rf"\1{repository}/raw/HEAD/", text)


def _check(repository: str) -> None:
    if not re.fullmatch(r"https://[\w.-]+(?:/[\w.-]+)+", repository):
        raise ValueError(f"expected the address of a repository, as https://HOST/OWNER/NAME, but got {repository!r}")


def main() -> None:
    """Rewrites both."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("repository", metavar="URL", help="https://HOST/OWNER/NAME")
    repository = parser.parse_args().repository
    try:
        for name, change in (("pyproject.toml", with_urls), ("README.md", with_links)):
            (ROOT / name).write_text(change((ROOT / name).read_text(), repository))
    except ValueError as error:
        parser.error(str(error))


if __name__ == "__main__":
    main()
