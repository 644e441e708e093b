// SPDX-License-Identifier: BSD-3-Clause
#include "tuning/table_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <thread>
#include <tuple>

#include "base/file_limit.hpp"
#include "tuning/trial_candidates.hpp"

namespace hcoll {

namespace {

// Jobs that end at the same time take turns; who has to wait for longer loses what it has learned, and nothing else.
constexpr int most_tries = 100;
constexpr auto between_tries = std::chrono::milliseconds(20);

// A lock on a folder leaves nothing behind, and ends with the process. File systems of a network may hold it on one host only: there the last one wins
// of jobs that end at the same time on several.
class FolderLock {
public:
    explicit FolderLock(const std::string& folder)
        : descriptor_(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
        for (int i = 0; descriptor_ >= 0 && i < most_tries && !is_held_; ++i) {
            is_held_ = flock(descriptor_, LOCK_EX | LOCK_NB) == 0;
            // A file system that knows no locks is used without.
            if (!is_held_ && errno != EWOULDBLOCK && errno != EINTR) is_held_ = true;
            if (!is_held_) std::this_thread::sleep_for(between_tries);
        }
    }
    ~FolderLock() {
        if (descriptor_ >= 0) close(descriptor_);
    }
    FolderLock(const FolderLock&) = delete;
    FolderLock& operator=(const FolderLock&) = delete;
    bool is_held() const { return is_held_; }

private:
    int descriptor_;
    bool is_held_ = false;
};

bool is_same_place(const TableEntry& a, const TableEntry& b) {
    return a.is_point() && b.is_point() && a.call == b.call && a.nodes == b.nodes &&
           a.ranks_per_node == b.ranks_per_node &&
           size_class_of_place(a.bytes.least) == size_class_of_place(b.bytes.least);
}

}  // namespace

// A process of another host, or of a container, may have the same number.
std::string fresh_name(const std::string& path) {
    std::uint64_t random = 0;
    if (getrandom(&random, sizeof random, 0) != sizeof random) random = static_cast<std::uint64_t>(getpid());
    return fmt::format("{}.new{:x}", path, random);
}

std::string old_name(const std::string& path) {
    std::string name = path + ".old";
    for (int number = 2; access(name.c_str(), F_OK) == 0; ++number) name = fmt::format("{}.old{}", path, number);
    return name;
}

std::string real_path(const std::string& path) {
    constexpr int most_links = 40;  // as the system has it
    std::filesystem::path at = path;
    for (int i = 0; i < most_links; ++i) {
        std::error_code error;
        struct stat link {};
        // Not where somebody else has put it. What it leads to need not be there yet.
        if (lstat(at.c_str(), &link) != 0 || !S_ISLNK(link.st_mode) || (link.st_uid != geteuid() && link.st_uid != 0))
            return at.string();
        const std::filesystem::path target = std::filesystem::read_symlink(at, error);
        if (error) return at.string();
        at = at.parent_path() / target;
    }
    return path;
}

bool replace_file(const std::string& name, std::string_view text) {
    const std::string path = real_path(name);
    const std::string fresh = fresh_name(path);
    const FileLimitIsAnError file_limit;
    std::FILE* file = std::fopen(fresh.c_str(), "we");
    if (file == nullptr) return false;
    // Others of a group may share it, whatever this process's mask is. Where that fails, it is as any new file.
    struct stat before {};
    if (stat(path.c_str(), &before) == 0) {
        const bool is_of_group = fchown(fileno(file), static_cast<uid_t>(-1), before.st_gid) == 0;
        (void)fchmod(fileno(file), before.st_mode & (is_of_group ? 0777U : 0707U));
    }
    const bool is_written = std::fwrite(text.data(), 1, text.size(), file) == text.size() && std::fflush(file) == 0 &&
                            fsync(fileno(file)) == 0;
    const int reason = errno;
    const bool is_closed = std::fclose(file) == 0;
    if (is_written && is_closed && std::rename(fresh.c_str(), path.c_str()) == 0) return true;
    const int last = is_written ? errno : reason;
    unlink(fresh.c_str());
    errno = last;
    return false;
}

bool is_learned(const TableEntry& entry) { return entry.why.starts_with(why_learned); }

void merge_learned(Table& table, std::vector<TableEntry> fresh) {
    for (TableEntry& each : fresh) {
        std::erase_if(table.entries, [&](const TableEntry& old) { return is_same_place(old, each); });
        table.entries.push_back(std::move(each));
    }
    std::stable_sort(table.entries.begin(), table.entries.end(), [](const TableEntry& a, const TableEntry& b) {
        return std::tuple(a.call.name(), a.nodes.least, a.ranks_per_node.least, a.bytes.least) <
               std::tuple(b.call.name(), b.nodes.least, b.ranks_per_node.least, b.bytes.least);
    });
}

std::optional<std::string> keep_learned(const std::string& name, const Table& learned) {
    const std::string path = real_path(name);
    std::error_code error;  // the working directory may be gone
    const std::string folder = std::filesystem::absolute(path, error).parent_path().string();
    if (error) return fmt::format("what was learned is not kept in {}: {}", path, error.message());
    const FolderLock lock(folder);
    if (!lock.is_held())
        return fmt::format("what was learned is not kept in {}: other jobs are writing there, or {} cannot be opened",
                           path, folder);
    Table table = learned;
    table.entries.clear();
    bool is_damaged = false;
    struct stat status {};
    if (stat(path.c_str(), &status) == 0) {
        if (!S_ISREG(status.st_mode)) return fmt::format("what was learned is not kept: {} is no file", path);
        if (access(path.c_str(), R_OK) != 0)
            return fmt::format("what was learned is not kept: {} cannot be read ({})", path, std::strerror(errno));
        std::vector<std::string> mistakes;
        std::optional<Table> before = read_table(path, mistakes);
        if (before && before->vendor && before->vendor != learned.vendor)
            return fmt::format(
                "what was learned is not kept: {} is of another MPI library ({}); each needs a file of its own", path,
                name_of(*before->vendor));
        // Somebody may want to know what it was.
        is_damaged = !before || !mistakes.empty();
        if (!is_damaged) table.entries = std::move(before->entries);
    }
    merge_learned(table, learned.entries);
    const auto not_written = [&] {
        return fmt::format("what was learned is not kept: {} cannot be written ({})", path, std::strerror(errno));
    };
    if (!is_damaged) return replace_file(path, table_json(table)) ? std::nullopt : std::optional(not_written());
    // What is damaged is put aside once there is something to take its place.
    const std::string fresh = fresh_name(path);
    if (!replace_file(fresh, table_json(table))) return not_written();
    if (std::rename(path.c_str(), old_name(path).c_str()) == 0 && std::rename(fresh.c_str(), path.c_str()) == 0)
        return std::nullopt;
    const std::string sentence = not_written();
    unlink(fresh.c_str());
    return sentence;
}

}  // namespace hcoll
