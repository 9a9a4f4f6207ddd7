#include "heap_py/providers/torch/description.hpp"

namespace gradlife::heap {

bool TorchDescriptions::read(Address object, uint32_t offset, uint64_t* word) const {
  return offset != TorchLayout::absent && reader_.read_word(object + offset, word);
}

std::string TorchDescriptions::sizes(Address impl) const {
  constexpr uint64_t max_inline = 5, most = 64;
  uint64_t count, first;
  if (!read(impl, layout_.dimensions_in_impl, &count) || count > most) return "";
  Address at = impl + layout_.sizes_in_impl;
  if (layout_.sizes_in_impl == TorchLayout::absent || !reader_.read_word(at, &first)) return "";
  if (count == 1 && first == 0) return "";  // empty, or its sizes are symbols stored elsewhere
  std::vector<int64_t> sizes(static_cast<size_t>(count));
  if (count > max_inline) at = first;
  if (count > 0 && !reader_.read(at, sizes.data(), sizes.size() * sizeof(int64_t))) return "";
  std::string text;
  for (int64_t size : sizes) text += (text.empty() ? "" : ", ") + std::to_string(size);
  return "[" + text + "]";
}

std::string TorchDescriptions::tensor(Address impl) const {
  uint64_t dtype, storage;
  std::string text;
  if (read(impl, layout_.dtype_in_impl, &dtype)) {
    const auto name = layout_.dtype_names.find(static_cast<int64_t>(dtype & 0xffff));
    if (name != layout_.dtype_names.end()) text = name->second;
  }
  const std::string dimensions = sizes(impl);
  if (!dimensions.empty()) text += (text.empty() ? "" : " ") + dimensions;
  if (!read(impl, layout_.storage_in_impl, &storage) || storage == 0) return text;
  const std::string place = device(storage);
  return place.empty() || place == "cpu" ? text : text + (text.empty() ? "" : " ") + place;
}

std::string TorchDescriptions::device(Address storage) const {
  uint64_t word;
  return read(storage, layout_.device_in_storage, &word) ? device_name(layout_, word) : "";
}

std::string TorchDescriptions::device_name(const TorchLayout& layout, uint64_t word) {
  const auto type = static_cast<int8_t>(word & 0xff), index = static_cast<int8_t>(word >> 8 & 0xff);
  const auto name = layout.device_names.find(type);
  const std::string text = name != layout.device_names.end() ? name->second : "device type " + std::to_string(type);
  return index < 0 ? text : text + ":" + std::to_string(index);
}

std::string TorchDescriptions::storage(Address storage) const {
  uint64_t stored;
  if (!read(storage, layout_.bytes_in_storage, &stored)) return "";
  if (static_cast<int64_t>(stored) < 0) return "as many bytes as a symbol says";
  return std::to_string(stored) + " bytes";
}

uint64_t TorchDescriptions::bytes(Address storage) const {
  uint64_t stored, data;
  if (!read(storage, layout_.bytes_in_storage, &stored) || static_cast<int64_t>(stored) < 0) return 0;
  if (read(storage, layout_.data_in_storage, &data) && data == 0) return 0;
  return device(storage).compare(0, 4, "meta") == 0 ? 0 : stored;
}

}  // namespace gradlife::heap
