// Texts by number, each stored once.
#pragma once

#include <cstdint>
#include <string_view>

#include "heapgraph/graph/buffer.hpp"

namespace gradlife::heap {

class Texts {
 public:
  static constexpr uint32_t none = 0;      // the empty text
  static constexpr size_t most = 1 << 26;  // the limit of bytes and of texts: more are shown as "..."

  Texts() {
    first_.push_back(0);
    add("");
    add("...");
  }
  Texts(Buffer<uint32_t> first, Buffer<char> letters) : first_(std::move(first)), letters_(std::move(letters)) {}

  uint32_t add(std::string_view text);
  size_t size() const { return first_.size() - 1; }
  std::string_view operator[](uint32_t number) const {
    return {letters_.data() + first_[number], first_[number + 1] - first_[number]};
  }
  void close() { places_.release(); }  // no more texts will be added
  const Buffer<uint32_t>& first() const { return first_; }
  const Buffer<char>& letters() const { return letters_; }
  size_t bytes() const { return first_.bytes() + letters_.bytes(); }

 private:
  Buffer<uint32_t> first_;  // text i is letters [first[i], first[i + 1])
  Buffer<char> letters_;
  struct Place {
    uint32_t number;  // plus one; 0: empty
    uint32_t hash;
  };
  Place& find(std::string_view text, uint32_t hash);
  void grow();

  Buffer<Place> places_;  // open addressing, at most half full
};

inline Texts::Place& Texts::find(std::string_view text, uint32_t hash) {
  size_t at = hash & (places_.size() - 1);
  for (;; at = (at + 1) & (places_.size() - 1)) {
    Place& place = places_[at];
    if (place.number == 0 || (place.hash == hash && (*this)[place.number - 1] == text)) return place;
  }
}

inline void Texts::grow() {
  Buffer<Place> old = std::move(places_);
  places_ = Buffer<Place>();
  places_.assign_zero(old.empty() ? 1024 : 2 * old.size());
  for (const Place& place : old) {
    if (place.number == 0) continue;
    size_t at = place.hash & (places_.size() - 1);
    while (places_[at].number != 0) at = (at + 1) & (places_.size() - 1);
    places_[at] = place;
  }
}

inline uint32_t Texts::add(std::string_view text) {
  if (2 * (size() + 1) > places_.size()) grow();
  const uint32_t hash = static_cast<uint32_t>(std::hash<std::string_view>()(text));
  Place& place = find(text, hash);
  if (place.number != 0) return place.number - 1;
  if (letters_.size() + text.size() > most || size() >= most) return 1;
  for (char letter : text) letters_.push_back(letter);
  first_.push_back(static_cast<uint32_t>(letters_.size()));
  place = {static_cast<uint32_t>(size()), hash};
  return place.number - 1;
}

}  // namespace gradlife::heap
