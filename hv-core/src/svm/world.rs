//! The world switch: from the host into a guest, out again, and around.
//!
//! The loop is assembly because a return to Rust between two entries would cost a tenth of the
//! exit path; the handler is Rust ([`crate::run::on_exit`]). There is one VMRUN in hv-core, and
//! the instruction behind it carries the symbol `svm_after_vmrun`, so that QEMU's own log of exits
//! can be attributed.
//!
//! RBP and R12 to R15 stay in the processor while a common exit is handled: a C function preserves
//! them. The few exits that may name any register ask for them ([`Turn::Registers`]).
//!
//! VMRUN switches RAX, RSP, RIP, RFLAGS and the segments but FS, GS, TR and LDTR, which go by
//! VMLOAD and VMSAVE with the SYSCALL and SYSENTER MSRs. The rest is moved here: general-purpose
//! registers, and x87 and SSE state, because Rust uses SSE by itself. CPUID offers no XSAVE, so
//! there is no more of it. MXCSR goes back to its default, as Rust expects it.

// UNSAFETY: VMRUN and what belongs around it.
#![expect(unsafe_code, reason = "the world switch")]

use crate::arch::page::Page;
use crate::modeled;
use crate::run::{self, Turn};
use crate::traced;
use crate::vcpu_block::VcpuBlock;
use core::arch::{asm, naked_asm};
use core::mem::offset_of;
use trapline_defs::vmcb::Vmcb;
use trapline_policy::gprs::Gprs;
use trapline_policy::hypercall::Xmm;

/// x87 and SSE state as FXSAVE64 lays it out.
#[repr(C, align(16))]
pub struct FxArea([u8; 512]);

impl FxArea {
    /// The state after reset: all exceptions masked.
    pub const RESET: Self = {
        let mut area = Self([0; 512]);
        // FCW 037Fh, MXCSR 1F80h.
        (area.0[0], area.0[1]) = (0x7f, 0x03);
        (area.0[24], area.0[25]) = (0x80, 0x1f);
        area
    };

    /// XMM0 to XMM5, which lie behind 160 bytes of other state.
    #[cold]
    pub fn xmm_input(&self) -> Xmm {
        Xmm(core::array::from_fn(|half| {
            let bytes = self.0[160 + half * 8..].first_chunk();
            bytes.map_or(0, |bytes| u64::from_le_bytes(*bytes))
        }))
    }
}

/// The part of a vCPU's block that the world switch knows.
#[repr(C)]
pub struct World {
    /// x87 and SSE state of the guest.
    pub fx: FxArea,
    /// TSC right before the last VMRUN.
    pub entered_at: u64,
    /// The VMCB; host-physical and host-virtual addresses are the same.
    vmcb: *mut Vmcb,
    /// Where its core's FS, GS, TR, LDTR and MSRs are kept.
    pub host: u64,
    /// What is called after each #VMEXIT: one pair of functions for the whole of a scenario, so the
    /// processor predicts it. A comparison instead would cost every exit two instructions.
    handlers: Handlers,
}

/// What the world switch calls.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Handlers {
    /// After #VMEXIT, with the TSC of it.
    on_exit: unsafe extern "C" fn(&mut VcpuBlock, u64) -> Turn,
    /// If that asked for all registers.
    by_register: unsafe extern "C" fn(&mut VcpuBlock) -> Turn,
}

impl Handlers {
    /// An exit of the processor underneath is an exit.
    pub const PLAIN: Self = Self { on_exit: run::on_exit, by_register: run::on_exit_by_register };
    /// It is the silicon model's first.
    pub const MODELED: Self =
        Self { on_exit: modeled::on_trap, by_register: modeled::on_trap_by_register };
    /// Either of them, and every trap is kept.
    pub const TRACED: Self =
        Self { on_exit: traced::on_trap, by_register: traced::on_trap_by_register };
}

/// A vCPU's page for SVM.
pub struct VmcbPage(Vmcb);

impl VmcbPage {
    /// All zeros.
    // SAFETY: all zeros is a valid VMCB; `FromZeros::new_zeroed` is not const.
    pub const ZERO: Self = Self(unsafe { core::mem::zeroed() });
}

/// A core's pages for SVM.
pub struct CorePages {
    /// Its FS, GS, TR, LDTR and MSRs while a guest has its own.
    pub host: Page,
    /// The host save area (VM_HSAVE_PA).
    pub save: Page,
}

impl CorePages {
    /// All zeros.
    pub const ZERO: Self = Self { host: Page::filled(0), save: Page::filled(0) };
}

// SAFETY: the VMCB belongs to the world and goes where it goes.
unsafe impl Send for World {}

impl World {
    /// The world of a vCPU that owns this page, on a core with its `host` page there.
    pub fn new(page: &'static mut VmcbPage, host: u64) -> Self {
        Self {
            fx: FxArea::RESET,
            entered_at: 0,
            host,
            vmcb: &mut page.0,
            handlers: Handlers::PLAIN,
        }
    }

    /// Which functions answer its exits from now on.
    pub fn answer_by(&mut self, handlers: Handlers) {
        self.handlers = handlers;
    }

    /// The VMCB's physical address.
    pub fn vmcb_address(&self) -> u64 {
        self.vmcb as u64
    }

