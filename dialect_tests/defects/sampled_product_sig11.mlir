#SM = #sparse_tensor.encoding<{ map = (d0, d1) -> (d0 : compressed, d1 : compressed) }>
#matmul = {
  indexing_maps = [affine_map<(k, i, j) -> (i, k)>, affine_map<(k, i, j) -> (k, j)>, affine_map<(k, i, j) -> (i, j)>],
  iterator_types = ["reduction", "parallel", "parallel"]
}
#scale = {
  indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>],
  iterator_types = ["parallel", "parallel"]
}

// A dense product that is used once, by its sampling: the sparsifier fuses the two and dies.
func.func @kernel(%s: tensor<8x8xf64, #SM>, %a: tensor<8x8xf64>, %b: tensor<8x8xf64>) -> tensor<8x8xf64> {
  %zero = arith.constant dense<0.0> : tensor<8x8xf64>
  %product = linalg.generic #matmul ins(%a, %b : tensor<8x8xf64>, tensor<8x8xf64>) outs(%zero : tensor<8x8xf64>) {
  ^bb0(%x: f64, %y: f64, %sum: f64):
    %p = arith.mulf %x, %y : f64
    %q = arith.addf %sum, %p : f64
    linalg.yield %q : f64
  } -> tensor<8x8xf64>
  %sampled = linalg.generic #scale
      ins(%product, %s : tensor<8x8xf64>, tensor<8x8xf64, #SM>) outs(%zero : tensor<8x8xf64>) {
  ^bb0(%x: f64, %y: f64, %old: f64):
    %p = arith.mulf %x, %y : f64
    linalg.yield %p : f64
  } -> tensor<8x8xf64>
  return %sampled : tensor<8x8xf64>
}
