#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "heap_py/native/libraries.hpp"

#include <algorithm>

#ifdef __linux__
#include <dlfcn.h>
#include <link.h>
#endif
#ifdef __GLIBC__
#include <gnu/libc-version.h>
#endif

#include "heap_py/memory/class_names.hpp"
#include "heap_py/native/symbol_tables.hpp"

namespace gradlife::heap {

std::string Library::name() const {
  const size_t slash = path.rfind('/');
  if (path.empty()) return "the program";
  return slash == std::string::npos ? path : path.substr(slash + 1);
}

Libraries::Libraries() {
#ifdef __linux__
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* state) {
        auto& self = *static_cast<Libraries*>(state);
        Library library;
        library.path = info->dlpi_name;
        library.base = info->dlpi_addr;
        library.tls_number = info->dlpi_tls_modid;
        library.own_tls = static_cast<Address>(reinterpret_cast<uintptr_t>(info->dlpi_tls_data));
        for (int i = 0; i < info->dlpi_phnum; ++i) {
          const auto& header = info->dlpi_phdr[i];
          if (header.p_type == PT_TLS) library.tls_bytes = header.p_memsz;
          if (header.p_type != PT_LOAD) continue;
          Segment segment;
          segment.first = info->dlpi_addr + header.p_vaddr;
          segment.last = segment.first + header.p_memsz;
          segment.library = self.libraries_.size();
          segment.is_writable = (header.p_flags & PF_W) != 0;
          self.segments_.push_back(segment);
        }
        self.libraries_.push_back(std::move(library));
        return 0;
      },
      this);
#endif
  std::sort(segments_.begin(), segments_.end(), [](const Segment& a, const Segment& b) { return a.first < b.first; });
  const Segment* python = segment_of(static_cast<Address>(reinterpret_cast<uintptr_t>(&PyType_Type)));
  if (python != nullptr) libraries_[python->library].is_python = true;
#ifdef __GLIBC__
  const Segment* libc = segment_of(static_cast<Address>(reinterpret_cast<uintptr_t>(&gnu_get_libc_version)));
  if (libc != nullptr) libraries_[libc->library].is_libc = true;
#endif
}

const Libraries::Segment* Libraries::segment_of(Address address) const {
  const auto after = std::upper_bound(segments_.begin(), segments_.end(), address,
                                      [](Address wanted, const Segment& segment) { return wanted < segment.first; });
  if (after == segments_.begin()) return nullptr;
  const Segment& segment = *(after - 1);
  return segment.contains(address) ? &segment : nullptr;
}

const Library* Libraries::owner_of(Address address) const {
  const Segment* segment = segment_of(address);
  return segment != nullptr && segment->is_writable ? &libraries_[segment->library] : nullptr;
}

const Library* Libraries::library_of(Address address) const {
  const Segment* segment = segment_of(address);
  return segment != nullptr ? &libraries_[segment->library] : nullptr;
}

bool Libraries::is_python(Address address) const {
  const Library* library = library_of(address);
  return library != nullptr && library->is_python;
}

std::string Libraries::symbol_at(Address address) const {
#ifdef __linux__
  Dl_info found;
  const auto* pointer = reinterpret_cast<const void*>(static_cast<uintptr_t>(address));
  if (dladdr(pointer, &found) != 0 && found.dli_sname != nullptr) return ClassNames::readable(found.dli_sname);
#endif
  const Library* library = library_of(address);
  return library != nullptr ? ClassNames::readable(find_variable(library->path, address - library->base, false)) : "";
}

std::string Libraries::thread_local_symbol(const Library& library, Address offset) {
  return ClassNames::readable(find_variable(library.path, offset, true));
}

}  // namespace gradlife::heap
