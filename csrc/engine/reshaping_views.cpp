// Views that are made of other views: dimensions moved, one taken apart, a tensor split at places.
#include <algorithm>

#include "engine/rearranging.hpp"

namespace gradlife::ops {
namespace {

Dims wrapped(const Dims& dims, const Tensor& a, const char* which) {
  Dims result;
  std::array<bool, max_dims> is_named{};
  for (int64_t given : dims) {
    const int64_t dim = wrap_dim(given, a->dim());
    require(!is_named[static_cast<size_t>(dim)], "movedim: repeated dim in `", which, "` (", dims, ")");
    is_named[static_cast<size_t>(dim)] = true;
    result.push_back(dim);
  }
  return result;
}

}  // namespace

Tensor movedim(const Tensor& a, const Dims& from, const Dims& to) {
  require(from.size() == to.size(), "movedim: Invalid source or destination dims: source (", from,
          " dims) should contain the same number of dims as destination (", to, " dims)");
  const Dims source = wrapped(from, a, "source");
  const Dims target = wrapped(to, a, "destination");
  if (a->dim() == 0) return view_as_itself(a);
  Dims order(a->dim(), -1);
  for (size_t i = 0; i < source.size(); ++i) order[static_cast<size_t>(target[i])] = source[i];
  int64_t next = 0;
  for (int64_t& place : order) {
    if (place >= 0) continue;
    while (std::find(source.begin(), source.end(), next) != source.end()) ++next;
    place = next++;
  }
  return permute(a, order);
}

Tensor unflatten(const Tensor& a, int64_t given_dim, const Dims& wanted) {
  const int64_t dim = wrap_dim(given_dim, a->dim());
  require(!wanted.empty(), "unflatten: sizes must be non-empty");
  const int64_t size = a->dim() == 0 ? 1 : a->sizes()[static_cast<size_t>(dim)];
  int64_t known = 1;
  for (int64_t each : wanted) known *= each == -1 ? 1 : each;
  const bool has_unknown = std::find(wanted.begin(), wanted.end(), -1) != wanted.end();
  require(has_unknown ? known > 0 && size % known == 0 : known == size, "unflatten: Provided sizes ", wanted,
          " don't multiply up to the size of dim ", dim, " (", size, ") in the input tensor");
  Dims sizes = a->sizes();
  if (!sizes.empty()) sizes.erase(static_cast<size_t>(dim));
  for (size_t i = 0; i < wanted.size(); ++i)
    sizes.insert(static_cast<size_t>(dim) + i, wanted[i] == -1 ? size / known : wanted[i]);
  return view(a, sizes);
}

TensorList tensor_split(const Tensor& a, int64_t sections, int64_t given_dim) {
  require(a->dim() > 0, "tensor_split expected at least a 1-dimensional tensor, but got a tensor with ", a->dim(),
          " dims");
  const int64_t dim = wrap_dim(given_dim, a->dim());
  require(sections > 0, "number of sections must be larger than 0, got ", sections);
  const int64_t size = a->sizes()[static_cast<size_t>(dim)];
  TensorList parts;
  int64_t start = 0;
  for (int64_t i = 0; i < sections; ++i) {
    const int64_t length = size / sections + (i < size % sections ? 1 : 0);
    parts.push_back(slice(a, dim, start, start + length, 1));
    start += length;
  }
  return parts;
}

TensorList tensor_split_at(const Tensor& a, const Dims& places, int64_t given_dim) {
  require(a->dim() > 0, "tensor_split expected at least a 1-dimensional tensor, but got a tensor with ", a->dim(),
          " dims");
  const int64_t dim = wrap_dim(given_dim, a->dim());
  TensorList parts;
  int64_t start = 0;
  for (int64_t place : places) {
    parts.push_back(slice(a, dim, start, place, 1));
    start = place;
  }
  parts.push_back(slice(a, dim, start, a->sizes()[static_cast<size_t>(dim)], 1));
  return parts;
}

}  // namespace gradlife::ops
