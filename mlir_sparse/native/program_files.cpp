// What `sparse_tensor.new` and `sparse_tensor.out` call: tensors from and to files.

#include <complex>
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <limits>
#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

#include "element_types.hpp"
#include "memref_descriptors.hpp"
#include "program_call.hpp"
#include "tensor_file.hpp"

namespace mlir_sparse {
namespace {

using Indices = MemRef<uint64_t, 1>;

// A file that a program has opened, with the sizes that it may keep a memref of.
struct Reader {
  TensorFile file;
  std::vector<uint64_t> sizes;

  explicit Reader(const char *name) : file(name) {
    for (const int64_t size : file.sizes()) sizes.push_back(static_cast<uint64_t>(size));
  }
};

// Runs what may throw, and ends the program then: no exception can pass through compiled code.
template <typename F>
void checked(F body) {
  const char *message = nullptr;
  try {
    body();
  } catch (const std::exception &error) {
    message = program_message(error.what());
  }
  if (message) end_program(message);
}

// How levels come from dimensions, by MLIR's encoding of a map: in the four highest bits 1 says that a level is a
// dimension divided, 2 that it is the remainder, by a number in bits 20 to 39; the dimension is in the lowest 20.
uint64_t level_of(uint64_t code, const int64_t *coordinates, std::size_t rank) {
  const uint64_t kind = code >> 60, dim = code & 0xfffff, number = (code >> 20) & 0xfffff;
  if (dim >= rank || kind > 2 || (kind > 0 && number == 0))
    throw std::runtime_error("expected levels that are dimensions, or divide them, but got another map");
  const auto coordinate = static_cast<uint64_t>(coordinates[dim]);
  return kind == 0 ? coordinate : kind == 1 ? coordinate / number : coordinate % number;
}

template <typename V>
void store(V &target, double value) {
  target = static_cast<V>(value);
}
void store(Half &target, double value) { target = to_half(static_cast<float>(value)); }
void store(Bfloat &target, double value) { target = to_bfloat(static_cast<float>(value)); }

template <typename V>
constexpr bool is_complex_value = false;
template <typename T>
constexpr bool is_complex_value<std::complex<T>> = true;

template <typename V>
void store_entry(V &target, const TensorFile::Entries &entries, std::size_t at, bool pairs) {
  if constexpr (is_complex_value<V>) {
    using Part = typename V::value_type;
    if (pairs) target = V(static_cast<Part>(entries.reals[2 * at]), static_cast<Part>(entries.reals[2 * at + 1]));
    else target = V(static_cast<Part>(entries.integers.empty() ? entries.reals[at]
                                                               : static_cast<double>(entries.integers[at])));
  } else if constexpr (std::is_same_v<V, int64_t>) {
    target = entries.integers.empty() ? static_cast<int64_t>(entries.reals[at]) : entries.integers[at];
  } else {
    store(target, entries.integers.empty() ? entries.reals[at] : static_cast<double>(entries.integers[at]));
  }
}

// Stores the entries of a file in level coordinates, and returns whether they are in order there.
template <typename C, typename V>
bool read_to_buffers(const Reader &reader, const Indices &levels, const MemRef<C, 1> &coordinates,
                     const MemRef<V, 1> &values) {
  const TensorFile &file = reader.file;
  constexpr bool complex = is_complex_value<V>;
  if (file.is_complex() && !complex)
    throw std::runtime_error("expected real values in " + file.name() + ", but got complex ones");
  const TensorFile::Entries entries = file.read(complex);
  const auto count = static_cast<std::size_t>(file.entries()), rank = file.sizes().size();
  const auto depth = static_cast<std::size_t>(levels.sizes[0]);
  if (coordinates.sizes[0] < static_cast<int64_t>(count * depth) || values.sizes[0] < static_cast<int64_t>(count))
    throw std::runtime_error("expected buffers for the " + std::to_string(count) + " entries of " + file.name());
  const bool pairs = complex && entries.reals.size() == 2 * count && entries.integers.empty();
  std::vector<uint64_t> before(depth), now(depth);
  bool sorted = true;
  for (std::size_t entry = 0; entry < count; ++entry) {
    for (std::size_t level = 0; level < depth; ++level) {
      now[level] = level_of(levels[static_cast<int64_t>(level)], entries.coordinates.data() + entry * rank, rank);
      if (now[level] > static_cast<uint64_t>(std::numeric_limits<C>::max()))
        throw std::runtime_error("expected coordinates that crdWidth holds in " + file.name() + ", but got " +
                                 std::to_string(now[level]));
      coordinates[static_cast<int64_t>(entry * depth + level)] = static_cast<C>(now[level]);
    }
    store_entry(values[static_cast<int64_t>(entry)], entries, entry, pairs);
    if (entry > 0 && now < before) sorted = false;
    before.swap(now);
  }
  return sorted;
}

// A file that a program writes, entry by entry.
struct Writer {
  std::FILE *file;
  bool own;
};

void write_value(std::FILE *file, double value) { std::fprintf(file, " %.17g\n", value); }
void write_value(std::FILE *file, float value) { std::fprintf(file, " %.9g\n", static_cast<double>(value)); }
void write_value(std::FILE *file, Half value) { write_value(file, to_float(value)); }
void write_value(std::FILE *file, Bfloat value) { write_value(file, to_float(value)); }
void write_value(std::FILE *file, int64_t value) { std::fprintf(file, " %" PRId64 "\n", value); }
void write_value(std::FILE *file, int32_t value) { write_value(file, static_cast<int64_t>(value)); }
void write_value(std::FILE *file, int16_t value) { write_value(file, static_cast<int64_t>(value)); }
void write_value(std::FILE *file, int8_t value) { write_value(file, static_cast<int64_t>(value)); }
template <typename T>
void write_value(std::FILE *file, std::complex<T> value) {
  std::fprintf(file, " %.17g %.17g\n", static_cast<double>(value.real()), static_cast<double>(value.imag()));
}

}  // namespace
}  // namespace mlir_sparse

