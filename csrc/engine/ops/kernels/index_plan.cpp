#include "engine/ops/kernels/index_plan.hpp"

#include <vector>

#include "engine/graph/autograd.hpp"

namespace gradlife::kernels {
namespace {

void check_dtypes(const TensorList& indices) {
  for (const Tensor& index : indices)
    if (index && is_floating(index->dtype()))
      fail(ErrorKind::index, "tensors used as indices must be long, int, byte or bool tensors");
}

void check_mask(const TensorImpl& tensor, const TensorImpl& mask, size_t first_dim) {
  for (size_t i = 0; i < mask.dim(); ++i) {
    const size_t dim = first_dim + i;
    if (dim >= tensor.dim()) fail(ErrorKind::index, "too many indices for tensor of dimension ", tensor.dim());
    if (mask.sizes()[i] != tensor.sizes()[dim])
      fail(ErrorKind::index, "The shape of the mask ", mask.sizes(), " at index ", i,
           " does not match the shape of the indexed tensor ", tensor.sizes(), " at index ", dim);
  }
}

Tensor as_int64(const Tensor& index) {
  if (index->dtype() == DType::int64) return index;
  Tensor converted = allocate_like(*index, DType::int64);
  copy(*converted, *index);
  return converted;
}

// Replaces masks by the coordinates of their true elements: one index for each dimension of a mask.
TensorList without_masks(const TensorImpl& tensor, const TensorList& indices) {
  TensorList result;
  for (const Tensor& index : indices) {
    if (!index || index->dtype() != DType::boolean) {
      result.push_back(index ? as_int64(index) : Tensor());
      continue;
    }
    check_mask(tensor, *index, result.size());
    const Tensor columns = nonzero_columns(*index);
    const int64_t count = columns->sizes()[1];
    for (size_t dim = 0; dim < index->dim(); ++dim)
      result.push_back(alias(columns, {count}, {1}, static_cast<int64_t>(dim) * count));
  }
  if (result.size() > tensor.dim())
    fail(ErrorKind::index, "too many indices for tensor of dimension ", tensor.dim(), " (got ", result.size(), ")");
  return result;
}

std::string shapes_of(const TensorList& indices) {
  std::string text;
  for (const Tensor& index : indices)
    if (index) text += concat(text.empty() ? "" : ", ", index->sizes());
  return text;
}

Dims common_sizes(const TensorList& indices) {
  Dims sizes;
  try {
    for (const Tensor& index : indices)
      if (index) sizes = broadcast_sizes(sizes, index->sizes());
  } catch (const EngineError&) {
    fail(ErrorKind::index, "shape mismatch: indexing tensors could not be broadcast together with shapes ",
         shapes_of(indices));
  }
  return sizes;
}

// Returns the position of the index dimensions in the result: in place of adjacent indexed dimensions, else in front.
size_t place_of_indices(const TensorList& indices) {
  size_t first = indices.size();
  size_t last = 0;
  size_t count = 0;
  for (size_t i = 0; i < indices.size(); ++i) {
    if (!indices[i]) continue;
    first = std::min(first, i);
    last = i;
    ++count;
  }
  return last - first + 1 == count ? first : 0;
}

void add_offsets(const TensorImpl& offsets, const TensorImpl& index, size_t dim, int64_t size, int64_t stride) {
  const Dims index_strides = broadcast_strides(index.sizes(), index.strides(), offsets.sizes());
  const Loops loops = plan(offsets.sizes(), {&offsets.strides(), &index_strides});
  int64_t* to = offsets.data<int64_t>();
  const int64_t* from = index.data<int64_t>();
  run<2>(loops, [&](int64_t length, const int64_t* at) {
    for (int64_t i = 0; i < length; ++i) {
      const int64_t value = from[at[1] + i * row_stride(loops, 1)];
      if (value < -size || value >= size)
        fail(ErrorKind::index, "index ", value, " is out of bounds for dimension ", dim, " with size ", size);
      to[at[0] + i * row_stride(loops, 0)] += (value < 0 ? value + size : value) * stride;
    }
  });
}

// The dimensions of a plan: those before the indices, those of the indices, those after; one Dims per operand.
struct Layout {
  std::vector<size_t> kept;  // dimensions of the tensor that are not indexed
  size_t place;              // the number of them before the dimensions of the indices
  Dims joined(const Dims& of_tensor, const Dims& of_indices) const {
    Dims result;
    for (size_t i = 0; i < place; ++i) result.push_back(of_tensor[kept[i]]);
    for (int64_t value : of_indices) result.push_back(value);
    for (size_t i = place; i < kept.size(); ++i) result.push_back(of_tensor[kept[i]]);
    return result;
  }
};

Layout lay_out(const TensorImpl& tensor, const TensorList& indices) {
  Layout layout;
  layout.place = place_of_indices(indices);
  for (size_t dim = 0; dim < tensor.dim(); ++dim)
    if (dim >= indices.size() || !indices[dim]) layout.kept.push_back(dim);
  return layout;
}

Dims memory_order(const IndexPlan& plan, const Layout& layout, const TensorList& indices, const Dims& index_sizes) {
  const Dims none(max_dims);
  std::vector<Dims> strides{plan.strides};
  for (const Tensor& index : indices)
    if (index) strides.push_back(layout.joined(none, broadcast_strides(index->sizes(), index->strides(), index_sizes)));
  return strides_in_order(plan.sizes, strides.data(), strides.size());
}

}  // namespace

IndexPlan plan_index(const TensorImpl& tensor, const TensorList& given) {
  check_dtypes(given);
  const TensorList indices = without_masks(tensor, given);
  const Dims index_sizes = common_sizes(indices);
  const Layout layout = lay_out(tensor, indices);
  IndexPlan result;
  result.sizes = layout.joined(tensor.sizes(), index_sizes);
  result.strides = layout.joined(tensor.strides(), Dims(index_sizes.size()));
  result.offsets = empty(index_sizes, DType::int64);
  fill(*result.offsets, 0);
  result.offset_strides = layout.joined(Dims(max_dims), result.offsets->strides());
  result.memory_order = memory_order(result, layout, indices, index_sizes);
  for (size_t dim = 0; dim < indices.size(); ++dim)
    if (indices[dim] && tensor.sizes()[dim] == 0 && result.sizes.product() != 0)
      fail(ErrorKind::index, "index is out of bounds for dimension with size 0");
  result.indices = indices;
  return result;
}

void locate(IndexPlan& plan, const TensorImpl& tensor) {
  size_t number = 0;  // the number of the dimension in an error: only indexed ones count
  for (size_t dim = 0; dim < plan.indices.size(); ++dim) {
    if (!plan.indices[dim]) continue;
    add_offsets(*plan.offsets, *plan.indices[dim], number++, tensor.sizes()[dim], tensor.strides()[dim]);
  }
}

Tensor nonzero_columns(const TensorImpl& tensor) {
  std::vector<int64_t> found;  // the coordinates, one element after another
  int64_t count = 0;
  int64_t position[max_dims] = {};
  dispatch(tensor.dtype(), [&](auto zero) {
    const auto* from = tensor.data<decltype(zero)>();
    int64_t offset = 0;
    for (int64_t i = 0; i < tensor.numel(); ++i) {
      if (from[offset] != zero) {
        found.insert(found.end(), position, position + tensor.dim());
        ++count;
      }
      for (size_t dim = tensor.dim(); dim-- > 0;) {
        offset += tensor.strides()[dim];
        if (++position[dim] < tensor.sizes()[dim]) break;
        position[dim] = 0;
        offset -= tensor.strides()[dim] * tensor.sizes()[dim];
      }
    }
  });
  const int64_t dims = static_cast<int64_t>(tensor.dim());
  Tensor columns = empty({dims, count}, DType::int64);
  for (int64_t i = 0; i < count; ++i)
    for (int64_t dim = 0; dim < dims; ++dim)
      columns->data<int64_t>()[dim * count + i] = found[static_cast<size_t>(i * dims + dim)];
  return columns;
}

}  // namespace gradlife::kernels
