// Machine code from relocatable object files, loaded into this process without a linker.
//
// MLIR's engine writes an ELF object in the large code model: addresses of all 64 bits of its own sections, and calls of
// functions of the C and mathematics libraries (see relocations.hpp). The file is checked before anything is mapped or
// run; another file is a ValueError. Memory is never writeable and executable at once.

#include <cstdint>
#include <cstring>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <pybind11/stl.h>

#include "half_conversions.hpp"
#include "module.hpp"
#include "program_call.hpp"
#include "relocations.hpp"

#if MLIR_SPARSE_LOADS_OBJECTS
#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>
#endif

namespace py = pybind11;

namespace mlir_sparse {
namespace {

#if MLIR_SPARSE_LOADS_OBJECTS

constexpr std::size_t kMostSections = 1 << 14;
constexpr std::size_t kMostBytes = std::size_t{1} << 28;
constexpr std::size_t kNowhere = SIZE_MAX;

// The bytes of a file, with checked reads.
class File {
 public:
  explicit File(std::string_view bytes) : bytes_(bytes) {}

  std::string_view at(std::uint64_t offset, std::uint64_t size) const {
    expect(offset <= bytes_.size() && size <= bytes_.size() - offset, "one that ends early");
    return bytes_.substr(offset, size);
  }

  // By copy: nothing in a file need be aligned.
  template <typename T>
  std::vector<T> items(std::uint64_t offset, std::uint64_t bytes) const {
    expect(bytes % sizeof(T) == 0, "a table of broken items");
    const std::string_view part = at(offset, bytes);
    std::vector<T> found(bytes / sizeof(T));
    if (!part.empty()) std::memcpy(found.data(), part.data(), part.size());
    return found;
  }

 private:
  std::string_view bytes_;
};

// A name in a table of strings; it ends inside the table.
std::string name_in(std::string_view table, std::uint64_t offset) {
  expect(offset < table.size(), "a name outside its table");
  const std::string_view rest = table.substr(offset);
  const std::size_t end = rest.find('\0');
  expect(end != std::string_view::npos, "a name without an end");
  return std::string(rest.substr(0, end));
}

// Functions that compiled code calls and does not define: those of programs, of the C library, libm, and the compiler's
// own library.
void *external(const std::string &name) {
  if (void *found = program_function(name)) return found;  // first: a failed assertion must not end the process
  if (void *found = dlsym(RTLD_DEFAULT, name.c_str())) return found;
  for (const char *library : {"libm.so.6", "libgcc_s.so.1"}) {
    // Never closed: code may call it as long as the process lives.
    void *handle = dlopen(library, RTLD_LAZY | RTLD_LOCAL);
    if (!handle) continue;
    if (void *found = dlsym(handle, name.c_str())) return found;
  }
  if (void *found = half_conversion(name)) return found;
  refuse("one that calls " + name + ", which no library has");
}

enum Group { kCode, kConstants, kData, kGroups };

class Code {
 public:
  Code(const py::bytes &data, const std::vector<std::string> &names) {
    const std::string_view bytes = data;
    const File file(bytes);
    read_header(file);
    read_symbols(file);
    place();
    map();
    try {
      copy(file);
      const std::vector<std::uint64_t> symbols = resolve(names);
      relocate(file, symbols);
      protect();
    } catch (...) {
      munmap(memory_, bytes_);
      throw;
    }
  }
  Code(const Code &) = delete;
  Code &operator=(const Code &) = delete;
  ~Code() { munmap(memory_, bytes_); }

  const std::map<std::string, std::uintptr_t> &addresses() const { return addresses_; }

 private:
  void read_header(const File &file) {
    const auto header = file.items<Elf64_Ehdr>(0, sizeof(Elf64_Ehdr)).front();
    const unsigned char *ident = header.e_ident;
    expect(std::memcmp(ident, ELFMAG, SELFMAG) == 0, "no ELF file");
    expect(ident[EI_CLASS] == ELFCLASS64 && ident[EI_DATA] == ELFDATA2LSB && ident[EI_VERSION] == EV_CURRENT,
           "one of another word size or byte order");
    expect(header.e_type == ET_REL && header.e_machine == kMachine, "one of another kind or machine");
    expect(header.e_shentsize == sizeof(Elf64_Shdr) && header.e_shnum > 0 && header.e_shnum <= kMostSections,
           "a broken table of sections");
    sections_ = file.items<Elf64_Shdr>(header.e_shoff, std::uint64_t{header.e_shnum} * sizeof(Elf64_Shdr));
  }

