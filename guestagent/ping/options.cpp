#include "guestagent/ping/options.hpp"

#include <CLI/CLI.hpp>

#include "guestagent/ping/message.hpp"

namespace rdmove::ping {

std::variant<Options, int> parse(int argc, char** argv) {
  Options options;
  std::uint64_t count = 0;
  std::uint32_t duration = 0;
  std::uint32_t give_up = 120;
  bool no_agent = false;
  CLI::App app(
      "Sends messages over RDMA connections that come back after a migration, and checks every byte that "
      "returns. "
      "Prints how long each connection was dark. Run it with --server on one machine, with that machine's "
      "address on "
      "another; Ctrl-C prints the summary, SIGUSR1 the state.",
      "rdmove-ping");
  app.set_version_flag("--version", "rdmove-ping " RDMOVE_VERSION);
  app.footer(
      "Exit code: 0 if nothing was lost, duplicated, reordered or corrupted; 1 if something was, or a "
      "connection failed; 2 for a mistake on the command line.");
  auto* host = app.add_option("HOST", options.host, "Address or name of the machine that runs the server");
  auto* server =
      app.add_flag("--server", options.is_server, "Answer clients, until interrupted")->excludes(host);
  app.add_option("--address", options.address, "Server: listen on this address only")->needs(server);
  app.add_option("--port", options.port, "Port of the server")
      ->check(CLI::Range(1, 65535))
      ->capture_default_str();
  app.add_option("--from", options.from, "The own address to use")->excludes(server);
  app.add_option("--connections", options.connections, "How many at once")
      ->check(CLI::Range(1, 4096))
      ->capture_default_str()
      ->excludes(server);
  app.add_option("--size", options.size, "Bytes of a message")
      ->check(CLI::Range(static_cast<std::uint32_t>(kSmallest), static_cast<std::uint32_t>(kLargest)))
      ->capture_default_str()
      ->excludes(server);
  app.add_option("--rate", options.rate, "Messages a second on each connection; 0: as many as are answered")
      ->check(CLI::Range(0, 1'000'000))
      ->capture_default_str()
      ->excludes(server);
  auto* counted = app.add_option("--count", count, "End after so many messages on each connection")
                      ->check(CLI::PositiveNumber)
                      ->excludes(server);
  auto* timed = app.add_option("--duration", duration, "End after so many seconds")
                    ->check(CLI::PositiveNumber)
                    ->excludes(counted)
                    ->excludes(server);
  app.add_option("--give-up", give_up, "Seconds without a way to the other end that end a connection")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_flag(
         "--write", options.one_sided.write,
         "Before each message, write it into the server's memory; the server looks when the message comes")
      ->excludes(server);
  app.add_flag("--read", options.one_sided.read,
               "After each answer, read it from the server's memory, and check it")
      ->excludes(server);
  app.add_option("--loops", options.loops,
                 "Event loops, each with a thread, that the connections are spread over: as a program would "
                 "that has several")
      ->check(CLI::Range(1, 64))
      ->capture_default_str()
      ->excludes(server);
  app.add_flag("--json", options.json, "Summary as JSON");
  app.add_option("--status-file", options.status_file,
                 "Keep the state there, as JSON lines: one for all, then one for each connection");
  app.add_flag("--no-agent", no_agent, "Do not talk to rdmove-agent: go by the kernel's events alone");
  try {
    app.parse(argc, argv);
    if (!options.is_server && options.host.empty()) {
      throw CLI::ValidationError("say HOST to be a client, or --server to answer clients");
    }
    if (options.loops > options.connections)
      throw CLI::ValidationError("--loops: each needs a connection; give at least as many --connections");
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  if (counted->count() > 0) options.count = count;
  if (timed->count() > 0) options.duration = std::chrono::seconds(duration);
  options.give_up = std::chrono::seconds(give_up);
  options.with_agent = !no_agent;
  return options;
}

}  // namespace rdmove::ping
