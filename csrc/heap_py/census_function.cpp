#include "heap_py/census_function.hpp"

#include <algorithm>
#include <ctime>

#include "heap_py/border.hpp"
#include "heap_py/native_census.hpp"
#include "heap_py/torch_description.hpp"

namespace gradlife::heap {
namespace {

Ref class_list(const NativeCensus& census) {
  Ref list = checked(PyList_New(0));
  for (uint32_t slot = 0; slot < census.classes().size(); ++slot) {
    const NativeClass& of = census.classes()[slot];
    if (of.count == 0) continue;
    const ClassRecord& record = census.table()[slot];
    const Ref name = text(record.readable());
    const Ref row =
        checked(Py_BuildValue("OsKK", name.get(), family_name(record.family), static_cast<unsigned long long>(of.count),
                              static_cast<unsigned long long>(of.bytes)));
    checked_status(PyList_Append(list.get(), row.get()));
  }
  return list;
}

Ref device_list(const NativeCensus& census) {
  Ref list = checked(PyList_New(0));
  for (const auto& [device, storages] : census.devices()) {
    const bool is_known = device != NativeCensus::unknown_device && torch_layout() != nullptr;
    const Ref name = text(is_known ? TorchDescriptions::device_name(*torch_layout(), device) : "an unknown device");
    const Ref row = checked(Py_BuildValue("OKK", name.get(), static_cast<unsigned long long>(storages.count),
                                          static_cast<unsigned long long>(storages.bytes)));
    checked_status(PyList_Append(list.get(), row.get()));
  }
  return list;
}

}  // namespace

PyObject* native_census(PyObject*, PyObject*) {
  return guarded([] {
    const std::clock_t start = std::clock();
    NativeCensus census(torch_layout());
    census.run();
    const double seconds = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
    const Ref classes = class_list(census), devices = device_list(census);
    return checked(Py_BuildValue("OOnKd", classes.get(), devices.get(), static_cast<Py_ssize_t>(census.lost_heaps()),
                                 static_cast<unsigned long long>(census.bytes_read()), seconds))
        .release();
  });
}

PyObject* native_objects(PyObject*, PyObject* name) {
  return guarded([&] {
    const char* wanted = PyUnicode_AsUTF8(name);
    if (wanted == nullptr) throw PythonErrorSet();
    std::vector<Address> addresses;
    {
      NativeCensus census(torch_layout());
      census.keep_objects();
      census.run();
      std::vector<bool> is_wanted;
      for (uint32_t slot = 0; slot < census.classes().size(); ++slot)
        is_wanted.push_back(census.classes()[slot].count != 0 && census.table()[slot].readable() == wanted);
      for (const NativeCensus::Object& object : census.objects())
        if (is_wanted[object.slot]) addresses.push_back(object.address);
    }
    std::sort(addresses.begin(), addresses.end());
    Ref list = checked(PyList_New(0));
    for (const Address address : addresses)
      checked_status(PyList_Append(list.get(), checked(PyLong_FromUnsignedLongLong(address)).get()));
    return list.release();
  });
}

}  // namespace gradlife::heap
