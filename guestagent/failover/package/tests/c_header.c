/* The header as a C compiler sees it. */
#include <rdmove.h>

#include "c_header.h"

int create_with_short_options(rdmove_loop** loop) {
  /* As from a program that was built when the structure ended after its second field. */
  struct rdmove_loop_options options = {0};
  options.size = offsetof(struct rdmove_loop_options, agent_socket);
  options.name = "short";
  options.agent_socket = "/not/to/be/read";
  return rdmove_loop_create(&options, loop);
}
