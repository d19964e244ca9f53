"""networkx: a graph is its adjacency as a tensor, its nodes in their order, and `A.to("networkx")` is a graph.

Algorithms are statements under semirings. What networkx has and a statement does not say works on the graph.
"""

import networkx as nx
import numpy as np

import mlir_sparse as ms

graph = nx.karate_club_graph()
A = ms.tensor(graph, "CSR")  # weights; 1 where an edge has none
links = ms.tensor(np.sign(A))
nodes = len(graph)
print(repr(A), A.nse == 2 * graph.number_of_edges())

# Triangles, each counted six times.
closed = ms.evaluate("t = L(i,j) * L(j,k) * L(k,i)", L=links)
print(int(closed) // 6 == sum(nx.triangles(graph).values()) // 3)

# Shortest paths, relaxed until nothing changes.
distance = np.full(nodes, np.inf)
distance[0] = 0
for _ in range(nodes):
    distance = ms.evaluate("d(j) += A(i,j) * e(i)", A=A, e=distance, d=distance, semiring="min_plus")
wanted = nx.single_source_dijkstra_path_length(graph, 0)
print(all(distance[at] == wanted[node] for at, node in enumerate(graph)))

# PageRank by a program of statements.
share = 1 / A.sum(axis=1)
rank = np.full(nodes, 1 / nodes)
for _ in range(100):
    rank = 0.15 / nodes + 0.85 * ms.evaluate("r(j) = A(i,j) * s(i) * p(i)", A=A, s=share, p=rank)
print(np.allclose(rank, list(nx.pagerank(graph, tol=1e-12).values()), atol=1e-9))

back = A.to("networkx")
print(type(back).__name__, nx.number_strongly_connected_components(back))
