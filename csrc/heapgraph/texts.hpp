// Texts by number, each kept once.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

#include "heapgraph/buffer.hpp"

namespace gradlife::heap {

class Texts {
 public:
  static constexpr uint32_t none = 0;      // the empty text
  static constexpr size_t most = 1 << 26;  // bytes of all texts together, and as many texts: more are told as "..."

  Texts() {
    first_.push_back(0);
    add("");
    add("...");
  }
  Texts(Buffer<uint32_t> first, Buffer<char> letters) : first_(std::move(first)), letters_(std::move(letters)) {}

  uint32_t add(const std::string& text);
  size_t size() const { return first_.size() - 1; }
  std::string_view operator[](uint32_t number) const {
    return {letters_.data() + first_[number], first_[number + 1] - first_[number]};
  }
  void close() { numbers_.clear(); }  // no more will be added
  const Buffer<uint32_t>& first() const { return first_; }
  const Buffer<char>& letters() const { return letters_; }
  size_t bytes() const { return first_.bytes() + letters_.bytes(); }

 private:
  Buffer<uint32_t> first_;  // text i is letters [first[i], first[i + 1])
  Buffer<char> letters_;
  std::unordered_map<std::string, uint32_t> numbers_;
};

inline uint32_t Texts::add(const std::string& text) {
  const auto known = numbers_.find(text);
  if (known != numbers_.end()) return known->second;
  if (letters_.size() + text.size() > most || size() >= most) return 1;
  for (char letter : text) letters_.push_back(letter);
  first_.push_back(static_cast<uint32_t>(letters_.size()));
  const uint32_t number = static_cast<uint32_t>(size() - 1);
  numbers_.emplace(text, number);
  return number;
}

}  // namespace gradlife::heap
