# From 32-bit protected mode to compatibility mode, for every core: the boot core's page tables, and
# the feature bits that hv-core runs with. A far jump into a 64-bit segment has to follow.

.macro enter_long_mode
    movl $boot_pml4, %eax
    movl %eax, %cr3
    # PAE, MCE, OSFXSR, OSXMMEXCPT: Rust uses SSE from its first instruction.
    movl %cr4, %eax
    orl $0x660, %eax
    movl %eax, %cr4
    # EFER.LME
    movl $0xc0000080, %ecx
    rdmsr
    orl $0x100, %eax
    wrmsr
    # PG, NE, MP; EM, CD and NW off.
    movl %cr0, %eax
    andl $0x9ffffffb, %eax
    orl $0x80000022, %eax
    movl %eax, %cr0
.endm

