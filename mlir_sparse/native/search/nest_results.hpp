// What the result of a loop nest is to loops that read it.
#pragma once

#include "copied_operands.hpp"

namespace mlir_sparse::search {

// The result of a loop nest over operands as an operand of another, by its variables and what the nest takes.
Relation result_of(const Relations &operands, const Bits &kept, const NestTime &nest);

}  // namespace mlir_sparse::search
