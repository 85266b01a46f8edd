#include "status_file.hpp"

#include <cstdio>
#include <fstream>

namespace beat {

void write_status(const std::string& path, const std::string& json) {
  const std::string fresh = path + ".new";
  std::ofstream(fresh) << json << '\n';
  std::rename(fresh.c_str(), path.c_str());
}

}  // namespace beat
