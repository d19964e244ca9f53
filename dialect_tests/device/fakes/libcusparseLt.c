/* A stand-in for cuSPARSELt, in half precision: what it compresses must have 2 or fewer in every 4. */
#include "fake.h"

enum { OK = 0, INVALID = 3, NOT_SUPPORTED = 10 };
struct Opaque { uint8_t bytes[11024]; };
struct Mat { int64_t rows, columns, leading; int type, order, structured; };
struct Product { const struct Mat *a, *b, *c; int compute; };
static int descriptors, plans, version = 602;

EXPORT int fake_alive(int what) { return what ? plans : descriptors; }
EXPORT void fake_version(int number) { version = number; }

EXPORT int cusparseLtInit(struct Opaque *handle) { say("cusparseLtInit"); ORDERED("cusparseLtInit"); handle->bytes[0] = 1; return OK; }
EXPORT int cusparseLtGetVersion(const struct Opaque *handle, int *number) { *number = version; return handle->bytes[0] ? OK : 1; }
static int describe(struct Opaque *out, struct Mat m) {
  int step = m.structured ? 16 : 8;
  if (m.rows % step || m.columns % step || m.order != 2 || m.leading != m.columns) return NOT_SUPPORTED;
  *(struct Mat *)out = m;
  ++descriptors;
  return OK;
}
EXPORT int cusparseLtStructuredDescriptorInit(const struct Opaque *h, struct Opaque *out, int64_t r, int64_t c, int64_t ld, uint32_t alignment, int type, int order, int sparsity) {
  (void)h;
  say("cusparseLtStructuredDescriptorInit %ld %ld leading %ld type %d", (long)r, (long)c, (long)ld, type);
  return sparsity || alignment != 16 ? INVALID : describe(out, (struct Mat){r, c, ld, type, order, 1});
}
EXPORT int cusparseLtDenseDescriptorInit(const struct Opaque *h, struct Opaque *out, int64_t r, int64_t c, int64_t ld, uint32_t alignment, int type, int order) {
  (void)h;
  say("cusparseLtDenseDescriptorInit %ld %ld leading %ld type %d", (long)r, (long)c, (long)ld, type);
  return alignment != 16 ? INVALID : describe(out, (struct Mat){r, c, ld, type, order, 0});
}
EXPORT int cusparseLtMatDescriptorDestroy(const struct Opaque *d) { (void)d; --descriptors; return OK; }
EXPORT int cusparseLtMatmulDescriptorInit(const struct Opaque *h, struct Opaque *out, int opa, int opb, const struct Opaque *a, const struct Opaque *b, const struct Opaque *c, const struct Opaque *d, int compute) {
  (void)h;
  say("cusparseLtMatmulDescriptorInit compute %d", compute);
  struct Product p = {(const struct Mat *)a, (const struct Mat *)b, (const struct Mat *)c, compute};
  if (opa || opb || c != d || !p.a->structured || p.a->columns != p.b->rows || p.c->rows != p.a->rows || p.c->columns != p.b->columns) return INVALID;
  *(struct Product *)out = p;
  return compute == 2 ? OK : NOT_SUPPORTED;
}
EXPORT int cusparseLtMatmulAlgSelectionInit(const struct Opaque *h, struct Opaque *out, const struct Opaque *product, int algorithm) { (void)h; (void)out; (void)product; return algorithm ? INVALID : OK; }
EXPORT int cusparseLtMatmulPlanInit(const struct Opaque *h, struct Opaque *plan, const struct Opaque *product, const struct Opaque *selection) {
  (void)h; (void)selection;
  say("cusparseLtMatmulPlanInit");
  ORDERED("cusparseLtMatmulPlanInit");
  *(struct Product *)plan = *(const struct Product *)product;
  ++plans;
  return OK;
}
EXPORT int cusparseLtMatmulPlanDestroy(const struct Opaque *plan) { (void)plan; --plans; return OK; }
EXPORT int cusparseLtMatmulGetWorkspace(const struct Opaque *h, const struct Opaque *plan, size_t *bytes) { (void)h; (void)plan; *bytes = 32; return OK; }
EXPORT int cusparseLtSpMMACompressedSize2(const struct Opaque *h, const struct Opaque *matrix, size_t *bytes, size_t *room) {
  (void)h;
  const struct Mat *m = (const struct Mat *)matrix;
  *bytes = m->rows * m->columns * 2, *room = 64; /* kept whole, which nobody outside can tell */
  return OK;
}
EXPORT int cusparseLtSpMMACompress2(const struct Opaque *h, const struct Opaque *matrix, int left, int op, const uint16_t *dense, uint16_t *out, void *room, void *stream) {
  (void)h;
  say("cusparseLtSpMMACompress2 on %p", stream);
  const struct Mat *m = (const struct Mat *)matrix;
  if (!left || op || !room || !m->structured) return INVALID;
  for (int64_t at = 0; at < m->rows * m->columns; at += 4) {
    int count = 0;
    for (int k = 0; k < 4; ++k) count += (dense[at + k] & 0x7fff) != 0;
    if (count > 2) return INVALID;
  }
  memcpy(out, dense, m->rows * m->columns * 2);
  return OK;
}
static float load(const uint16_t *values, int type, int64_t at) {
  if (type == 2) return (float)((const _Float16 *)values)[at];
  uint32_t bits = (uint32_t)values[at] << 16;
  float number;
  memcpy(&number, &bits, 4);
  return number;
}
EXPORT int cusparseLtMatmulSearch(const struct Opaque *h, struct Opaque *plan, const float *alpha, const uint16_t *a, const uint16_t *b, const float *beta, const uint16_t *c, uint16_t *d, void *room, void **streams, int32_t count) {
  (void)h; (void)a; (void)b;
  say("cusparseLtMatmulSearch on %p", streams[0]);
  ORDERED("cusparseLtMatmulSearch");
  const struct Product *p = (const struct Product *)plan;
  if (!room || count != 1 || *alpha != 1 || *beta != 0 || c != d) return INVALID;
  memset(d, 0x7f, p->c->rows * p->c->columns * 2); /* what was tried is left in the result */
  return OK;
}
EXPORT int cusparseLtMatmul(const struct Opaque *h, const struct Opaque *plan, const float *alpha, const uint16_t *a, const uint16_t *b, const float *beta, const uint16_t *c, uint16_t *d, void *room, void **streams, int32_t count) {
  (void)h;
  say("cusparseLtMatmul on %p", streams[0]);
  ORDERED("cusparseLtMatmul");
  const struct Product *p = (const struct Product *)plan;
  if (!room || count != 1 || *alpha != 1 || *beta != 0 || c != d) return INVALID;
  for (int64_t i = 0; i < p->a->rows; ++i)
    for (int64_t j = 0; j < p->b->columns; ++j) {
      float sum = 0;
      for (int64_t k = 0; k < p->a->columns; ++k) sum += load(a, p->a->type, i * p->a->columns + k) * load(b, p->b->type, k * p->b->columns + j);
      if (p->c->type == 2) ((_Float16 *)d)[i * p->c->columns + j] = (_Float16)sum;
      else {
        uint32_t bits;
        memcpy(&bits, &sum, 4);
        d[i * p->c->columns + j] = (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
      }
    }
  return OK;
}
