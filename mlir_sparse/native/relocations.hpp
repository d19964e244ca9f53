// What a relocatable object file asks to be written once its sections have addresses, for each machine whose objects
// are loaded: what LLVM makes in the large code model.
#pragma once

#if defined(__linux__) && (defined(__x86_64__) || defined(__aarch64__))
#define MLIR_SPARSE_LOADS_OBJECTS 1
#else
#define MLIR_SPARSE_LOADS_OBJECTS 0
#endif

#if MLIR_SPARSE_LOADS_OBJECTS

#include <elf.h>

#include <cstdint>
#include <cstring>
#include <string>

#include <pybind11/pybind11.h>

namespace mlir_sparse {

[[noreturn]] inline void refuse(const std::string &what) {
  throw pybind11::value_error("expected an object file, but got " + what);
}

inline void expect(bool holds, const char *what) {
  if (!holds) refuse(what);
}

// Where a relocation writes, the bytes from there to the end of the section, and the stub of its symbol.
struct Place {
  char *at;
  std::uint64_t room;
  char *stub;

  std::uint64_t address() const { return static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(at)); }

  template <typename T>
  T load() const {
    expect(sizeof(T) <= room, "a relocation outside its section");
    T value;
    std::memcpy(&value, at, sizeof(T));
    return value;
  }

  template <typename T>
  void store(T value) const {
    expect(sizeof(T) <= room, "a relocation outside its section");
    std::memcpy(at, &value, sizeof(T));
  }

  std::int64_t distance(std::uint64_t value, std::int64_t most) const {
    const auto found = static_cast<std::int64_t>(value - address());
    expect(found >= -most - 1 && found <= most, "a relocation that does not reach its symbol");
    return found;
  }
};

#if defined(__x86_64__)

constexpr Elf64_Half kMachine = EM_X86_64;
constexpr Elf64_Word kUnwinding = SHT_X86_64_UNWIND;
constexpr std::uint64_t kNoRelocation = R_X86_64_NONE;
constexpr std::size_t kStubBytes = 0;  // calls load all 64 bits of an address

inline void relocate_place(const Place &place, std::uint64_t type, std::uint64_t symbol, std::uint64_t addend) {
  const std::uint64_t value = symbol + addend;
  switch (type) {
    case R_X86_64_64:
      return place.store(value);
    case R_X86_64_PC64:
      return place.store(value - place.address());
    case R_X86_64_PC32:
    case R_X86_64_PLT32:
      return place.store(static_cast<std::int32_t>(place.distance(value, INT32_MAX)));
    default:
      refuse("a relocation of type " + std::to_string(type));
  }
}

#else

constexpr Elf64_Half kMachine = EM_AARCH64;
constexpr Elf64_Word kUnwinding = SHT_NULL;  // tables of unwinding have no type of their own
constexpr std::uint64_t kNoRelocation = R_AARCH64_NONE;
constexpr std::size_t kStubBytes = 16;

// A stub calls what lies further away than the 128 MiB that a branch reaches, as libraries do. Registers 16 and 17 are
// those that code between a call and a function may change.
inline std::uint64_t stub_to(char *stub, std::uint64_t symbol) {
  constexpr std::uint32_t kLoadAndBranch[] = {0x58000050,   // ldr x16, the address 8 bytes on
                                              0xd61f0200};  // br x16
  std::memcpy(stub, kLoadAndBranch, sizeof kLoadAndBranch);
  std::memcpy(stub + sizeof kLoadAndBranch, &symbol, sizeof symbol);
  return static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(stub));
}

inline void relocate_branch(const Place &place, std::uint64_t symbol, std::uint64_t addend) {
  constexpr std::int64_t kMost = (std::int64_t{1} << 27) - 1;
  const auto away = static_cast<std::int64_t>(symbol + addend - place.address());
  const bool reaches = away >= -kMost - 1 && away <= kMost;
  expect(reaches || addend == 0, "a relocation that does not reach its symbol");
  const std::int64_t distance = place.distance(reaches ? symbol + addend : stub_to(place.stub, symbol), kMost);
  expect(distance % 4 == 0, "a branch to a part of an instruction");
  const auto field = static_cast<std::uint32_t>(static_cast<std::uint64_t>(distance) >> 2) & 0x03ffffffu;
  place.store((place.load<std::uint32_t>() & ~0x03ffffffu) | field);
}

// One of the four instructions that load 16 bits each of an address.
inline void relocate_quarter(const Place &place, std::uint64_t value, int quarter, bool last) {
  expect(!last || quarter == 3 || value >> (16 * (quarter + 1)) == 0, "a relocation that does not reach its symbol");
  const auto field = static_cast<std::uint32_t>(value >> (16 * quarter) & 0xffff) << 5;
  place.store((place.load<std::uint32_t>() & ~(0xffffu << 5)) | field);
}

inline void relocate_place(const Place &place, std::uint64_t type, std::uint64_t symbol, std::uint64_t addend) {
  const std::uint64_t value = symbol + addend;
  switch (type) {
    case R_AARCH64_ABS64:
      return place.store(value);
    case R_AARCH64_PREL64:
      return place.store(value - place.address());
    case R_AARCH64_PREL32:
      return place.store(static_cast<std::int32_t>(place.distance(value, INT32_MAX)));
    case R_AARCH64_CALL26:
    case R_AARCH64_JUMP26:
      return relocate_branch(place, symbol, addend);
    case R_AARCH64_MOVW_UABS_G0:
    case R_AARCH64_MOVW_UABS_G0_NC:
      return relocate_quarter(place, value, 0, type == R_AARCH64_MOVW_UABS_G0);
    case R_AARCH64_MOVW_UABS_G1:
    case R_AARCH64_MOVW_UABS_G1_NC:
      return relocate_quarter(place, value, 1, type == R_AARCH64_MOVW_UABS_G1);
    case R_AARCH64_MOVW_UABS_G2:
    case R_AARCH64_MOVW_UABS_G2_NC:
      return relocate_quarter(place, value, 2, type == R_AARCH64_MOVW_UABS_G2);
    case R_AARCH64_MOVW_UABS_G3:
      return relocate_quarter(place, value, 3, true);
    default:
      refuse("a relocation of type " + std::to_string(type));
  }
}

#endif

}  // namespace mlir_sparse

#endif
