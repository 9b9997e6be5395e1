//! Names and keys of exits.
//!
//! An [`ExitKey`] is what the accounting counts by: the exit code, and the one detail of it that
//! matters to a reader (which port, which MSR, which APIC register). It is a plain `u64` because
//! it is made on the exit path.

use core::fmt;

/// The direction of a port, MSR or MMIO access, as the guest saw it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Direction {
    /// IN, RDMSR, or a load.
    Read,
    /// OUT, WRMSR, or a store.
    Write,
}

/// What is known of an exit beyond its code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Detail {
    /// Nothing that is worth a row of its own.
    None,
    /// The number that matters: a CPUID leaf, a hypercall number, a guest frame number.
    Number(u32),
    /// The number and the direction: a port, an MSR, an APIC page offset.
    Access(u32, Direction),
}

/// Exit code and detail in one word: the key of the exit table.
///
/// Bits 31:0 number, 32 write, 33 number present, 34 direction present, 35 always set, 63:48 exit
/// code (the low 16 bits, so that VMEXIT_INVALID is FFFFh). Zero is no exit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ExitKey(pub u64);

const WRITE: u64 = 1 << 32;
const NUMBER: u64 = 1 << 33;
const DIRECTION: u64 = 1 << 34;
const EXIT: u64 = 1 << 35;

impl ExitKey {
    /// No exit at all: never produced for a real one.
    pub const EMPTY: Self = Self(0);

    /// The key of an exit without a detail.
    #[inline(always)]
    pub const fn plain(code: u64) -> Self {
        Self(code << 48 | EXIT)
    }

    /// The key of an exit with a number: a CPUID leaf, a hypercall number.
    #[inline(always)]
    pub const fn number(code: u64, number: u32) -> Self {
        Self(code << 48 | EXIT | NUMBER | number as u64)
    }

    /// The key of an access; `write` is EXITINFO1[0] of an MSR exit, or its equivalent.
    #[inline(always)]
    pub const fn access(code: u64, number: u32, write: bool) -> Self {
        Self(code << 48 | EXIT | NUMBER | DIRECTION | (write as u64) << 32 | number as u64)
    }

    /// The exit code, sign-extended again for VMEXIT_INVALID.
    pub const fn code(self) -> u64 {
        match self.0 >> 48 {
            0xffff => u64::MAX,
            code => code,
        }
    }

    /// The detail.
    pub const fn detail(self) -> Detail {
        let number = self.0 as u32;
        if self.0 & NUMBER == 0 {
            Detail::None
        } else if self.0 & DIRECTION == 0 {
            Detail::Number(number)
        } else if self.0 & WRITE == 0 {
            Detail::Access(number, Direction::Read)
        } else {
            Detail::Access(number, Direction::Write)
        }
    }
}

impl fmt::Display for ExitKey {
    /// The detail in the form of the perf tables: `0x71:PIN`, `0x830:W`, `0xb0:W`, `leaf 0x1`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let code = self.code();
        match (self.detail(), code) {
            (Detail::None, _) => f.write_str(name(code)),
            (Detail::Number(n), CPUID) => write!(f, "leaf {n:#x}"),
            (Detail::Number(n), VMMCALL) => write!(f, "nr {n:#x}"),
            (Detail::Number(n), NPF) => write!(f, "gfn {n:#x}"),
            (Detail::Number(n), _) => write!(f, "{n:#x}"),
            (Detail::Access(n, Direction::Read), IOIO) => write!(f, "{n:#x}:PIN"),
            (Detail::Access(n, Direction::Write), IOIO) => write!(f, "{n:#x}:POUT"),
            (Detail::Access(n, Direction::Read), _) => write!(f, "{n:#x}:R"),
            (Detail::Access(n, Direction::Write), _) => write!(f, "{n:#x}:W"),
        }
    }
}

/// `#VMEXIT(CPUID)`, 72h.
pub const CPUID: u64 = 0x72;
/// `#VMEXIT(IOIO)`, 7Bh.
pub const IOIO: u64 = 0x7b;
/// `#VMEXIT(MSR)`, 7Ch.
pub const MSR: u64 = 0x7c;
/// `#VMEXIT(VMMCALL)`, 81h.
pub const VMMCALL: u64 = 0x81;
/// `#VMEXIT(NPF)`, 400h.
pub const NPF: u64 = 0x400;

