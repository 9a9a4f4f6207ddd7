// Views in other shapes: view, reshape, expand.
#include "engine/backward/op_node.hpp"
#include "engine/ops/index.hpp"
#include "engine/ops/kernels/strided_loops.hpp"
#include "engine/ops/ops.hpp"

namespace gradlife::ops {
namespace {

struct Reshaped {
  Dims sizes;
  inline static const NodeSpec& spec = node_spec("ViewBackward0", {saved_number("self_sym_sizes")});
  SavedValue value(size_t) const { return saved(sizes); }
  Tensor gradient(const Tensor& gradient) const { return reshape(gradient, sizes); }
};

struct ReshapedAlias {
  Dims sizes;
  inline static const NodeSpec& spec = node_spec("ReshapeAliasBackward0", {saved_number("self_sym_sizes")});
  SavedValue value(size_t) const { return saved(sizes); }
  Tensor gradient(const Tensor& gradient) const { return reshape(gradient, sizes); }
};

struct Aliased {
  inline static const NodeSpec& spec = node_spec("AliasBackward0");
  SavedValue value(size_t) const { return {}; }
  Tensor gradient(const Tensor& gradient) const { return gradient; }
};

struct Expanded {
  Dims sizes;
  inline static const NodeSpec& spec = node_spec("ExpandBackward0", {saved_number("self_sym_sizes")});
  SavedValue value(size_t) const { return saved(sizes); }
  Tensor gradient(const Tensor& gradient) const { return sum_to_size(gradient, sizes); }
};

template <class Rule>
Tensor window(const Tensor& source, const Dims& sizes, const Dims& strides, Rule rule) {
  return recorded(make_view(source, sizes, strides, source->offset()), source, std::move(rule));
}

Dims infer_sizes(const Dims& wanted, int64_t numel) {
  Dims sizes = wanted;
  int64_t known = 1;
  int64_t inferred = -1;
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (wanted[i] == -1) {
      require(inferred < 0, "only one dimension can be inferred");
      inferred = static_cast<int64_t>(i);
    } else {
      require(wanted[i] >= 0, "invalid shape dimension ", wanted[i], " at index ", i, " of shape ", wanted);
      known *= wanted[i];
    }
  }
  const bool fits = inferred < 0 ? known == numel : known > 0 ? numel % known == 0 : numel == 0;
  require(fits, "shape '", wanted, "' is invalid for input of size ", numel);
  if (inferred < 0) return sizes;
  require(known != 0, "cannot reshape tensor of 0 elements into shape ", wanted,
          " because the unspecified dimension size -1 can be any value and is ambiguous");
  sizes[static_cast<size_t>(inferred)] = numel / known;
  return sizes;
}

// Finds strides with which the elements in memory have `sizes`; false: they must be copied. Works on groups of old
// dimensions that are contiguous in memory, and splits each into the new dimensions that it fills.
bool view_strides(const TensorImpl& tensor, const Dims& sizes, Dims* strides) {
  *strides = contiguous_strides(sizes);
  if (tensor.numel() == 0) {
    if (tensor.sizes() == sizes) *strides = tensor.strides();
    return true;
  }
  if (tensor.dim() == 0) return true;
  size_t next = sizes.size();  // new dimensions from here on have strides
  int64_t base = tensor.strides()[tensor.dim() - 1];
  int64_t available = 1;
  int64_t used = 1;
  for (size_t dim = tensor.dim(); dim-- > 0;) {
    available *= tensor.sizes()[dim];
    const bool ends = dim == 0 || (tensor.sizes()[dim - 1] != 1 && tensor.strides()[dim - 1] != available * base);
    if (!ends) continue;
    while (next > 0 && (used < available || sizes[next - 1] == 1)) {
      next -= 1;
      (*strides)[next] = used * base;
      used *= sizes[next];
    }
    if (used != available) return false;
    if (dim > 0) base = tensor.strides()[dim - 1];
    available = used = 1;
  }
  return next == 0;
}

}  // namespace

