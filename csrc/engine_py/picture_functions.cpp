// Convolutions, interpolation and patches, for torch.nn.functional: it gives every argument, by position.
#include "engine/convolution.hpp"
#include "engine/patches.hpp"
#include "engine/resampling.hpp"
#include "engine_py/errors.hpp"
#include "engine_py/methods.hpp"
#include "engine_py/wrapper.hpp"

namespace gradlife {
namespace {

PyObject* convolution(PyObject*, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  return guarded([&] {
    const Args args(
        "convolution",
        {"input", "weight", "bias", "stride", "padding", "dilation", "transposed", "output_padding", "groups"}, 9,
        arguments, count, names);
    const ops::ConvolutionSettings how{args.dims(3),        args.dims(4), args.dims(5),
                                       args.flag(6, false), args.dims(7), args.integer(8, 1)};
    const Tensor bias = args.has(2) ? args.tensor(2) : Tensor();
    return wrap(ops::convolution(args.tensor(0), args.tensor(1), bias, how)).release();
  });
}

ops::Resampling resampling(PyObject* name) {
  constexpr std::pair<const char*, ops::Resampling> kinds[] = {{"nearest", ops::Resampling::nearest},
                                                               {"nearest-exact", ops::Resampling::nearest_exact},
                                                               {"linear", ops::Resampling::linear},
                                                               {"bilinear", ops::Resampling::linear},
                                                               {"trilinear", ops::Resampling::linear},
                                                               {"bicubic", ops::Resampling::cubic},
                                                               {"smooth bilinear", ops::Resampling::linear_smooth},
                                                               {"smooth bicubic", ops::Resampling::cubic_smooth}};
  for (const auto& [known, kind] : kinds)
    if (PyUnicode_Check(name) && PyUnicode_CompareWithASCIIString(name, known) == 0) return kind;
  raise_python(PyExc_ValueError, "interpolate(): gradlife's engine has no mode %R", name);
}

std::vector<double> numbers(PyObject* object) {
  const Ref items = checked(PySequence_Fast(object, "scale_factors must be a sequence of numbers"));
  std::vector<double> result;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(items.get()); ++i) {
    result.push_back(PyFloat_AsDouble(PySequence_Fast_GET_ITEM(items.get(), i)));
    if (PyErr_Occurred() != nullptr) throw PythonError();
  }
  return result;
}

PyObject* interpolate(PyObject*, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  return guarded([&] {
    const Args args("interpolate", {"input", "output_size", "mode", "align_corners", "scale_factors"}, 5, arguments,
                    count, names);
    ops::Interpolation how{resampling(args[2]), args.dims(1), args.flag(3, false), {}};
    if (args.has(4)) how.scales = numbers(args[4]);
    require(how.scales.empty() || how.scales.size() == how.output_sizes.size(), "interpolate(): ", how.scales.size(),
            " scale factors for ", how.output_sizes.size(), " dimensions");
    return wrap(ops::interpolate(args.tensor(0), how)).release();
  });
}

PyObject* adaptive_average(PyObject*, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  return guarded([&] {
    const Args args("adaptive_avg_pool", {"input", "output_size"}, 2, arguments, count, names);
    const Dims sizes = args.dims(1);
    require(sizes.size() == 2 || sizes.size() == 3, "adaptive_avg_pool(): output_size must be 2 or 3 numbers");
    return wrap(ops::adaptive_average(args.tensor(0), sizes)).release();
  });
}

// The four settings from argument `first` on, each of two numbers.
ops::PatchSettings patch_settings(const Args& args, size_t first) {
  const ops::PatchSettings how{args.dims(first), args.dims(first + 1), args.dims(first + 2), args.dims(first + 3)};
  for (const Dims* each : {&how.kernel_size, &how.dilation, &how.padding, &how.stride})
    require(each->size() == 2, "It is expected that kernel_size, dilation, padding and stride have 2 numbers each");
  return how;
}

PyObject* patches_of(PyObject*, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  return guarded([&] {
    const Args args("im2col", {"input", "kernel_size", "dilation", "padding", "stride"}, 5, arguments, count, names);
    return wrap(ops::patches_of(args.tensor(0), patch_settings(args, 1))).release();
  });
}

PyObject* from_patches(PyObject*, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  return guarded([&] {
    const Args args("col2im", {"input", "output_size", "kernel_size", "dilation", "padding", "stride"}, 6, arguments,
                    count, names);
    const Dims sizes = args.dims(1);
    require(sizes.size() == 2, "It is expected output_size equals to 2, but got size ", sizes.size());
    return wrap(ops::from_patches(args.tensor(0), sizes, patch_settings(args, 2))).release();
  });
}

PyObject* constant_pad(PyObject*, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  return guarded([&] {
    const Args args("constant_pad_nd", {"input", "pad", "value"}, 2, arguments, count, names);
    return wrap(ops::constant_pad(args.tensor(0), args.dims(1), args.number(2, 0))).release();
  });
}

PyObject* pdist(PyObject*, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  return guarded([&] {
    const Args args("pdist", {"input", "p"}, 1, arguments, count, names);
    return wrap(ops::pairwise_distances(args.tensor(0), args.real(1, 2))).release();
  });
}

}  // namespace

PyMethodDef picture_functions[] = {{"convolution", as_method(convolution), fast_call, nullptr},
                                   {"_nn_interpolate", as_method(interpolate), fast_call, nullptr},
                                   {"_nn_adaptive_average", as_method(adaptive_average), fast_call, nullptr},
                                   {"_nn_im2col", as_method(patches_of), fast_call, nullptr},
                                   {"_nn_col2im", as_method(from_patches), fast_call, nullptr},
                                   {"constant_pad_nd", as_method(constant_pad), fast_call, nullptr},
                                   {"pdist", as_method(pdist), fast_call, nullptr},
                                   {nullptr, nullptr, 0, nullptr}};

}  // namespace gradlife