/// Exit codes and the names that `perf kvm stat` and the `kvm_exit` tracepoint give them
/// (Linux uapi `SVM_EXIT_REASONS`; spec pv-and-formats d.6). Sorted by code.
const NAMES: &[(u64, &str)] = &[
    (0x00, "read_cr0"),
    (0x02, "read_cr2"),
    (0x03, "read_cr3"),
    (0x04, "read_cr4"),
    (0x08, "read_cr8"),
    (0x10, "write_cr0"),
    (0x12, "write_cr2"),
    (0x13, "write_cr3"),
    (0x14, "write_cr4"),
    (0x18, "write_cr8"),
    (0x20, "read_dr0"),
    (0x21, "read_dr1"),
    (0x22, "read_dr2"),
    (0x23, "read_dr3"),
    (0x24, "read_dr4"),
    (0x25, "read_dr5"),
    (0x26, "read_dr6"),
    (0x27, "read_dr7"),
    (0x30, "write_dr0"),
    (0x31, "write_dr1"),
    (0x32, "write_dr2"),
    (0x33, "write_dr3"),
    (0x34, "write_dr4"),
    (0x35, "write_dr5"),
    (0x36, "write_dr6"),
    (0x37, "write_dr7"),
    (0x40, "DE excp"),
    (0x41, "DB excp"),
    (0x43, "BP excp"),
    (0x44, "OF excp"),
    (0x45, "BR excp"),
    (0x46, "UD excp"),
    (0x47, "NM excp"),
    (0x48, "DF excp"),
    (0x4a, "TS excp"),
    (0x4b, "NP excp"),
    (0x4c, "SS excp"),
    (0x4d, "GP excp"),
    (0x4e, "PF excp"),
    (0x50, "MF excp"),
    (0x51, "AC excp"),
    (0x52, "MC excp"),
    (0x53, "XF excp"),
    (0x60, "interrupt"),
    (0x61, "nmi"),
    (0x62, "smi"),
    (0x63, "init"),
    (0x64, "vintr"),
    (0x65, "cr0_sel_write"),
    (0x66, "read_idtr"),
    (0x67, "read_gdtr"),
    (0x68, "read_ldtr"),
    (0x69, "read_rt"),
    (0x6a, "write_idtr"),
    (0x6b, "write_gdtr"),
    (0x6c, "write_ldtr"),
    (0x6d, "write_rt"),
    (0x6e, "rdtsc"),
    (0x6f, "rdpmc"),
    (0x70, "pushf"),
    (0x71, "popf"),
    (CPUID, "cpuid"),
    (0x73, "rsm"),
    (0x74, "iret"),
    (0x75, "swint"),
    (0x76, "invd"),
    (0x77, "pause"),
    (0x78, "hlt"),
    (0x79, "invlpg"),
    (0x7a, "invlpga"),
    (IOIO, "io"),
    (MSR, "msr"),
    (0x7d, "task_switch"),
    (0x7e, "ferr_freeze"),
    (0x7f, "shutdown"),
    (0x80, "vmrun"),
    (VMMCALL, "hypercall"),
    (0x82, "vmload"),
    (0x83, "vmsave"),
    (0x84, "stgi"),
    (0x85, "clgi"),
    (0x86, "skinit"),
    (0x87, "rdtscp"),
    (0x88, "icebp"),
    (0x89, "wbinvd"),
    (0x8a, "monitor"),
    (0x8b, "mwait"),
    (0x8d, "xsetbv"),
    (0x8f, "write_efer_trap"),
    (0x90, "write_cr0_trap"),
    (0x94, "write_cr4_trap"),
    (0x98, "write_cr8_trap"),
    (0xa2, "invpcid"),
    (0xa5, "buslock"),
    (0xa6, "idle-halt"),
    (NPF, "npf"),
    (0x401, "avic_incomplete_ipi"),
    (0x402, "avic_unaccelerated_access"),
    (0x403, "vmgexit"),
    (0x8000_0001, "vmgexit_mmio_read"),
    (0x8000_0002, "vmgexit_mmio_write"),
    (0x8000_0003, "vmgexit_nmi_complete"),
    (0x8000_0004, "vmgexit_ap_hlt_loop"),
    (0x8000_0005, "vmgexit_ap_jump_table"),
    (0x8000_0010, "vmgexit_page_state_change"),
    (0x8000_0011, "vmgexit_guest_request"),
    (0x8000_0012, "vmgexit_ext_guest_request"),
    (0x8000_0013, "vmgexit_ap_creation"),
    (0x8000_fffd, "vmgexit_hypervisor_feature"),
    (u64::MAX, "invalid_guest_state"),
];

/// The perf name of an exit code, `UNKNOWN` as perf prints it where the table has none.
pub fn name(code: u64) -> &'static str {
    match NAMES.binary_search_by_key(&code, |&(c, _)| c) {
        Ok(i) => NAMES[i].1,
        Err(_) => "UNKNOWN",
    }
}

/// The exit code of a perf name.
pub fn code(name: &str) -> Option<u64> {
    NAMES.iter().find(|&&(_, n)| n == name).map(|&(c, _)| c)
}

/// Every known exit name, in code order.
pub fn names() -> impl Iterator<Item = &'static str> {
    NAMES.iter().map(|&(_, n)| n)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_sorted_unique_and_as_many_as_the_kernel_lists() {
        assert!(NAMES.windows(2).all(|w| w[0].0 < w[1].0));
        // 108 of uapi 6.1, plus buslock and idle-halt of newer kernels (spec d.6).
        assert_eq!(NAMES.len(), 110);
        for &(c, n) in NAMES {
            assert_eq!(name(c), n);
            assert_eq!(code(n), Some(c), "{n} names two codes");
        }
    }

    #[test]
    fn keys_keep_code_and_detail() {
        let k = ExitKey::access(MSR, 0x830, true);
        assert_eq!(k.code(), MSR);
        assert_eq!(k.detail(), Detail::Access(0x830, Direction::Write));
        assert_eq!(k.to_string(), "0x830:W");
        assert_eq!(ExitKey::access(IOIO, 0x71, false).to_string(), "0x71:PIN");
        assert_eq!(ExitKey::plain(u64::MAX).code(), u64::MAX);
        assert_eq!(ExitKey::plain(0x78).to_string(), "hlt");
        assert_eq!(ExitKey::number(CPUID, 0x8000_0001).code(), CPUID);
    }
}