Tensor view(const Tensor& a, const Dims& wanted) {
  refuse_forbidden_view_of(a);
  const Dims sizes = infer_sizes(wanted, a->numel());
  Dims strides;
  require(view_strides(*a, sizes, &strides),
          "view size is not compatible with input tensor's size and stride (at least one dimension spans across two "
          "contiguous subspaces). Use .reshape(...) instead.");
  const ViewFromWatcher answer("view.default", a, wanted);
  return made_by(window(a, sizes, strides, Reshaped{a->sizes()}), a,
                 [sizes](const Tensor& t) { return view(t, sizes); });
}

Tensor view_as_itself(const Tensor& a) {
  const ViewFromWatcher answer("alias.default", a);
  return made_by(window(a, a->sizes(), a->strides(), Aliased()), a, view_as_itself);
}

Tensor reshape(const Tensor& a, const Dims& wanted) {
  if (a->is_contiguous() && !has(*current_policy(), traits::reshape_is_alias)) return view(a, wanted);
  const Dims sizes = infer_sizes(wanted, a->numel());
  Dims strides;
  if (view_strides(*a, sizes, &strides)) {
    const ViewFromWatcher answer("view.default", a, sizes);
    return made_by(window(a, sizes, strides, ReshapedAlias{a->sizes()}), a,
                   [sizes](const Tensor& t) { return reshape(t, sizes); });
  }
  return unsafe_view(clone_contiguous(a), sizes);
}

Tensor expand(const Tensor& a, const Dims& wanted) {
  refuse_forbidden_view_of(a);
  require(wanted.size() >= a->dim(), "expand(", legacy_type_name(a->dtype()), "{", a->sizes(), "}, size=", wanted,
          "): the number of sizes provided (", wanted.size(),
          ") must be greater or equal to the number of dimensions in the tensor (", a->dim(), ")");
  Dims sizes = wanted;
  Dims strides(wanted.size());
  const size_t leading = wanted.size() - a->dim();
  for (size_t i = wanted.size(); i-- > 0;) {
    require(wanted[i] >= 0 || (wanted[i] == -1 && i >= leading), "The expanded size of the tensor (", wanted[i],
            ") isn't allowed in a leading, non-existing dimension ", i);
    const bool is_new = i < leading;
    const int64_t size = is_new ? 1 : a->sizes()[i - leading];
    const int64_t new_stride = i + 1 < wanted.size() && a->dim() > 0 ? sizes[i + 1] * strides[i + 1] : 0;
    if (wanted[i] == -1) sizes[i] = size;
    require(size == 1 || size == sizes[i], "The expanded size of the tensor (", wanted[i],
            ") must match the existing size (", size, ") at non-singleton dimension ", i, ".  Target sizes: ", wanted,
            ".  Tensor sizes: ", a->sizes());
    if (size == sizes[i]) strides[i] = is_new ? new_stride : a->strides()[i - leading];
  }
  require_count(sizes);
  const ViewFromWatcher answer("expand.default", a, wanted);
  return made_by(window(a, sizes, strides, Expanded{a->sizes()}), a,
                 [sizes](const Tensor& t) { return expand(t, sizes); });
}

namespace {

// Views each repeated dimension as (repeats, size), and adds up the repeats.
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
  inline static const NodeSpec& spec =
      node_spec("RepeatBackward0", {saved_number("repeats"), saved_number("self_sym_sizes")});
  SavedValue value(size_t field) const { return saved(field == 0 ? repeats : sizes); }
  Tensor gradient(const Tensor& gradient) const {
    for (int64_t repeat : repeats)
      if (repeat == 0) return zero_in_place(empty(sizes, gradient->dtype()));
    return gradient_of_repeat(gradient, sizes, repeats);
  }
};

// Views each dimension as (repeats, size): copies with stride 0 along the first.
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
  for (size_t i = 0; i < a->dim(); ++i)
    require(!__builtin_mul_overflow(sizes[leading + i], a->sizes()[i], &sizes[leading + i]),
            "numel: integer multiplication overflow");
  require_sizes(sizes);
  Tensor result = empty(sizes, a->dtype());
  if (result->numel() != 0) copy_repeated(*result, *a, repeats);
  return recorded(std::move(result), a, Repeated{a->sizes(), repeats});
}

}  // namespace gradlife::ops
