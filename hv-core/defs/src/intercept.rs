//! Intercept words of the VMCB (APM §15.9, Table B-1).
//!
//! Bit numbers within each word equal the exit code minus the word's first code, so word 3 bit 4
//! (VINTR) is exit 60h + 4.

use bitflags::bitflags;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

macro_rules! word {
    ($(#[$doc:meta])* $name:ident { $($(#[doc = $fdoc:literal])+ $flag:ident = $bit:literal;)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout)]
        #[repr(transparent)]
        pub struct $name(u32);
        bitflags! {
            impl $name: u32 {
                $($(#[doc = $fdoc])+ const $flag = 1 << $bit;)*
                // Unknown bits survive: silicon may know more than this file.
                const _ = !0;
            }
        }
    };
}

word! {
    /// 00Ch: word 3, exits 60h to 7Fh.
    Word3 {
        /// Physical INTR.
        INTR = 0;
        /// Physical NMI.
        NMI = 1;
        /// Physical SMI.
        SMI = 2;
        /// Physical INIT.
        INIT = 3;
        /// Virtual interrupt.
        VINTR = 4;
        /// CR0 writes other than of TS and MP.
        CR0_SEL_WRITE = 5;
        /// Reads of IDTR.
        IDTR_READ = 6;
        /// Reads of GDTR.
        GDTR_READ = 7;
        /// Reads of LDTR.
        LDTR_READ = 8;
        /// Reads of TR.
        TR_READ = 9;
        /// Writes of IDTR.
        IDTR_WRITE = 10;
        /// Writes of GDTR.
        GDTR_WRITE = 11;
        /// Writes of LDTR.
        LDTR_WRITE = 12;
        /// Writes of TR.
        TR_WRITE = 13;
        /// RDTSC.
        RDTSC = 14;
        /// RDPMC.
        RDPMC = 15;
        /// PUSHF.
        PUSHF = 16;
        /// POPF.
        POPF = 17;
        /// CPUID.
        CPUID = 18;
        /// RSM.
        RSM = 19;
        /// IRET.
        IRET = 20;
        /// INT n.
        SWINT = 21;
        /// INVD.
        INVD = 22;
        /// PAUSE.
        PAUSE = 23;
        /// HLT.
        HLT = 24;
        /// INVLPG.
        INVLPG = 25;
        /// INVLPGA.
        INVLPGA = 26;
        /// Ports by the IOPM.
        IOIO = 27;
        /// MSRs by the MSRPM; MSRs outside its ranges always.
        MSR = 28;
        /// Task switches.
        TASK_SWITCH = 29;
        /// FERR freeze.
        FERR_FREEZE = 30;
        /// Shutdown.
        SHUTDOWN = 31;
    }
}

word! {
    /// 010h: word 4, exits 80h to 9Fh.
    Word4 {
        /// VMRUN: must be set, or VMRUN fails.
        VMRUN = 0;
        /// VMMCALL.
        VMMCALL = 1;
        /// VMLOAD.
        VMLOAD = 2;
        /// VMSAVE.
        VMSAVE = 3;
        /// STGI.
        STGI = 4;
        /// CLGI.
        CLGI = 5;
        /// SKINIT.
        SKINIT = 6;
        /// RDTSCP.
        RDTSCP = 7;
        /// INT1.
        ICEBP = 8;
        /// WBINVD.
        WBINVD = 9;
        /// MONITOR.
        MONITOR = 10;
        /// MWAIT.
        MWAIT = 11;
        /// MWAIT with the monitor armed.
        MWAIT_CONDITIONAL = 12;
        /// XSETBV.
        XSETBV = 13;
        /// RDPRU.
        RDPRU = 14;
        /// EFER writes, after them.
        EFER_WRITE_TRAP = 15;
    }
}

word! {
    /// 014h: word 5, exits A0h to BFh.
    Word5 {
        /// INVLPGB.
        INVLPGB = 0;
        /// Illegal INVLPGB.
        INVLPGB_ILLEGAL = 1;
        /// INVPCID.
        INVPCID = 2;
        /// MCOMMIT.
        MCOMMIT = 3;
        /// TLBSYNC.
        TLBSYNC = 4;
        /// Bus lock threshold.
        BUSLOCK = 5;
        /// HLT while nothing virtual is pending.
        IDLE_HLT = 6;
    }
}
