#include "engine/resizing.hpp"

#include <algorithm>

#include "engine/undifferentiable.hpp"

namespace gradlife::ops {
namespace {

void check_sizes(const Dims& sizes) {
  int64_t count = 1;
  for (int64_t size : sizes)
    require(size >= 0 && !__builtin_mul_overflow(count, std::max<int64_t>(size, 1), &count),
            "numel: integer multiplication overflow");
}

void make_room(Storage& storage, const Dims& sizes, const Dims& strides, int64_t offset, DType dtype) {
  if (sizes.product() == 0) return;
  int64_t end = offset + 1;
  for (size_t i = 0; i < sizes.size(); ++i) {
    int64_t reach = 0;
    const bool overflows = __builtin_mul_overflow(sizes[i] - 1, strides[i], &reach) ||
                           __builtin_add_overflow(end, reach, &end) || end > (INT64_MAX >> 4);
    require(!overflows, "Storage size calculation overflowed with sizes=", sizes, " and strides=", strides);
  }
  storage.grow(static_cast<size_t>(end) * item_size(dtype));
}

void check_window(const Dims& sizes, const Dims& strides, int64_t offset) {
  require(sizes.size() == strides.size(), "unequal size length (", sizes.size(), ") and stride length (",
          strides.size(), ")");
  require(offset >= 0, "Tensor: invalid storage offset ", offset);
  for (int64_t stride : strides)
    require(stride >= 0, "Storage size calculation overflowed with sizes=", sizes, " and strides=", strides);
}

}  // namespace

void resize_raw(const Tensor& target, const Dims& sizes, const Dims& strides) {
  make_room(*target->storage(), sizes, strides, target->offset(), target->dtype());
  target->set_window(sizes, strides, target->offset());
}

Tensor resize_in_place(const Tensor& target, const Dims& sizes) {
  require(!requires_grad(target) || target->is_inference() || inference_mode(),
          "cannot resize variables that require grad");
  check_sizes(sizes);
  check_inplace(target, false);
  if (target->sizes() == sizes) return target;
  resize_raw(target, sizes, contiguous_strides(sizes));
  target->bump_version();
  return target;
}

Tensor set_in_place(const Tensor& target, const StoragePtr& storage, int64_t offset, const Dims& sizes,
                    const Dims* given, const Tensor& source) {
  check_sizes(sizes);
  const Dims strides = given != nullptr ? *given : contiguous_strides(sizes);
  check_window(sizes, strides, offset);
  check_inplace(target, needs_graph({&target, &source}));
  Recording<Node> node{undifferentiable_node({&target, &source}, "set_")};
  make_room(*storage, sizes, strides, offset, target->dtype());
  target->set_storage(storage);
  target->set_window(sizes, strides, offset);
  finish_in_place(target, node);
  if (target->meta() != nullptr)
    target->meta()->grad_accumulator = WeakNodePtr();  // a leaf of other graphs from now on
  return target;
}

}  // namespace gradlife::ops
