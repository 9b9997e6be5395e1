# Where the other cores start: 16-bit code that the boot core copies to one page of low memory
# (AP_PAGE in boot/cores.rs) and names in its SIPI. Position-independent by hand: every address is
# an offset into that page plus its place.

.section .rodata.ap, "a"
.set AP_PAGE, 0x8000
.global ap_start
.global ap_end

.code16
ap_start:
    cli
    cld
    xorw %ax, %ax
    movw %ax, %ds
    lgdtl (ap_gdtr - ap_start + AP_PAGE)
    movl %cr0, %eax
    orl $1, %eax
    movl %eax, %cr0
    ljmpl $8, $(ap_protected - ap_start + AP_PAGE)

.code32
ap_protected:
    movw $16, %ax
    movw %ax, %ds
    movw %ax, %ss
    movw %ax, %es
    enter_long_mode
    ljmpl $24, $(ap_long - ap_start + AP_PAGE)

.code64
ap_long:
    # Numbers are given out in the order of arrival; the boot core is number 0.
    movl $1, %edi
    lock xaddl %edi, (ap_arrivals - ap_start + AP_PAGE)
    # One of more than there are stacks for stays here.
    cmpl $16, %edi
    jae ap_surplus
    movl %edi, %eax
    shlq $16, %rax
    # Absolute: this code does not run where it was linked.
    movabsq $ap_stacks, %rsp
    addq %rax, %rsp
    xorl %ebp, %ebp
    movabsq $hv_ap_main, %rax
    call *%rax
    ud2
ap_surplus:
    cli
    hlt
    jmp ap_surplus

.balign 8
.global ap_arrivals
ap_arrivals:
    .long 1
.balign 8
ap_gdt:
    .quad 0
    .quad 0x00cf9b000000ffff
    .quad 0x00cf93000000ffff
    .quad 0x00af9b000000ffff
ap_gdtr:
    .short ap_gdtr - ap_gdt - 1
    .long ap_gdt - ap_start + AP_PAGE
ap_end:

# 64 KiB a core; the boot core has its own, so number 1's stack ends at 64 KiB.
.section .bss.ap, "aw", @nobits
.balign 4096
ap_stacks:
    .skip 65536 * 16