using mlir_sparse::checked;
using mlir_sparse::Indices;
using mlir_sparse::MemRef;
using mlir_sparse::Reader;
using mlir_sparse::Writer;

// The value of TENSOR<number> in the environment.
MLIR_SPARSE_PROGRAM_FUNCTION char *getTensorFilename(uint64_t number) {
  char *found = nullptr;
  checked([&] {
    const std::string name = "TENSOR" + std::to_string(number);
    found = std::getenv(name.c_str());
    if (!found) throw std::runtime_error("expected the environment to name a file in " + name + ", but it is not set");
  });
  return found;
}

MLIR_SPARSE_PROGRAM_FUNCTION void *_mlir_ciface_createCheckedSparseTensorReader(const char *name, Indices *shape,
                                                                               uint32_t) {
  Reader *made = nullptr;
  checked([&] {
    auto reader = std::make_unique<Reader>(name);
    const auto rank = static_cast<int64_t>(reader->sizes.size());
    if (rank != shape->sizes[0])
      throw std::runtime_error("expected a tensor of " + std::to_string(shape->sizes[0]) + " dimensions in " +
                               reader->file.name() + ", but got " + std::to_string(rank));
    for (int64_t dim = 0; dim < rank; ++dim) {
      const uint64_t wanted = (*shape)[dim], got = reader->sizes[static_cast<std::size_t>(dim)];
      if (wanted != 0 && wanted != got)  // 0 is any size
        throw std::runtime_error("expected size " + std::to_string(wanted) + " of dimension " + std::to_string(dim) +
                                 ", as the type says, in " + reader->file.name() + ", but got " + std::to_string(got));
    }
    made = reader.release();
  });
  return made;
}

