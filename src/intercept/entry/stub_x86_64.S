/* SPDX-License-Identifier: BSD-3-Clause */
/* The exported functions of libhcoll.so on x86-64. Each is one jump through its slot and leaves every argument, in
 * registers and on the stack, as the caller put it. Until the first call binds them, the slots hold the addresses of
 * code that has hcoll_bind (stub.c) fill all of them, and jumps on.
 */
#include "hcoll/hcoll.h"

    .set hcoll_slot, 0

/* A slot, and the code that it holds until it is bound; %r11 belongs to no argument. */
.macro hcoll_new_slot
    .pushsection .data.rel.local, "aw"
    .quad 1f
    .popsection
    .p2align 4
1:
    endbr64
    movl $hcoll_slot, %r11d
    jmp hcoll_unbound
    .set hcoll_slot, hcoll_slot + 1
.endm

.macro hcoll_begin symbol
    .globl \symbol
    .type \symbol, @function
    .p2align 4
\symbol:
    endbr64
.endm

.macro hcoll_jump symbol
    jmpq *(hcoll_slots + 8 * hcoll_slot)(%rip)
    .size \symbol, . - \symbol
    hcoll_new_slot
.endm

/* libhcoll's own levels, an even number and the one after it, go to the wrapper, in the slot after the last. */
.macro hcoll_own_levels
    movl %edi, %r11d
    andl $-2, %r11d
    cmpl $HCOLL_PCONTROL_VENDOR, %r11d
    je hcoll_level
.endm

/* None of them has a frame: whoever unwinds the stack finds the caller from any of them. */
    .text
    .cfi_startproc
#include "intercept/entry/stub_functions.inc"

hcoll_level:
    jmpq *(hcoll_slots + 8 * hcoll_slot)(%rip)
    hcoll_new_slot
    .cfi_endproc

/* %r11d: the slot. Saves what may hold arguments (%rax counts the vector registers of a variadic call). */
    .type hcoll_unbound, @function
hcoll_unbound:
    .cfi_startproc
    pushq %rbp
    .cfi_def_cfa_offset 16
    .cfi_offset %rbp, -16
    movq %rsp, %rbp
    .cfi_def_cfa_register %rbp
    subq $192, %rsp
    andq $-16, %rsp
    movups %xmm0, 0(%rsp)
    movups %xmm1, 16(%rsp)
    movups %xmm2, 32(%rsp)
    movups %xmm3, 48(%rsp)
    movups %xmm4, 64(%rsp)
    movups %xmm5, 80(%rsp)
    movups %xmm6, 96(%rsp)
    movups %xmm7, 112(%rsp)
    movq %rdi, 128(%rsp)
    movq %rsi, 136(%rsp)
    movq %rdx, 144(%rsp)
    movq %rcx, 152(%rsp)
    movq %r8, 160(%rsp)
    movq %r9, 168(%rsp)
    movq %rax, 176(%rsp)
    movl %r11d, %edi
    movq 8(%rbp), %rsi
    call hcoll_bind
    movq %rax, %r11
    movups 0(%rsp), %xmm0
    movups 16(%rsp), %xmm1
    movups 32(%rsp), %xmm2
    movups 48(%rsp), %xmm3
    movups 64(%rsp), %xmm4
    movups 80(%rsp), %xmm5
    movups 96(%rsp), %xmm6
    movups 112(%rsp), %xmm7
    movq 128(%rsp), %rdi
    movq 136(%rsp), %rsi
    movq 144(%rsp), %rdx
    movq 152(%rsp), %rcx
    movq 160(%rsp), %r8
    movq 168(%rsp), %r9
    movq 176(%rsp), %rax
    leave
    .cfi_restore %rbp
    .cfi_def_cfa %rsp, 8
    jmpq *%r11
    .cfi_endproc
    .size hcoll_unbound, . - hcoll_unbound

    .section .note.GNU-stack, "", @progbits
