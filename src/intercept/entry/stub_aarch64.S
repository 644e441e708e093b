/* SPDX-License-Identifier: BSD-3-Clause */
/* The exported functions of libhcoll.so on AArch64; see stub_x86_64.S. x16 and x17 belong to no argument. */
#include "hcoll/hcoll.h"

    .set hcoll_slot, 0

.macro hcoll_new_slot
    .pushsection .data.rel.local, "aw"
    .xword 1f
    .popsection
    .p2align 4
1:
    hint #34 /* bti c */
    mov w17, #hcoll_slot
    b hcoll_unbound
    .set hcoll_slot, hcoll_slot + 1
.endm

.macro hcoll_begin symbol
    .globl \symbol
    .type \symbol, %function
    .p2align 4
\symbol:
    hint #34
.endm

/* Acquires: another thread may have bound the slot just now, and the backend may not look older than its address. */
.macro hcoll_load_slot
    adrp x16, hcoll_slots + 8 * hcoll_slot
    add x16, x16, #:lo12:(hcoll_slots + 8 * hcoll_slot)
    ldar x16, [x16]
    br x16
.endm

.macro hcoll_jump symbol
    hcoll_load_slot
    .size \symbol, . - \symbol
    hcoll_new_slot
.endm

.macro hcoll_own_levels
    and w16, w0, #-2
    movz w17, #(HCOLL_PCONTROL_VENDOR & 0xffff)
    movk w17, #(HCOLL_PCONTROL_VENDOR >> 16), lsl #16
    cmp w16, w17
    b.eq hcoll_level
.endm

/* None of them has a frame: whoever unwinds the stack finds the caller from any of them. */
    .text
    .cfi_startproc
#include "intercept/entry/stub_functions.inc"

hcoll_level:
    hcoll_load_slot
    hcoll_new_slot
    .cfi_endproc

/* w17: the slot. Saves what may hold arguments, and x8, the address of a returned structure. */
    .type hcoll_unbound, %function
hcoll_unbound:
    .cfi_startproc
    stp x29, x30, [sp, #-224]!
    .cfi_def_cfa_offset 224
    .cfi_offset x29, -224
    .cfi_offset x30, -216
    mov x29, sp
    stp x0, x1, [sp, #16]
    stp x2, x3, [sp, #32]
    stp x4, x5, [sp, #48]
    stp x6, x7, [sp, #64]
    str x8, [sp, #80]
    stp q0, q1, [sp, #96]
    stp q2, q3, [sp, #128]
    stp q4, q5, [sp, #160]
    stp q6, q7, [sp, #192]
    mov w0, w17
    mov x1, x30
    bl hcoll_bind
    mov x16, x0
    ldp x0, x1, [sp, #16]
    ldp x2, x3, [sp, #32]
    ldp x4, x5, [sp, #48]
    ldp x6, x7, [sp, #64]
    ldr x8, [sp, #80]
    ldp q0, q1, [sp, #96]
    ldp q2, q3, [sp, #128]
    ldp q4, q5, [sp, #160]
    ldp q6, q7, [sp, #192]
    ldp x29, x30, [sp], #224
    .cfi_restore x29
    .cfi_restore x30
    .cfi_def_cfa_offset 0
    br x16
    .cfi_endproc
    .size hcoll_unbound, . - hcoll_unbound

    .section .note.GNU-stack, "", %progbits
