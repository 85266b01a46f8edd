#include "shadowdev/model/snapshot.hpp"

#include <fmt/format.h>

#include <boost/crc.hpp>
#include <concepts>
#include <string>

#include "shadowdev/model/fields.hpp"

namespace rdmove::shadow::model {
namespace {

constexpr std::uint32_t kMagic = 0x4E535352;  // "RSSN", little-endian
constexpr std::size_t kHeader = 16;
constexpr std::size_t kChecksum = 4;

template <class T>
concept Number = std::integral<T> || std::is_enum_v<T>;

std::uint32_t checksum(std::span<const std::byte> bytes) {
  boost::crc_32_type crc;
  crc.process_bytes(bytes.data(), bytes.size());
  return crc.checksum();
}

tl::unexpected<Problem> damaged(const std::string& what) {
  return problem(ProblemCode::Damaged, fmt::format("The snapshot cannot be read: {}. Take it again.", what));
}

class Writer {
 public:
  template <Number T>
  void operator()(const char*, const T& value) {
    const auto bits = static_cast<std::uint64_t>(value);
    for (std::size_t i = 0; i < sizeof(T); ++i) bytes.push_back(static_cast<std::byte>(bits >> (8U * i)));
  }
  void operator()(const char* name, const std::string& value) {
    count(name, value.size(), kLongestName);
    for (const char c : value) bytes.push_back(static_cast<std::byte>(c));
  }
  void operator()(const char*, const Gid& value) {
    for (const std::uint8_t byte : value) bytes.push_back(std::byte{byte});
  }
  void operator()(const char*, const Path& value) { fields(*this, value); }
  template <class T>
  void operator()(const char* name, const std::vector<T>& value) {
    count(name, value.size(), kMostEntries);
    each(value);
  }
  template <class T>
  void each(const std::vector<T>& value) {
    for (const T& one : value) {
      if constexpr (Number<T>)
        (*this)("", one);
      else
        fields(*this, one);
    }
  }
  void count(const char* name, std::size_t entries, std::size_t most) {
    if (entries > most && too_large.empty()) too_large = name;
    (*this)("", static_cast<std::uint32_t>(entries));
  }

  std::vector<std::byte> bytes;
  std::string too_large;  ///< the list that is
};

/// Reads until the first fault; from there everything is zero and empty.
class Reader {
 public:
  explicit Reader(std::span<const std::byte> bytes) : left_(bytes) {}
  template <Number T>
  void operator()(const char* name, T& value) {
    std::uint64_t bits = 0;
    if (left_.size() < sizeof(T)) return fail("it ends within", name);
    for (std::size_t i = 0; i < sizeof(T); ++i)
      bits |= std::uint64_t{std::to_integer<std::uint8_t>(left_[i])} << (8U * i);
    left_ = left_.subspan(sizeof(T));
    if constexpr (std::is_same_v<T, bool>) {
      if (bits > 1) fail("neither yes nor no is", name);
    }
    value = static_cast<T>(bits);
  }
  void operator()(const char* name, std::string& value) {
    const std::size_t length = count(name, 1, kLongestName);
    value.assign(reinterpret_cast<const char*>(left_.data()), length);
    left_ = left_.subspan(length);
  }
  void operator()(const char* name, Gid& value) {
    for (std::uint8_t& byte : value) (*this)(name, byte);
  }
  void operator()(const char*, Path& value) { fields(*this, value); }
  template <class T>
  void operator()(const char* name, std::vector<T>& value) {
    each(name, value, kMostEntries);
  }
  template <class T>
  void each(const char* name, std::vector<T>& value, std::size_t most) {
    const std::size_t entries = count(name, least<T>(), most);
    value.reserve(entries);
    for (std::size_t i = 0; i < entries && failure_.empty(); ++i) {
      if constexpr (Number<T>)
        (*this)(name, value.emplace_back());
      else
        fields(*this, value.emplace_back());
    }
  }
  /// A count that the bytes that are left can hold.
  std::size_t count(const char* name, std::size_t bytes_each, std::size_t most) {
    std::uint32_t entries = 0;
    (*this)(name, entries);
    if (entries > most || std::uint64_t{entries} * bytes_each > left_.size()) {
      fail("more entries than there can be has", name);
      return 0;
    }
    return failure_.empty() ? entries : 0;
  }
  void fail(const char* what, const char* name) {
    if (failure_.empty()) failure_ = fmt::format("{} '{}'", what, name);
    left_ = {};
  }
  [[nodiscard]] const std::string& failure() const { return failure_; }
  [[nodiscard]] bool at_end() const { return left_.empty(); }

