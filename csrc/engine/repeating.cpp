// repeat, tile, repeat_interleave.
#include "engine/indexing.hpp"
#include "engine/rearranging.hpp"

namespace gradlife::ops {
namespace {

// Each repeated dimension as (repeats, size), and the repeats added up.
Tensor gradient_of_repeat(Tensor gradient, const Dims& sizes, const Dims& repeats) {
  const size_t leading = repeats.size() - sizes.size();
  for (size_t i = 0; i < leading; ++i) gradient = sum(gradient, {0}, false);
  Dims split;
  Dims added;
  for (size_t i = 0; i < sizes.size(); ++i) {
    const int64_t repeat = repeats[leading + i];
    if (repeat != 1) {
      added.push_back(static_cast<int64_t>(split.size()));
      split.push_back(repeat);
    }
    split.push_back(sizes[i]);
  }
  return added.empty() ? gradient : sum(reshape(gradient, split), added, false);
}

struct Repeated {
  Dims sizes;
  Dims repeats;
  static const NodeSpec& spec() {
    static const NodeSpec& spec =
        node_spec("RepeatBackward0", {saved_number("repeats"), saved_number("self_sym_sizes")});
    return spec;
  }
  SavedValue value(size_t field) const { return saved(field == 0 ? repeats : sizes); }
  Tensor gradient(const Tensor& gradient) const {
    for (int64_t repeat : repeats)
      if (repeat == 0) return zero_in_place(empty(sizes, gradient->dtype()));
    return gradient_of_repeat(gradient, sizes, repeats);
  }
};

// Each dimension as (repeats, size): a copy with stride 0 along the first.
void copy_repeated(const TensorImpl& to, const TensorImpl& from, const Dims& repeats) {
  const size_t leading = repeats.size() - from.dim();
  Dims read(to.dim());
  for (size_t i = 0; i < from.dim(); ++i) read[leading + i] = from.strides()[i];

  int64_t rounds = repeats.product();
  Dims round(repeats.size());
  while (rounds-- > 0) {
    Dims sizes = to.sizes();
    int64_t offset = to.offset();
    for (size_t i = 0; i < sizes.size(); ++i) {
      sizes[i] = i < leading ? 1 : from.sizes()[i - leading];
      offset += round[i] * sizes[i] * to.strides()[i];
    }
    kernels::copy(*make<TensorImpl>(to.storage(), to.dtype(), sizes, to.strides(), offset), from);
    for (size_t i = round.size(); i-- > 0;) {
      if (++round[i] < repeats[i]) break;
      round[i] = 0;
    }
  }
}

}  // namespace

Tensor repeat(const Tensor& a, const Dims& repeats) {
  refuse_forbidden_view_of(a);
  require(repeats.size() >= a->dim(),
          "Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor");
  const size_t leading = repeats.size() - a->dim();
  Dims sizes = repeats;
  for (size_t i = 0; i < a->dim(); ++i) sizes[leading + i] *= a->sizes()[i];
  require_sizes(sizes);
  Tensor result = empty(sizes, a->dtype());
  if (result->numel() != 0) copy_repeated(*result, *a, repeats);
  return recorded(std::move(result), a, Repeated{a->sizes(), repeats});
}

Tensor tile(const Tensor& a, const Dims& given) {
  Dims repeats = given;
  while (repeats.size() < a->dim()) repeats.insert(0, 1);
  return repeat(a, repeats);
}

Tensor repeat_interleave(const Tensor& a, int64_t repeats, const int64_t* given_dim) {
  const Tensor input = given_dim != nullptr ? a : flatten(a, 0, -1);
  require(repeats >= 0, "Repeats must be non-negative");
  const int64_t dim = wrap_dim(given_dim != nullptr ? *given_dim : 0, input->dim());
  const Tensor widened = unsqueeze(input, dim + 1);
  Dims sizes = widened->sizes();
  sizes[static_cast<size_t>(dim) + 1] = repeats;
  return flatten(clone_contiguous(expand(widened, sizes)), dim, dim + 1);
}

Tensor repeated_positions(const Tensor& repeats) {
  require(repeats->dim() == 1, "repeat_interleave only accept 1D vector as repeat");
  if (repeats->dtype() != DType::int64 && repeats->dtype() != DType::int32)
    fail(ErrorKind::not_implemented, "\"repeat_interleave_cpu\" not implemented for '",
         kernels::scalar_type_name(repeats->dtype()), "'");
  const Tensor counts = contiguous(to_dtype(repeats, DType::int64));
  int64_t total = 0;
  for (int64_t i = 0; i < counts->numel(); ++i) {
    require(counts->data<int64_t>()[i] >= 0, "repeats can not be negative");
    total += counts->data<int64_t>()[i];
  }
  Tensor result = empty({total}, DType::int64);
  int64_t* to = result->data<int64_t>();
  for (int64_t i = 0; i < counts->numel(); ++i)
    for (int64_t n = 0; n < counts->data<int64_t>()[i]; ++n) *to++ = i;
  return result;
}

Tensor repeat_interleave(const Tensor& a, const Tensor& repeats, const int64_t* given_dim) {
  const Tensor input = given_dim != nullptr ? a : flatten(a, 0, -1);
  const int64_t dim = wrap_dim(given_dim != nullptr ? *given_dim : 0, input->dim());
  const int64_t size = input->sizes()[static_cast<size_t>(dim)];
  require(repeats->dim() <= 1, "repeats must be 0-dim or 1-dim tensor");
  Tensor counts = repeats;
  if (repeats->numel() == 1) {
    counts = expand(reshape(repeats, {1}), {size});
  } else {
    require(repeats->numel() == size,
            "repeats must have the same size as input along dim, but got repeats.size(0) = ", repeats->numel(),
            " and input.size(", dim, ") = ", size);
  }
  return index_select(input, dim, repeated_positions(counts));
}

}  // namespace gradlife::ops
