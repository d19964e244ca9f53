#CSR = #sparse_tensor.encoding<{ map = (i, j) -> (i : dense, j : compressed) }>

func.func @spmv(%A: tensor<?x?xf64, #CSR>, %x: tensor<?xf64>, %y: tensor<?xf64>) -> tensor<?xf64> {
  %0 = linalg.matvec ins(%A, %x : tensor<?x?xf64, #CSR>, tensor<?xf64>) outs(%y : tensor<?xf64>) -> tensor<?xf64>
  return %0 : tensor<?xf64>
}

func.func @hello() {
  %v = arith.constant dense<[1, 2]> : vector<2xi32>
  vector.print %v : vector<2xi32>
  return
}

func.func private @rtclock() -> f64

func.func @forever() {
  %t = arith.constant true
  scf.while : () -> () {
    %0 = func.call @rtclock() : () -> f64
    scf.condition(%t)
  } do {
    scf.yield
  }
  return
}

func.func @wild() {
  %nowhere = llvm.mlir.zero : !llvm.ptr
  %0 = llvm.load volatile %nowhere : !llvm.ptr -> i64
  vector.print %0 : i64
  return
}

func.func private @getTensorFilename(index) -> (!llvm.ptr)

func.func @show() {
  %c0 = arith.constant 0 : index
  %name = call @getTensorFilename(%c0) : (index) -> (!llvm.ptr)
  %A = sparse_tensor.new %name : !llvm.ptr to tensor<?x?xf64, #CSR>
  sparse_tensor.print %A : tensor<?x?xf64, #CSR>
  bufferization.dealloc_tensor %A : tensor<?x?xf64, #CSR>
  return
}
