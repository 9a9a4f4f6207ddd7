// Gradients of views that permute dimensions, or add or remove dimensions of size 1.
#pragma once

#include <algorithm>

#include "engine/backward/op_node.hpp"
#include "engine/ops/ops.hpp"

namespace gradlife::ops {

struct Transposed {
  int64_t dim0;
  int64_t dim1;
  static constexpr const char* in_place_name = "TransposeBackward1";
  inline static const NodeSpec& spec = node_spec("TransposeBackward0", {saved_number("dim0"), saved_number("dim1")});
  SavedValue value(size_t field) const { return saved(field == 0 ? dim0 : dim1); }
  Tensor gradient(const Tensor& gradient) const { return transpose(gradient, dim0, dim1); }
};

struct MatrixTransposed {
  static constexpr const char* in_place_name = "TBackward1";
  inline static const NodeSpec& spec = node_spec("TBackward0");
  SavedValue value(size_t) const { return {}; }
  Tensor gradient(const Tensor& gradient) const { return t(gradient); }
};

struct Permuted {
  Dims dims;
  inline static const NodeSpec& spec = node_spec("PermuteBackward0", {saved_number("dims")});
  SavedValue value(size_t) const { return saved(dims); }
  Tensor gradient(const Tensor& gradient) const {
    Dims inverse(dims.size());
    for (size_t i = 0; i < dims.size(); ++i)
      inverse[static_cast<size_t>(wrap_dim(dims[i], dims.size()))] = static_cast<int64_t>(i);
    return permute(gradient, inverse);
  }
};

struct Unsqueezed {
  int64_t dim;
  static constexpr const char* in_place_name = "UnsqueezeBackward1";
  inline static const NodeSpec& spec = node_spec("UnsqueezeBackward0", {saved_number("dim")});
  SavedValue value(size_t) const { return saved(dim); }
  Tensor gradient(const Tensor& gradient) const { return squeeze(gradient, dim); }
};

inline Tensor unsqueeze_to(const Tensor& gradient, const Dims& sizes, const Dims& dims) {
  Tensor result = gradient;
  for (size_t i = 0; i < sizes.size(); ++i) {
    const auto is_this = [&](int64_t dim) { return static_cast<size_t>(wrap_dim(dim, sizes.size())) == i; };
    if (sizes[i] == 1 && std::any_of(dims.begin(), dims.end(), is_this))
      result = unsqueeze(result, static_cast<int64_t>(i));
  }
  return result;
}

inline Dims every_dim(size_t count) {
  Dims dims;
  for (size_t i = 0; i < count; ++i) dims.push_back(static_cast<int64_t>(i));
  return dims;
}

struct SqueezedAll {
  Dims sizes;
  static constexpr const char* in_place_name = "SqueezeBackward3";
  inline static const NodeSpec& spec = node_spec("SqueezeBackward0", {saved_number("self_sym_sizes")});
  SavedValue value(size_t) const { return saved(sizes); }
  Tensor gradient(const Tensor& gradient) const { return unsqueeze_to(gradient, sizes, every_dim(sizes.size())); }
};

struct SqueezedDim {
  int64_t dim;
  Dims sizes;
  static constexpr const char* in_place_name = "SqueezeBackward4";
  inline static const NodeSpec& spec =
      node_spec("SqueezeBackward1", {saved_number("dim"), saved_number("self_sym_sizes")});
  SavedValue value(size_t field) const { return field == 0 ? saved(dim) : saved(sizes); }
  Tensor gradient(const Tensor& gradient) const {
    return sizes.empty() ? gradient : unsqueeze_to(gradient, sizes, {dim});
  }
};

struct SqueezedDims {
  Dims dims;
  Dims sizes;
  static constexpr const char* in_place_name = "SqueezeBackward5";
  inline static const NodeSpec& spec =
      node_spec("SqueezeBackward2", {saved_number("dim"), saved_number("self_sym_sizes")});
  SavedValue value(size_t field) const { return field == 0 ? saved(dims) : saved(sizes); }
  Tensor gradient(const Tensor& gradient) const { return unsqueeze_to(gradient, sizes, dims); }
};

}  // namespace gradlife::ops
