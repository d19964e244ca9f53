/* A stand-in for cuSPARSE: computes on the host, and refuses calls that do not follow its documentation. */
#include <complex.h>

#include "fake.h"

enum { OK = 0, NOT_INITIALIZED = 1, INVALID = 3, NOT_SUPPORTED = 10, NO_RESOURCES = 11 };
enum { CSR = 1, CSC = 2, COO = 3, BSR = 6 };
enum { F32 = 0, F64 = 1, F16 = 2, C32 = 4, C64 = 5, BF16 = 14 };
typedef double complex Number;

struct Handle { void *stream; };
struct SpMat { int format; int64_t rows, columns, entries, height, width; void *first, *second, *values; int first_type, second_type, type; };
struct DnVec { int64_t size; void *values; int type; };
struct DnMat { int64_t rows, columns, leading; void *values; int type, order; };
struct Work { int estimated, computed; };
static int handles, descriptors;
static const size_t WORK = 64;

EXPORT int fake_alive(int what) { return what ? handles : descriptors; }

static Number load(const void *values, int type, int64_t at) {
  switch (type) {
    case F32: return ((const float *)values)[at];
    case F64: return ((const double *)values)[at];
    case C32: return ((const float complex *)values)[at];
    case C64: return ((const double complex *)values)[at];
    case F16: return (double)((const _Float16 *)values)[at];
    case BF16: {
      uint32_t bits = (uint32_t)((const uint16_t *)values)[at] << 16;
      float number;
      memcpy(&number, &bits, 4);
      return number;
    }
    default: abort();
  }
}
static void store(void *values, int type, int64_t at, Number number) {
  switch (type) {
    case F32: ((float *)values)[at] = (float)creal(number); return;
    case F64: ((double *)values)[at] = creal(number); return;
    case C32: ((float complex *)values)[at] = (float complex)number; return;
    case C64: ((double complex *)values)[at] = number; return;
    case F16: ((_Float16 *)values)[at] = (_Float16)creal(number); return;
    case BF16: {
      float single = (float)creal(number);
      uint32_t bits;
      memcpy(&bits, &single, 4);
      ((uint16_t *)values)[at] = (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
      return;
    }
    default: abort();
  }
}
static int64_t index_at(const void *indices, int type, int64_t at) {
  return type == 3 ? ((const int64_t *)indices)[at] : ((const int32_t *)indices)[at];
}
static void put_index(void *indices, int type, int64_t at, int64_t value) {
  if (type == 3) ((int64_t *)indices)[at] = value;
  else ((int32_t *)indices)[at] = (int32_t)value;
}
static int known_type(int type) { return type == F32 || type == F64 || type == F16 || type == C32 || type == C64 || type == BF16; }
static int known_index(int type) { return type == 2 || type == 3; }
/* The types that a product is computed in: half precision in single. */
static int computes(int type, int compute) { return type == F16 || type == BF16 ? compute == F32 : compute == type; }

struct Entry { int64_t row, column, place; };
static int64_t expand(const struct SpMat *m, struct Entry **out) {
  const int64_t per = m->format == BSR ? m->height * m->width : 1, count = m->entries * per;
  struct Entry *e = *out = calloc(count ? count : 1, sizeof *e);
  if (m->format == COO) {
    for (int64_t at = 0; at < count; ++at)
      e[at] = (struct Entry){index_at(m->first, m->first_type, at), index_at(m->second, m->second_type, at), at};
    return count;
  }
  const int64_t lines = m->format == CSC ? m->columns : m->rows / m->height;
  int64_t next = 0;
  for (int64_t line = 0; line < lines; ++line)
    for (int64_t at = index_at(m->first, m->first_type, line); at < index_at(m->first, m->first_type, line + 1); ++at) {
      const int64_t other = index_at(m->second, m->second_type, at);
      for (int64_t k = 0; k < per; ++k)
        e[next++] = m->format == CSC ? (struct Entry){other, line, at}
                                     : (struct Entry){line * m->height + k / m->width, other * m->width + k % m->width, at * per + k};
    }
  return next;
}

EXPORT const char *cusparseGetErrorName(int code) {
  return code == NOT_SUPPORTED ? "CUSPARSE_STATUS_NOT_SUPPORTED" : code == NO_RESOURCES ? "CUSPARSE_STATUS_INSUFFICIENT_RESOURCES"
         : code == INVALID ? "CUSPARSE_STATUS_INVALID_VALUE" : "CUSPARSE_STATUS";
}
EXPORT int cusparseCreate(struct Handle **handle) { say("cusparseCreate"); ORDERED("cusparseCreate"); *handle = calloc(1, sizeof **handle); ++handles; return OK; }
EXPORT int cusparseDestroy(struct Handle *handle) { free(handle); --handles; return OK; }
EXPORT int cusparseGetVersion(struct Handle *handle, int *version) { if (!handle) return NOT_INITIALIZED; *version = 12503; return OK; }
EXPORT int cusparseSetStream(struct Handle *handle, void *stream) { say("cusparseSetStream %p", stream); handle->stream = stream; return OK; }

static int make(struct SpMat **out, struct SpMat made) {
  if (!known_type(made.type) || !known_index(made.first_type) || !known_index(made.second_type)) return INVALID;
  if (made.rows < 0 || made.columns < 0 || made.entries < 0 || (made.entries && !(made.first && made.second && made.values))) return INVALID;
  *out = malloc(sizeof **out);
  **out = made;
  ++descriptors;
  return OK;
}
EXPORT int cusparseCreateCsr(struct SpMat **m, int64_t r, int64_t c, int64_t n, void *p, void *i, void *v, int pt, int it, int base, int type) {
  say("cusparseCreateCsr %ld %ld %ld types %d %d %d", (long)r, (long)c, (long)n, pt, it, type);
  ORDERED("cusparseCreateCsr");
  return base ? INVALID : make(m, (struct SpMat){CSR, r, c, n, 1, 1, p, i, v, pt, it, type});
}
EXPORT int cusparseCreateCsc(struct SpMat **m, int64_t r, int64_t c, int64_t n, void *p, void *i, void *v, int pt, int it, int base, int type) {
  say("cusparseCreateCsc %ld %ld %ld types %d %d %d", (long)r, (long)c, (long)n, pt, it, type);
  return base ? INVALID : make(m, (struct SpMat){CSC, r, c, n, 1, 1, p, i, v, pt, it, type});
}
EXPORT int cusparseCreateCoo(struct SpMat **m, int64_t r, int64_t c, int64_t n, void *row, void *col, void *v, int it, int base, int type) {
  say("cusparseCreateCoo %ld %ld %ld types %d %d", (long)r, (long)c, (long)n, it, type);
  return base ? INVALID : make(m, (struct SpMat){COO, r, c, n, 1, 1, row, col, v, it, it, type});
}
EXPORT int cusparseCreateBsr(struct SpMat **m, int64_t br, int64_t bc, int64_t n, int64_t h, int64_t w, void *p, void *i, void *v, int pt, int it, int base, int type, int order) {
  say("cusparseCreateBsr %ld %ld %ld of %ld x %ld types %d %d %d", (long)br, (long)bc, (long)n, (long)h, (long)w, pt, it, type);
  return base || order != 2 ? INVALID : make(m, (struct SpMat){BSR, br * h, bc * w, n, h, w, p, i, v, pt, it, type});
}
EXPORT int cusparseDestroySpMat(struct SpMat *m) { free(m); --descriptors; return OK; }
EXPORT int cusparseSpMatGetSize(struct SpMat *m, int64_t *r, int64_t *c, int64_t *n) { *r = m->rows, *c = m->columns, *n = m->entries; return OK; }
EXPORT int cusparseCsrSetPointers(struct SpMat *m, void *p, void *i, void *v) { if (!p || !i || !v) return INVALID; m->first = p, m->second = i, m->values = v; return OK; }
EXPORT int cusparseCreateDnVec(struct DnVec **v, int64_t n, void *values, int type) {
  if (!known_type(type) || (n && !values)) return INVALID;
  *v = malloc(sizeof **v), **v = (struct DnVec){n, values, type}, ++descriptors;
  return OK;
}
EXPORT int cusparseDestroyDnVec(struct DnVec *v) { free(v); --descriptors; return OK; }
EXPORT int cusparseCreateDnMat(struct DnMat **m, int64_t r, int64_t c, int64_t ld, void *values, int type, int order) {
  say("cusparseCreateDnMat %ld %ld leading %ld order %d type %d", (long)r, (long)c, (long)ld, order, type);
  if (!known_type(type) || (r && c && !values) || ld < (order == 2 ? c : r)) return INVALID;
  *m = malloc(sizeof **m), **m = (struct DnMat){r, c, ld, values, type, order}, ++descriptors;
  return OK;
}
EXPORT int cusparseDestroyDnMat(struct DnMat *m) { free(m); --descriptors; return OK; }
static int64_t place(const struct DnMat *m, int64_t i, int64_t j) { return m->order == 2 ? i * m->leading + j : i + j * m->leading; }

static int spmv_fits(int op, struct SpMat *a, struct DnVec *x, struct DnVec *y, int compute) {
  if (op || x->size != a->columns || y->size != a->rows) return INVALID;
  return computes(y->type, compute) && x->type == a->type && a->type == y->type ? OK : NOT_SUPPORTED;
}
EXPORT int cusparseSpMV_bufferSize(struct Handle *h, int op, const void *alpha, struct SpMat *a, struct DnVec *x, const void *beta, struct DnVec *y, int compute, int algorithm, size_t *bytes) {
  (void)h; (void)alpha; (void)beta; (void)algorithm;
  ORDERED("cusparseSpMV_bufferSize");
  *bytes = WORK;
  return spmv_fits(op, a, x, y, compute);
}
EXPORT int cusparseSpMV(struct Handle *h, int op, const void *alpha, struct SpMat *a, struct DnVec *x, const void *beta, struct DnVec *y, int compute, int algorithm, void *buffer) {
  say("cusparseSpMV on %p compute %d algorithm %d", h->stream, compute, algorithm);
  ORDERED("cusparseSpMV");
  if (!buffer) return INVALID;
  int code = spmv_fits(op, a, x, y, compute);
  if (code) return code;
  struct Entry *entries;
  int64_t count = expand(a, &entries);
  Number *sums = calloc(a->rows ? a->rows : 1, sizeof *sums);
  for (int64_t at = 0; at < count; ++at)
    sums[entries[at].row] += load(a->values, a->type, entries[at].place) * load(x->values, x->type, entries[at].column);
  Number one = load(alpha, compute, 0), old = load(beta, compute, 0);
  for (int64_t i = 0; i < a->rows; ++i)
    store(y->values, y->type, i, one * sums[i] + (old != 0 ? old * load(y->values, y->type, i) : 0));
  free(sums), free(entries);
  return OK;
}
static int spmm_fits(int opa, int opb, struct SpMat *a, struct DnMat *b, struct DnMat *c, int compute) {
  if (opa || opb || b->rows != a->columns || c->rows != a->rows || c->columns != b->columns) return INVALID;
  return computes(c->type, compute) && b->type == a->type && a->type == c->type ? OK : NOT_SUPPORTED;
}
EXPORT int cusparseSpMM_bufferSize(struct Handle *h, int opa, int opb, const void *alpha, struct SpMat *a, struct DnMat *b, const void *beta, struct DnMat *c, int compute, int algorithm, size_t *bytes) {
  (void)h; (void)alpha; (void)beta; (void)algorithm;
  *bytes = WORK;
  return spmm_fits(opa, opb, a, b, c, compute);
}
EXPORT int cusparseSpMM(struct Handle *h, int opa, int opb, const void *alpha, struct SpMat *a, struct DnMat *b, const void *beta, struct DnMat *c, int compute, int algorithm, void *buffer) {
  say("cusparseSpMM on %p compute %d algorithm %d", h->stream, compute, algorithm);
  ORDERED("cusparseSpMM");
  if (!buffer) return INVALID;
  int code = spmm_fits(opa, opb, a, b, c, compute);
  if (code) return code;
  struct Entry *entries;
  int64_t count = expand(a, &entries), n = b->columns;
  Number *sums = calloc(c->rows * n + 1, sizeof *sums);
  for (int64_t at = 0; at < count; ++at)
    for (int64_t j = 0; j < n; ++j)
      sums[entries[at].row * n + j] += load(a->values, a->type, entries[at].place) * load(b->values, b->type, place(b, entries[at].column, j));
  Number one = load(alpha, compute, 0), old = load(beta, compute, 0);
  for (int64_t i = 0; i < c->rows; ++i)
    for (int64_t j = 0; j < n; ++j)
      store(c->values, c->type, place(c, i, j), one * sums[i * n + j] + (old != 0 ? old * load(c->values, c->type, place(c, i, j)) : 0));
  free(sums), free(entries);
  return OK;
}
static int sddmm_fits(int opa, int opb, struct DnMat *a, struct DnMat *b, struct SpMat *c, int compute) {
  if (opa || opb || a->columns != b->rows || a->rows != c->rows || b->columns != c->columns) return INVALID;
  return (c->format == CSR || c->format == BSR) && computes(c->type, compute) && a->type == c->type && b->type == c->type ? OK : NOT_SUPPORTED;
}
EXPORT int cusparseSDDMM_bufferSize(struct Handle *h, int opa, int opb, const void *alpha, struct DnMat *a, struct DnMat *b, const void *beta, struct SpMat *c, int compute, int algorithm, size_t *bytes) {
  (void)h; (void)alpha; (void)beta; (void)algorithm;
  *bytes = WORK;
  return sddmm_fits(opa, opb, a, b, c, compute);
}
EXPORT int cusparseSDDMM(struct Handle *h, int opa, int opb, const void *alpha, struct DnMat *a, struct DnMat *b, const void *beta, struct SpMat *c, int compute, int algorithm, void *buffer) {
  say("cusparseSDDMM on %p compute %d algorithm %d", h->stream, compute, algorithm);
  ORDERED("cusparseSDDMM");
  if (!buffer) return INVALID;
  int code = sddmm_fits(opa, opb, a, b, c, compute);
  if (code) return code;
  struct Entry *entries;
  int64_t count = expand(c, &entries);
  Number one = load(alpha, compute, 0), old = load(beta, compute, 0);
  for (int64_t at = 0; at < count; ++at) {
    Number sum = 0;
    for (int64_t k = 0; k < a->columns; ++k)
      sum += load(a->values, a->type, place(a, entries[at].row, k)) * load(b->values, b->type, place(b, k, entries[at].column));
    store(c->values, c->type, entries[at].place, one * sum + (old != 0 ? old * load(c->values, c->type, entries[at].place) : 0));
  }
  free(entries);
  return OK;
}

/* SpGEMM: two stages, each asked for its bytes and then run; then the result's pointers, then the copy. */
static Number *product(struct SpMat *a, struct SpMat *b, char **present) {
  Number *sums = calloc(a->rows * b->columns + 1, sizeof *sums);
  *present = calloc(a->rows * b->columns + 1, 1);
  struct Entry *left, *right;
  int64_t n = expand(a, &left), m = expand(b, &right);
  for (int64_t x = 0; x < n; ++x)
    for (int64_t y = 0; y < m; ++y)
      if (left[x].column == right[y].row) {
        sums[left[x].row * b->columns + right[y].column] += load(a->values, a->type, left[x].place) * load(b->values, b->type, right[y].place);
        (*present)[left[x].row * b->columns + right[y].column] = 1;
      }
  free(left), free(right);
  return sums;
}
#define GEMM (struct Handle *h, int opa, int opb, const void *alpha, struct SpMat *a, struct SpMat *b, const void *beta, struct SpMat *c, int compute, int algorithm, struct Work *work
EXPORT int cusparseSpGEMM_createDescr(struct Work **work) { *work = calloc(1, sizeof **work); ++descriptors; return OK; }
EXPORT int cusparseSpGEMM_destroyDescr(struct Work *work) { free(work); --descriptors; return OK; }
EXPORT int cusparseSpGEMM_workEstimation GEMM, size_t *bytes, void *buffer) {
  (void)h; (void)alpha; (void)beta; (void)algorithm;
  say("cusparseSpGEMM_workEstimation %s", buffer ? "run" : "size");
  if (opa || opb || a->format != CSR || b->format != CSR || c->format != CSR) return NOT_SUPPORTED;
  if (a->columns != b->rows || c->rows != a->rows || c->columns != b->columns || !computes(c->type, compute)) return INVALID;
  if (!buffer) *bytes = WORK;
  work->estimated += buffer != NULL;
  return OK;
}
EXPORT int cusparseSpGEMM_compute GEMM, size_t *bytes, void *buffer) {
  (void)h; (void)alpha; (void)beta; (void)algorithm; (void)opa; (void)opb; (void)compute;
  say("cusparseSpGEMM_compute %s", buffer ? "run" : "size");
  ORDERED("cusparseSpGEMM_compute");
  if (!work->estimated) return INVALID;
  if (!buffer) { *bytes = WORK; return OK; }
  char *present;
  free(product(a, b, &present));
  c->entries = 0;
  for (int64_t at = 0; at < a->rows * b->columns; ++at) c->entries += present[at];
  free(present);
  work->computed = 1;
  return OK;
}
EXPORT int cusparseSpGEMM_copy GEMM) {
  say("cusparseSpGEMM_copy on %p", h->stream);
  (void)beta; (void)algorithm; (void)opa; (void)opb;
  if (!work->computed || !c->first || !c->second || !c->values) return INVALID;
  char *present;
  Number *sums = product(a, b, &present), one = load(alpha, compute, 0);
  int64_t next = 0;
  for (int64_t i = 0; i < c->rows; ++i) {
    put_index(c->first, c->first_type, i, next);
    for (int64_t j = 0; j < c->columns; ++j)
      if (present[i * c->columns + j]) {
        put_index(c->second, c->second_type, next, j);
        store(c->values, c->type, next++, one * sums[i * c->columns + j]);
      }
  }
  put_index(c->first, c->first_type, c->rows, next);
  free(sums), free(present);
  return OK;
}
