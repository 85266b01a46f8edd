/* Fills the slots of a library that stands before another one: loads that by its full path, in the same
 * namespace (so that errno is one), before any constructor of the program. A function that the installed library
 * does not have, since it is another release than the one at build time, says so when it is called. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

struct name {
  const char* symbol;
  const char* version;
};

static const struct name names[] = {
#include "names.inc"
};

extern void* rdmove_slots[];

static void missing(void) {
  fputs("rdmove-shadow: the installed RDMA library lacks a function that this program calls. "
        "Run it without rdmove-shadow.\n",
        stderr);
  abort();
}

__attribute__((constructor(101))) static void fill(void) {
  const char* path = getenv(RDMOVE_PATH_VARIABLE);
  void* real = dlopen(path != NULL ? path : RDMOVE_REAL_LIBRARY, RTLD_NOW | RTLD_GLOBAL);
  if (real == NULL) {
    fprintf(stderr, "rdmove-shadow: %s\n", dlerror());
    abort();
  }
  for (size_t i = 0; i < sizeof names / sizeof *names; ++i) {
    void* found = dlvsym(real, names[i].symbol, names[i].version);
    rdmove_slots[i] = found != NULL ? found : (void*)missing;
  }
}
