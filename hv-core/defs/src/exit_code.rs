//! Exit codes (APM Appendix C).

use core::fmt;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// EXITCODE of the VMCB. Open: silicon may report codes that are not named here.
#[derive(Clone, Copy, PartialEq, Eq, Hash, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(transparent)]
pub struct ExitCode(pub u64);

macro_rules! codes {
    ($($(#[doc = $doc:literal])+ $name:ident = $code:literal;)*) => {
        impl ExitCode {
            $($(#[doc = $doc])+ pub const $name: Self = Self($code);)*

            /// The constant's name, or `None` for a code that has none.
            pub const fn constant(self) -> Option<&'static str> {
                match self.0 {
                    $($code => Some(stringify!($name)),)*
                    _ => None,
                }
            }
        }
    };
}

codes! {
    /// Read of CR0; CR1..CR15 follow.
    READ_CR0 = 0x00;
    /// Read of CR3.
    READ_CR3 = 0x03;
    /// Read of CR4.
    READ_CR4 = 0x04;
    /// Read of CR8.
    READ_CR8 = 0x08;
    /// Write of CR0; CR1..CR15 follow.
    WRITE_CR0 = 0x10;
    /// Write of CR3.
    WRITE_CR3 = 0x13;
    /// Write of CR4.
    WRITE_CR4 = 0x14;
    /// Write of CR8.
    WRITE_CR8 = 0x18;
    /// Read of DR0; DR1..DR15 follow.
    READ_DR0 = 0x20;
    /// Read of DR15.
    READ_DR15 = 0x2f;
    /// Write of DR0; DR1..DR15 follow.
    WRITE_DR0 = 0x30;
    /// Write of DR15.
    WRITE_DR15 = 0x3f;
    /// Exception vector 0; vectors 1..31 follow.
    EXCEPTION_0 = 0x40;
    /// `#DB`.
    EXCEPTION_DB = 0x41;
    /// `#MC`.
    EXCEPTION_MC = 0x52;
    /// Exception vector 31.
    EXCEPTION_31 = 0x5f;
    /// Physical INTR.
    INTR = 0x60;
    /// Physical NMI.
    NMI = 0x61;
    /// Physical SMI.
    SMI = 0x62;
    /// Physical INIT.
    INIT = 0x63;
    /// Virtual interrupt about to be taken.
    VINTR = 0x64;
    /// CR0 write that changes more than TS and MP.
    CR0_SEL_WRITE = 0x65;
    /// Read of IDTR.
    IDTR_READ = 0x66;
    /// Read of GDTR.
    GDTR_READ = 0x67;
    /// Read of LDTR.
    LDTR_READ = 0x68;
    /// Read of TR.
    TR_READ = 0x69;
    /// Write of IDTR.
    IDTR_WRITE = 0x6a;
    /// Write of GDTR.
    GDTR_WRITE = 0x6b;
    /// Write of LDTR.
    LDTR_WRITE = 0x6c;
    /// Write of TR.
    TR_WRITE = 0x6d;
    /// RDTSC.
    RDTSC = 0x6e;
    /// RDPMC.
    RDPMC = 0x6f;
    /// PUSHF.
    PUSHF = 0x70;
    /// POPF.
    POPF = 0x71;
    /// CPUID.
    CPUID = 0x72;
    /// RSM.
    RSM = 0x73;
    /// IRET.
    IRET = 0x74;
    /// INT n.
    SWINT = 0x75;
    /// INVD.
    INVD = 0x76;
    /// PAUSE.
    PAUSE = 0x77;
    /// HLT.
    HLT = 0x78;
    /// INVLPG.
    INVLPG = 0x79;
    /// INVLPGA.
    INVLPGA = 0x7a;
    /// IN, OUT, INS, OUTS on a port whose bit in the IOPM is set.
    IOIO = 0x7b;
    /// RDMSR or WRMSR of an MSR whose bit in the MSRPM is set; EXITINFO1 is 1 for a write.
    MSR = 0x7c;
    /// Task switch.
    TASK_SWITCH = 0x7d;
    /// FERR freeze.
    FERR_FREEZE = 0x7e;
    /// Shutdown (triple fault).
    SHUTDOWN = 0x7f;
    /// VMRUN.
    VMRUN = 0x80;
    /// VMMCALL.
    VMMCALL = 0x81;
    /// VMLOAD.
    VMLOAD = 0x82;
    /// VMSAVE.
    VMSAVE = 0x83;
    /// STGI.
    STGI = 0x84;
    /// CLGI.
    CLGI = 0x85;
    /// SKINIT.
    SKINIT = 0x86;
    /// RDTSCP.
    RDTSCP = 0x87;
    /// INT1.
    ICEBP = 0x88;
    /// WBINVD.
    WBINVD = 0x89;
    /// MONITOR.
    MONITOR = 0x8a;
    /// MWAIT.
    MWAIT = 0x8b;
    /// MWAIT with the monitor armed.
    MWAIT_CONDITIONAL = 0x8c;
    /// XSETBV.
    XSETBV = 0x8d;
    /// RDPRU.
    RDPRU = 0x8e;
    /// EFER write, after it.
    EFER_WRITE_TRAP = 0x8f;
    /// CR0 write, after it; CR1..CR15 follow.
    CR0_WRITE_TRAP = 0x90;
    /// INVLPGB.
    INVLPGB = 0xa0;
    /// Illegal INVLPGB.
    INVLPGB_ILLEGAL = 0xa1;
    /// INVPCID.
    INVPCID = 0xa2;
    /// MCOMMIT.
    MCOMMIT = 0xa3;
    /// TLBSYNC.
    TLBSYNC = 0xa4;
    /// Bus lock threshold.
    BUSLOCK = 0xa5;
    /// HLT while no virtual interrupt and no virtual NMI is pending.
    IDLE_HLT = 0xa6;
    /// Nested page fault.
    NPF = 0x400;
    /// AVIC: IPI not delivered to every target.
    AVIC_INCOMPLETE_IPI = 0x401;
    /// AVIC: access that the processor does not accelerate.
    AVIC_NOACCEL = 0x402;
    /// VMGEXIT.
    VMGEXIT = 0x403;
    /// VMRUN found the guest state invalid.
    INVALID = 0xffff_ffff_ffff_ffff;
}

impl fmt::Debug for ExitCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.constant() {
            Some(name) => f.write_str(name),
            None => write!(f, "ExitCode({:#x})", self.0),
        }
    }
}
