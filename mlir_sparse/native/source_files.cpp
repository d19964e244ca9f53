// The source files of a package, as an identity of what runs in this process: a thousand files in a millisecond.

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#if defined(__unix__) || defined(__APPLE__)
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#endif

#include "module.hpp"

namespace py = pybind11;

namespace mlir_sparse {
namespace {

struct SourceFile {
  std::string path;
  std::int64_t changed, size;
};

[[noreturn]] void raise_of(const std::string &path) {
  PyErr_SetFromErrnoWithFilename(PyExc_OSError, path.c_str());
  throw py::error_already_set();
}

#if defined(__unix__) || defined(__APPLE__)

std::int64_t changed_at(const struct stat &about) {
#if defined(__APPLE__)
  const timespec &at = about.st_mtimespec;
#else
  const timespec &at = about.st_mtim;
#endif
  return std::int64_t{at.tv_sec} * 1000000000 + at.tv_nsec;
}

bool ends_in_py(const std::string &name) { return name.size() > 3 && name.compare(name.size() - 3, 3, ".py") == 0; }

// Adds the sources in a folder, and the paths of the folders in it; links to folders are not followed.
void look_into(const std::string &folder, std::vector<SourceFile> &found, std::vector<std::string> &folders) {
  const std::unique_ptr<DIR, int (*)(DIR *)> open(opendir(folder.c_str()), &closedir);
  if (!open) raise_of(folder);
  for (errno = 0; const dirent *item = readdir(open.get()); errno = 0) {
    const std::string name = item->d_name;
    if (name == "." || name == ".." || name == "__pycache__") continue;
    struct stat about;
    if (ends_in_py(name)) {
      if (fstatat(dirfd(open.get()), name.c_str(), &about, 0) != 0) raise_of(folder + '/' + name);
      found.push_back({folder + '/' + name, changed_at(about), std::int64_t{about.st_size}});
      continue;
    }
    bool is_folder = item->d_type == DT_DIR;
    if (item->d_type == DT_UNKNOWN) {  // some file systems do not say
      if (fstatat(dirfd(open.get()), name.c_str(), &about, AT_SYMLINK_NOFOLLOW) != 0) raise_of(folder + '/' + name);
      is_folder = S_ISDIR(about.st_mode);
    }
    if (is_folder) folders.push_back(folder + '/' + name);
  }
  if (errno != 0) raise_of(folder);
}

std::vector<SourceFile> files_below(const std::string &folder, const std::string &library) {
  std::vector<SourceFile> found;
  std::vector<std::string> folders{folder};
  while (!folders.empty()) {
    const std::string next = std::move(folders.back());
    folders.pop_back();
    look_into(next, found, folders);
  }
  struct stat about;
  if (stat(library.c_str(), &about) != 0) raise_of(library);
  found.push_back({library, changed_at(about), std::int64_t{about.st_size}});
  return found;
}

#else

std::vector<SourceFile> files_below(const std::string &folder, const std::string &) {
  errno = ENOSYS;
  raise_of(folder);
}

#endif

py::tuple source_files(const std::string &folder, const std::string &library) {
  std::vector<SourceFile> found = files_below(folder, library);
  std::sort(found.begin(), found.end(), [](const auto &one, const auto &other) { return one.path < other.path; });
  std::string text;
  std::int64_t newest = 0;
  for (const SourceFile &file : found) {
    text.append(file.path).push_back('\0');
    text.append(std::to_string(file.changed)).push_back('\0');
    text.append(std::to_string(file.size)).push_back('\0');
    newest = std::max(newest, file.changed);
  }
  return py::make_tuple(py::bytes(text), newest);
}

}  // namespace

void register_source_files(py::module_ &module) {
  module.def("source_files", &source_files, py::arg("folder"), py::arg("library"));
}

}  // namespace mlir_sparse
