// SPDX-License-Identifier: BSD-3-Clause
// What threads of a program have accessed, to see two that are not ordered: a data race.
#pragma once

#include <sys/mman.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/check.hpp"
#include "execution_graph.hpp"

namespace hcoll::model {

// Zeroed; pages that nobody touches cost nothing.
inline std::byte* map_memory(std::size_t bytes) {
    void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    hcoll::check(memory != MAP_FAILED, "no memory");
    return static_cast<std::byte*>(memory);
}

// Who has accessed what, in cells of 4 bytes. An access is known by its thread and the number of that one's events before it.
class Accesses {
public:
    void begin() {
        ++run_;
        areas_in_use_ = 0;
    }
    // The same in each run.
    void watch(const void* memory, std::size_t bytes, const char* name) {
        if (areas_in_use_ == areas_.size())
            areas_.push_back(std::make_unique<Area>(reinterpret_cast<Location>(memory), bytes, name));
        ++areas_in_use_;
    }
    enum class Kind { read, write, atomic_read, atomic_write };
    // Of a thread that knows of `clock`. Returns what it races with, if anything.
    std::optional<std::string> note(int thread, const Clock& clock, Location memory, std::size_t bytes, Kind kind) {
        for (std::size_t i = 0; i < areas_in_use_; ++i) {
            Area& area = *areas_[i];
            if (memory < area.base || memory >= area.base + area.bytes) continue;
            const std::size_t offset = memory - area.base;
            if (bytes > area.bytes - offset) return std::string("an access leaves ") + area.name;
            for (std::size_t cell = offset / cell_bytes; cell <= (offset + bytes - 1) / cell_bytes; ++cell)
                if (const int other = race(area.cells[cell], thread, clock, kind); other >= 0)
                    return std::string(name_of(kind)) + " of " + std::to_string(bytes) + " bytes by thread " +
                           std::to_string(thread) + " at " + area.name + " + " + std::to_string(offset) +
                           " races with thread " + std::to_string(other);
            return std::nullopt;
        }
        return std::nullopt;
    }
    std::string name(Location memory) const {
        for (std::size_t i = 0; i < areas_in_use_; ++i)
            if (const Area& area = *areas_[i]; memory >= area.base && memory < area.base + area.bytes)
                return std::string(area.name) + " + " + std::to_string(memory - area.base);
        return "other memory";
    }

private:
    static constexpr std::size_t cell_bytes = 4;
    static constexpr std::size_t kinds = 4;
    struct Cell {
        std::uint32_t run = 0;
        std::int8_t only = 0;  // the thread that alone has accessed it; -1: several have
        // The last of each thread: so many events before it, plus 1.
        std::array<std::array<std::uint16_t, most_threads>, kinds> last{};
    };
    struct Area {
        Area(Location at, std::size_t bytes_there, const char* name_of_it)
            : base(at),
              bytes(bytes_there),
              name(name_of_it),
              bytes_of_cells((bytes / cell_bytes + 2) * sizeof(Cell)),
              cells(reinterpret_cast<Cell*>(map_memory(bytes_of_cells))) {}
        ~Area() { munmap(cells, bytes_of_cells); }
        Area(const Area&) = delete;
        Area& operator=(const Area&) = delete;

        Location base;
        std::size_t bytes;
        const char* name;
        std::size_t bytes_of_cells;
        Cell* cells;
    };
    static const char* name_of(Kind kind) {
        constexpr std::array<const char*, kinds> names{"read", "write", "atomic read", "atomic write"};
        return names[static_cast<std::size_t>(kind)];
    }
    static bool conflict(Kind one, Kind other) {
        const auto is_atomic = [](Kind kind) { return kind == Kind::atomic_read || kind == Kind::atomic_write; };
        const auto writes = [](Kind kind) { return kind == Kind::write || kind == Kind::atomic_write; };
        return !(is_atomic(one) && is_atomic(other)) && (writes(one) || writes(other));
    }
    int race(Cell& cell, int thread, const Clock& clock, Kind kind) const {
        if (cell.run != run_) cell = {.run = run_, .only = static_cast<std::int8_t>(thread)};
        // An atomic access is the last of the events that the clock counts.
        const int later = kind == Kind::read || kind == Kind::write ? 1 : 0;
        const auto now = static_cast<std::uint16_t>(clock[static_cast<std::size_t>(thread)] + later);
        auto& mine = cell.last[static_cast<std::size_t>(kind)][static_cast<std::size_t>(thread)];
        if (cell.only == thread) {
            mine = now;
            return -1;
        }
        cell.only = -1;
        for (std::size_t other = 0; other < kinds; ++other) {
            if (!conflict(kind, static_cast<Kind>(other))) continue;
            for (int each = 0; each < most_threads; ++each)
                if (each != thread &&
                    cell.last[other][static_cast<std::size_t>(each)] > clock[static_cast<std::size_t>(each)])
                    return each;
        }
        mine = now;
        return -1;
    }

    std::uint32_t run_ = 0;
    std::vector<std::unique_ptr<Area>> areas_;
    std::size_t areas_in_use_ = 0;
};

}  // namespace hcoll::model