  void read_symbols(const File &file) {
    for (std::size_t s = 0; s < sections_.size(); ++s) {
      if (sections_[s].sh_type != SHT_SYMTAB) continue;
      expect(table_ == kNowhere, "two tables of symbols");
      table_ = s;
    }
    expect(table_ != kNowhere, "one without symbols");
    const Elf64_Shdr &table = sections_[table_], &strings = section(table.sh_link);
    expect(strings.sh_type == SHT_STRTAB, "a table of symbols without names");
    text_ = file.at(strings.sh_offset, strings.sh_size);
    symbols_ = file.items<Elf64_Sym>(table.sh_offset, table.sh_size);
  }

  // Unwinding tables are left out: nothing throws through compiled code.
  static bool is_loaded(const Elf64_Shdr &section) {
    if (!(section.sh_flags & SHF_ALLOC) || section.sh_type == kUnwinding) return false;
    return section.sh_type != SHT_NOTE;
  }

  static Group group_of(const Elf64_Shdr &section) {
    expect(section.sh_type == SHT_PROGBITS || section.sh_type == SHT_NOBITS, "a section of an unknown type");
    expect(!(section.sh_flags & (SHF_TLS | SHF_COMPRESSED)), "a section of thread-local or compressed data");
    const bool code = section.sh_flags & SHF_EXECINSTR, data = section.sh_flags & SHF_WRITE;
    expect(!(code && data), "code that may be written to");
    return code ? kCode : data ? kData : kConstants;
  }

  // Lays out the sections: code, with a stub for each symbol, constants and data on separate pages.
  void place() {
    const std::size_t page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    offsets_.assign(sections_.size(), kNowhere);
    for (int group = 0; group < kGroups; ++group) {
      begins_[group] = bytes_;
      for (std::size_t s = 0; s < sections_.size(); ++s) {
        const Elf64_Shdr &section = sections_[s];
        if (!is_loaded(section) || group_of(section) != group) continue;
        const std::uint64_t alignment = section.sh_addralign ? section.sh_addralign : 1;
        expect((alignment & (alignment - 1)) == 0 && alignment <= page, "a section of odd alignment");
        expect(section.sh_size <= kMostBytes && bytes_ <= kMostBytes, "a section of too many bytes");
        bytes_ = (bytes_ + alignment - 1) & ~(alignment - 1);
        offsets_[s] = bytes_;
        bytes_ += section.sh_size;
      }
      if (group == kCode) {
        expect(bytes_ > 0, "one without code");
        stubs_ = (bytes_ + 15) & ~std::size_t{15};
        bytes_ = stubs_ + kStubBytes * symbols_.size();
      }
      bytes_ = (bytes_ + page - 1) & ~(page - 1);
    }
    begins_[kGroups] = bytes_;
  }

  void map() {
    void *found = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (found == MAP_FAILED) throw std::bad_alloc();
    memory_ = static_cast<char *>(found);
  }

  void copy(const File &file) {
    for (std::size_t s = 0; s < sections_.size(); ++s) {
      const Elf64_Shdr &section = sections_[s];
      if (offsets_[s] == kNowhere || section.sh_type == SHT_NOBITS) continue;
      const std::string_view part = file.at(section.sh_offset, section.sh_size);
      if (!part.empty()) std::memcpy(memory_ + offsets_[s], part.data(), part.size());
    }
  }

  std::uint64_t address_of(std::size_t section) const {
    return static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(memory_ + offsets_[section]));
  }

  const Elf64_Shdr &section(std::uint64_t index) const {
    expect(index < sections_.size(), "a section that is not there");
    return sections_[index];
  }

  // Returns the address of each symbol, and records those of the named functions.
  std::vector<std::uint64_t> resolve(const std::vector<std::string> &names) {
    std::vector<std::uint64_t> found(symbols_.size());
    std::map<std::string, std::uintptr_t> functions;
    for (std::size_t s = 1; s < symbols_.size(); ++s) {
      const Elf64_Sym &symbol = symbols_[s];
      found[s] = resolve(symbol);
      if (ELF64_ST_TYPE(symbol.st_info) == STT_FUNC && is_code(symbol.st_shndx))
        functions[name_in(text_, symbol.st_name)] = found[s];
    }
    for (const std::string &name : names) {
      const auto at = functions.find(name);
      if (at == functions.end()) refuse("one without the function " + name);
      addresses_[name] = at->second;
    }
    return found;
  }

