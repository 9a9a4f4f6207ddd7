// Names as they can be shown: characters that move a cursor, end a line or change the direction of a text are escaped.
// Names come from unchecked programs and files; a report goes to terminals, browsers and issue trackers.
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

namespace gradlife {

inline bool is_hidden_character(uint32_t code) {
  const bool is_control = code < 0x20 || (code >= 0x7f && code < 0xa0);
  const bool is_line_end = code == 0x2028 || code == 0x2029;
  const bool turns = code == 0x061c || code == 0x200e || code == 0x200f || (code >= 0x202a && code <= 0x202e) ||
                     (code >= 0x2066 && code <= 0x2069);
  return is_control || is_line_end || turns;
}

// The code of the first character, if it has up to three bytes of UTF-8, and its number of bytes. Longer ones and
// broken bytes count as one visible byte: none of them is hidden.
struct Character {
  uint32_t code;
  size_t bytes;
};
inline Character first_character(std::string_view utf8) {
  const auto byte = [&](size_t i) { return static_cast<uint32_t>(static_cast<unsigned char>(utf8[i])); };
  const auto follows = [&](size_t i) { return i < utf8.size() && (byte(i) & 0xc0) == 0x80; };
  if (byte(0) < 0x80) return {byte(0), 1};
  if ((byte(0) & 0xe0) == 0xc0 && follows(1)) return {(byte(0) & 0x1f) << 6 | (byte(1) & 0x3f), 2};
  if ((byte(0) & 0xf0) == 0xe0 && follows(1) && follows(2))
    return {(byte(0) & 0x0f) << 12 | (byte(1) & 0x3f) << 6 | (byte(2) & 0x3f), 3};
  return {0xfffd, 1};
}

// Escapes hidden characters as Python does: \x1b, \u202e. Cost: one pass.
inline std::string visible(std::string_view utf8) {
  std::string shown;
  shown.reserve(utf8.size());
  while (!utf8.empty()) {
    const Character character = first_character(utf8);
    if (is_hidden_character(character.code)) {
      char spelt[8];
      const char* form = character.code < 0x100 ? "\\x%02x" : "\\u%04x";
      shown.append(spelt, static_cast<size_t>(std::snprintf(spelt, sizeof spelt, form, character.code)));
    } else {
      shown.append(utf8.substr(0, character.bytes));
    }
    utf8.remove_prefix(character.bytes);
  }
  return shown;
}

}  // namespace gradlife