    /// The VMCB.
    #[inline(always)]
    pub fn vmcb(&mut self) -> &mut Vmcb {
        // SAFETY: the page belongs to this world; the processor uses it only during VMRUN, VMLOAD
        // and VMSAVE in `enter`, when no reference is alive.
        unsafe { &mut *self.vmcb }
    }
}

/// Runs the guest until the handler says stop. GIF and IF are clear before and after; IF is set in
/// between. The guest's x87 control word stays behind: hv-core uses no x87.
pub fn run(block: &mut VcpuBlock) {
    // SAFETY: SVM is on, the VMCB was set up by `scenario`, IF is set so that physical interrupts
    // end the guest's turn (they would not with IF clear under V_INTR_MASKING).
    unsafe {
        asm!("vmsave rax", in("rax") block.world.host, options(nostack));
        asm!("sti", options(nostack));
        enter(block);
        asm!("cli", options(nostack));
    }
}

macro_rules! gpr {
    ($name:ident) => {
        offset_of!(VcpuBlock, vcpu.gprs) + offset_of!(Gprs, $name)
    };
}

/// # Safety
/// See [`run`].
#[unsafe(naked)]
unsafe extern "C" fn enter(_block: &mut VcpuBlock) {
    naked_asm!(
        "push rbx",
        "push rbp",
        "push r12",
        "push r13",
        "push r14",
        "push r15",
        "push rdi",
        "mov rbp, [rdi + {rbp}]",
        "mov r12, [rdi + {r12}]",
        "mov r13, [rdi + {r13}]",
        "mov r14, [rdi + {r14}]",
        "mov r15, [rdi + {r15}]",
        "2:",
        "mov rdi, [rsp]",
        "fxrstor64 [rdi + {fx}]",
        "mov rax, [rdi + {vmcb}]",
        "vmload rax",
        "mov rbx, [rdi + {rbx}]",
        "mov rcx, [rdi + {rcx}]",
        "mov rsi, [rdi + {rsi}]",
        "mov r8, [rdi + {r8}]",
        "mov r9, [rdi + {r9}]",
        "mov r10, [rdi + {r10}]",
        "mov r11, [rdi + {r11}]",
        "rdtsc",
        "mov [rdi + {entered_at}], eax",
        "mov [rdi + {entered_at} + 4], edx",
        "mov rax, [rdi + {vmcb}]",
        "mov rdx, [rdi + {rdx}]",
        "mov rdi, [rdi + {rdi}]",
        "vmrun rax",
        ".globl svm_after_vmrun",
        "svm_after_vmrun:",
        "vmsave rax",
        "mov rax, [rsp]",
        "mov [rax + {rdx}], rdx",
        "mov [rax + {rdi}], rdi",
        "mov rdi, rax",
        "rdtsc",
        "mov [rdi + {rsi}], rsi",
        "shl rdx, 32",
        "lea rsi, [rax + rdx]",
        "mov [rdi + {rbx}], rbx",
        "mov [rdi + {rcx}], rcx",
        "mov [rdi + {r8}], r8",
        "mov [rdi + {r9}], r9",
        "mov [rdi + {r10}], r10",
        "mov [rdi + {r11}], r11",
        "fxsave64 [rdi + {fx}]",
        "ldmxcsr [rip + {mxcsr}]",
        "mov rax, [rdi + {host}]",
        "vmload rax",
        "call [rdi + {on_exit}]",
        "cmp al, {enter}",
        "je 2b",
        // Something rarer: the registers that C functions preserve are needed, or the loop ends.
        "mov rdi, [rsp]",
        "mov [rdi + {rbp}], rbp",
        "mov [rdi + {r12}], r12",
        "mov [rdi + {r13}], r13",
        "mov [rdi + {r14}], r14",
        "mov [rdi + {r15}], r15",
        "test al, al",
        "jz 3f",
        "call [rdi + {by_register}]",
        "mov rdi, [rsp]",
        "mov rbp, [rdi + {rbp}]",
        "mov r12, [rdi + {r12}]",
        "mov r13, [rdi + {r13}]",
        "mov r14, [rdi + {r14}]",
        "mov r15, [rdi + {r15}]",
        "test al, al",
        "jnz 2b",
        "3:",
        "pop rdi",
        "pop r15",
        "pop r14",
        "pop r13",
        "pop r12",
        "pop rbp",
        "pop rbx",
        "ret",
        fx = const offset_of!(VcpuBlock, world.fx),
        vmcb = const offset_of!(VcpuBlock, world.vmcb),
        host = const offset_of!(VcpuBlock, world.host),
        entered_at = const offset_of!(VcpuBlock, world.entered_at),
        rbx = const gpr!(rbx),
        rcx = const gpr!(rcx),
        rdx = const gpr!(rdx),
        rsi = const gpr!(rsi),
        rdi = const gpr!(rdi),
        rbp = const gpr!(rbp),
        r8 = const gpr!(r8),
        r9 = const gpr!(r9),
        r10 = const gpr!(r10),
        r11 = const gpr!(r11),
        r12 = const gpr!(r12),
        r13 = const gpr!(r13),
        r14 = const gpr!(r14),
        r15 = const gpr!(r15),
        mxcsr = sym DEFAULT_MXCSR,
        enter = const Turn::Enter as u8,
        on_exit = const offset_of!(VcpuBlock, world.handlers.on_exit),
        by_register = const offset_of!(VcpuBlock, world.handlers.by_register),
    )
}

/// MXCSR as Rust expects it.
static DEFAULT_MXCSR: u32 = 0x1f80;
