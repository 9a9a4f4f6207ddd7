// An accelerator without a device: torch's PrivateUse1 backend with the caching allocator of this folder. Operations
// run on the CPU, on copies; tensors, streams and the allocator's state are the device's own.
#include <ATen/EmptyTensor.h>
#include <ATen/core/Tensor.h>
#include <ATen/detail/PrivateUse1HooksInterface.h>
#include <ATen/native/CPUFallback.h>
#include <ATen/ops/as_strided_cpu_dispatch.h>
#include <ATen/ops/copy.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_strided.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/set_cpu_dispatch.h>
#include <ATen/ops/view_cpu_dispatch.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>
#include <torch/library.h>

#include <array>
#include <atomic>

#include "caching_allocator.hpp"
#include "pinned_memory.hpp"

namespace simulated {
namespace {

constexpr c10::DeviceType device_type = c10::DeviceType::PrivateUse1;
constexpr c10::DeviceIndex device_count = 2;

std::array<CachingAllocator, device_count> devices;
thread_local c10::DeviceIndex current_device = 0;
thread_local std::array<int64_t, device_count> current_streams{};
std::atomic<int64_t> last_stream{0};
PinnedMemory pinned;

CachingAllocator& device_of(c10::DeviceIndex index) { return devices.at(index < 0 ? current_device : index); }

struct Guard final : c10::impl::DeviceGuardImplInterface {
  static constexpr c10::DeviceType static_type = device_type;
  Guard() = default;
  explicit Guard(c10::DeviceType) {}
  c10::DeviceType type() const override { return device_type; }
  c10::Device exchangeDevice(c10::Device next) const override {
    const c10::Device before = getDevice();
    setDevice(next);
    return before;
  }
  c10::Device getDevice() const override { return {device_type, current_device}; }
  void setDevice(c10::Device device) const override { current_device = device.index() < 0 ? 0 : device.index(); }
  void uncheckedSetDevice(c10::Device device) const noexcept override { current_device = device.index(); }
  c10::Stream getStream(c10::Device device) const override {
    return stream(device, current_streams.at(device.index()));
  }
  c10::Stream getDefaultStream(c10::Device device) const override { return stream(device, 0); }
  c10::Stream getNewStream(c10::Device device, int) const override { return stream(device, ++last_stream); }
  c10::Stream getStreamFromGlobalPool(c10::Device device, bool) const override { return stream(device, ++last_stream); }
  c10::Stream exchangeStream(c10::Stream next) const override {
    const c10::Stream before = getStream(next.device());
    current_streams.at(next.device_index()) = next.id();
    return before;
  }
  c10::DeviceIndex deviceCount() const noexcept override { return device_count; }
  bool queryStream(const c10::Stream&) const override { return true; }
  void synchronizeStream(const c10::Stream& done) const override {
    device_of(done.device_index()).synchronize(done.id());
    pinned.synchronize(done.id());
  }
  void synchronizeDevice(const c10::DeviceIndex index) const override {
    for (int64_t id = 0; id <= last_stream; ++id) synchronizeStream(stream({device_type, index}, id));
  }

