#include "engine/ops/kernels/strided_loops.hpp"

#include <algorithm>
#include <cstring>

namespace gradlife::kernels {
namespace {

// True if dimension `a` of the first operand varies slower than `b`; broadcast dimensions do not count.
bool is_outer(const Dims& strides, size_t a, size_t b) {
  return strides[a] != 0 && strides[b] != 0 && strides[a] > strides[b];
}

bool can_merge(const Loops& loops, size_t inner, size_t outer) {
  for (size_t i = 0; i < loops.operands; ++i)
    if (loops.strides[i][outer] != loops.strides[i][inner] * loops.sizes[inner]) return false;
  return true;
}

void append(Loops& loops, int64_t size, std::initializer_list<const Dims*> strides, size_t dim) {
  if (size == 1) return;
  loops.sizes[loops.dims] = size;
  size_t operand = 0;
  for (const Dims* each : strides) loops.strides[operand++][loops.dims] = (*each)[dim];
  if (loops.dims > 0 && can_merge(loops, loops.dims - 1, loops.dims)) {
    loops.sizes[loops.dims - 1] *= size;
  } else {
    loops.dims += 1;
  }
}

char* bytes_of(const TensorImpl& tensor) {
  return static_cast<char*>(tensor.storage()->data()) +
         tensor.offset() * static_cast<int64_t>(item_size(tensor.dtype()));
}

size_t byte_count(const TensorImpl& tensor) { return static_cast<size_t>(tensor.numel()) * item_size(tensor.dtype()); }

template <class To, class From>
void convert_row(int64_t length, To* to, int64_t to_step, const From* from, int64_t from_step) {
  map_row(length, to, to_step, from, from_step, [](From value) { return static_cast<To>(value); });
}

template <class To, class From>
To as_complex(From value, bool conjugates) {
  using Part = typename To::value_type;
  if constexpr (is_complex_type<From>) {
    const Part imaginary = static_cast<Part>(value.imag());
    return To(static_cast<Part>(value.real()), conjugates ? -imaginary : imaginary);
  } else {
    return To(static_cast<Part>(value));
  }
}

// Copies complex or real numbers to complex ones.
void copy_to_complex(const TensorImpl& target, const TensorImpl& source, const Loops& loops) {
  const bool conjugates = is_complex(source.dtype()) && source.is_conjugate() != target.is_conjugate();
  dispatch_complex(target.dtype(), [&](auto to_zero) {
    const auto body = [&](auto zero) {
      using To = decltype(to_zero);
      using From = decltype(zero);
      run<2>(loops, [&](int64_t length, const int64_t* at) {
        map_row(length, target.data<To>() + at[0], row_stride(loops, 0), source.data<From>() + at[1],
                row_stride(loops, 1), [conjugates](From value) { return as_complex<To>(value, conjugates); });
      });
    };
    is_complex(source.dtype()) ? dispatch_complex(source.dtype(), body) : dispatch(source.dtype(), body);
  });
}

template <class T>
void fill_with(const TensorImpl& target, T constant) {
  T* to = target.data<T>();
  if (target.is_contiguous()) {
    std::fill_n(to, target.numel(), constant);
    return;
  }
  const Loops loops = plan(target.sizes(), {&target.strides()});
  run<1>(loops, [&](int64_t length, const int64_t* at) {
    for (int64_t i = 0; i < length; ++i) to[at[0] + i * row_stride(loops, 0)] = constant;
  });
}

Loops one_row(const TensorImpl& out, std::initializer_list<const OperandLayout*> operands) {
  Loops loops;
  loops.dims = 1;
  loops.sizes[0] = out.numel();
  loops.strides[loops.operands++][0] = 1;
  for (const OperandLayout* each : operands) loops.strides[loops.operands++][0] = each->row_stride();
  return loops;
}

}  // namespace

template <class T>
Operand<T>::Operand(const TensorImpl& tensor) : OperandLayout(tensor) {
  take(tensor);
}

template <class T>
Operand<T>::Operand(const TensorOrNumber& operand) {
  if (operand.is_tensor()) {
    take_from(*operand.tensor());
    take(*operand.tensor());
  } else {
    value_ = operand.number().to<T>();
    data_ = &value_;
  }
}

template <class T>
void Operand<T>::take(const TensorImpl& tensor) {
  if (tensor.dtype() == dtype_for<T> && !tensor.is_conjugate()) {
    data_ = tensor.data<T>();
  } else if (tensor.dim() == 0 && !is_complex(tensor.dtype())) {
    dispatch(tensor.dtype(), [&](auto zero) { value_ = static_cast<T>(*tensor.data<decltype(zero)>()); });
    data_ = &value_;
  } else {
    converted_ = empty(tensor.sizes(), dtype_for<T>);
    copy(*converted_, tensor);
    data_ = converted_->data<T>();
    take_from(*converted_);
  }
}

template class Operand<float>;
template class Operand<double>;
template class Operand<int64_t>;
template class Operand<int32_t>;
template class Operand<bool>;
template class Operand<std::complex<float>>;
template class Operand<std::complex<double>>;

Loops plan_map(const TensorImpl& out, const OperandLayout& a) {
  if (out.is_contiguous() && a.is_row_like(out)) return one_row(out, {&a});
  const Dims a_strides = a.strides_in(out.sizes());
  return plan(out.sizes(), {&out.strides(), &a_strides});
}

Loops plan_map(const TensorImpl& out, const OperandLayout& a, const OperandLayout& b) {
  if (out.is_contiguous() && a.is_row_like(out) && b.is_row_like(out)) return one_row(out, {&a, &b});
  const Dims a_strides = a.strides_in(out.sizes());
  const Dims b_strides = b.strides_in(out.sizes());
  return plan(out.sizes(), {&out.strides(), &a_strides, &b_strides});
}

Loops plan(const Dims& sizes, std::initializer_list<const Dims*> strides) {
  Loops loops;
  loops.operands = strides.size();
  const Dims& leading = **strides.begin();
  size_t order[max_dims];
  size_t count = 0;
  for (size_t dim = sizes.size(); dim-- > 0;) {
    size_t at = count++;
    for (; at > 0 && is_outer(leading, order[at - 1], dim); --at) order[at] = order[at - 1];
    order[at] = dim;
  }
  for (size_t i = 0; i < count; ++i) append(loops, sizes[order[i]], strides, order[i]);
  return loops;
}

Dims broadcast_strides(const Dims& sizes, const Dims& strides, const Dims& shape) {
  Dims result(shape.size());
  const size_t leading = shape.size() - sizes.size();
  for (size_t i = 0; i < sizes.size(); ++i)
    if (sizes[i] != 1 || shape[leading + i] == 1) result[leading + i] = strides[i];
  return result;
}

Dims broadcast_sizes(const Dims& a, const Dims& b) {
  if (a == b) return a;
  Dims result(std::max(a.size(), b.size()), 1);
  for (size_t i = 0; i < result.size(); ++i) {
    const size_t dim = result.size() - 1 - i;
    const int64_t from_a = i < a.size() ? a[a.size() - 1 - i] : 1;
    const int64_t from_b = i < b.size() ? b[b.size() - 1 - i] : 1;
    require(from_a == from_b || from_a == 1 || from_b == 1, "The size of tensor a (", from_a,
            ") must match the size of tensor b (", from_b, ") at non-singleton dimension ", dim);
    result[dim] = from_a == 1 ? from_b : from_a;
  }
  return result;
}

void copy(const TensorImpl& target, const TensorImpl& source) {
  if (target.numel() == 0) return;
  const bool same = target.dtype() == source.dtype() && target.is_conjugate() == source.is_conjugate();
  if (same && target.is_contiguous() && source.is_contiguous() && target.sizes() == source.sizes()) {
    std::memmove(bytes_of(target), bytes_of(source), byte_count(target));
    return;
  }
  const Dims strides = broadcast_strides(source.sizes(), source.strides(), target.sizes());
  const Loops loops = plan(target.sizes(), {&target.strides(), &strides});
  if (is_complex(target.dtype())) return copy_to_complex(target, source, loops);
  dispatch(target.dtype(), [&](auto to_zero) {
    dispatch(source.dtype(), [&](auto from_zero) {
      auto* to = target.data<decltype(to_zero)>();
      const auto* from = source.data<decltype(from_zero)>();
      run<2>(loops, [&](int64_t length, const int64_t* at) {
        convert_row(length, to + at[0], row_stride(loops, 0), from + at[1], row_stride(loops, 1));
      });
    });
  });
}

Tensor resolved(const Tensor& tensor) {
  if (!tensor->is_conjugate()) return tensor;
  Tensor plain = allocate_like(*tensor, tensor->dtype());
  copy(*plain, *tensor);
  return plain;
}

void fill(const TensorImpl& target, const Scalar& value) {
  if (target.is_contiguous() && value.is(0) && value.imaginary == 0 && target.numel() > 0) {
    std::memset(bytes_of(target), 0, byte_count(target));
    return;
  }
  if (is_complex(target.dtype()))
    return dispatch_complex(target.dtype(), [&](auto zero) {
      const auto number = value.to<decltype(zero)>();
      fill_with(target, target.is_conjugate() ? std::conj(number) : number);
    });
  dispatch(target.dtype(), [&](auto zero) { fill_with(target, value.to<decltype(zero)>()); });
}

}  // namespace gradlife::kernels
