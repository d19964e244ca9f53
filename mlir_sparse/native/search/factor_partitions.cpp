#include "factor_partitions.hpp"

#include <algorithm>

#include "factor_sets.hpp"

namespace mlir_sparse::search {

namespace {

std::vector<Partition> all_partitions(const std::vector<int> &places) {
  if (places.empty()) return {{}};
  std::vector<Partition> found;
  const int rest = static_cast<int>(places.size()) - 1;
  for (int size = 0; size <= rest; ++size)
    for_each_choice(rest, size, [&](const std::vector<int> &chosen) {
      std::vector<int> first{places[0]}, left;
      for (int place = 0; place < rest; ++place) {
        const bool taken = std::find(chosen.begin(), chosen.end(), place) != chosen.end();
        (taken ? first : left).push_back(places[place + 1]);
      }
      for (Partition &parts : all_partitions(left)) {
        parts.insert(parts.begin(), first);
        found.push_back(std::move(parts));
      }
    });
  return found;
}

std::vector<std::vector<Partition>> made_partitions() {
  std::vector<std::vector<Partition>> found(kPartitioned + 1);
  std::vector<int> places;
  for (int factors = 0; factors <= kPartitioned; ++factors) {
    for (Partition &parts : all_partitions(places))
      if (parts.size() > 1 && parts.size() < places.size()) found[factors].push_back(std::move(parts));
    places.push_back(factors);
  }
  return found;
}

}  // namespace

const std::vector<Partition> &partitions_of_size(int factors) {
  static const std::vector<std::vector<Partition>> known = made_partitions();
  return known[factors];
}

std::vector<Parts> without_some(const Parts &made) {
  std::vector<std::size_t> singles;
  for (std::size_t place = 0; place < made.size(); ++place)
    if (is_single(made[place])) singles.push_back(place);
  std::vector<Parts> found;
  const int most = std::min(static_cast<int>(singles.size()), static_cast<int>(made.size()) - 1);
  for (int size = 1; size <= most; ++size)
    for_each_choice(static_cast<int>(singles.size()), size, [&](const std::vector<int> &chosen) {
      Parts parts;
      for (std::size_t place = 0; place < made.size(); ++place) {
        const bool left = std::any_of(chosen.begin(), chosen.end(), [&](int one) { return singles[one] == place; });
        if (!left) parts.push_back(made[place]);
      }
      found.push_back(std::move(parts));
    });
  return found;
}

bool SeenPartitions::is_new(const Parts &parts) {
  std::vector<std::vector<int>> key;
  for (const Members &part : parts) {
    std::vector<int> own;
    for (int one : part.factors) own.push_back(alike_[one]);
    std::sort(own.begin(), own.end());
    key.push_back(std::move(own));
  }
  std::sort(key.begin(), key.end());
  return seen_.insert(std::move(key)).second;
}

}  // namespace mlir_sparse::search
