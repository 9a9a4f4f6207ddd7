// Storage and tensor impl. A tensor is a typed, strided view of a storage; its autograd state is attached lazily.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "engine/policy/managed.hpp"
#include "engine/tensor/dims.hpp"

namespace gradlife {

enum class DType : uint8_t { float32, float64, int64, boolean, int32, complex64, complex128 };
constexpr size_t dtype_count = 7;

size_t item_size(DType dtype);
const char* dtype_name(DType dtype);        // "torch.float32"
const char* legacy_type_name(DType dtype);  // "torch.FloatTensor", as in torch's error messages
inline bool is_floating(DType dtype) { return dtype == DType::float32 || dtype == DType::float64; }
inline bool is_complex(DType dtype) { return dtype == DType::complex64 || dtype == DType::complex128; }
// The dtype of a complex dtype's parts, and the complex dtype with these parts.
inline DType real_dtype(DType dtype) {
  return dtype == DType::complex64 ? DType::float32 : dtype == DType::complex128 ? DType::float64 : dtype;
}
inline DType complex_dtype(DType dtype) { return dtype == DType::float64 ? DType::complex128 : DType::complex64; }
inline bool is_differentiable(DType dtype) { return is_floating(dtype) || is_complex(dtype); }

// Bytes that tensors share. `owner` keeps foreign memory (a numpy array's) alive.
class Storage final : public Managed {
 public:
  explicit Storage(size_t bytes);
  Storage(void* data, size_t bytes, Handle owner);
  void* data() const { return data_; }
  size_t bytes() const { return bytes_; }
  bool is_foreign() const { return static_cast<bool>(owner_); }
  // Grows to at least `bytes`, possibly at another address. Error for foreign memory, or if others point into it.
  void grow(size_t bytes);
  // Sets the size. Memory stays allocated, since tensors over the old size still point into it; in PyTorch they read
  // freed memory.
  void resize(size_t bytes);
  void forbid_growth() { may_grow_ = false; }
  bool may_grow() const { return may_grow_ && !is_foreign(); }
  const char* name() const override { return "Storage"; }
  void visit_owned(OwnedVisitor& visitor) const override;

 protected:
  void let_go() override;

 private:
  void* data_ = nullptr;
  size_t bytes_ = 0;
  Handle owner_;
  size_t capacity_ = 0;  // of a storage that was resized
  bool may_grow_ = true;
};
using StoragePtr = Ptr<Storage>;

// Counts in-place changes. A base, its views, its detached copies and saved tensors share it.
class VersionCounter final : public RefCounted {
 public:
  uint32_t value = 0;

 protected:
  void dispose() override {}
};
using VersionPtr = Ptr<VersionCounter>;

class TensorImpl;
using Tensor = Ptr<TensorImpl>;
using TensorList = std::vector<Tensor>;
// Autograd metadata of a tensor, defined in graph/autograd.hpp.
struct AutogradMeta;
AutogradMeta* new_meta();
void visit_meta(const AutogradMeta& meta, OwnedVisitor& visitor);
struct DeleteMeta {
  void operator()(AutogradMeta* meta) const;
};
using MetaPtr = std::unique_ptr<AutogradMeta, DeleteMeta>;

class TensorImpl final : public Managed {
 public:
  TensorImpl(StoragePtr storage, DType dtype, const Dims& sizes, const Dims& strides, int64_t offset);

  const Dims& sizes() const { return sizes_; }
  const Dims& strides() const { return strides_; }
  int64_t offset() const { return offset_; }  // in elements
  DType dtype() const { return dtype_; }
  size_t dim() const { return sizes_.size(); }
  int64_t numel() const { return numel_; }
  bool is_contiguous() const { return is_contiguous_; }
  const StoragePtr& storage() const { return storage_; }
  template <class T>
  T* data() const {
    return static_cast<T*>(storage_->data()) + offset_;
  }
  // Takes over another impl's view and storage (`x.data = y`); the version counter stays.
  void set_data(const TensorImpl& other);
  void set_storage(StoragePtr storage) { storage_ = std::move(storage); }
  void set_window(const Dims& sizes, const Dims& strides, int64_t offset);

  const VersionPtr& version_counter() const { return version_; }
  void share_version(const VersionPtr& version) { version_ = version; }
  uint32_t version() const { return version_->value; }
  // Counts a change in place. Error for an inference tensor outside inference mode; PyTorch, too, raises it after the
  // change. In inference mode, inference tensors count no versions.
  void bump_version();

  AutogradMeta* meta() const { return meta_.get(); }  // nullptr until needed
  AutogradMeta& need_meta();

  // Whether it was made from a Python number for one operation: saved-tensor hooks never see such a tensor.
  bool is_wrapped_number() const { return is_wrapped_number_; }
  void set_wrapped_number() { is_wrapped_number_ = true; }

  // Whether it was made in inference mode, or is a view of such a tensor: it has no version and no history.
  bool is_inference() const { return is_inference_; }
  void set_inference(bool is_inference) {
    is_inference_ = is_inference;
    has_version_ = !is_inference;
  }
  // Whether it has a version; a tensor detached from an inference tensor does.
  bool has_version() const { return has_version_; }
  void set_has_version() { has_version_ = true; }

  // True if memory holds the conjugates of the tensor's elements; complex tensors only.
  bool is_conjugate() const { return is_conjugate_; }
  void set_conjugate(bool is_conjugate) { is_conjugate_ = is_conjugate; }

  // Whether a cache holds it that is not counted as an owner when a gradient may be reused.
  bool is_cached() const { return is_cached_; }
  void set_cached(bool is_cached) { is_cached_ = is_cached; }

  const char* name() const override { return "Tensor"; }
  void visit_owned(OwnedVisitor& visitor) const override;

 protected:
  ~TensorImpl() override;
  void let_go() override;

 private:
  StoragePtr storage_;
  VersionPtr version_;
  MetaPtr meta_;
  Dims sizes_;
  Dims strides_;
  int64_t offset_;
  int64_t numel_;
  DType dtype_;
  bool is_contiguous_;
  bool is_wrapped_number_ = false;
  bool is_inference_ = false;
  bool has_version_ = true;
  bool is_cached_ = false;
  bool is_conjugate_ = false;
};

constexpr const char* no_version_text = "Inference tensors do not track version counter.";

// True if the elements are dense and do not overlap, in any order of dimensions.
bool is_non_overlapping_and_dense(const TensorImpl& tensor);

// New tensors without history. `empty` is uninitialised; `alias` is another view of the same storage, with its own
// version counter unless the caller shares one.
Tensor empty(const Dims& sizes, DType dtype);
// Bytes of a tensor without gaps. Errors: more than memory can have, as the copy of an expanded tensor may need.
size_t bytes_of(const Dims& sizes, DType dtype);
Tensor alias(const Tensor& source, const Dims& sizes, const Dims& strides, int64_t offset);
// The same memory read as elements of another dtype.
Tensor alias_as(DType dtype, const Tensor& source, const Dims& sizes, const Dims& strides, int64_t offset);

}  // namespace gradlife
