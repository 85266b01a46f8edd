/* Fills the slots of a library that stands before another one: loads that by its full path, in the same
 * namespace (so that errno is one), before any constructor of the program. A function that the installed library
 * does not have, since it is another release than the one at build time, says so when it is called. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct name {
  const char* symbol;
  const char* version;
};

static const struct name names[] = {
#include "names.inc"
};

extern void* rdmove_slots[];

/* What is called under this name: the function of the real library, or one that stands before it. */
void* rdmove_choose(const char* name, const char* version, void* function);

static void missing(void) {
  fputs("rdmove-shadow: the installed RDMA library lacks a function that this program calls. "
        "Run it without rdmove-shadow.\n",
        stderr);
  abort();
}

__attribute__((constructor(101))) static void fill(void) {
  const char* path = secure_getenv(RDMOVE_PATH_VARIABLE);
  if (path == NULL) path = RDMOVE_REAL_LIBRARY;
  void* real = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
  if (real == NULL && strncmp(path, "/usr/", 5) == 0) /* a system whose /lib is not /usr/lib */
    real = dlopen(path + 4, RTLD_NOW | RTLD_GLOBAL);
  if (real == NULL) {
    fprintf(stderr, "rdmove-shadow: %s\n", dlerror());
    abort();
  }
  void (*const none)(void) = missing;
  for (size_t i = 0; i < sizeof names / sizeof *names; ++i) {
    void* found = dlvsym(real, names[i].symbol, names[i].version);
    void* chosen = rdmove_choose(names[i].symbol, names[i].version, found);
    if (chosen == NULL) memcpy(&chosen, &none, sizeof chosen);
    rdmove_slots[i] = chosen;
  }
}
