#include "copied_operands.hpp"

#include <algorithm>

namespace mlir_sparse::search {

std::vector<CopiedPointer> CopiedOperands::among(const Relations &relations, double most, const Estimates &estimates,
                                                 const MachineSteps &machine) {
  Relations sparse;
  for (const Relation &relation : relations)
    if (relation->sparse) sparse.push_back(relation);
  std::vector<CopiedPointer> found;
  if (sparse.size() < 2) return found;
  for (const Relation &one : sparse) {
    const bool meets = std::any_of(sparse.begin(), sparse.end(), [&](const Relation &other) {
      return other != one && one->variables.meets(other->variables);
    });
    if (!meets) continue;
    auto known = known_.find(one->number);
    if (known == known_.end()) known = known_.emplace(one->number, array_of(one, estimates, machine)).first;
    if (known->second && known->second->nanoseconds < most) found.push_back(known->second);
  }
  return found;
}

CopiedPointer CopiedOperands::array_of(const Relation &operand, const Estimates &estimates,
                                       const MachineSteps &machine) const {
  const double space = estimates.space(operand->variables);
  auto array = std::make_shared<const EntrySet>(EntrySet{operand->variables, space, false, {}, {}});
  if (!operand->in_memory || !room_.fits(*array, estimates)) return nullptr;
  const double write = space < machine.kept ? machine.write : machine.fresh_write;
  const double time = machine.call + operand->entries * (machine.walk + machine.look_up) + space * write;
  return std::make_shared<const CopiedOperand>(CopiedOperand{operand, array, time});
}

Relations with_copies(const Relations &relations, const std::vector<CopiedPointer> &copied) {
  Relations found = relations;
  for (Relation &relation : found)
    for (const CopiedPointer &one : copied)
      if (one->operand == relation) {
        relation = one->copy;
        break;
      }
  return found;
}

}  // namespace mlir_sparse::search
