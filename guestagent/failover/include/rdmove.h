/* librdmove for C, and for whoever calls C (ctypes, cgo): RDMA CM connections that outlive their device, and messages that
 * are delivered once and in order over them. The words are explained in the C++ headers rdmove/{loop,connection,channel}.hpp and
 * in docs/librdmove.md; these functions do the same.
 *
 * Results: 0 or a number on success, below 0 an error: the negated RDMOVE_E... . rdmove_error_message() then says what was
 * attempted and what to do; it is the calling thread's and valid until its next call.
 *
 * Threads: with rdmove_loop_start() every function may be called from any thread, and callbacks come from the loop's own
 * thread. Without it, all calls are made on the thread that calls rdmove_loop_dispatch(). Callbacks may call everything but
 * rdmove_loop_destroy().
 *
 * Structures begin with their size, set by the caller to sizeof(struct ...): a later version may append fields. A zeroed
 * field means its default. Link with -lrdmove (pkg-config rdmove). */
#ifndef RDMOVE_H
#define RDMOVE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define RDMOVE_PUBLIC __attribute__((visibility("default")))
#else
#define RDMOVE_PUBLIC
#endif

struct sockaddr;
struct sockaddr_storage;
struct ibv_pd;
struct ibv_qp;
struct ibv_recv_wr;
struct ibv_send_wr;
struct ibv_wc;

typedef struct rdmove_loop rdmove_loop;
typedef struct rdmove_connection rdmove_connection;
typedef struct rdmove_channel rdmove_channel;
typedef struct rdmove_listener rdmove_listener;
typedef struct rdmove_request rdmove_request;
typedef struct rdmove_region rdmove_region;

/* Never renumbered. */
enum rdmove_error {
  RDMOVE_EINVALID = 1,
  RDMOVE_ETOOLARGE = 2,
  RDMOVE_EWOULDBLOCK = 3,
  RDMOVE_ENOTUP = 4,
  RDMOVE_EGONE = 5,
  RDMOVE_ENOREGION = 6,
  RDMOVE_EBOUNDS = 7,
  RDMOVE_EADDRESS = 8,
  RDMOVE_ENODEVICE = 9,
  RDMOVE_EEXISTS = 10,
  RDMOVE_ESYSTEM = 11
};

enum rdmove_state { RDMOVE_CONNECTING = 0, RDMOVE_UP = 1, RDMOVE_DOWN = 2, RDMOVE_GONE = 3 };

enum rdmove_down_reason {
  RDMOVE_DOWN_QUIESCED = 0,
  RDMOVE_DOWN_DEVICE_REMOVED = 1,
  RDMOVE_DOWN_DEVICE_FATAL = 2,
  RDMOVE_DOWN_DISCONNECTED = 3,
  RDMOVE_DOWN_BROKEN = 4,
  RDMOVE_DOWN_REPLACED = 5,
  RDMOVE_DOWN_REQUESTED = 6
};

enum rdmove_gone_reason {
  RDMOVE_GONE_CLOSED = 0,
  RDMOVE_GONE_PEER_CLOSED = 1,
  RDMOVE_GONE_PEER_RESTARTED = 2,
  RDMOVE_GONE_PEER_ENDED = 3,
  RDMOVE_GONE_REFUSED = 4,
  RDMOVE_GONE_WRONG_PEER = 5,
  RDMOVE_GONE_INCOMPATIBLE = 6,
  RDMOVE_GONE_TIMED_OUT = 7
};

enum rdmove_access { RDMOVE_LOCAL = 0, RDMOVE_REMOTE_READ = 1, RDMOVE_REMOTE_WRITE = 2, RDMOVE_REMOTE_READ_WRITE = 3 };

/* What went wrong in this thread's last call that failed; never NULL. */
RDMOVE_PUBLIC const char* rdmove_error_message(void);
RDMOVE_PUBLIC const char* rdmove_version(void); /* "0.1.0" */
RDMOVE_PUBLIC const char* rdmove_down_reason_text(enum rdmove_down_reason reason);
RDMOVE_PUBLIC const char* rdmove_gone_reason_text(enum rdmove_gone_reason reason);

/* ---- The loop ---- */

struct rdmove_loop_options {
  size_t size;
  const char* name;         /* how the agent shows this program; NULL: the program's name */
  const char* agent_socket; /* NULL: /run/rdmove/agent.sock; "": work without an agent */
  uint16_t backlog;         /* 0: 1024 */
};

/* options may be NULL. */
RDMOVE_PUBLIC int rdmove_loop_create(const struct rdmove_loop_options* options, rdmove_loop** loop);
/* Ends the thread and closes what is left; handles of this loop are then good for their destroy function only. */
RDMOVE_PUBLIC void rdmove_loop_destroy(rdmove_loop* loop);
RDMOVE_PUBLIC int rdmove_loop_fd(rdmove_loop* loop); /* readable: call rdmove_loop_dispatch() */
RDMOVE_PUBLIC int rdmove_loop_dispatch(rdmove_loop* loop);
RDMOVE_PUBLIC int rdmove_loop_start(rdmove_loop* loop); /* a thread of the library's own runs it from now on */

