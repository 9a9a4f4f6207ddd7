#include "heap_py/api/census_function.hpp"

#include <algorithm>
#include <ctime>
#include <iterator>
#include <map>
#include <string>

#include "heap_py/interpreter/exception_border.hpp"
#include "heap_py/native/census.hpp"
#include "heap_py/providers/torch/description.hpp"

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

using Block = NativeCensus::Block;

std::vector<Block> blocks_now() {
  NativeCensus census(torch_layout());
  census.keep_blocks();
  census.run();
  std::vector<Block> found(census.blocks().begin(), census.blocks().end());
  std::sort(found.begin(), found.end());
  return found;
}

Ref packed(const std::vector<Block>& blocks) {
  return checked(PyBytes_FromStringAndSize(reinterpret_cast<const char*>(blocks.data()),
                                           static_cast<Py_ssize_t>(blocks.size() * sizeof(Block))));
}

std::vector<Block> since(const std::vector<Block>& now, PyObject* before) {
  const auto* first = reinterpret_cast<const Block*>(PyBytes_AS_STRING(before));
  const auto* last = first + static_cast<size_t>(PyBytes_GET_SIZE(before)) / sizeof(Block);
  std::vector<Block> found;
  std::set_difference(now.begin(), now.end(), first, last, std::back_inserter(found));
  return found;
}

// Returns the object in a block if it is one of a graph's objects: behind the counts of a shared pointer, if any.
Address object_in(const Block& block, ClassTable& table, const MemoryReader& reader, Family* family) {
  uint32_t slot = table.find(block.word);
  Address address = block.address;
  uint64_t word = 0;
  if (slot != ClassTable::none && table[slot].is_in_place && reader.read_word(address + 16, &word)) {
    const uint32_t inner = table.find(word);
    address += 16;
    if (inner != ClassTable::none && !table[inner].is_in_place) slot = inner;
  }
  if (slot == ClassTable::none) return 0;
  *family = table[slot].family;
  const TorchLayout* layout = torch_layout();
  const bool has_count = table[slot].count == ClassRecord::Count::torch && layout != nullptr &&
                         layout->count_in_target != TorchLayout::absent;
  if (has_count && reader.read_word(address + layout->count_in_target, &word) && static_cast<uint32_t>(word) == 0)
    return 0;  // only weak pointers are left
  return *family == Family::tensor || *family == Family::grad_node ? address : 0;
}

}  // namespace

PyObject* native_blocks(PyObject*, PyObject*) {
  return guarded([] { return packed(blocks_now()).release(); });
}

PyObject* native_since(PyObject*, PyObject* before) {
  return guarded([&] {
    if (!PyBytes_Check(before)) {
      PyErr_SetString(PyExc_TypeError, "bytes that native_blocks gave are wanted");
      throw PythonErrorSet();
    }
    const std::vector<Block> now = blocks_now();
    const MemoryReader reader;
    const Ref list = checked(PyList_New(0));
    for (const Block& block : since(now, before)) {
      Family family = Family::tensor;
      const Address address = object_in(block, ClassTable::current(), reader, &family);
      if (address == 0) continue;
      const Ref row = checked(Py_BuildValue("Ks", static_cast<unsigned long long>(address), family_name(family)));
      checked_status(PyList_Append(list.get(), row.get()));
    }
    const Ref bytes = packed(now);
    return checked(PyTuple_Pack(2, bytes.get(), list.get())).release();
  });
}

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

PyObject* native_counts(PyObject*, PyObject* is_alone) {
  return guarded([&] {
    NativeCensus census(torch_layout());
    if (is_alone == Py_True) census.read_in_place();
    census.run();
    std::map<std::string, unsigned long long> counts;
    unsigned long long content = 0;
    for (uint32_t slot = 0; slot < census.classes().size(); ++slot)
      if (census.classes()[slot].count != 0)
        counts[family_name(census.table()[slot].family)] += census.classes()[slot].count;
    for (const auto& device : census.devices()) content += device.second.bytes;
    const Ref families = checked(PyDict_New());
    for (const auto& [family, count] : counts) {
      const Ref number = checked(PyLong_FromUnsignedLongLong(count));
      checked_status(PyDict_SetItemString(families.get(), family.c_str(), number.get()));
    }
    return checked(Py_BuildValue("OKn", families.get(), content, static_cast<Py_ssize_t>(census.lost_heaps())))
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
