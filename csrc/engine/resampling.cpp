// Weighted sums along one dimension of space after the other.
#include "engine/resampling.hpp"

#include "engine/kernels.hpp"
#include "engine/op_node.hpp"

namespace gradlife::ops {
namespace {

// A contiguous tensor as rows of `inner` elements: `outer` blocks of as many rows as the dimension is long.
struct Blocks {
  int64_t outer, inner;
};

Blocks blocks_of(const TensorImpl& a, size_t dim) {
  Blocks blocks{1, 1};
  for (size_t i = 0; i < dim; ++i) blocks.outer *= a.sizes()[i];
  for (size_t i = dim + 1; i < a.dim(); ++i) blocks.inner *= a.sizes()[i];
  return blocks;
}

Tensor with_length(const Tensor& a, size_t dim, int64_t length) {
  Dims sizes = a->sizes();
  sizes[dim] = length;
  return full(sizes, 0, a->dtype());
}

// to[i] += weight * from[place] for each term of place i; `back`: to[place] += weight * from[i].
Tensor along(const Tensor& a, size_t dim, const Stretch& stretch, const ResamplingTable& table, bool back) {
  const Tensor result = with_length(a, dim, back ? stretch.from : stretch.to);
  const Blocks blocks = blocks_of(*a, dim);
  const int64_t a_length = a->sizes()[dim], length = result->sizes()[dim];
  kernels::dispatch_floats(a->dtype(), "upsample", [&](auto zero) {
    using T = decltype(zero);
    for (int64_t block = 0; block < blocks.outer; ++block) {
      const T* from = a->data<T>() + block * a_length * blocks.inner;
      T* to = result->data<T>() + block * length * blocks.inner;
      for (int64_t i = 0; i < stretch.to; ++i)
        for (size_t term = table.starts[static_cast<size_t>(i)]; term < table.starts[static_cast<size_t>(i) + 1];
             ++term) {
          const T weight = static_cast<T>(table.weights[term]);
          const T* source = from + (back ? i : table.places[term]) * blocks.inner;
          T* target = to + (back ? table.places[term] : i) * blocks.inner;
          for (int64_t k = 0; k < blocks.inner; ++k) target[k] += weight * source[k];
        }
    }
  });
  return result;
}

Tensor through(const Tensor& a, Resampling kind, const std::vector<Stretch>& stretches, bool back) {
  const GradMode off(false);
  Tensor result = contiguous(a);
  const size_t first = a->dim() - stretches.size();
  for (size_t i = stretches.size(); i-- > 0;) {
    const ResamplingTable table = resampling_table(kind, stretches[i], a->dtype());
    result = along(result, first + i, stretches[i], table, back);
  }
  return result;
}

// Where PyTorch has a kernel that takes as many or twice as many places in order.
Resampling in_order(Resampling kind) { return kind == Resampling::nearest ? Resampling::nearest_in_order : kind; }

}  // namespace

Tensor resampled(const Tensor& a, Resampling kind, const std::vector<Stretch>& stretches) {
  const bool is_small_picture = stretches.size() == 2 && stretches[0].to + stretches[1].to <= 128;
  return through(a, is_small_picture ? in_order(kind) : kind, stretches, false);
}

Tensor resampled_back(const Tensor& gradient, Resampling kind, const std::vector<Stretch>& stretches) {
  return through(gradient, in_order(kind), stretches, true);
}

}  // namespace gradlife::ops
