# The two 32-bit entries, and the way from there to 64-bit Rust.
#
# Both loaders enter in protected mode without paging, interrupts off, an information address in
# EBX. hv_main gets the boot path in EDI and that address in RSI.

.section .multiboot2, "a"
.balign 8
multiboot2_header:
    .long 0xe85250d6
    .long 0
    .long multiboot2_header_end - multiboot2_header
    .long -(0xe85250d6 + (multiboot2_header_end - multiboot2_header))
    # Module alignment: the plan starts on a page.
    .balign 8
    .short 6
    .short 0
    .long 8
    # End of tags.
    .balign 8
    .short 0
    .short 0
    .long 8
multiboot2_header_end:

# XEN_ELFNOTE_PHYS32_ENTRY. A Multiboot1 header must never be added: QEMU tries that first and
# refuses 64-bit ELF files there.
.section .note.pvh, "a", @note
.balign 4
    .long 4
    .long 4
    .long 18
    .asciz "Xen"
    .balign 4
    .long pvh_start
    .balign 4

.section .boot, "ax"
.code32
.global pvh_start
pvh_start:
    movl $1, %edi
    jmp enter_long_mode

.global multiboot2_start
multiboot2_start:
    movl $2, %edi
    cmpl $0x36d76289, %eax
    je enter_long_mode
    movl $3, %edi

enter_long_mode:
    cld
    movl %ebx, %esi
    movl $boot_stack_top, %esp
    # Identity map of the first 4 GiB with 2 MiB pages; the loader zeroed the tables.
    movl $boot_pdpt + 3, boot_pml4
    xorl %ecx, %ecx
1:  movl %ecx, %eax
    shll $12, %eax
    addl $boot_pd + 3, %eax
    movl %eax, boot_pdpt(, %ecx, 8)
    incl %ecx
    cmpl $4, %ecx
    jne 1b
    xorl %ecx, %ecx
2:  movl %ecx, %eax
    shll $21, %eax
    orl $0x83, %eax
    movl %eax, boot_pd(, %ecx, 8)
    incl %ecx
    cmpl $2048, %ecx
    jne 2b
    # The last GiB holds the APIC and IOAPIC pages: 2 MiB pages from FEC00000h on are uncached.
    movl $0x7f6, %ecx
3:  orl $0x10, boot_pd(, %ecx, 8)
    incl %ecx
    cmpl $2048, %ecx
    jne 3b
    enter_long_mode
    lgdt boot_gdtr
    ljmp $8, $enter_rust

.code64
enter_rust:
    movw $16, %ax
    movw %ax, %ds
    movw %ax, %es
    movw %ax, %ss
    xorl %eax, %eax
    movw %ax, %fs
    movw %ax, %gs
    movl %edi, %edi
    movl %esi, %esi
    leaq boot_stack_top(%rip), %rsp
    xorl %ebp, %ebp
    call hv_main
    ud2

.balign 8
boot_gdt:
    .quad 0
    .quad 0x00af9b000000ffff
    .quad 0x00cf93000000ffff
boot_gdtr:
    .short boot_gdtr - boot_gdt - 1
    .long boot_gdt
    .long 0

.section .bss.boot, "aw", @nobits
.balign 4096
boot_pml4: .skip 4096
boot_pdpt: .skip 4096
boot_pd: .skip 16384
boot_stack: .skip 65536
boot_stack_top:
