#include "heap_py/memory/memory_map.hpp"

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstring>

#ifdef __linux__
#include <fcntl.h>
#include <unistd.h>
#endif

namespace gradlife::heap {
namespace {

Mapping::What what_of(const char* path) {
  if (path[0] == '\0') return Mapping::What::anonymous;
  if (std::strcmp(path, "[heap]") == 0) return Mapping::What::heap;
  if (std::strcmp(path, "[stack]") == 0) return Mapping::What::stack;
  if (std::strncmp(path, "[anon", 5) == 0) return Mapping::What::anonymous;
  return path[0] == '/' ? Mapping::What::file : Mapping::What::special;
}

bool parse(const char* line, Mapping& mapping) {
  char rights[5] = "";
  int path = 0;
  if (std::sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %*s %*s %*s %n", &mapping.first, &mapping.last, rights, &path) < 3)
    return false;
  mapping.is_readable = rights[0] == 'r';
  mapping.is_writable = rights[1] == 'w';
  mapping.is_executable = rights[2] == 'x';
  mapping.is_private = rights[3] == 'p';
  mapping.what = what_of(path > 0 ? line + path : "");
  return true;
}

ScanVector<char> read_all(const char* path, ScanArena& arena) {
  ScanVector<char> text(arena.memory());
#ifdef __linux__
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return text;
  constexpr size_t piece = size_t{1} << 16;
  for (ssize_t got = 1; got > 0;) {
    const size_t size = text.size();
    text.resize(size + piece);
    got = read(file, text.data() + size, piece);
    text.resize(size + (got > 0 ? static_cast<size_t>(got) : 0));
  }
  close(file);
#else
  static_cast<void>(path);
#endif
  return text;
}

}  // namespace

MemoryMap::MemoryMap(ScanArena& arena) : mappings_(arena.memory()) {
  ScanVector<char> text = read_all("/proc/self/maps", arena);
  char* line = text.data();
  char* const end = line + text.size();
  while (line != end) {
    char* stop = std::find(line, end, '\n');
    if (stop == end) break;
    *stop = '\0';
    Mapping mapping;
    if (parse(line, mapping)) add(mapping);
    line = stop + 1;
  }
}

// After a fork, the kernel lists the growth of malloc's main heap as a mapping of its own.
void MemoryMap::add(const Mapping& mapping) {
  const bool goes_on = mapping.what == Mapping::What::heap && !mappings_.empty() &&
                       mappings_.back().what == Mapping::What::heap && mappings_.back().last == mapping.first &&
                       mappings_.back().is_writable == mapping.is_writable;
  if (goes_on)
    mappings_.back().last = mapping.last;
  else
    mappings_.push_back(mapping);
}

const Mapping* MemoryMap::find(Address address) const {
  const auto after = std::upper_bound(mappings_.begin(), mappings_.end(), address,
                                      [](Address wanted, const Mapping& mapping) { return wanted < mapping.first; });
  if (after == mappings_.begin()) return nullptr;
  const Mapping& mapping = *(after - 1);
  return mapping.contains(address) ? &mapping : nullptr;
}

bool MemoryMap::is_code(Address address) const {
  const Mapping* mapping = find(address);
  return mapping != nullptr && mapping->is_executable && mapping->what == Mapping::What::file;
}

}  // namespace gradlife::heap
