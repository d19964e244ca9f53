"""scikit-learn: estimators read `A.to("scipy")`, on the memory of the tensor, and no dense copy is made.

They read any other foreign array as a dense one, a tensor too, with an `ms.DenseCopyWarning`. In a pipeline the first
step hands the tensor over. Splits, shuffles and folds take rows of a tensor as they take those of an array.
"""

import warnings

import numpy as np
from sklearn.cluster import KMeans
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, MaxAbsScaler

import mlir_sparse as ms

warnings.simplefilter("error", ms.DenseCopyWarning)  # no dense copy goes unseen
A = ms.random((400, 60), density=0.1, rng=0)
labels = (A @ np.linspace(-1, 1, 60) > 0).astype(int)


def handed_over(X):
    """Returns the matrix of SciPy's on the memory of a tensor."""
    return X.to("scipy")


model = make_pipeline(FunctionTransformer(handed_over), MaxAbsScaler(), LogisticRegression())
train, test, train_labels, test_labels = train_test_split(A, labels, random_state=0)
print(type(train).__name__, train.shape, test.shape)
print(model.fit(train, train_labels).score(test, test_labels) > 0.8)
print(len(cross_val_score(model, A, labels, cv=3)))

clusters = KMeans(3, n_init=1, random_state=0).fit(A.to("scipy"))
# The distances to the centres as one statement, which reads the entries alone.
apart = "D(i,c) = sum(j : A(i,j) ** 2) - 2 * sum(k : A(i,k) * M(c,k)) + sum(l : M(c,l) ** 2)"
distances = ms.evaluate(apart, A=A, M=clusters.cluster_centers_)
print(np.array_equal(distances.argmin(axis=1), clusters.labels_))
scaled = ms.tensor(model[:2].transform(A))
print(type(scaled).__name__, scaled.nse == A.nse)