MLIR_SPARSE_PROGRAM_FUNCTION void _mlir_ciface_getSparseTensorReaderDimSizes(Indices *sizes, void *reader) {
  auto &found = static_cast<Reader *>(reader)->sizes;
  *sizes = {found.data(), found.data(), 0, {static_cast<int64_t>(found.size())}, {1}};
}
MLIR_SPARSE_PROGRAM_FUNCTION uint64_t getSparseTensorReaderRank(void *reader) {
  return static_cast<Reader *>(reader)->sizes.size();
}
MLIR_SPARSE_PROGRAM_FUNCTION bool getSparseTensorReaderIsSymmetric(void *reader) {
  return static_cast<Reader *>(reader)->file.is_symmetric();
}
MLIR_SPARSE_PROGRAM_FUNCTION uint64_t getSparseTensorReaderNSE(void *reader) {
  return static_cast<uint64_t>(static_cast<Reader *>(reader)->file.entries());
}
MLIR_SPARSE_PROGRAM_FUNCTION void delSparseTensorReader(void *reader) { delete static_cast<Reader *>(reader); }

// For each width of coordinates (0 is `index`) and each element type, with MLIR's letters.
#define MLIR_SPARSE_FILE_VALUES(PAIR, WIDTH, C)  \
  PAIR(WIDTH, C, F64, double)                    \
  PAIR(WIDTH, C, F32, float)                     \
  PAIR(WIDTH, C, F16, mlir_sparse::Half)         \
  PAIR(WIDTH, C, BF16, mlir_sparse::Bfloat)      \
  PAIR(WIDTH, C, I64, int64_t)                   \
  PAIR(WIDTH, C, I32, int32_t)                   \
  PAIR(WIDTH, C, I16, int16_t)                   \
  PAIR(WIDTH, C, I8, int8_t)                     \
  PAIR(WIDTH, C, C64, std::complex<double>)      \
  PAIR(WIDTH, C, C32, std::complex<float>)
#define MLIR_SPARSE_FILE_PAIRS(PAIR)             \
  MLIR_SPARSE_FILE_VALUES(PAIR, 0, uint64_t)     \
  MLIR_SPARSE_FILE_VALUES(PAIR, 64, uint64_t)    \
  MLIR_SPARSE_FILE_VALUES(PAIR, 32, uint32_t)    \
  MLIR_SPARSE_FILE_VALUES(PAIR, 16, uint16_t)    \
  MLIR_SPARSE_FILE_VALUES(PAIR, 8, uint8_t)
#define MLIR_SPARSE_READS(WIDTH, C, LETTERS, V)                                                                   \
  MLIR_SPARSE_PROGRAM_FUNCTION bool _mlir_ciface_getSparseTensorReaderReadToBuffers##WIDTH##LETTERS(              \
      void *reader, Indices *levels, Indices *, MemRef<C, 1> *coordinates, MemRef<V, 1> *values) {                \
    bool sorted = false;                                                                                          \
    checked([&] {                                                                                                 \
      sorted = mlir_sparse::read_to_buffers<C, V>(*static_cast<Reader *>(reader), *levels, *coordinates, *values);\
    });                                                                                                           \
    return sorted;                                                                                                \
  }
MLIR_SPARSE_FILE_PAIRS(MLIR_SPARSE_READS)

// Writes to standard output for an empty name.
MLIR_SPARSE_PROGRAM_FUNCTION void *createSparseTensorWriter(const char *name) {
  Writer *made = nullptr;
  checked([&] {
    auto writer = std::make_unique<Writer>();
    writer->own = *name != '\0';
    writer->file = writer->own ? std::fopen(name, "wb") : stdout;
    if (!writer->file) throw std::runtime_error(std::string("expected a file to write to, but cannot open ") + name);
    std::fputs("# extended FROSTT format\n", writer->file);
    made = writer.release();
  });
  return made;
}