 private:
  /// Bytes that an entry has at least, so that a count takes no memory that the input does not pay for.
  template <class T>
  static std::size_t least() {
    Writer writer;
    const T empty{};
    if constexpr (Number<T>)
      writer("", empty);
    else
      fields(writer, empty);
    return writer.bytes.size();
  }

  std::span<const std::byte> left_;
  std::string failure_;
};

std::uint64_t number_at(std::span<const std::byte> bytes, std::size_t at, std::size_t size) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < size; ++i)
    value |= std::uint64_t{std::to_integer<std::uint8_t>(bytes[at + i])} << (8U * i);
  return value;
}

}  // namespace

Result<std::vector<std::byte>> encode(const Process& process) {
  if (const auto fine = is_consistent(process); !fine) return tl::unexpected(fine.error());
  Writer writer;
  writer("magic", kMagic);
  writer("version", kSnapshotVersion);
  writer("reserved", std::uint16_t{0});
  writer("length", std::uint64_t{0});
  auto list = [&](const char* name, const auto& objects) {
    writer.count(name, objects.size(), kMostObjects);
    writer.each(objects);
  };
  lists(list, process);
  const std::uint64_t length = writer.bytes.size() + kChecksum;
  if (!writer.too_large.empty() || length > kMostBytes) {
    return problem(ProblemCode::TooLarge,
                   fmt::format("The process has more RDMA state than a snapshot holds ('{}', {} bytes).",
                               writer.too_large, length));
  }
  for (std::size_t i = 0; i < 8; ++i) writer.bytes[8 + i] = static_cast<std::byte>(length >> (8U * i));
  writer("checksum", checksum(writer.bytes));
  return std::move(writer.bytes);
}

Result<Process> decode(std::span<const std::byte> bytes) {
  if (bytes.size() < 8 || number_at(bytes, 0, 4) != kMagic) return damaged("it does not begin as one does");
  if (const auto version = number_at(bytes, 4, 2); version != kSnapshotVersion) {
    return problem(
        ProblemCode::OtherVersion,
        fmt::format("The snapshot has format {}, and this release reads format {}. Read it with the "
                    "release that wrote it.",
                    version, kSnapshotVersion));
  }
  if (bytes.size() > kMostBytes)
    return problem(ProblemCode::TooLarge, fmt::format("A snapshot of {} bytes is none.", bytes.size()));
  if (bytes.size() < kHeader + kChecksum || number_at(bytes, 8, 8) != bytes.size() ||
      number_at(bytes, 6, 2) != 0)
    return damaged("it is cut, or longer than it says");
  const std::size_t end = bytes.size() - kChecksum;
  if (number_at(bytes, end, 4) != checksum(bytes.first(end))) return damaged("its checksum does not fit");

  Process process;
  Reader reader(bytes.subspan(kHeader, end - kHeader));
  auto list = [&](const char* name, auto& objects) { reader.each(name, objects, kMostObjects); };
  lists(list, process);
  if (!reader.failure().empty()) return damaged(reader.failure());
  if (!reader.at_end()) return damaged("something follows its last object");
  if (const auto fine = is_consistent(process); !fine) return damaged(fine.error().message);
  return process;
}

}  // namespace rdmove::shadow::model
