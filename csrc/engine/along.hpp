// Walking a tensor together with positions along one of its dimensions.
#pragma once

#include <utility>

#include "engine/kernels.hpp"

namespace gradlife::kernels {

// Positions along dimension `dim`, for each element of a shape.
struct Positions {
  Tensor index;  // int64
  Dims strides;  // of the index along that shape; 0 where one position counts for all
  size_t dim;
};

// Of an index that has the shape's dimensions, or of a vector that lies along `dim`. An int32 index is converted.
Positions positions_in(const Tensor& index, size_t dim);
Positions positions_along(const Tensor& index, size_t dim, const Dims& sizes);

// A tensor without dimensions counts as one of one element.
inline size_t shared_dims(size_t dims) { return dims == 0 ? 1 : dims; }
inline int64_t size_along(const TensorImpl& tensor, size_t dim) { return tensor.dim() == 0 ? 1 : tensor.sizes()[dim]; }
inline int64_t stride_along(const TensorImpl& tensor, size_t dim) {
  return tensor.dim() == 0 ? 1 : tensor.strides()[dim];
}

// Calls refuse(position) for one outside of [lowest, size).
template <class Refuse>
void check_positions(const TensorImpl& index, int64_t lowest, int64_t size, Refuse refuse) {
  const Loops loops = plan(index.sizes(), {&index.strides()});
  const int64_t* from = index.data<int64_t>();
  run<1>(loops, [&](int64_t length, const int64_t* at) {
    for (int64_t i = 0; i < length; ++i) {
      const int64_t position = from[at[0] + i * row_stride(loops, 0)];
      if (position < lowest || position >= size) refuse(position);
    }
  });
}

// Strides of `tensor` along `sizes` with none along `dim`: the position gives that part of the way.
inline Dims strides_beside(const TensorImpl& tensor, const Dims& sizes, size_t dim) {
  Dims strides = tensor.strides();
  if (strides.empty() && !sizes.empty()) strides.push_back(0);
  if (!strides.empty()) strides[dim] = 0;
  return strides;
}

// Calls f(here, there) over all elements of `sizes` in order: `here` in `at`, of these strides, `there` in `along` at
// the position.
template <class T, class F>
void walk(const Dims& sizes, T* at, const Dims& strides, const TensorImpl& along, const Positions& positions, F f) {
  const Dims order = contiguous_strides(sizes);
  const Dims beside = strides_beside(along, sizes, positions.dim);
  const int64_t step = stride_along(along, positions.dim);
  const Loops loops = plan(sizes, {&order, &strides, &beside, &positions.strides});
  const int64_t* index = positions.index->data<int64_t>();
  T* from = along.data<T>();
  run<4>(loops, [&](int64_t length, const int64_t* start) {
    for (int64_t i = 0; i < length; ++i) {
      const int64_t position = index[start[3] + i * row_stride(loops, 3)];
      f(at[start[1] + i * row_stride(loops, 1)], from[start[2] + i * row_stride(loops, 2) + position * step]);
    }
  });
}

// The sizes of `count` slices along `dim`.
inline Dims sizes_with(const TensorImpl& tensor, size_t dim, int64_t count) {
  Dims sizes = tensor.sizes();
  if (sizes.empty()) sizes.push_back(1);
  sizes[dim] = count;
  return sizes;
}

// place = f(place, value) for the slices of the target at these positions and those of the source in turn; a source
// without dimensions counts for each.
template <class T, class F>
void walk_slices(const TensorImpl& target, size_t dim, const Tensor& index, const TensorImpl& source, const Dims& sizes,
                 F f) {
  const Dims strides = source.dim() == 0 ? Dims(sizes.size()) : source.strides();
  walk<T>(sizes, source.data<T>(), strides, target, positions_along(index, dim, sizes),
          [&](T value, T& place) { place = f(place, value); });
}

}  // namespace gradlife::kernels
