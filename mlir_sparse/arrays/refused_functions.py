"""Functions of NumPy's that sparse tensors refuse, with what does their work."""

from __future__ import annotations

__all__ = ["way_out"]

_DENSE = "use A.to_numpy()"
_INSTEAD = {
    "np.block": "use ms.block(blocks)",
    "np.linalg.cholesky": "use ms.linalg.solve(A, b), ms.linalg.IC0(A) as a preconditioner, or A.to_numpy()",
    "np.linalg.cond": "use scipy.sparse.linalg.svds(A), which takes a tensor, or A.to_numpy()",
    "np.linalg.det": "multiply the diagonals of the factors of scipy.sparse.linalg.splu(A.to_scipy()), or use "
    "A.to_numpy()",
    "np.linalg.eig": "use scipy.sparse.linalg.eigs(A), which takes a tensor, or A.to_numpy() for all eigenvalues",
    "np.linalg.eigh": "use scipy.sparse.linalg.eigsh(A), which takes a tensor, or A.to_numpy() for all eigenvalues",
    "np.linalg.eigvals": "use scipy.sparse.linalg.eigs(A), which takes a tensor, or A.to_numpy() for all eigenvalues",
    "np.linalg.eigvalsh": "use scipy.sparse.linalg.eigsh(A), which takes a tensor, or A.to_numpy() for all eigenvalues",
    "np.linalg.inv": "an inverse has values everywhere, use ms.linalg.solve(A, b), ms.linalg.factorized(A).solve, or "
    "A.to_numpy()",
    "np.linalg.lstsq": "use scipy.sparse.linalg.lsqr(A, b), which takes a tensor",
    "np.linalg.matrix_rank": "use scipy.sparse.linalg.svds(A), which takes a tensor, or A.to_numpy()",
    "np.linalg.pinv": "use scipy.sparse.linalg.lsqr(A, b), which takes a tensor, or A.to_numpy()",
    "np.linalg.qr": "use scipy.sparse.linalg.lsqr(A, b), which takes a tensor, or A.to_numpy()",
    "np.linalg.slogdet": "sum the logarithms of the diagonals of the factors of "
    "scipy.sparse.linalg.splu(A.to_scipy()), or use A.to_numpy()",
    "np.linalg.solve": "use ms.linalg.solve(A, b), or ms.linalg.cg(A, b)",
    "np.linalg.svd": "use scipy.sparse.linalg.svds(A), which takes a tensor, or A.to_numpy()",
    "np.linalg.svdvals": "use scipy.sparse.linalg.svds(A), which takes a tensor, or A.to_numpy()",
    "np.save": "use ms.write(path, A)",
    "np.savez": "use ms.write(path, A)",
    "np.savez_compressed": "use ms.write(path, A)",
    "np.fill_diagonal": "use ms.assign(A, ms.eye(n, dtype=bool), values)",
    "np.put": "use ms.assign(A, where, values)",
    "np.place": "use ms.assign(A, where, values)",
    "np.putmask": "use ms.assign(A, where, values)",
    "np.copyto": "use ms.assign(A, where, values)",
    "np.unique_all": "use ms.xp.unique_all(A)",
    "np.unique_counts": "use ms.xp.unique_counts(A)",
    "np.unique_inverse": "use ms.xp.unique_inverse(A)",
    "np.unique_values": "use ms.xp.unique_values(A)",
}


def way_out(name: str) -> str:
    """Returns what a user does instead of a function of NumPy's.

    >>> way_out("np.linalg.solve"), way_out("np.fft.fft")
    ('use ms.linalg.solve(A, b), or ms.linalg.cg(A, b)', 'a transform has values everywhere, use A.to_numpy()')
    """
    if name.startswith("np.fft."):
        return f"a transform has values everywhere, {_DENSE}"
    return _INSTEAD.get(name, _DENSE)
