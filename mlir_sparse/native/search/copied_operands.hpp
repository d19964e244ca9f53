// Operands that a loop nest reads from a copy in other storage, as that takes less time, the copy included.
//
// Loops over entries of several sparse operands meet their rows entry by entry. An array is looked up, or gone over by
// vectors: where a sparse operand is small or nearly full, a copy of it as an array takes less time than its meetings.
#pragma once

#include <memory>
#include <unordered_map>
#include <vector>

#include "loop_times.hpp"
#include "part_room.hpp"

namespace mlir_sparse::search {

// Which operands may be copied, each copied once.
class CopiedOperands {
 public:
  explicit CopiedOperands(const PartRoom &room) : room_(room) {}

  // The operands that loops meet with others, of which a copy takes less than a time to make.
  std::vector<CopiedPointer> among(const Relations &relations, double most, const Estimates &estimates,
                                   const MachineSteps &machine);

 private:
  CopiedPointer array_of(const Relation &operand, const Estimates &estimates, const MachineSteps &machine) const;

  PartRoom room_;
  std::unordered_map<std::uint64_t, CopiedPointer> known_;
};

// Operands with copies in the place of those that are copied.
Relations with_copies(const Relations &relations, const std::vector<CopiedPointer> &copied);

}  // namespace mlir_sparse::search
