"""`python -m mlir_sparse`: the command line, where its script is not on the path."""

from mlir_sparse.tools.cli import main

__all__: list[str] = []

if __name__ == "__main__":
    main(prog_name="python -m mlir_sparse")