 private:
  static c10::Stream stream(c10::Device device, int64_t id) {
    return c10::Stream(c10::Stream::UNSAFE, device.index() < 0 ? c10::Device(device_type, current_device) : device, id);
  }
};

C10_REGISTER_GUARD_IMPL(PrivateUse1, Guard);

void give_back(void* context) {
  if (context == nullptr) return;
  for (CachingAllocator& device : devices) {
    const auto address = reinterpret_cast<uintptr_t>(context);
    const auto at = device.segments.upper_bound(address);
    if (at == device.segments.begin()) continue;
    const Segment& segment = std::prev(at)->second;
    if (address < segment.address + segment.bytes) return device.deallocate(context);
  }
}

struct Allocator final : c10::Allocator {
  c10::DataPtr allocate(size_t bytes) override {
    const c10::Device device{device_type, current_device};
    if (bytes == 0) return {nullptr, nullptr, give_back, device};
    try {
      void* data = devices.at(current_device).allocate(bytes, current_streams.at(current_device));
      return {data, data, give_back, device};
    } catch (const OutOfMemory& error) {
      TORCH_CHECK_WITH(OutOfMemoryError, false, error.what());
    }
  }
  c10::DeleterFnPtr raw_deleter() const override { return give_back; }
  void copy_data(void* to, const void* from, size_t bytes) const override { default_copy_data(to, from, bytes); }
};

struct PinnedAllocator final : c10::Allocator {
  c10::DataPtr allocate(size_t bytes) override {
    void* data = pinned.allocate(bytes);
    return {data, data, release, c10::Device(c10::kCPU)};
  }
  c10::DeleterFnPtr raw_deleter() const override { return release; }
  void copy_data(void* to, const void* from, size_t bytes) const override { default_copy_data(to, from, bytes); }
  static void release(void* data) { pinned.deallocate(data); }
};

PinnedAllocator pinned_allocator;
Allocator allocator;
REGISTER_ALLOCATOR(device_type, &allocator);

struct Hooks final : at::PrivateUse1HooksInterface {
  bool isBuilt() const override { return true; }
  bool isAvailable() const override { return true; }
  bool hasPrimaryContext(c10::DeviceIndex) const override { return true; }
  c10::DeviceIndex deviceCount() const override { return device_count; }
  c10::DeviceIndex getCurrentDevice() const override { return current_device; }
  void setCurrentDevice(c10::DeviceIndex index) const override { current_device = index; }
  c10::Allocator* getPinnedMemoryAllocator() const override { return &pinned_allocator; }
  bool isPinnedPtr(const void* data) const override { return pinned.owns(data); }
  void resizePrivateUse1Bytes(const c10::Storage& storage, size_t bytes) const override {
    c10::DataPtr next = allocator.allocate(bytes);
    if (storage.data() != nullptr) std::memcpy(next.get(), storage.data(), std::min(bytes, storage.nbytes()));
    storage.set_data_ptr_noswap(std::move(next));
    storage.set_nbytes(bytes);
  }
};

constexpr c10::DispatchKeySet keys{c10::DispatchKey::PrivateUse1};

c10::ScalarType type_or_default(std::optional<c10::ScalarType> type) {
  return type.value_or(c10::typeMetaToScalarType(c10::get_default_dtype()));
}

at::Tensor empty(at::IntArrayRef sizes, std::optional<c10::ScalarType> type, std::optional<c10::Layout>,
                 std::optional<c10::Device> device, std::optional<bool>, std::optional<c10::MemoryFormat> format) {
  const c10::DeviceGuard guard(device.value_or(c10::Device(device_type, current_device)));
  return at::detail::empty_generic(sizes, &allocator, keys, type_or_default(type), format);
}

at::Tensor empty_strided(at::IntArrayRef sizes, at::IntArrayRef strides, std::optional<c10::ScalarType> type,
                         std::optional<c10::Layout>, std::optional<c10::Device> device, std::optional<bool>) {
  const c10::DeviceGuard guard(device.value_or(c10::Device(device_type, current_device)));
  return at::detail::empty_strided_generic(sizes, strides, &allocator, keys, type_or_default(type));
}

// A tensor's memory as one of the CPU's.
at::Tensor on_host(const at::Tensor& tensor) {
  if (tensor.device().type() != device_type) return tensor;
  return at::from_blob(tensor.data_ptr(), tensor.sizes(), tensor.strides(),
                       tensor.options().device(c10::kCPU).requires_grad(false));
}

at::Tensor copy_from(const at::Tensor& from, const at::Tensor& to, bool is_non_blocking) {
  if (is_non_blocking) pinned.use_on(from.storage().data(), current_streams.at(current_device));
  at::Tensor host = on_host(to);
  host.copy_(on_host(from));
  return to;
}

at::Tensor copy_from_and_resize(const at::Tensor& from, const at::Tensor& to) {
  if (to.sizes() != from.sizes()) to.resize_(from.sizes());
  return copy_from(from, to, false);
}

const at::Tensor& resize(const at::Tensor& self, at::IntArrayRef sizes, std::optional<c10::MemoryFormat>) {
  const size_t bytes = at::detail::computeStorageNbytesContiguous(sizes, self.itemsize(), self.storage_offset());
  if (bytes > self.storage().nbytes()) at::detail::getPrivateUse1Hooks().resizePrivateUse1Bytes(self.storage(), bytes);
  self.unsafeGetTensorImpl()->set_sizes_contiguous(sizes);
  return self;
}

at::Tensor as_strided(const at::Tensor& self, at::IntArrayRef sizes, at::IntArrayRef strides,
                      std::optional<int64_t> offset) {
  return at::cpu::as_strided(self, sizes, strides, offset);
}

at::Tensor view(const at::Tensor& self, at::IntArrayRef sizes) { return at::cpu::view(self, sizes); }

at::Tensor reshape_alias(const at::Tensor& self, at::IntArrayRef sizes, at::IntArrayRef strides) {
  return as_strided(self, sizes, strides, self.storage_offset());
}

at::Tensor& set_source(at::Tensor& self, at::Storage source, int64_t offset, at::IntArrayRef sizes,
                       at::IntArrayRef strides) {
  return at::cpu::set_(self, std::move(source), offset, sizes, strides);
}

void record_stream(at::Tensor& self, c10::Stream stream) {
  device_of(self.device().index()).use_on(self.storage().mutable_data(), stream.id());
}

void on_cpu(const c10::OperatorHandle& operation, torch::jit::Stack* stack) {
  at::native::cpu_fallback(operation, stack);
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, library) {
  library.impl("empty.memory_format", empty);
  library.impl("empty_strided", empty_strided);
  library.impl("_copy_from", copy_from);
  library.impl("_copy_from_and_resize", copy_from_and_resize);
  library.impl("resize_", resize);
  library.impl("as_strided", as_strided);
  library.impl("view", view);
  library.impl("_reshape_alias", reshape_alias);
  library.impl("set_.source_Storage_storage_offset", set_source);
  library.impl("record_stream", record_stream);
}

TORCH_LIBRARY_IMPL(_, PrivateUse1, library) { library.fallback(torch::CppFunction::makeFromBoxedFunction<&on_cpu>()); }

namespace py = pybind11;

py::list frames_of(const Stack& stack) {
  py::list frames;
  for (const Frame& frame : stack) {
    py::dict one;
    one["filename"] = frame.file, one["line"] = frame.line, one["name"] = frame.function;
    frames.append(one);
  }
  return frames;
}

// In the words of torch.cuda.memory._snapshot.
py::dict snapshot() {
  py::list segments, traces;
  for (int index = 0; index < device_count; ++index) {
    for (const auto& [address, segment] : devices.at(index).segments) {
      py::list blocks;
      for (const Block& block : segment.blocks) {
        py::dict one;
        one["address"] = block.address, one["size"] = block.bytes, one["requested_size"] = block.requested;
        one["state"] = block.state == Block::used   ? "active_allocated"
                       : block.state == Block::free ? "inactive"
                                                    : "active_awaiting_free";
        one["frames"] = frames_of(block.stack);
        blocks.append(one);
      }
      py::dict one;
      one["device"] = index, one["address"] = address, one["total_size"] = segment.bytes,
      one["stream"] = segment.stream;
      one["segment_type"] = segment.is_small ? "small" : "large",
      one["segment_pool_id"] = py::make_tuple(segment.pool.first, segment.pool.second);
      one["is_expandable"] = false, one["blocks"] = blocks;
      segments.append(one);
    }
    py::list entries;
    for (const Failure& failure : devices.at(index).failures) {
      py::dict one;
      one["action"] = "oom", one["size"] = failure.bytes, one["device_free"] = failure.device_free,
      one["frames"] = frames_of(failure.stack);
      entries.append(one);
    }
    traces.append(entries);
  }
  py::dict result;
  result["segments"] = segments, result["device_traces"] = traces;
  return result;
}

// The frames of Python, innermost first.
Stack python_stack() {
  const py::gil_scoped_acquire lock;
  Stack stack;
  py::object frame = py::reinterpret_borrow<py::object>(reinterpret_cast<PyObject*>(PyEval_GetFrame()));
  while (frame && !frame.is_none()) {
    const py::object code = frame.attr("f_code"), line = frame.attr("f_lineno");
    stack.push_back({py::cast<std::string>(code.attr("co_filename")), line.is_none() ? 0 : py::cast<int>(line),
                     py::cast<std::string>(code.attr("co_qualname"))});
    frame = frame.attr("f_back");
  }
  return stack;
}

}  // namespace
}  // namespace simulated

