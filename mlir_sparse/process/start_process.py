"""Starts a process that loads MLIR, such as the compiler's: run by its path, with what to import from where as JSON.

Nothing of the current folder and of the folder of the user's program is imported. What the
compiler stands on comes from where the parent has it; all else from the interpreter's own
folders first, and from those of the parent's path that are left only where no other has it.
"""

import importlib
import importlib.util
import json
import sys
import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from importlib.machinery import ModuleSpec, SourceFileLoader
from types import ModuleType

WRONG_PYTHON = 93  # the exit status of an interpreter that cannot load what the parent has
_STACK = 8 << 20  # what systems give a process; MLIR takes no more for modules that its parser takes


class _Late(ModuleType):
    """A module that runs when something of it is first read, which most processes never do."""

    def __getattr__(self, name: str) -> object:
        if name.startswith("__") or type(self) is not _Late:  # what the import system asks for, and what is not there
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        self.run()
        return getattr(self, name)

    def run(self) -> None:
        """Runs the module."""
        loader = self.__loader__
        assert isinstance(loader, _LateLoader)
        self.__class__ = ModuleType  # type: ignore[assignment]
        loader.run(self)


class _LateLoader(SourceFileLoader):
    """Makes a module that it runs later."""

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return _Late(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """Does nothing: `_Late` runs it."""

    def run(self, module: ModuleType) -> None:
        super().exec_module(module)


class _Pinned:
    """Finds modules where the parent found them.

    Args:
        places: the file of each module, None of a namespace; the folders of what is in it, None where nothing is.
        late: the names of those that run when something of them is read.
    """

    def __init__(self, places: Mapping[str, tuple[str | None, list[str] | None]], late: Collection[str]) -> None:
        self._places = places
        self._late = late

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Returns where a module is; None for one that others are to find."""
        around = sys.modules.get(name.partition(".")[0])
        if isinstance(around, _Late):
            around.run()  # before what is in it
        if name not in self._places:
            return None
        file, folders = self._places[name]
        if file is None:
            namespace = ModuleSpec(name, None, is_package=True)
            namespace.submodule_search_locations = folders
            return namespace
        loader = _LateLoader(name, file) if name in self._late and file.endswith(".py") else None
        return importlib.util.spec_from_file_location(name, file, loader=loader, submodule_search_locations=folders)


def main() -> None:
    """Runs the module that the process that started this one asks for."""
    asked = json.loads(sys.argv[1])
    here = [sys.implementation.cache_tag, sys.maxsize]
    if asked["interpreter"] != here:
        print(f"{sys.executable} is {here[0]}, and not {asked['interpreter'][0]}", file=sys.stderr)
        sys.exit(WRONG_PYTHON)
    sys.meta_path.insert(0, _Pinned(asked["places"], asked["late"]))
    sys.path += [folder for folder in asked["path"] if folder not in sys.path]
    _on_full_stack(lambda: importlib.import_module(asked["module"]).main(asked["argument"]))


def _on_full_stack(work: Callable[[], object]) -> None:
    """Runs work on a thread of its own where `ulimit -s` leaves this one less than MLIR takes."""
    import resource  # by the compiler's process alone: a user may have a file of that name beside the program

    limit, _ = resource.getrlimit(resource.RLIMIT_STACK)
    if limit == resource.RLIM_INFINITY or limit >= _STACK:
        work()
        return
    ends: list[BaseException] = []

    def run() -> None:
        try:
            work()
        except BaseException as error:
            ends.append(error)

    threading.stack_size(_STACK)
    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    if ends:
        raise ends[0]


if __name__ == "__main__":
    main()
