/* The same in C: messages that arrive once and in order, whatever moves in between.
 *   channel_echo 10.0.0.1            answers
 *   channel_echo 10.0.0.1 10.0.0.2   from .2: sends a number each 100 ms and checks the answers
 * Build: cc channel_echo.c $(pkg-config --cflags --libs rdmove) */
#include <arpa/inet.h>
#include <rdmove.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static long answered;
static volatile int ended;

static int fail(const char* what) {
  fprintf(stderr, "%s: %s\n", what, rdmove_error_message());
  return 1;
}

static void answer(rdmove_channel* channel, const void* message, size_t length, void* user) {
  (void)user;
  if (rdmove_channel_send(channel, message, length) < 0) rdmove_channel_close(channel);
}

static void check(rdmove_channel* channel, const void* message, size_t length, void* user) {
  long number = 0;
  (void)channel, (void)length, (void)user;
  memcpy(&number, message, sizeof(number));
  if (number != ++answered) printf("expected %ld, got %ld\n", answered, number);
}

static void up(rdmove_channel* channel, void* user) {
  (void)user;
  printf("up; blackout %lld ms\n", (long long)rdmove_channel_last_blackout_ms(channel));
}

static void gone(rdmove_channel* channel, const struct rdmove_channel_end* end, void* user) {
  (void)channel, (void)user;
  printf("gone: %s; delivered up to %llu\n", end->message, (unsigned long long)end->acknowledged.last);
  ended = 1;
}

static void requested(rdmove_request* request, void* user) {
  static const struct rdmove_channel_callbacks callbacks = {.size = sizeof(callbacks), .received = answer};
  rdmove_channel* channel;
  (void)user;
  if (rdmove_channel_accept(request, NULL, &callbacks, NULL, &channel) != 0) fail("accept");
}

int main(int argc, char** argv) {
  static const struct rdmove_channel_callbacks callbacks = {
      .size = sizeof(callbacks), .up = up, .gone = gone, .received = check};
  struct sockaddr_in server = {.sin_family = AF_INET, .sin_port = htons(7473)}, own = {.sin_family = AF_INET};
  rdmove_loop* loop;
  rdmove_channel* channel;
  rdmove_listener* listener;
  if (argc < 2 || inet_pton(AF_INET, argv[1], &server.sin_addr) != 1)
    return fputs("usage: channel_echo SERVER [OUR-ADDRESS]\n", stderr), 2;
  if (rdmove_loop_create(NULL, &loop) != 0 || rdmove_loop_start(loop) != 0) return fail("loop");
  if (argc == 2) {
    if (rdmove_listen(loop, (struct sockaddr*)&server, RDMOVE_ADDRESS_MUST_EXIST, requested, NULL,
                      &listener) != 0)
      return fail("listen");
    for (;;) pause();
  }
  inet_pton(AF_INET, argv[2], &own.sin_addr);
  if (rdmove_channel_connect(loop, (struct sockaddr*)&server, (struct sockaddr*)&own, NULL, &callbacks, NULL,
                             &channel) != 0)
    return fail("connect");
  for (long number = 1; !ended; usleep(100000))
    if (rdmove_channel_send(channel, &number, sizeof(number)) > 0) number++;
  rdmove_loop_destroy(loop);
  return 0;
}
