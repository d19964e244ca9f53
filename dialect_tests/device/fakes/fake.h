/* What the stand-ins have in common: a record of calls, failures to order, counts of what is alive. */
#pragma once
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

static char record[1 << 20];
static size_t recorded;
static char failing[64];
static int failing_code, failing_after;

static void say(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  if (recorded < sizeof record - 512) recorded += vsnprintf(record + recorded, 512, format, arguments);
  va_end(arguments);
  if (recorded < sizeof record - 2) record[recorded++] = '\n';
  record[recorded] = 0;
}

EXPORT const char *fake_record(void) { return record; }
EXPORT void fake_clear(void) { recorded = 0, record[0] = 0; }
EXPORT void fake_fail(const char *name, int code, int after) {
  snprintf(failing, sizeof failing, "%s", name);
  failing_code = code, failing_after = after;
}

/* Returns the code that a call was told to fail with, once, else 0. */
static int ordered(const char *name) {
  if (strcmp(name, failing) != 0 || failing_after-- > 0) return 0;
  failing[0] = 0;
  return failing_code;
}

#define ORDERED(name)                     \
  do {                                    \
    int ordered_code = ordered(name);     \
    if (ordered_code) return ordered_code; \
  } while (0)