  bool is_code(std::uint16_t index) const {
    return index < sections_.size() && offsets_[index] != kNowhere && group_of(sections_[index]) == kCode;
  }

  std::uint64_t resolve(const Elf64_Sym &symbol) const {
    const unsigned type = ELF64_ST_TYPE(symbol.st_info);
    expect(type <= STT_FILE, "a symbol of an unknown type");
    if (type == STT_FILE) return 0;
    if (symbol.st_shndx == SHN_UNDEF) return reinterpret_cast<std::uintptr_t>(external(name_in(text_, symbol.st_name)));
    const Elf64_Shdr &home = section(symbol.st_shndx);
    if (offsets_[symbol.st_shndx] == kNowhere) return 0;  // no relocation may use it: see `relocate`
    expect(type == STT_FUNC ? symbol.st_value < home.sh_size : symbol.st_value <= home.sh_size,
           "a symbol outside its section");
    return address_of(symbol.st_shndx) + symbol.st_value;
  }

  void relocate(const File &file, const std::vector<std::uint64_t> &symbols) {
    for (const Elf64_Shdr &list : sections_) {
      expect(list.sh_type != SHT_REL && list.sh_type != SHT_GROUP, "relocations of another form, or groups");
      if (list.sh_type != SHT_RELA) continue;
      expect(list.sh_link == table_, "relocations of other symbols");
      const Elf64_Shdr &target = section(list.sh_info);
      if (offsets_[list.sh_info] == kNowhere) continue;
      expect(target.sh_type == SHT_PROGBITS, "relocations of a section without contents");
      for (const Elf64_Rela &item : file.items<Elf64_Rela>(list.sh_offset, list.sh_size))
        relocate(item, target, address_of(list.sh_info), symbols);
    }
  }

  void relocate(const Elf64_Rela &item, const Elf64_Shdr &target, std::uint64_t base,
                const std::vector<std::uint64_t> &symbols) {
    const std::uint64_t number = ELF64_R_SYM(item.r_info);
    if (ELF64_R_TYPE(item.r_info) == kNoRelocation) return;
    expect(number < symbols.size() && symbols[number] != 0, "a relocation of no symbol");
    expect(item.r_offset <= target.sh_size, "a relocation outside its section");
    const Place place{reinterpret_cast<char *>(static_cast<std::uintptr_t>(base + item.r_offset)),
                      target.sh_size - item.r_offset, memory_ + stubs_ + kStubBytes * number};
    relocate_place(place, ELF64_R_TYPE(item.r_info), symbols[number], static_cast<std::uint64_t>(item.r_addend));
  }

  void protect() {
    // Instructions are fetched past the cache that they were written to.
    __builtin___clear_cache(memory_ + begins_[kCode], memory_ + begins_[kConstants]);
    constexpr int rights[kGroups] = {PROT_READ | PROT_EXEC, PROT_READ, PROT_READ | PROT_WRITE};
    for (int group = 0; group < kGroups; ++group) {
      const std::size_t size = begins_[group + 1] - begins_[group];
      if (size && mprotect(memory_ + begins_[group], size, rights[group]) != 0)
        throw std::runtime_error("expected memory for code, but the system forbids it");
    }
  }

  std::vector<Elf64_Shdr> sections_;
  std::vector<std::size_t> offsets_;
  std::size_t begins_[kGroups + 1] = {};
  std::vector<Elf64_Sym> symbols_;
  std::string_view text_;  // of the file: while the object is made
  std::size_t bytes_ = 0, stubs_ = 0, table_ = kNowhere;
  char *memory_ = nullptr;
  std::map<std::string, std::uintptr_t> addresses_;
};

#else

class Code {
 public:
  Code(const py::bytes &, const std::vector<std::string> &) {
    throw py::value_error("expected an object file of this machine, but objects are loaded on x86-64 and arm64 Linux only");
  }
  const std::map<std::string, std::uintptr_t> &addresses() const { return addresses_; }

 private:
  std::map<std::string, std::uintptr_t> addresses_;
};

#endif

}  // namespace

void register_object(py::module_ &module) {
  module.attr("loads_objects") = bool{MLIR_SPARSE_LOADS_OBJECTS};
  py::class_<Code>(module, "Code", "Machine code from an object file; lives as long as the object.")
      .def(py::init<const py::bytes &, const std::vector<std::string> &>(), py::arg("data"), py::arg("names"))
      .def_property_readonly("addresses", &Code::addresses);
}

}  // namespace mlir_sparse
