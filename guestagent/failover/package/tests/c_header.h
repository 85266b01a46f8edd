// What c_header.c, which is compiled as C, has for the test.
#pragma once

#include <rdmove.h>

#ifdef __cplusplus
extern "C"
#endif
    int
    create_with_short_options(rdmove_loop** loop);
