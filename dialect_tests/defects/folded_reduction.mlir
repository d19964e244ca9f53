#CSR = #sparse_tensor.encoding<{map = (i, j) -> (i : dense, j : compressed)}>
#matvec = {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (i)>],
           iterator_types = ["parallel", "reduction"]}
func.func @f(%A: tensor<?x?xi64, #CSR>, %x: tensor<?xi64>, %y: tensor<?xi64>) -> tensor<?xi64> {
  %r = linalg.generic #matvec ins(%A, %x : tensor<?x?xi64, #CSR>, tensor<?xi64>) outs(%y : tensor<?xi64>) {
  ^bb0(%a: i64, %b: i64, %c: i64):
    linalg.yield %c : i64
  } -> tensor<?xi64>
  return %r : tensor<?xi64>
}