MLIR_SPARSE_PROGRAM_FUNCTION void _mlir_ciface_outSparseTensorWriterMetaData(void *writer, uint64_t rank,
                                                                            uint64_t entries, Indices *sizes) {
  std::FILE *file = static_cast<Writer *>(writer)->file;
  std::fprintf(file, "%" PRIu64 " %" PRIu64 "\n", rank, entries);
  for (uint64_t dim = 0; dim < rank; ++dim)
    std::fprintf(file, "%" PRIu64 "%c", (*sizes)[static_cast<int64_t>(dim)], dim + 1 < rank ? ' ' : '\n');
}

#define MLIR_SPARSE_WRITES(WIDTH, C, LETTERS, V)                                                                  \
  MLIR_SPARSE_PROGRAM_FUNCTION void _mlir_ciface_outSparseTensorWriterNext##LETTERS(                              \
      void *writer, uint64_t rank, Indices *coordinates, MemRef<V, 0> *value) {                                   \
    std::FILE *file = static_cast<Writer *>(writer)->file;                                                        \
    for (uint64_t dim = 0; dim < rank; ++dim)                                                                     \
      std::fprintf(file, "%s%" PRIu64, dim ? " " : "", (*coordinates)[static_cast<int64_t>(dim)] + 1);            \
    mlir_sparse::write_value(file, value->aligned[value->offset]);                                                \
  }
MLIR_SPARSE_FILE_VALUES(MLIR_SPARSE_WRITES, 0, uint64_t)

MLIR_SPARSE_PROGRAM_FUNCTION void delSparseTensorWriter(void *given) {
  auto *writer = static_cast<Writer *>(given);
  const bool failed = (writer->own ? std::fclose(writer->file) : std::fflush(writer->file)) != 0;
  delete writer;
  if (failed) mlir_sparse::end_program("expected a file to be written, but the system could not: is the disk full?");
}

namespace mlir_sparse {

void add_file_functions(ProgramFunctions &functions) {
#define MLIR_SPARSE_ADD_READS(WIDTH, C, LETTERS, V) \
  MLIR_SPARSE_ADD_FUNCTION(functions, _mlir_ciface_getSparseTensorReaderReadToBuffers##WIDTH##LETTERS);
#define MLIR_SPARSE_ADD_WRITES(WIDTH, C, LETTERS, V) \
  MLIR_SPARSE_ADD_FUNCTION(functions, _mlir_ciface_outSparseTensorWriterNext##LETTERS);
  MLIR_SPARSE_FILE_PAIRS(MLIR_SPARSE_ADD_READS)
  MLIR_SPARSE_FILE_VALUES(MLIR_SPARSE_ADD_WRITES, 0, uint64_t)
#undef MLIR_SPARSE_ADD_READS
#undef MLIR_SPARSE_ADD_WRITES
  MLIR_SPARSE_ADD_FUNCTION(functions, getTensorFilename);
  MLIR_SPARSE_ADD_FUNCTION(functions, _mlir_ciface_createCheckedSparseTensorReader);
  MLIR_SPARSE_ADD_FUNCTION(functions, _mlir_ciface_getSparseTensorReaderDimSizes);
  MLIR_SPARSE_ADD_FUNCTION(functions, getSparseTensorReaderRank);
  MLIR_SPARSE_ADD_FUNCTION(functions, getSparseTensorReaderIsSymmetric);
  MLIR_SPARSE_ADD_FUNCTION(functions, getSparseTensorReaderNSE);
  MLIR_SPARSE_ADD_FUNCTION(functions, delSparseTensorReader);
  MLIR_SPARSE_ADD_FUNCTION(functions, createSparseTensorWriter);
  MLIR_SPARSE_ADD_FUNCTION(functions, _mlir_ciface_outSparseTensorWriterMetaData);
  MLIR_SPARSE_ADD_FUNCTION(functions, delSparseTensorWriter);
}

}  // namespace mlir_sparse
