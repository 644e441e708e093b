// SPDX-License-Identifier: BSD-3-Clause
// fmt, compiled once.
//
// Header-only, it costs every file that includes it 5 s of compilation (14 s with sanitizers); as a shared library it
// could meet another copy in the application. So its implementation is a part of ours, hidden like the rest. The list
// below are the templates that fmt 9 leaves to its library; CMakeLists.txt takes other versions header-only.
#include <fmt/format-inl.h>

FMT_BEGIN_NAMESPACE
namespace detail {

template dragonbox::decimal_fp<float> dragonbox::to_decimal(float) noexcept;
template dragonbox::decimal_fp<double> dragonbox::to_decimal(double) noexcept;
template locale_ref::locale_ref(const std::locale&);
template std::locale locale_ref::get<std::locale>() const;
template thousands_sep_result<char> thousands_sep_impl(locale_ref);
template char decimal_point_impl(locale_ref);
template void buffer<char>::append(const char*, const char*);
template void vformat_to(buffer<char>&, string_view, basic_format_args<buffer_context<char>>, locale_ref);

}  // namespace detail
FMT_END_NAMESPACE
