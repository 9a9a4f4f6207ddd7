#include "heap_py/native/symbol_tables.hpp"

#include <cstring>

#ifdef __linux__
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <unistd.h>

#include <algorithm>
#include <vector>
#endif

namespace gradlife::heap {

#ifdef __linux__

namespace {

constexpr size_t symbols_at_once = 4096;
constexpr size_t longest_name = 1024;
constexpr size_t max_sections = 10000;

class File {
 public:
  explicit File(const std::string& path) : descriptor_(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {}
  ~File() {
    if (descriptor_ >= 0) close(descriptor_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  size_t read(uint64_t offset, void* into, size_t bytes) const {
    if (descriptor_ < 0 || offset > INT64_MAX) return 0;
    const ssize_t count = pread(descriptor_, into, bytes, static_cast<off_t>(offset));
    return count > 0 ? static_cast<size_t>(count) : 0;
  }
  template <class T>
  bool read(uint64_t offset, T& into) const {
    return read(offset, &into, sizeof into) == sizeof into;
  }

 private:
  int descriptor_;
};

bool read_section(const File& file, const ElfW(Ehdr) & head, size_t number, ElfW(Shdr) & section) {
  return number < head.e_shnum && file.read(head.e_shoff + number * sizeof section, section);
}

std::string read_name(const File& file, const ElfW(Shdr) & names, uint32_t at) {
  char text[longest_name];
  if (at >= names.sh_size) return "";
  const size_t count = file.read(names.sh_offset + at, text, std::min<uint64_t>(sizeof text, names.sh_size - at));
  const auto length = static_cast<size_t>(std::find(text, text + count, '\0') - text);
  return length != count ? std::string(text, length) : "";
}

bool is_variable_at(const ElfW(Sym) & symbol, unsigned char type, Address offset) {
  return ELF64_ST_TYPE(symbol.st_info) == type && symbol.st_shndx != SHN_UNDEF && offset >= symbol.st_value &&
         offset - symbol.st_value < std::max<uint64_t>(symbol.st_size, 1);
}

std::string find_in(const File& file, const ElfW(Shdr) & table, const ElfW(Shdr) & names, unsigned char type,
                    Address offset) {
  std::vector<ElfW(Sym)> symbols(symbols_at_once);
  for (uint64_t at = 0; at < table.sh_size;) {
    const uint64_t wanted = std::min<uint64_t>(symbols.size() * sizeof(ElfW(Sym)), table.sh_size - at);
    const size_t count = file.read(table.sh_offset + at, symbols.data(), wanted) / sizeof(ElfW(Sym));
    if (count == 0) return "";
    for (size_t i = 0; i < count; ++i)
      if (is_variable_at(symbols[i], type, offset)) return read_name(file, names, symbols[i].st_name);
    at += count * sizeof(ElfW(Sym));
  }
  return "";
}

}  // namespace

std::string find_variable(const std::string& path, Address offset, bool is_thread_local) {
  const File file(path.empty() ? "/proc/self/exe" : path);
  const unsigned char type = is_thread_local ? STT_TLS : STT_OBJECT;
  ElfW(Ehdr) head;
  ElfW(Shdr) section, names;
  if (!file.read(0, head) || std::memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 ||
      head.e_shentsize != sizeof(ElfW(Shdr)) || head.e_shnum > max_sections)
    return "";
  std::string name;
  for (size_t i = 0; i < head.e_shnum && name.empty(); ++i) {
    if (!read_section(file, head, i, section) || section.sh_entsize != sizeof(ElfW(Sym))) continue;
    const bool is_table = section.sh_type == SHT_SYMTAB || section.sh_type == SHT_DYNSYM;
    if (is_table && read_section(file, head, section.sh_link, names))
      name = find_in(file, section, names, type, offset);
  }
  return name;
}

#else

std::string find_variable(const std::string&, Address, bool) { return ""; }

#endif

}  // namespace gradlife::heap
