// The sum of the last two columns is 22; loops over the slice stop at the first coordinate that is not below its size.
#CSR = #sparse_tensor.encoding<{ map = (i, j) -> (i : dense, j : compressed) }>
#SLICE = #sparse_tensor.encoding<{
  map = (i : #sparse_tensor<slice(0, 2, 1)>, j : #sparse_tensor<slice(2, 2, 1)>) -> (i : dense, j : compressed)
}>

func.func @main() -> f64 attributes {llvm.emit_c_interface} {
  %d = arith.constant dense<[[1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0]]> : tensor<2x4xf64>
  %A = sparse_tensor.convert %d : tensor<2x4xf64> to tensor<2x4xf64, #CSR>
  %S = tensor.extract_slice %A[0, 2] [2, 2] [1, 1] : tensor<2x4xf64, #CSR> to tensor<2x2xf64, #SLICE>
  %z = arith.constant dense<0.0> : tensor<f64>
  %s = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> ()>],
    iterator_types = ["reduction", "reduction"]} ins(%S : tensor<2x2xf64, #SLICE>) outs(%z : tensor<f64>) {
  ^bb0(%a: f64, %t: f64):
    %1 = arith.addf %t, %a : f64
    linalg.yield %1 : f64
  } -> tensor<f64>
  %r = tensor.extract %s[] : tensor<f64>
  return %r : f64
}
