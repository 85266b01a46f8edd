/* What stands before librdmacm's functions is in our library before libibverbs, with the shadow: this one has
 * trampolines only. Where the installed libibverbs is found first, everything is passed through. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

typedef void* (*choose_function)(const char* name, const char* version, void* function);

void* rdmove_choose(const char* name, const char* version, void* function);

static choose_function find(void) {
  choose_function found = NULL;
  void* verbs = dlopen("libibverbs.so.1", RTLD_NOW | RTLD_NOLOAD);
  void* symbol = verbs == NULL ? NULL : dlsym(verbs, "rdmove_choose_cm");
  if (symbol == NULL)
    fputs("rdmove-shadow: our librdmacm.so.1 was loaded without our libibverbs.so.1: nothing is shadowed.\n",
          stderr);
  memcpy(&found, &symbol, sizeof found);
  return found;
}

void* rdmove_choose(const char* name, const char* version, void* function) {
  static choose_function choose;
  static int looked;
  if (!looked) choose = find();
  looked = 1;
  return choose == NULL ? function : choose(name, version, function);
}
