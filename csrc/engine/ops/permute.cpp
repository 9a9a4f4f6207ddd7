// Views with permuted dimensions, and with dimensions of size 1 added or removed.
#include <algorithm>

#include "engine/ops/kernels/strided_loops.hpp"
#include "engine/ops/permute_rules.hpp"

namespace gradlife::ops {
namespace {

template <class Rule>
Tensor window(const Tensor& source, const Dims& sizes, const Dims& strides, Rule rule) {
  return recorded(make_view(source, sizes, strides, source->offset()), source, std::move(rule));
}

}  // namespace

Tensor transpose(const Tensor& a, int64_t dim0, int64_t dim1) {
  refuse_forbidden_view_of(a);
  const size_t first = static_cast<size_t>(wrap_dim(dim0, a->dim()));
  const size_t second = static_cast<size_t>(wrap_dim(dim1, a->dim()));
  Dims sizes = a->sizes();
  Dims strides = a->strides();
  if (a->dim() > 0) {
    std::swap(sizes[first], sizes[second]);
    std::swap(strides[first], strides[second]);
  }
  const ViewFromWatcher answer("transpose.int", a, dim0, dim1);
  return made_by(window(a, sizes, strides, Transposed{dim0, dim1}), a,
                 [dim0, dim1](const Tensor& t) { return transpose(t, dim0, dim1); });
}

Tensor t(const Tensor& a) {
  refuse_forbidden_view_of(a);
  require(a->dim() <= 2, "t() expects a tensor with <= 2 dimensions, but self is ", a->dim(), "D");
  const bool is_matrix = a->dim() == 2;
  const Dims sizes = is_matrix ? Dims{a->sizes()[1], a->sizes()[0]} : a->sizes();
  const Dims strides = is_matrix ? Dims{a->strides()[1], a->strides()[0]} : a->strides();
  const ViewFromWatcher answer("t.default", a);
  return made_by(window(a, sizes, strides, MatrixTransposed()), a, t);
}

Tensor permute(const Tensor& a, const Dims& dims) {
  refuse_forbidden_view_of(a);
  require(dims.size() == a->dim(),
          "permute(sparse_coo): number of dimensions in the tensor input does not match the length of the desired "
          "ordering of dimensions i.e. input.dim() = ",
          a->dim(), " is not equal to len(dims) = ", dims.size());
  Dims sizes(dims.size());
  Dims strides(dims.size());
  std::array<bool, max_dims> is_taken{};
  for (size_t i = 0; i < dims.size(); ++i) {
    const size_t from = static_cast<size_t>(wrap_dim(dims[i], dims.size()));
    require(!is_taken[from], "permute(): duplicate dims are not allowed.");
    is_taken[from] = true;
    sizes[i] = a->sizes()[from];
    strides[i] = a->strides()[from];
  }
  const ViewFromWatcher answer("permute.default", a, dims);
  return made_by(window(a, sizes, strides, Permuted{dims}), a, [dims](const Tensor& t) { return permute(t, dims); });
}

Tensor unsqueeze(const Tensor& a, int64_t dim) {
  refuse_forbidden_view_of(a);
  const size_t at = static_cast<size_t>(wrap_dim(dim, a->dim() + 1));
  Dims sizes = a->sizes();
  Dims strides = a->strides();
  const int64_t stride = at < a->dim() ? sizes[at] * strides[at] : 1;
  sizes.insert(at, 1);
  strides.insert(at, stride);
  const ViewFromWatcher answer("unsqueeze.default", a, dim);
  return made_by(window(a, sizes, strides, Unsqueezed{dim}), a, [dim](const Tensor& t) { return unsqueeze(t, dim); });
}

namespace {

template <class Rule, class Drops>
Tensor without_ones(const Tensor& a, Rule rule, Drops drops) {
  Dims sizes;
  Dims strides;
  for (size_t i = 0; i < a->dim(); ++i) {
    if (a->sizes()[i] == 1 && drops(i)) continue;
    sizes.push_back(a->sizes()[i]);
    strides.push_back(a->strides()[i]);
  }
  return window(a, sizes, strides, std::move(rule));
}

}  // namespace

Tensor squeeze(const Tensor& a) {
  refuse_forbidden_view_of(a);
  const ViewFromWatcher answer("squeeze.default", a);
  return made_by(without_ones(a, SqueezedAll{a->sizes()}, [](size_t) { return true; }), a,
                 [](const Tensor& t) { return squeeze(t); });
}

Tensor squeeze(const Tensor& a, int64_t dim) {
  refuse_forbidden_view_of(a);
  const size_t at = static_cast<size_t>(wrap_dim(dim, a->dim()));
  const ViewFromWatcher answer("squeeze.dim", a, dim);
  return made_by(without_ones(a, SqueezedDim{dim, a->sizes()}, [at](size_t i) { return i == at; }), a,
                 [dim](const Tensor& t) { return squeeze(t, dim); });
}

Tensor squeeze(const Tensor& a, const Dims& dims) {
  refuse_forbidden_view_of(a);
  std::array<bool, max_dims> is_named{};
  for (int64_t dim : dims) is_named[static_cast<size_t>(wrap_dim(dim, a->dim()))] = true;
  const ViewFromWatcher answer("squeeze.dims", a, dims);
  return made_by(without_ones(a, SqueezedDims{dims, a->sizes()}, [&](size_t i) { return is_named[i]; }), a,
                 [dims](const Tensor& t) { return squeeze(t, dims); });
}

}  // namespace gradlife::ops
