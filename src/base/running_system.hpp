// SPDX-License-Identifier: BSD-3-Clause
// Which running system a process is on: what a host's name does not tell, since hosts and containers may have the same.
#pragma once

#include <sys/stat.h>

#include <fstream>
#include <initializer_list>
#include <string>

namespace hcoll {

// The same for processes of one system that have these namespaces (files of /proc/self/ns) in common, and for no others. Empty where the system does not tell.
inline std::string running_system(std::initializer_list<const char*> namespaces) {
    std::string text;
    std::ifstream boot("/proc/sys/kernel/random/boot_id");
    if (!std::getline(boot, text) || text.empty()) return {};
    for (const char* name : namespaces) {
        struct stat status {};
        if (stat((std::string("/proc/self/ns/") + name).c_str(), &status) != 0) return {};
        text += " " + std::to_string(status.st_dev) + ":" + std::to_string(status.st_ino);
    }
    return text;
}

}  // namespace hcoll