/* ---- Connections: your own work requests on a queue pair that comes back ---- */

struct rdmove_connection_options {
  size_t size;
  uint32_t send_depth, receive_depth;         /* work requests; 0: 64 */
  uint32_t max_send_sge, max_receive_sge;     /* 0: 1 */
  uint32_t max_inline;                        /* bytes */
  uint32_t give_up_after_ms;                  /* 0: 120,000 */
  uint32_t keepalive_ms;                      /* 0: 1,000; UINT32_MAX: never */
  uint8_t ack_timeout, retry_count;           /* 0: 15 and 6 */
  uint8_t remote_reads;                       /* 0: 4 */
  const void* private_data;                   /* for the peer's decision */
  size_t private_data_length;                 /* at most 16 */
  uint8_t receives_come_first;                /* the peer never sends before a receive is posted here */
};

struct rdmove_connection_callbacks { /* each may be NULL */
  size_t size;
  void (*opened)(rdmove_connection*, void* user); /* post receives here */
  void (*up)(rdmove_connection*, void* user);
  void (*quiesce)(rdmove_connection*, uint64_t milliseconds_left, void* user); /* NULL: answered at once */
  void (*down)(rdmove_connection*, enum rdmove_down_reason, void* user);
  void (*gone)(rdmove_connection*, enum rdmove_gone_reason, const char* message, void* user); /* the last one */
  void (*completed)(rdmove_connection*, const struct ibv_wc*, void* user);
};

/* local and options may be NULL. *connection is set before the first callback. */
RDMOVE_PUBLIC int rdmove_connect(rdmove_loop*, const struct sockaddr* peer, const struct sockaddr* local,
                                 const struct rdmove_connection_options*, const struct rdmove_connection_callbacks*,
                                 void* user, rdmove_connection** connection);
RDMOVE_PUBLIC void rdmove_connection_destroy(rdmove_connection*); /* closes it if it is not gone */
RDMOVE_PUBLIC int rdmove_connection_state(rdmove_connection*);    /* enum rdmove_state */
RDMOVE_PUBLIC uint64_t rdmove_connection_id(rdmove_connection*);    /* the same on both ends, for life; 0 when gone */
RDMOVE_PUBLIC uint32_t rdmove_connection_epoch(rdmove_connection*); /* grows with every queue pair */
RDMOVE_PUBLIC int rdmove_connection_local(rdmove_connection*, struct sockaddr_storage* address);
RDMOVE_PUBLIC int rdmove_connection_peer(rdmove_connection*, struct sockaddr_storage* address);
/* What the peer said at the first connect: how many bytes there are, of which at most length are copied. */
RDMOVE_PUBLIC size_t rdmove_connection_peer_private_data(rdmove_connection*, void* buffer, size_t length);
RDMOVE_PUBLIC int64_t rdmove_connection_last_blackout_ms(rdmove_connection*);
RDMOVE_PUBLIC struct ibv_qp* rdmove_connection_queue_pair(rdmove_connection*);     /* NULL while there is none */
RDMOVE_PUBLIC struct ibv_pd* rdmove_connection_protection_domain(rdmove_connection*);
RDMOVE_PUBLIC int rdmove_connection_post_send(rdmove_connection*, struct ibv_send_wr* first);
RDMOVE_PUBLIC int rdmove_connection_post_receive(rdmove_connection*, struct ibv_recv_wr* first);
RDMOVE_PUBLIC int rdmove_connection_quiesced(rdmove_connection*);
RDMOVE_PUBLIC int rdmove_connection_restart(rdmove_connection*);

/* access: IBV_ACCESS_*. Keys change with every device: ask at each use. */
RDMOVE_PUBLIC int rdmove_register_memory(rdmove_connection*, void* address, size_t length, int access,
                                         rdmove_region** region);
RDMOVE_PUBLIC void rdmove_region_destroy(rdmove_region*);
RDMOVE_PUBLIC uint32_t rdmove_region_local_key(rdmove_region*);
RDMOVE_PUBLIC uint32_t rdmove_region_remote_key(rdmove_region*);

/* ---- Channels: messages, once and in order ---- */

struct rdmove_channel_options {
  size_t size;
  uint32_t message_limit;                      /* bytes; 0: 4096 */
  uint16_t send_slots, receive_slots;          /* 0: 64 */
  struct rdmove_connection_options connection; /* its size field may be 0: all defaults */
  uint32_t send_limit;                         /* bytes that this side will send in one; 0: as message_limit */
};

struct rdmove_range { /* empty: last < first */
  uint64_t first, last;
};

struct rdmove_channel_end {
  enum rdmove_gone_reason reason;
  const char* message;
  struct rdmove_range acknowledged, unknown, unsent;
};

