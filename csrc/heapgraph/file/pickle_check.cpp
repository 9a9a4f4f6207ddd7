#include "heapgraph/file/pickle_check.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

namespace gradlife::heap {
namespace {

enum class Value : uint8_t { unset, text, other };

[[noreturn]] void damaged(const char* why) { throw FileError(std::string("is damaged: ") + why); }

class Check {
 public:
  Check(const char* data, size_t bytes) : at_(data), end_(data + bytes), bytes_(bytes) {}

  void run() {
    while (step(static_cast<unsigned char>(*take(1)))) {
    }
  }

 private:
  static constexpr uint64_t longest_integer = 16;  // bytes
  static constexpr uint64_t newest_protocol = 5;

  // Follows one operation; false at the last one.
  bool step(unsigned char operation) {
    switch (operation) {
      case '.':
        need(1);
        return false;
      case 'c':  // a class by its name, in the file or on the stack, or a persistent name: the unpickler refuses each
      case 'i':
      case 0x93:
      case 'P':
      case 'Q':
        return false;
      case 0x80:  // protocol: the unpickler refuses one that it does not know
        return number(1) <= newest_protocol;
      case 0x95:  // frame
        if (number(8) > left()) damaged("a frame is longer than the file");
        return true;
      default:
        if (!push(operation) && !build(operation) && !remember(operation)) refuse(operation);
        return true;
    }
  }

  // Operations that put a plain value on the stack.
  bool push(unsigned char operation) {
    switch (operation) {
      case 'N':
      case 0x88:
      case 0x89:
        break;
      case 'K':
        take(1);
        break;
      case 'M':
        take(2);
        break;
      case 'J':
        take(4);
        break;
      case 'G':
        take(8);
        break;
      case 'I':
      case 'L':
      case 'F':
        line();
        break;
      case 0x8a:
        integer(number(1));
        break;
      case 0x8b:
        integer(number(4));
        break;
      default:
        return push_text(operation);
    }
    put(Value::other);
    return true;
  }
  bool push_text(unsigned char operation) {
    switch (operation) {
      case 'S':
      case 'V':
        line();
        break;
      case 'U':
      case 0x8c:
        take(number(1));
        break;
      case 'T':
      case 'X':
        take(number(4));
        break;
      case 0x8d:
        take(number(8));
        break;
      case 'C':
        take(number(1));
        return put(Value::other);
      case 'B':
        take(number(4));
        return put(Value::other);
      case 0x8e:
      case 0x96:
        take(number(8));
        return put(Value::other);
      default:
        return false;
    }
    return put(Value::text);
  }

  // Operations that make containers of what is on the stack.
  bool build(unsigned char operation) {
    switch (operation) {
      case '(':
        marks_.push_back(stack_.size());
        return true;
      case '0':
        if (stack_.size() == floor() && !marks_.empty()) {
          marks_.pop_back();
        } else {
          drop(1);
        }
        return true;
      case '1':
        pop_mark();
        return true;
      case '2':
        need(1);
        return put(stack_.back());
      case ']':
      case '}':
      case ')':
        return put(Value::other);
      case 0x85:
      case 0x86:
      case 0x87:
        drop(operation - 0x84u);
        return put(Value::other);
      case 'a':
        drop(1);
        need(1);
        return true;
      default:
        return build_from_mark(operation);
    }
  }
  bool build_from_mark(unsigned char operation) {
    switch (operation) {
      case 't':
      case 'l':
        pop_mark();
        return put(Value::other);
      case 'd':
        check_pairs(floor());
        pop_mark();
        return put(Value::other);
      case 'e':
        pop_mark();
        need(1);
        return true;
      case 'u':
        check_pairs(floor());
        pop_mark();
        need(1);
        return true;
      case 's':
        need(3);
        check_pairs(stack_.size() - 2);
        drop(2);
        return true;
      default:
        return false;
    }
  }

  // Operations on the memo.
  bool remember(unsigned char operation) {
    switch (operation) {
      case 'p':
        return keep(decimal());
      case 'q':
        return keep(number(1));
      case 'r':
        return keep(number(4));
      case 0x94:
        return keep(kept_);
      case 'g':
        return recall(decimal());
      case 'h':
        return recall(number(1));
      case 'j':
        return recall(number(4));
      default:
        return false;
    }
  }
  bool keep(uint64_t place) {
    need(1);
    if (place >= bytes_) damaged("the memo has a larger number than the file has bytes");
    if (place >= memo_.size()) memo_.resize(place + 1, Value::unset);
    kept_ += memo_[place] == Value::unset;
    memo_[place] = stack_.back();
    return true;
  }
  bool recall(uint64_t place) {
    if (place >= memo_.size() || memo_[place] == Value::unset) damaged("the memo lacks a value");
    return put(memo_[place]);
  }

  [[noreturn]] static void refuse(unsigned char operation) {
    if (std::strchr("\x82\x83\x84R\x81\x92ob", operation) != nullptr)
      throw FileError("asks for something outside of it; only plain containers are read");
    if (std::strchr("\x8f\x90\x91", operation) != nullptr)
      throw FileError("has a set; only lists, tuples, dictionaries, numbers and texts are read");
    damaged("an operation is of no known kind");
  }

  void check_pairs(size_t from) {
    if ((stack_.size() - from) % 2 != 0) damaged("a key has no value");
    for (size_t i = from; i < stack_.size(); i += 2)
      if (stack_[i] != Value::text) throw FileError("has a key that is no text");
  }
  void integer(uint64_t bytes) {
    if (bytes > longest_integer) throw FileError("has an integer of more than 16 bytes");
    take(bytes);
  }

  bool put(Value value) {
    stack_.push_back(value);
    return true;
  }
  size_t floor() const { return marks_.empty() ? 0 : marks_.back(); }
  void need(size_t count) const {
    if (stack_.size() - floor() < count) damaged("a value is missing");
  }
  void drop(size_t count) {
    need(count);
    stack_.resize(stack_.size() - count);
  }
  void pop_mark() {
    if (marks_.empty()) damaged("a mark is missing");
    stack_.resize(marks_.back());
    marks_.pop_back();
  }

  size_t left() const { return static_cast<size_t>(end_ - at_); }
  const char* take(uint64_t bytes) {
    if (bytes > left()) throw FileError("ends too early");
    const char* taken = at_;
    at_ += bytes;
    return taken;
  }
  uint64_t number(size_t bytes) {
    uint64_t value = 0;
    const char* data = take(bytes);
    for (size_t i = 0; i < bytes; ++i) value |= uint64_t{static_cast<unsigned char>(data[i])} << (8 * i);
    return value;
  }
  size_t line() {
    const auto* stop = static_cast<const char*>(std::memchr(at_, '\n', left()));
    if (stop == nullptr) throw FileError("ends too early");
    const auto length = static_cast<size_t>(stop - at_);
    at_ = stop + 1;
    return length;
  }
  uint64_t decimal() {
    const char* digit = at_;
    const size_t length = line();
    if (length == 0 || length > 18 || std::any_of(digit, digit + length, [](char c) { return c < '0' || c > '9'; }))
      damaged("a number of its memo has no digits");
    uint64_t value = 0;
    for (size_t i = 0; i < length; ++i) value = value * 10 + static_cast<uint64_t>(digit[i] - '0');
    return value;
  }

  const char* at_;
  const char* const end_;
  const size_t bytes_;
  std::vector<Value> stack_, memo_;
  std::vector<size_t> marks_;
  size_t kept_ = 0;
};

}  // namespace

void check_pickle(const char* data, size_t bytes) { Check(data, bytes).run(); }

}  // namespace gradlife::heap
