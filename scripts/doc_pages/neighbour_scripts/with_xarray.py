"""xarray: a tensor is the data of a `DataArray`, through the array API.

Arithmetic, `isel`, `sel`, `stack`, `pad` and reductions to two dimensions and more keep it sparse; reductions to
vectors and numbers are dense. Names and coordinates are xarray's.
"""

import numpy as np
import xarray as xr

import mlir_sparse as ms

counts = ms.random((365, 4, 500), density=0.01, rng=0)  # days, sensors, places
rain = xr.DataArray(counts, dims=("day", "sensor", "place"), coords={"sensor": ["a", "b", "c", "d"]}, name="rain")
print(type(rain.data).__name__, rain.sizes["place"])

warm = rain.isel(day=slice(150, 240)).sel(sensor="b")
print(warm.dims, type(warm.data).__name__, type((2 * warm + warm).data).__name__)
daily = rain.sum("sensor")
print(daily.dims, type(daily.data).__name__)
print(np.allclose(rain.mean("place"), counts.to_numpy().mean(axis=2)))
print(float(rain.max()) == counts.max(), rain.stack(where=("sensor", "place")).shape)
table = xr.Dataset({"rain": rain, "double": 2 * rain})
print(bool((table["double"].sum() == 2 * table["rain"].sum()).item()))
