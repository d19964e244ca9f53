"""PyTorch: its sparse tensors in all layouts, in and out on the same memory, and statements with gradients.

The gradient of a sparse tensor has its pattern. `kernel` and `SparseLinear` are described on the page on gradients.
"""

import warnings

import numpy as np
import torch

import mlir_sparse as ms

warnings.filterwarnings("ignore", message="Sparse")  # PyTorch's CSR is called a beta version by each process
dense = torch.tensor([[0.0, 2.0, 0.0], [3.0, 0.0, 4.0]])
for layout in (torch.sparse_coo, torch.sparse_csr, torch.sparse_csc):
    S = dense.to_sparse(layout=layout)
    A = ms.tensor(S)
    print(repr(A), np.shares_memory(A.storage.values, S.values().numpy()))
print(repr(ms.tensor(dense.to_sparse_bsr((1, 3)))))
print(A.to("torch").layout, ms.tensor(dense.to_sparse_csr()).to("torch").layout)

# A product with gradients for both, each in the layout of its operand.
multiply = ms.torch.kernel("Y(i,k) = S(i,j) * X(j,k)")
S = dense.to_sparse_csr().requires_grad_()
X = torch.arange(6.0).reshape(3, 2).requires_grad_()
Y = multiply(S, X)
of_s, of_x = torch.autograd.grad((Y**2).sum(), (S, X))
print(Y.tolist(), of_s.layout, of_s.values().tolist(), of_x.tolist())

# A layer whose weights are the entries that a matrix has; the optimizer moves those alone.
layer = ms.torch.SparseLinear(ms.tensor(dense.numpy(), "CSR"), bias=False)
optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)
for _ in range(200):
    optimizer.zero_grad()
    ((layer(torch.eye(3)).T - 2 * dense) ** 2).sum().backward()
    optimizer.step()
print([round(value) for value in next(layer.parameters()).tolist()])
