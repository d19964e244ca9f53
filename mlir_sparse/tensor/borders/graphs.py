"""Graphs of networkx and igraph as adjacency matrices, and back.

Row i has the edges that leave node i, in the order of the graph's nodes; an undirected edge is two entries, one on the
diagonal for a loop. An edge without `weight` counts 1, and parallel edges are added.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from mlir_sparse.errors import ExtentError, OperandError, RankError
from mlir_sparse.tensor.borders.foreign_parts import Entries
from mlir_sparse.tensor.borders.imported_library import imported
from mlir_sparse.tensor.borders.listed_entries import listed_entries
from mlir_sparse.tensor.level_storage import Array

if TYPE_CHECKING:
    from mlir_sparse.tensor.sparse_tensor import SparseTensor

__all__ = ["igraph_of", "igraph_parts", "networkx_of", "networkx_parts"]

_WEIGHT = "weight"
_PLAIN = {int, float}  # of most graphs all weights


def networkx_parts(source: Any) -> Entries:
    """Returns the adjacency of a graph of networkx'.

    Raises:
        OperandError: for a weight that is no number, with its edge.
    """
    places = {node: place for place, node in enumerate(source)}
    tails: list[int] = []
    heads: list[int] = []
    weights: list[Any] = []
    parallel = source.is_multigraph()
    for node, neighbours in source.adjacency():
        tail = places[node]
        for neighbour, data in neighbours.items():
            head = places[neighbour]
            for edge in data.values() if parallel else (data,):
                tails.append(tail)
                heads.append(head)
                weights.append(edge.get(_WEIGHT, 1))
    return _adjacency(len(places), np.array((tails, heads), np.int64), weights, places)


def igraph_parts(source: Any) -> Entries:
    """Returns the adjacency of a graph of igraph's.

    Raises:
        OperandError: for a weight that is no number, with its edge.
    """
    edges = np.array(source.get_edgelist(), np.int64).reshape(-1, 2)
    weights = source.es[_WEIGHT] if _WEIGHT in source.es.attributes() else [1] * len(edges)
    if not source.is_directed():
        back = np.flatnonzero(edges[:, 0] != edges[:, 1])
        weights = [*weights, *(weights[at] for at in back)]
        edges = np.concatenate([edges, edges[back, ::-1]])
    return _adjacency(source.vcount(), edges.T, weights, range(source.vcount()))


def _adjacency(count: int, ends: Array, weights: list[Any], names: Any) -> Entries:
    plain = set(map(type, weights)) <= _PLAIN
    for at, weight in () if plain else enumerate(weights):
        if not isinstance(weight, int | float | complex | np.number | np.bool_):
            nodes = list(names)
            tail, head = (nodes[int(end)] for end in ends[:, at])
            raise OperandError(
                f"expected a number as the weight of each edge, but got {weight!r} of edge ({tail!r}, {head!r})"
            )
    try:
        values = np.asarray(weights) if weights else np.zeros(0)
    except OverflowError:
        values = np.asarray(weights, object)
    if values.dtype.kind == "O":
        raise OperandError("expected weights of 64 bits, but got an integer beyond: convert them to float")
    order = np.lexsort(ends[::-1])
    return Entries((count, count), ends.take(order, axis=1), values.take(order))


def _edges(tensor: SparseTensor) -> tuple[Array, Array]:
    if tensor.ndim != 2:
        raise RankError(f"expected an adjacency matrix, but got a tensor of shape {tensor.shape}")
    if tensor.shape[0] != tensor.shape[1]:
        raise ExtentError(f"expected a square adjacency matrix, but got shape {tensor.shape}")
    return listed_entries(tensor)


def networkx_of(tensor: SparseTensor) -> Any:
    """Returns an adjacency matrix as a DiGraph: nodes 0 to n - 1, an edge with its weight for each stored entry."""
    networkx = imported("networkx", "networkx", "networkx")
    ends, weights = _edges(tensor)
    graph = networkx.DiGraph()
    graph.add_nodes_from(range(tensor.shape[0]))
    graph.add_weighted_edges_from(zip(*ends.tolist(), weights.tolist(), strict=True), weight=_WEIGHT)
    return graph


def igraph_of(tensor: SparseTensor) -> Any:
    """Returns an adjacency matrix as a directed graph of igraph's, with an edge and its weight for each entry."""
    igraph = imported("igraph", "igraph", "igraph")
    ends, weights = _edges(tensor)
    graph = igraph.Graph(n=tensor.shape[0], edges=ends.T.tolist(), directed=True)
    graph.es[_WEIGHT] = weights.tolist()
    return graph