struct rdmove_channel_callbacks { /* each may be NULL */
  size_t size;
  void (*up)(rdmove_channel*, void* user);
  void (*down)(rdmove_channel*, enum rdmove_down_reason, void* user);
  void (*gone)(rdmove_channel*, const struct rdmove_channel_end*, void* user); /* the last one */
  void (*received)(rdmove_channel*, const void* message, size_t length, void* user);
  void (*writable)(rdmove_channel*, void* user);
  void (*acknowledged)(rdmove_channel*, uint64_t number, void* user);
  void (*regions_changed)(rdmove_channel*, void* user);
};

RDMOVE_PUBLIC int rdmove_channel_connect(rdmove_loop*, const struct sockaddr* peer, const struct sockaddr* local,
                                         const struct rdmove_channel_options*, const struct rdmove_channel_callbacks*,
                                         void* user, rdmove_channel** channel);
RDMOVE_PUBLIC void rdmove_channel_destroy(rdmove_channel*);
RDMOVE_PUBLIC int64_t rdmove_channel_send(rdmove_channel*, const void* message, size_t length); /* its number */
RDMOVE_PUBLIC int rdmove_channel_pause(rdmove_channel*);
RDMOVE_PUBLIC int rdmove_channel_unpause(rdmove_channel*);
RDMOVE_PUBLIC int rdmove_channel_finish(rdmove_channel*);
RDMOVE_PUBLIC int rdmove_channel_close(rdmove_channel*);
RDMOVE_PUBLIC int rdmove_channel_state(rdmove_channel*); /* enum rdmove_state */
RDMOVE_PUBLIC uint64_t rdmove_channel_id(rdmove_channel*); /* these are its connection's, as above */
RDMOVE_PUBLIC uint32_t rdmove_channel_epoch(rdmove_channel*);
RDMOVE_PUBLIC int rdmove_channel_local(rdmove_channel*, struct sockaddr_storage* address);
RDMOVE_PUBLIC int rdmove_channel_peer(rdmove_channel*, struct sockaddr_storage* address);
RDMOVE_PUBLIC size_t rdmove_channel_peer_private_data(rdmove_channel*, void* buffer, size_t length);
RDMOVE_PUBLIC int64_t rdmove_channel_last_blackout_ms(rdmove_channel*);
RDMOVE_PUBLIC uint64_t rdmove_channel_sent(rdmove_channel*);
RDMOVE_PUBLIC uint64_t rdmove_channel_acknowledged(rdmove_channel*);
RDMOVE_PUBLIC uint64_t rdmove_channel_delivered(rdmove_channel*);
RDMOVE_PUBLIC uint64_t rdmove_channel_resent(rdmove_channel*);
RDMOVE_PUBLIC uint32_t rdmove_channel_message_limit(rdmove_channel*); /* what the peer takes; 0 before the first up */

RDMOVE_PUBLIC int rdmove_channel_register_region(rdmove_channel*, const char* name, void* address, size_t length,
                                                 enum rdmove_access access);
RDMOVE_PUBLIC int rdmove_channel_withdraw_region(rdmove_channel*, const char* name);
RDMOVE_PUBLIC int64_t rdmove_channel_peer_region(rdmove_channel*, const char* name); /* its length */

/* error: 0, or a negated enum rdmove_error. Called once for each accepted write or read. done may be NULL. */
typedef void (*rdmove_done)(int error, const char* message, void* user);
RDMOVE_PUBLIC int rdmove_channel_write(rdmove_channel*, const char* region, size_t offset, size_t length,
                                       const char* peer_region, size_t peer_offset, rdmove_done done, void* user);
RDMOVE_PUBLIC int rdmove_channel_read(rdmove_channel*, const char* peer_region, size_t peer_offset, const char* region,
                                      size_t offset, size_t length, rdmove_done done, void* user);

/* ---- Listening ---- */

enum rdmove_address_policy { RDMOVE_ADDRESS_MUST_EXIST = 0, RDMOVE_ADDRESS_MAY_COME = 1 };

/* The request is valid during the call; not accepted in it, it is rejected. */
typedef void (*rdmove_requested)(rdmove_request*, void* user);
RDMOVE_PUBLIC int rdmove_listen(rdmove_loop*, const struct sockaddr* address, enum rdmove_address_policy policy,
                                rdmove_requested requested, void* user, rdmove_listener** listener);
RDMOVE_PUBLIC void rdmove_listener_destroy(rdmove_listener*);
RDMOVE_PUBLIC int rdmove_listener_port(rdmove_listener*);
RDMOVE_PUBLIC int rdmove_listener_is_listening(rdmove_listener*); /* 1; 0 while its address is away */

RDMOVE_PUBLIC int rdmove_request_peer(rdmove_request*, struct sockaddr_storage* address);
RDMOVE_PUBLIC size_t rdmove_request_private_data(rdmove_request*, void* buffer, size_t length); /* bytes there are */
RDMOVE_PUBLIC int rdmove_accept(rdmove_request*, const struct rdmove_connection_options*,
                                const struct rdmove_connection_callbacks*, void* user, rdmove_connection** connection);
RDMOVE_PUBLIC int rdmove_channel_accept(rdmove_request*, const struct rdmove_channel_options*,
                                        const struct rdmove_channel_callbacks*, void* user, rdmove_channel** channel);

#ifdef __cplusplus
}
#endif
#endif
