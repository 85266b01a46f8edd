// The fields of each object by name, in the order in which snapshots have them: one list for writing,
// reading, printing and comparing. A visitor is called with a name and a reference. Whoever changes a list
// raises snapshot.hpp's version and changes docs/snapshot-format.md.
#pragma once

#include <type_traits>

#include "shadowdev/model/objects.hpp"

namespace rdmove::shadow::model {

/// T or const T, so that one list serves readers and writers.
template <class T, class Wanted>
concept Some = std::is_same_v<std::remove_const_t<T>, Wanted>;

void fields(auto& visit, Some<Context> auto& o) {
  visit("id", o.id), visit("device", o.device), visit("gid", o.gid), visit("presence", o.presence);
  visit("moves", o.moves);
}
void fields(auto& visit, Some<ProtectionDomain> auto& o) {
  visit("id", o.id), visit("context", o.context);
}
void fields(auto& visit, Some<MemoryRegion> auto& o) {
  visit("id", o.id), visit("pd", o.pd), visit("address", o.address), visit("length", o.length);
  visit("iova", o.iova), visit("access", o.access), visit("lkey", o.lkey), visit("rkey", o.rkey);
  visit("physical_lkey", o.physical_lkey), visit("physical_rkey", o.physical_rkey);
}
void fields(auto& visit, Some<CompletionChannel> auto& o) {
  visit("id", o.id), visit("context", o.context), visit("pending_events", o.pending_events);
}
void fields(auto& visit, Some<Completion> auto& o) {
  visit("wr_id", o.wr_id), visit("status", o.status), visit("opcode", o.opcode);
  visit("byte_len", o.byte_len), visit("immediate", o.immediate), visit("number", o.number);
  visit("source", o.source), visit("flags", o.flags);
}
void fields(auto& visit, Some<CompletionQueue> auto& o) {
  visit("id", o.id), visit("context", o.context), visit("channel", o.channel), visit("entries", o.entries);
  visit("armed", o.armed), visit("backlog", o.backlog);
}
void fields(auto& visit, Some<ScatterEntry> auto& o) {
  visit("address", o.address), visit("length", o.length), visit("lkey", o.lkey);
}
void fields(auto& visit, Some<Receive> auto& o) {
  visit("wr_id", o.wr_id), visit("to", o.to);
}
void fields(auto& visit, Some<SharedReceiveQueue> auto& o) {
  visit("id", o.id), visit("pd", o.pd), visit("max_wr", o.max_wr), visit("max_sge", o.max_sge);
  visit("limit", o.limit), visit("receives", o.receives);
}
void fields(auto& visit, Some<Path> auto& o) {
  visit("destination", o.destination), visit("lid", o.lid), visit("source_gid_index", o.source_gid_index);
  visit("service_level", o.service_level), visit("traffic_class", o.traffic_class);
  visit("hop_limit", o.hop_limit), visit("flow_label", o.flow_label), visit("port", o.port);
  visit("static_rate", o.static_rate), visit("source_path_bits", o.source_path_bits);
  visit("is_global", o.is_global);
}
void fields(auto& visit, Some<AddressHandle> auto& o) {
  visit("id", o.id), visit("pd", o.pd), visit("path", o.path);
}
void fields(auto& visit, Some<Send> auto& o) {
  visit("wr_id", o.wr_id), visit("opcode", o.opcode), visit("flags", o.flags);
  visit("immediate", o.immediate), visit("remote_address", o.remote_address), visit("rkey", o.rkey);
  visit("compare_add", o.compare_add), visit("swap", o.swap), visit("ah", o.ah);
  visit("remote_number", o.remote_number), visit("remote_qkey", o.remote_qkey), visit("from", o.from);
  visit("inlined", o.inlined);
}
void fields(auto& visit, Some<QueuePair> auto& o) {
  visit("id", o.id), visit("pd", o.pd), visit("send_cq", o.send_cq), visit("recv_cq", o.recv_cq);
  visit("srq", o.srq), visit("type", o.type), visit("state", o.state), visit("phase", o.phase);
  visit("number", o.number), visit("physical_number", o.physical_number);
  visit("max_send_wr", o.max_send_wr), visit("max_recv_wr", o.max_recv_wr);
  visit("max_send_sge", o.max_send_sge), visit("max_recv_sge", o.max_recv_sge);
  visit("max_inline", o.max_inline), visit("signals_all", o.signals_all), visit("access", o.access);
  visit("pkey_index", o.pkey_index), visit("port", o.port), visit("qkey", o.qkey);
  visit("path_mtu", o.path_mtu), visit("timeout", o.timeout), visit("retry_count", o.retry_count);
  visit("rnr_retry", o.rnr_retry), visit("min_rnr_timer", o.min_rnr_timer);
  visit("max_rd_atomic", o.max_rd_atomic), visit("max_dest_rd_atomic", o.max_dest_rd_atomic);
  visit("send_psn", o.send_psn), visit("receive_psn", o.receive_psn), visit("path", o.path);
  visit("peer_number", o.peer_number), visit("peer_physical_number", o.peer_physical_number);
  visit("epoch", o.epoch), visit("peer_epoch", o.peer_epoch), visit("held", o.held);
  visit("receives", o.receives);
}
void fields(auto& visit, Some<CmShell> auto& o) {
  visit("id", o.id), visit("qp", o.qp), visit("state", o.state);
  visit("disconnect_pending", o.disconnect_pending);
}

/// The lists of a process in the order of a snapshot: what is referred to comes first.
void lists(auto& visit, Some<Process> auto& process) {
  visit("context", process.contexts), visit("pd", process.pds), visit("mr", process.regions);
  visit("channel", process.channels), visit("cq", process.cqs), visit("srq", process.srqs);
  visit("ah", process.ahs), visit("qp", process.qps), visit("cm", process.shells);
}

}  // namespace rdmove::shadow::model
