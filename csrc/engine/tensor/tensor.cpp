#include "engine/tensor/tensor.hpp"

#include <algorithm>
#include <cstdlib>
#include <new>

#include "base/labels.hpp"
#include "engine/policy/error.hpp"
#include "engine/tensor/modes.hpp"

namespace gradlife {

size_t item_size(DType dtype) {
  switch (dtype) {
    case DType::float32:
    case DType::int32:
      return 4;
    case DType::float64:
    case DType::int64:
    case DType::complex64:
      return 8;
    case DType::complex128:
      return 16;
    case DType::boolean:
      return 1;
  }
  return 0;
}

const char* dtype_name(DType dtype) {
  static constexpr const char* names[] = {"torch.float32", "torch.float64",   "torch.int64",     "torch.bool",
                                          "torch.int32",   "torch.complex64", "torch.complex128"};
  return names[static_cast<size_t>(dtype)];
}

const char* legacy_type_name(DType dtype) {
  static constexpr const char* names[] = {"torch.FloatTensor",        "torch.DoubleTensor", "torch.LongTensor",
                                          "torch.BoolTensor",         "torch.IntTensor",    "torch.ComplexFloatTensor",
                                          "torch.ComplexDoubleTensor"};
  return names[static_cast<size_t>(dtype)];
}

Storage::Storage(size_t bytes) : Managed(Kind::storage, current_policy()->storage_identity), bytes_(bytes) {
  data_ = std::malloc(bytes != 0 ? bytes : 1);
  if (data_ == nullptr) fail(ErrorKind::memory, "not enough memory for a storage of ", bytes, " bytes");
  live_storage_bytes.fetch_add(static_cast<int64_t>(bytes), std::memory_order_relaxed);
}

Storage::Storage(void* data, size_t bytes, Handle owner)
    : Managed(Kind::storage, current_policy()->storage_identity), data_(data), bytes_(bytes), owner_(std::move(owner)) {
  live_storage_bytes.fetch_add(static_cast<int64_t>(bytes), std::memory_order_relaxed);
}

void Storage::grow(size_t bytes) {
  if (bytes > bytes_) resize(bytes);
}

void Storage::resize(size_t bytes) {
  require(may_grow(), "Trying to resize storage that is not resizable");
  capacity_ = std::max({capacity_, bytes_, bytes, size_t{1}});
  void* data = std::realloc(data_, capacity_);
  if (data == nullptr) fail(ErrorKind::memory, "not enough memory for a storage of ", bytes, " bytes");
  live_storage_bytes.fetch_add(static_cast<int64_t>(bytes) - static_cast<int64_t>(bytes_), std::memory_order_relaxed);
  data_ = data;
  bytes_ = bytes;
}

void Storage::let_go() {
  live_storage_bytes.fetch_sub(static_cast<int64_t>(bytes_), std::memory_order_relaxed);
  if (!owner_) std::free(data_);
  data_ = nullptr;
  owner_.reset();
}

void Storage::visit_owned(OwnedVisitor& visitor) const {
  if (owner_) visitor.object(labels::memory_of, owner_.get(), Ownership::strong);
}

namespace {

bool has_contiguous_layout(const Dims& sizes, const Dims& strides) {
  int64_t expected = 1;
  for (size_t i = sizes.size(); i-- > 0;) {
    if (sizes[i] == 0) return true;
    if (sizes[i] != 1 && strides[i] != expected) return false;
    expected *= sizes[i];
  }
  return true;
}

}  // namespace

TensorImpl::TensorImpl(StoragePtr storage, DType dtype, const Dims& sizes, const Dims& strides, int64_t offset)
    : Managed(Kind::tensor, current_policy()->tensor_identity),
      storage_(std::move(storage)),
      version_(VersionPtr::steal(new VersionCounter)),
      sizes_(sizes),
      strides_(strides),
      offset_(offset),
      numel_(sizes.product()),
      dtype_(dtype),
      is_contiguous_(has_contiguous_layout(sizes, strides)) {}

TensorImpl::~TensorImpl() = default;

void TensorImpl::set_data(const TensorImpl& other) {
  storage_ = other.storage_;
  sizes_ = other.sizes_;
  strides_ = other.strides_;
  offset_ = other.offset_;
  numel_ = other.numel_;
  dtype_ = other.dtype_;
  is_contiguous_ = other.is_contiguous_;
  is_conjugate_ = other.is_conjugate_;
  is_inference_ = other.is_inference_;  // whether it counts versions does not change
}

void TensorImpl::set_window(const Dims& sizes, const Dims& strides, int64_t offset) {
  sizes_ = sizes;
  strides_ = strides;
  offset_ = offset;
  numel_ = sizes.product();
  is_contiguous_ = has_contiguous_layout(sizes, strides);
}

AutogradMeta& TensorImpl::need_meta() {
  if (!meta_) meta_.reset(new_meta());
  return *meta_;
}

void TensorImpl::let_go() {
  const MetaPtr meta = std::move(meta_);
  storage_.reset();
  version_.reset();
}

void TensorImpl::bump_version() {
  if (has_version() && !(is_inference_ && inference_mode())) version_->value += 1;
  require(has_version() || inference_mode(),
          "Inplace update to inference tensor outside InferenceMode is not allowed.You can make a clone to get a "
          "normal tensor before doing inplace update.See https://github.com/pytorch/rfcs/pull/17 for more details.");
}

void TensorImpl::visit_owned(OwnedVisitor& visitor) const {
  if (storage_) visitor.managed("storage", storage_.get(), Ownership::strong);
  if (meta_) visit_meta(*meta_, visitor);
}

bool is_non_overlapping_and_dense(const TensorImpl& tensor) {
  if (tensor.is_contiguous()) return true;
  const Dims& strides = tensor.strides();
  size_t order[max_dims];  // the dimensions that matter, smallest stride first
  size_t count = 0;
  for (size_t dim = 0; dim < tensor.dim(); ++dim) {
    if (tensor.sizes()[dim] == 1) continue;
    size_t at = count++;
    for (; at > 0 && strides[order[at - 1]] > strides[dim]; --at) order[at] = order[at - 1];
    order[at] = dim;
  }
  int64_t expected = 1;
  for (size_t i = 0; i < count; ++i) {
    if (strides[order[i]] != expected) return false;
    expected *= tensor.sizes()[order[i]];
  }
  return true;
}

size_t bytes_of(const Dims& sizes, DType dtype) {
  size_t bytes = item_size(dtype);
  bool is_countable = true;
  for (int64_t size : sizes) {
    if (size == 0) return 0;
    is_countable = is_countable && !__builtin_mul_overflow(bytes, static_cast<size_t>(size), &bytes);
  }
  if (!is_countable || bytes > PTRDIFF_MAX) fail(ErrorKind::memory, "not enough memory for a tensor of size ", sizes);
  return bytes;
}

Tensor empty(const Dims& sizes, DType dtype) {
  StoragePtr storage = make<Storage>(bytes_of(sizes, dtype));
  Tensor tensor = make<TensorImpl>(std::move(storage), dtype, sizes, contiguous_strides(sizes), 0);
  tensor->set_inference(inference_mode());
  return tensor;
}

Tensor alias(const Tensor& source, const Dims& sizes, const Dims& strides, int64_t offset) {
  return alias_as(source->dtype(), source, sizes, strides, offset);
}

Tensor alias_as(DType dtype, const Tensor& source, const Dims& sizes, const Dims& strides, int64_t offset) {
  Tensor tensor = make<TensorImpl>(source->storage(), dtype, sizes, strides, offset);
  tensor->set_inference(source->is_inference());
  tensor->set_conjugate(source->is_conjugate() && dtype == source->dtype());
  return tensor;
}

}  // namespace gradlife
