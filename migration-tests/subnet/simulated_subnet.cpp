#include "migration-tests/subnet/simulated_subnet.hpp"

#include <glob.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <stdexcept>

namespace rdmove::subnet {
namespace {

namespace fs = std::filesystem;

constexpr const char* kPrompt = "sim> ";
/// ibsim reads a line into 128 bytes.
constexpr std::size_t kLongestCommand = 126;

/// The library that puts ibsim in the place of /dev/infiniband; empty if it is not there.
fs::path preload() {
  for (const char* pattern : {"/usr/lib/*/umad2sim/libumad2sim.so", "/usr/lib*/umad2sim/libumad2sim.so",
                              "/usr/local/lib*/umad2sim/libumad2sim.so"}) {
    glob_t found{};
    fs::path first;
    if (glob(pattern, 0, nullptr, &found) == 0) first = found.gl_pathv[0];
    globfree(&found);
    if (!first.empty()) return first;
  }
  return {};
}

/// Also where an ordinary user's PATH does not look.
std::string find_program(const std::string& name) {
  const char* path = std::getenv("PATH");
  std::istringstream folders(std::string(path != nullptr ? path : "") + ":/usr/sbin:/usr/local/sbin");
  for (std::string folder; std::getline(folders, folder, ':');) {
    const fs::path file = fs::path(folder) / name;
    if (!folder.empty() && access(file.c_str(), X_OK) == 0) return file;
  }
  return {};
}

fs::path make_folder() {
  std::string name = fs::temp_directory_path() / "rdmove-subnet-XXXXXX";
  if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("no temporary folder: " + name);
  return name;
}

std::string make_socket_name() {
  static std::atomic<unsigned> count{0};
  return "rdmove-" + std::to_string(getpid()) + '-' + std::to_string(++count);
}

void write_file(const fs::path& file, const std::string& text) {
  std::ofstream out(file);
  out << text;
  if (!out.flush()) throw std::runtime_error("cannot write " + file.string());
}

std::string hex(std::uint64_t number) {
  std::ostringstream text;
  text << std::hex << number;
  return text.str();
}

std::string read_file(const fs::path& file) {
  std::ifstream in(file);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

}  // namespace

std::optional<std::string> SimulatedSubnet::why_not() {
  const auto missing = [](const std::string& what, const std::string& package) {
    return what + " is not installed (package " + package + ")";
  };
  if (find_program("ibsim").empty()) return missing("ibsim", "ibsim-utils");
  if (preload().empty()) return missing("libumad2sim.so", "libumad2sim0");
  if (find_program("opensm").empty()) return missing("opensm", "opensm");
  if (find_program("saquery").empty()) return missing("saquery", "infiniband-diags");
  return std::nullopt;
}

SimulatedSubnet::SimulatedSubnet(const SubnetOptions& options)
    : options_(options),
      folder_(make_folder()),
      socket_name_(make_socket_name()),
      log_(folder_ / "opensm.log") {
  write_file(folder_ / "net", options.topology.text());
  try {
    fabric_ = std::make_unique<Child>(ChildOptions{{find_program("ibsim"), "-s", (folder_ / "net").string()},
                                                   {"IBSIM_SOCKNAME=" + socket_name_},
                                                   folder_,
                                                   folder_ / "ibsim.err"});
    fabric_->read_until(kPrompt);
    // Its sockets are there only when it reads its console.
    console("#");
    if (options.starts_manager) start_manager();
  } catch (const std::exception& error) {
    const std::string said = read_file(folder_ / "ibsim.err");
    manager_.reset();
    fabric_.reset();
    fs::remove_all(folder_);
    throw std::runtime_error(std::string("the simulated subnet is not up: ") + error.what() + '\n' + said);
  }
}

SimulatedSubnet::~SimulatedSubnet() {
  manager_.reset();
  fabric_.reset();
  std::error_code ignored;
  fs::remove_all(folder_, ignored);
}

std::string SimulatedSubnet::console(const std::string& command) {
  if (command.size() > kLongestCommand || command.find('\n') != std::string::npos)
    throw std::runtime_error("ibsim's console takes one line of at most 126 characters, not: " + command);
  fabric_->write(command + '\n');
  std::string answer = fabric_->read_until(kPrompt);
  answer.erase(answer.size() - std::char_traits<char>::length(kPrompt));
  return answer;
}

void SimulatedSubnet::command(const std::string& line) {
  // It answers only what it did not take.
  const std::string answer = console(line);
  if (answer.find('#') != std::string::npos)
    throw std::runtime_error("ibsim did not take " + line + ": " + answer);
}

void SimulatedSubnet::link(const End& one, const End& other) {
  command("Link " + one.text() + ' ' + other.text());
}
void SimulatedSubnet::clear(const End& end) {
  command("Clear " + end.text());
}
void SimulatedSubnet::unlink(const End& end) {
  command("Unlink " + end.text());
}
void SimulatedSubnet::relink(const End& end) {
  command("ReLink " + end.text());
}

// ibsim takes a port in this command only by an alias; given as "host"[1] it does nothing, and says nothing.
void SimulatedSubnet::set_port_guid(const std::string& host, std::uint64_t guid) {
  command("Guid \"@" + host + "\" 0x" + hex(guid));
  if (console("Dump \"" + host + '"').find('\n' + hex(guid) + "\t[1]") == std::string::npos)
    throw std::runtime_error("ibsim did not set the port GUID of " + host);
}

void SimulatedSubnet::set_node_guid(const std::string& host, std::uint64_t guid) {
  command("Guid \"" + host + "\" 0x" + hex(guid));
  if (console("Dump \"" + host + '"').find("nodeguid " + hex(guid)) == std::string::npos)
    throw std::runtime_error("ibsim did not set the node GUID of " + host);
}

std::vector<std::string> SimulatedSubnet::environment(const std::string& host) const {
  // A program with AddressSanitizer wants to be the first library; the preloaded one is harmless to it.
  const char* sanitizer = std::getenv("ASAN_OPTIONS");
  return {"SIM_HOST=" + host,
          "IBSIM_SOCKNAME=" + socket_name_,
          "LD_PRELOAD=" + preload().string(),
          "OSM_CACHE_DIR=" + (folder_ / "cache").string(),
          "OSM_TMP_DIR=" + (folder_ / "cache").string(),
          std::string("ASAN_OPTIONS=") + (sanitizer != nullptr ? std::string(sanitizer) + ':' : "") +
              "verify_asan_link_order=0"};
}

void SimulatedSubnet::start_manager() {
  if (manager_) return;
  detach_ended();
  fs::create_directories(folder_ / "cache");
  // Without a flush after each line there is nothing to wait for. The file of partitions is named in any
  // case, so that the system's own is not read.
  write_file(folder_ / "partitions.conf",
             options_.partitions.empty() ? "Default=0x7fff,ipoib:ALL=full;\n" : options_.partitions);
  write_file(folder_ / "opensm.conf", "force_log_flush TRUE\npartition_config_file " +
                                          (folder_ / "partitions.conf").string() + '\n' +
                                          options_.manager_options + '\n');
  const std::size_t before = log_.end();
  manager_ =
      std::make_unique<Child>(ChildOptions{{find_program("opensm"), "-F", (folder_ / "opensm.conf").string(),
                                            "-f", (folder_ / "opensm.log").string()},
                                           environment(options_.manager_host),
                                           folder_,
                                           folder_ / "opensm.out",
                                           false});
  log_.wait_for("SUBNET UP", before, std::chrono::seconds(30));
}

void SimulatedSubnet::stop_manager(bool forgets) {
  manager_.reset();
  if (forgets) fs::remove_all(folder_ / "cache");
}

// ibsim keeps the place of a program that was killed, and it has ten.
void SimulatedSubnet::detach_ended() {
  std::istringstream clients(console("Attached"));
  for (std::string line; std::getline(clients, line);) {
    unsigned place = 0;
    int pid = 0;
    if (std::sscanf(line.c_str(), "Client %u: pid %d ", &place, &pid) == 2 && kill(pid, 0) != 0)
      console("X " + std::to_string(place));
  }
}

std::unique_ptr<Child> SimulatedSubnet::start(const std::string& host,
                                              const std::vector<std::string>& words) {
  detach_ended();
  std::vector<std::string> found = words;
  if (found.at(0).find('/') == std::string::npos) {
    if (const std::string program = find_program(found[0]); !program.empty()) found[0] = program;
  }
  return std::make_unique<Child>(ChildOptions{found, environment(host), folder_, {}});
}

Outcome SimulatedSubnet::run(const std::string& host, const std::vector<std::string>& words,
                             std::chrono::milliseconds limit) {
  const auto program = start(host, words);
  program->close_input();
  Outcome outcome;
  outcome.output = program->read_to_end(limit);
  outcome.status = program->status();
  return outcome;
}

}  // namespace rdmove::subnet
