/* A stand-in for the driver: memory of the host, launches by functions of the test, two devices. */
#include "fake.h"

typedef uint64_t Pointer;
enum { OK = 0, INVALID = 1, OUT_OF_MEMORY = 2, NO_IMAGE = 209, INVALID_PTX = 218, INVALID_CONTEXT = 201, NOT_FOUND = 500 };
enum { DEVICES = 2, MOST = 4096 };

struct Allocation { char *data; size_t bytes; int device, pooled; };
static struct Allocation allocations[MOST];
static size_t limit = (size_t)1 << 30, used[DEVICES], cached[DEVICES];
static int pools = 1, devices = DEVICES, major = 9, minor = 0;
static int streams, events, modules;
static __thread int stack[64], depth;
static double clock_ms;

EXPORT void fake_configure(size_t bytes, int with_pools, int count, int capability) {
  limit = bytes, pools = with_pools, devices = count, major = capability / 10, minor = capability % 10;
}
EXPORT void fake_reset(void) { memset(cached, 0, sizeof cached); }
EXPORT int fake_alive(int what) {
  int count = 0;
  switch (what) {
    case 0:
      for (int at = 0; at < MOST; ++at) count += allocations[at].data != NULL;
      return count;
    case 1: return streams;
    case 2: return events;
    case 3: return modules;
    default: return depth;
  }
}

static struct Allocation *holding(Pointer pointer, size_t bytes) {
  for (int at = 0; at < MOST; ++at) {
    struct Allocation *a = &allocations[at];
    if (a->data && pointer >= (Pointer)a->data && pointer + bytes <= (Pointer)a->data + a->bytes) return a;
  }
  return NULL;
}

static int current(void) { return depth ? stack[depth - 1] : -1; }
#define IN_CONTEXT() do { if (current() < 0) return INVALID_CONTEXT; } while (0)

EXPORT int cuInit(unsigned flags) { ORDERED("cuInit"); return flags ? INVALID : OK; }
EXPORT int cuDriverGetVersion(int *version) { *version = 13000; return OK; }
EXPORT int cuGetErrorName(int code, const char **name) {
  switch (code) {
    case INVALID: *name = "CUDA_ERROR_INVALID_VALUE"; return OK;
    case OUT_OF_MEMORY: *name = "CUDA_ERROR_OUT_OF_MEMORY"; return OK;
    case INVALID_CONTEXT: *name = "CUDA_ERROR_INVALID_CONTEXT"; return OK;
    case NO_IMAGE: *name = "CUDA_ERROR_NO_BINARY_FOR_GPU"; return OK;
    case INVALID_PTX: *name = "CUDA_ERROR_INVALID_PTX"; return OK;
    case NOT_FOUND: *name = "CUDA_ERROR_NOT_FOUND"; return OK;
    case 700: *name = "CUDA_ERROR_ILLEGAL_ADDRESS"; return OK;
    default: return INVALID;
  }
}
EXPORT int cuGetErrorString(int code, const char **text) {
  if (code == OUT_OF_MEMORY) { *text = "out of memory"; return OK; }
  return INVALID;
}
EXPORT int cuDeviceGetCount(int *count) { *count = devices; return OK; }
EXPORT int cuDeviceGet(int *device, int ordinal) {
  if (ordinal < 0 || ordinal >= devices) return INVALID;
  *device = ordinal;
  return OK;
}
EXPORT int cuDeviceGetName(char *name, int length, int device) { snprintf(name, length, "Stand-in %d", device); return OK; }
EXPORT int cuDeviceGetAttribute(int *value, int what, int device) {
  (void)device;
  *value = what == 75 ? major : what == 76 ? minor : what == 115 ? pools : what == 16 ? 4 : 0;
  return OK;
}
EXPORT int cuDevicePrimaryCtxRetain(void **context, int device) {
  say("cuDevicePrimaryCtxRetain %d", device);
  *context = (void *)(intptr_t)(device + 1);
  return OK;
}
EXPORT int cuCtxGetCurrent(void **context) { *context = (void *)(intptr_t)(current() + 1); return OK; }
EXPORT int cuCtxPushCurrent_v2(void *context) { stack[depth++] = (int)(intptr_t)context - 1; return OK; }
EXPORT int cuCtxPopCurrent_v2(void **context) {
  if (!depth) return INVALID_CONTEXT;
  *context = (void *)(intptr_t)(stack[--depth] + 1);
  return OK;
}
EXPORT int cuCtxSynchronize(void) { say("cuCtxSynchronize"); ORDERED("cuCtxSynchronize"); IN_CONTEXT(); return OK; }
EXPORT int cuMemGetInfo_v2(size_t *free_bytes, size_t *total) {
  IN_CONTEXT();
  *total = limit, *free_bytes = limit - used[current()] - cached[current()];
  return OK;
}

