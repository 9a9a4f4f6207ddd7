// as_strided: a view of a storage. Its gradient is laid out in a virtual storage and read through the input's strides.
#include <algorithm>

#include "engine/backward/op_node.hpp"
#include "engine/ops/kernels/strided_loops.hpp"
#include "engine/ops/ops.hpp"

namespace gradlife::ops {
namespace {

struct Geometry {
  Dims sizes;
  Dims strides;
  int64_t offset;
  // Returns one past the last storage element that the view reaches.
  int64_t end() const { return window_end(sizes, strides, offset); }
};

// Whether elements may overlap in memory: from the smallest stride on, a stride lies within the spanned range.
bool may_overlap(const Geometry& geometry) {
  std::array<bool, max_dims> is_seen{};
  int64_t reach = 0;
  for (size_t round = 0; round < geometry.sizes.size(); ++round) {
    size_t next = max_dims;
    for (size_t i = 0; i < geometry.sizes.size(); ++i)
      if (!is_seen[i] && (next == max_dims || geometry.strides[i] < geometry.strides[next])) next = i;
    is_seen[next] = true;
    if (geometry.sizes[next] == 1) continue;
    if (geometry.strides[next] <= reach) return true;
    reach += geometry.strides[next] * (geometry.sizes[next] - 1);
  }
  return false;
}

// Adds `values` up in a storage of `size` elements, each at its place in the window.
Tensor add_through(const Tensor& values, int64_t size, const Geometry& window);

struct AddedThrough {
  Geometry window;
  inline static const NodeSpec& spec = node_spec("WindowAddBackward0");
  SavedValue value(size_t) const { return {}; }
  Tensor gradient(const Tensor& gradient) const {
    const Tensor storage = contiguous(gradient);
    return as_strided(storage, window.sizes, window.strides, storage->offset() + window.offset);
  }
};

Tensor add_through(const Tensor& values, int64_t size, const Geometry& window) {
  Tensor storage = full({size}, 0, values->dtype());
  kernels::dispatch_floats(values->dtype(), "as_strided_backward", [&](auto zero) {
    using T = decltype(zero);
    const kernels::Loops loops = kernels::plan(window.sizes, {&values->strides(), &window.strides});
    const T* from = values->data<T>();
    T* to = storage->data<T>() + window.offset;
    kernels::run<2>(loops, [&](int64_t length, const int64_t* at) {
      for (int64_t i = 0; i < length; ++i)
        to[at[1] + i * kernels::row_stride(loops, 1)] += from[at[0] + i * kernels::row_stride(loops, 0)];
    });
  });
  return recorded(std::move(storage), values, AddedThrough{window});
}

// Returns the gradient without its repeated dimensions, and the window that it then fills.
Tensor without_repeats(Tensor gradient, Geometry* window) {
  for (size_t i = window->sizes.size(); i-- > 0;) {
    const bool is_one = window->sizes[i] == 1;
    if (!is_one && window->strides[i] != 0) continue;
    const int64_t dim = static_cast<int64_t>(i);
    gradient = is_one ? squeeze(gradient, dim) : sum(gradient, {dim}, false);
    window->sizes.erase(i);
    window->strides.erase(i);
  }
  return gradient;
}

// If several elements of the input share one place, divides that place's gradient among them.
Tensor shared_out(const Tensor& storage, const Geometry& input) {
  const GradMode no_grad(false);
  const Tensor once = full({}, 1, storage->dtype());
  const Tensor counts = add_through(expand(once, input.sizes), storage->numel(), input);
  return where(compare_number(Comparison::eq, counts, 0), once, counts);
}

Tensor gradient_through(Tensor gradient, Geometry input, Geometry window) {
  if (input.sizes.product() == 0 || window.sizes.product() == 0) return full(input.sizes, 0, gradient->dtype());
  const int64_t shared = std::min(input.offset, window.offset);
  input.offset -= shared;
  window.offset -= shared;
  gradient = without_repeats(std::move(gradient), &window);
  const int64_t size = std::max(input.end(), window.end());
  Tensor storage;
  if (may_overlap(window)) {
    storage = add_through(gradient, size, window);
  } else {
    storage = full({size}, 0, gradient->dtype());
    copy_in_place(as_strided(storage, window.sizes, window.strides, window.offset), gradient);
  }
  if (may_overlap(input)) storage = div(storage, shared_out(storage, input));
  return as_strided(storage, input.sizes, input.strides, input.offset);
}

struct Strided {
  Geometry input;
  Geometry window;
  std::optional<int64_t> offset;  // as requested; otherwise the input's
  static constexpr const char* in_place_name = "AsStridedBackward1";
  inline static const NodeSpec& spec =
      node_spec("AsStridedBackward0", {saved_number("size"), saved_number("storage_offset"), saved_number("stride")});
  SavedValue value(size_t field) const {
    return field == 0 ? saved(window.sizes) : field == 1 ? saved(offset) : saved(window.strides);
  }
  Tensor gradient(const Tensor& gradient) const { return gradient_through(gradient, input, window); }
};

void check_window(const TensorImpl& a, const Geometry& window) {
  require(window.sizes.size() == window.strides.size(), "mismatch in length of strides and shape");
  for (int64_t stride : window.strides)
    require(stride >= 0, "as_strided: Negative strides are not supported at the moment, got strides: ", window.strides);
  for (int64_t size : window.sizes)
    require(size >= 0, "Storage size calculation overflowed with sizes=", window.sizes,
            " and strides=", window.strides);
  require_count(window.sizes);
  require(window.offset >= 0, "Tensor: invalid storage offset ", window.offset);
  const int64_t item = static_cast<int64_t>(item_size(a.dtype()));
  const int64_t bytes = window.sizes.product() == 0 ? 0 : window.end() * item;
  require(bytes <= static_cast<int64_t>(a.storage()->bytes()), "setStorage: sizes ", window.sizes, ", strides ",
          window.strides, ", storage offset ", window.offset, ", and itemsize ", item, " requiring a storage size of ",
          bytes, " are out of bounds for storage of size ", a.storage()->bytes());
}

Geometry geometry_of(const TensorImpl& tensor) { return {tensor.sizes(), tensor.strides(), tensor.offset()}; }

}  // namespace

Tensor as_strided(const Tensor& a, const Dims& sizes, const Dims& strides, std::optional<int64_t> offset) {
  refuse_forbidden_view_of(a);
  const Geometry window{sizes, strides, offset.value_or(a->offset())};
  check_window(*a, window);
  return made_by(recorded(make_view(a, sizes, strides, window.offset), a, Strided{geometry_of(*a), window, offset}), a,
                 [=](const Tensor& t) { return as_strided(t, sizes, strides, offset); });
}

NodePtr as_strided_node(const Tensor& a, const TensorImpl& window) {
  NodePtr node = make_node<RuleNode<Strided>>(Strided{geometry_of(*a), geometry_of(window), window.offset()});
  node->set_next_edges(gradient_edges({&a}));
  node->add_input_metadata(window);
  return node;
}

}  // namespace gradlife::ops
