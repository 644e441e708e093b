// SPDX-License-Identifier: BSD-3-Clause
// Files of tables that are replaced as a whole: whoever reads one finds the old or the new one, never half of it.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tuning/table.hpp"

namespace hcoll {

// A name beside it, of this process alone, and the first one that is free for what it was.
std::string fresh_name(const std::string& path);
std::string old_name(const std::string& path);

// What a name leads to, where it is a link that this user or root has made: that is replaced, not the link.
std::string real_path(const std::string& path);

// False where it cannot be written; what was there is as it was, then. Who may read and write it stays.
bool replace_file(const std::string& path, std::string_view text);

// ---- what programs learn (LIBHCOLL_LEARN) ----

// Why an entry is in a table that was learned, for readers.
inline constexpr std::string_view why_learned = "learned";
bool is_learned(const TableEntry& entry);

// `fresh` in place of what `table` has for the same call and layout and messages of the same power of two of bytes.
void merge_learned(Table& table, std::vector<TableEntry> fresh);

// Adds what was learned to the file, whatever other jobs have added meanwhile: they take turns by a lock on its folder. A file that is
// damaged gets ".old" behind its name, one of another MPI library stays as it is. Returns a sentence where it is not kept; never throws but for memory.
std::optional<std::string> keep_learned(const std::string& path, const Table& learned);

}  // namespace hcoll