static int take(Pointer *pointer, size_t bytes, int pooled) {
  IN_CONTEXT();
  int device = current();
  size_t reused = pooled && cached[device] >= bytes ? bytes : 0;
  if (used[device] + cached[device] + bytes - reused > limit) return OUT_OF_MEMORY;
  for (int at = 0; at < MOST; ++at) {
    if (allocations[at].data) continue;
    char *data = aligned_alloc(256, (bytes + 255) / 256 * 256);
    if (!data) return OUT_OF_MEMORY;
    memset(data, 0xAB, bytes); /* nobody may count on zeros */
    allocations[at] = (struct Allocation){data, bytes, device, pooled};
    used[device] += bytes, cached[device] -= reused;
    *pointer = (Pointer)data;
    return OK;
  }
  return OUT_OF_MEMORY;
}
static int give(Pointer pointer, int pooled) {
  IN_CONTEXT();
  for (int at = 0; at < MOST; ++at) {
    struct Allocation *a = &allocations[at];
    if ((Pointer)a->data != pointer || a->pooled != pooled || a->device != current()) continue;
    used[a->device] -= a->bytes;
    if (pooled) cached[a->device] += a->bytes;
    memset(a->data, 0xCD, a->bytes);
    free(a->data);
    a->data = NULL;
    return OK;
  }
  return INVALID;
}
EXPORT int cuMemAlloc_v2(Pointer *pointer, size_t bytes) { say("cuMemAlloc %zu", bytes); ORDERED("cuMemAlloc"); return bytes ? take(pointer, bytes, 0) : INVALID; }
EXPORT int cuMemFree_v2(Pointer pointer) { say("cuMemFree"); ORDERED("cuMemFree"); return give(pointer, 0); }
EXPORT int cuMemPoolCreate(void **pool, const int *properties) {
  if (properties[0] != 1 || properties[2] != 1) return INVALID;
  *pool = (void *)(intptr_t)(0x1000 + properties[3]);
  return OK;
}
EXPORT int cuMemPoolSetAttribute(void *pool, int attribute, void *value) { (void)pool; (void)value; return attribute == 4 ? OK : INVALID; }
EXPORT int cuMemPoolTrimTo(void *pool, size_t kept) {
  say("cuMemPoolTrimTo");
  (void)kept;
  cached[(intptr_t)pool - 0x1000] = 0;
  return OK;
}
EXPORT int cuMemAllocFromPoolAsync(Pointer *pointer, size_t bytes, void *pool, void *stream) {
  say("cuMemAllocFromPoolAsync %zu on %p", bytes, stream);
  ORDERED("cuMemAllocFromPoolAsync");
  return (intptr_t)pool - 0x1000 == current() && bytes ? take(pointer, bytes, 1) : INVALID;
}
EXPORT int cuMemFreeAsync(Pointer pointer, void *stream) {
  say("cuMemFreeAsync on %p", stream);
  ORDERED("cuMemFreeAsync");
  return give(pointer, 1);
}
EXPORT int cuMemcpyHtoDAsync_v2(Pointer target, const void *source, size_t bytes, void *stream) {
  say("cuMemcpyHtoDAsync %zu on %p", bytes, stream);
  ORDERED("cuMemcpyHtoDAsync");
  if (!holding(target, bytes)) return INVALID;
  memcpy((void *)target, source, bytes);
  return OK;
}
EXPORT int cuMemcpyDtoHAsync_v2(void *target, Pointer source, size_t bytes, void *stream) {
  say("cuMemcpyDtoHAsync %zu on %p", bytes, stream);
  ORDERED("cuMemcpyDtoHAsync");
  if (!holding(source, bytes)) return INVALID;
  memcpy(target, (void *)source, bytes);
  return OK;
}
EXPORT int cuMemcpyDtoDAsync_v2(Pointer target, Pointer source, size_t bytes, void *stream) {
  say("cuMemcpyDtoDAsync %zu on %p", bytes, stream);
  if (!holding(target, bytes) || !holding(source, bytes)) return INVALID;
  memcpy((void *)target, (void *)source, bytes);
  return OK;
}
EXPORT int cuMemcpyAsync(Pointer target, Pointer source, size_t bytes, void *stream) {
  say("cuMemcpyAsync %zu on %p", bytes, stream);
  if (!holding(target, bytes) && !holding(source, bytes)) return INVALID;
  memcpy((void *)target, (void *)source, bytes);
  return OK;
}
EXPORT int cuMemcpyPeerAsync(Pointer target, void *to, Pointer source, void *from, size_t bytes, void *stream) {
  say("cuMemcpyPeerAsync %zu from %p to %p on %p", bytes, from, to, stream);
  if (!holding(target, bytes) || !holding(source, bytes)) return INVALID;
  memcpy((void *)target, (void *)source, bytes);
  return OK;
}
#define MEMSET(name, type)                                                     \
  EXPORT int name(Pointer target, type value, size_t count, void *stream) {    \
    say(#name " %zu on %p", count, stream);                                    \
    if (!holding(target, count * sizeof(type))) return INVALID;                \
    for (size_t at = 0; at < count; ++at) ((type *)target)[at] = value;        \
    return OK;                                                                 \
  }
MEMSET(cuMemsetD8Async, unsigned char)
MEMSET(cuMemsetD16Async, unsigned short)
MEMSET(cuMemsetD32Async, unsigned)

static intptr_t handles = 0x5000;
EXPORT int cuStreamCreate(void **stream, unsigned flags) { IN_CONTEXT(); *stream = (void *)(handles += 16); ++streams; say("cuStreamCreate %u", flags); return OK; }
EXPORT int cuStreamDestroy_v2(void *stream) { (void)stream; --streams; return OK; }
EXPORT int cuStreamSynchronize(void *stream) { say("cuStreamSynchronize %p", stream); ORDERED("cuStreamSynchronize"); IN_CONTEXT(); return OK; }
EXPORT int cuStreamWaitEvent(void *stream, void *event, unsigned flags) { (void)event; (void)flags; say("cuStreamWaitEvent on %p", stream); return OK; }
EXPORT int cuEventCreate(void **event, unsigned flags) { (void)flags; IN_CONTEXT(); *event = (void *)(handles += 16); ++events; return OK; }
EXPORT int cuEventDestroy_v2(void *event) { (void)event; --events; return OK; }
EXPORT int cuEventRecord(void *event, void *stream) { (void)event; say("cuEventRecord on %p", stream); return OK; }
EXPORT int cuEventSynchronize(void *event) { (void)event; return OK; }
EXPORT int cuEventElapsedTime(float *ms, void *a, void *b) { (void)a; (void)b; *ms = (float)(clock_ms += 1); return OK; }

/* Modules: text that says INVALID is refused, and so is one for another chip. */
struct Module { char *text; };
typedef void (*Kernel)(const unsigned *grid, const unsigned *block, void **parameters);
struct Entry { char name[128]; Kernel kernel; };
static struct Entry entries[256];
static int entry_count;
EXPORT void fake_kernel(const char *name, Kernel kernel) {
  for (int at = 0; at < entry_count; ++at)
    if (!strcmp(entries[at].name, name)) { entries[at].kernel = kernel; return; }
  snprintf(entries[entry_count].name, sizeof entries[0].name, "%s", name);
  entries[entry_count++].kernel = kernel;
}
EXPORT int cuModuleLoadDataEx(struct Module **module, const char *image, unsigned count, int *options, void **values) {
  say("cuModuleLoadDataEx %zu", strlen(image));
  ORDERED("cuModuleLoadDataEx");
  IN_CONTEXT();
  if (strstr(image, "INVALID")) {
    for (unsigned at = 0; at < count; ++at)
      if (options[at] == 5) strcpy(values[at], "ptxas application ptx input, line 1; fatal: Parsing error near 'INVALID'");
    return INVALID_PTX;
  }
  const char *target = strstr(image, ".target sm_");
  if (target && atoi(target + 11) > major * 10 + minor) return NO_IMAGE;
  *module = malloc(sizeof **module);
  (*module)->text = strdup(image);
  ++modules;
  return OK;
}
EXPORT int cuModuleUnload(struct Module *module) { say("cuModuleUnload"); free(module->text); free(module); --modules; return OK; }
EXPORT int cuModuleGetFunction(struct Entry **function, struct Module *module, const char *name) {
  if (!strstr(module->text, name)) return NOT_FOUND;
  for (int at = 0; at < entry_count; ++at)
    if (!strcmp(entries[at].name, name)) { *function = &entries[at]; return OK; }
  return NOT_FOUND;
}
EXPORT int cuLaunchKernel(struct Entry *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                          unsigned shared, void *stream, void **parameters, void **extra) {
  say("cuLaunchKernel %s (%u, %u, %u) (%u, %u, %u) %u on %p", function->name, gx, gy, gz, bx, by, bz, shared, stream);
  ORDERED("cuLaunchKernel");
  IN_CONTEXT();
  if (extra || bx * by * bz > 1024 || gy > 65535 || gz > 65535 || !gx || !gy || !gz) return INVALID;
  const unsigned grid[] = {gx, gy, gz}, block[] = {bx, by, bz};
  if (function->kernel) function->kernel(grid, block, parameters);
  return OK;
}