PYBIND11_MODULE(simulated_accelerator, module) {
  using namespace simulated;
  static Hooks hooks;
  at::RegisterPrivateUse1HooksInterface(&hooks);
  module.def("snapshot", snapshot);
  module.def("empty_cache", [] {
    for (CachingAllocator& device : devices) device.empty_cache();
  });
  module.def("set_capacity", [](int index, size_t bytes) { devices.at(index).capacity = bytes; });
  module.def("record_stacks", [](bool enabled) {
    for (CachingAllocator& device : devices) device.take_stack = enabled ? python_stack : [] { return Stack(); };
  });
  module.def("forget_failures", [] {
    for (CachingAllocator& device : devices) device.failures.clear();
  });
  module.def("allocate",
             [](int index, size_t bytes) { return reinterpret_cast<uintptr_t>(devices.at(index).allocate(bytes, 0)); });
  module.def("use_pool", [](int index, PoolId pool) { devices.at(index).pool = pool; });
  module.def("keep_pool", [](int index, PoolId pool) { devices.at(index).kept_pools.insert(pool); });
  module.def("release_pool", [](int index, PoolId pool) { devices.at(index).kept_pools.erase(pool); });
  module.def("free_and_total", [](int index) {
    const CachingAllocator& device = devices.at(index);
    return py::make_tuple(device.capacity - device.reserved(), device.capacity);
  });
  module.def("reserved_and_allocated", [](int index) {
    const CachingAllocator& device = devices.at(index);
    return py::make_tuple(device.reserved(), device.allocated());
  });
  module.def("pinned_bytes", [] { return py::make_tuple(pinned.bytes(), pinned.active_bytes()); });
  module.def("empty_host_cache", [] { pinned.empty_cache(); });
  module.def("current_device", [] { return static_cast<int>(current_device); });
  module.def("set_device", [](int index) { current_device = static_cast<c10::DeviceIndex>(index); });
}
