// Sizes and strides of up to eight dimensions, stored in place.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <ostream>

#include "engine/policy/error.hpp"

namespace gradlife {

constexpr size_t max_dims = 8;

class Dims {
 public:
  Dims() = default;
  Dims(std::initializer_list<int64_t> values) {
    for (int64_t value : values) push_back(value);
  }
  explicit Dims(size_t count, int64_t value = 0) {
    for (size_t i = 0; i < count; ++i) push_back(value);
  }
  size_t size() const { return count_; }
  bool empty() const { return count_ == 0; }
  int64_t operator[](size_t i) const { return values_[i]; }
  int64_t& operator[](size_t i) { return values_[i]; }
  const int64_t* begin() const { return values_; }
  const int64_t* end() const { return values_ + count_; }
  int64_t* begin() { return values_; }
  int64_t* end() { return values_ + count_; }
  void push_back(int64_t value) {
    require(count_ < max_dims, "gradlife's engine supports at most 8 dimensions");
    values_[count_++] = value;
  }
  void insert(size_t at, int64_t value) {
    push_back(value);
    for (size_t i = count_ - 1; i > at; --i) std::swap(values_[i], values_[i - 1]);
  }
  void erase(size_t at) {
    for (size_t i = at; i + 1 < count_; ++i) values_[i] = values_[i + 1];
    --count_;
  }
  bool operator==(const Dims& other) const {
    if (count_ != other.count_) return false;
    for (size_t i = 0; i < count_; ++i)
      if (values_[i] != other.values_[i]) return false;
    return true;
  }
  bool operator!=(const Dims& other) const { return !(*this == other); }
  int64_t product() const {
    int64_t result = 1;
    for (int64_t value : *this) result *= value;
    return result;
  }

 private:
  int64_t values_[max_dims];
  uint32_t count_ = 0;
};

inline std::ostream& operator<<(std::ostream& out, const Dims& dims) {
  out << '[';
  for (size_t i = 0; i < dims.size(); ++i) out << (i == 0 ? "" : ", ") << dims[i];
  return out << ']';
}

inline Dims contiguous_strides(const Dims& sizes) {
  Dims strides(sizes.size());
  int64_t step = 1;
  for (size_t i = sizes.size(); i-- > 0;) {
    strides[i] = step;
    step *= sizes[i] > 1 ? sizes[i] : 1;
  }
  return strides;
}

// Maps a negative dimension to one counted from the front. IndexError if there is no such dimension.
inline int64_t wrap_dim(int64_t dim, size_t dims) {
  const int64_t count = dims == 0 ? 1 : static_cast<int64_t>(dims);
  if (dim < -count || dim >= count)
    fail(ErrorKind::index, "Dimension out of range (expected to be in range of [", -count, ", ", count - 1,
         "], but got ", dim, ")");
  return dim < 0 ? dim + count : dim;
}

}  // namespace gradlife
