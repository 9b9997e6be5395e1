//! The virtual machine control block (APM §15.5, Appendix B).

use crate::event::Event;
use crate::exit_code::ExitCode;
use crate::intercept::{Word3, Word4, Word5};
use crate::save_area::SaveArea;
use crate::vintr::VIntr;
use bitflags::bitflags;
use core::mem::offset_of;
use zerocopy::{FromBytes, FromZeros, Immutable, IntoBytes, KnownLayout};

/// The control area, 000h to 3FFh (APM Table B-1).
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct ControlArea {
    /// 000h: reads of CR0 to CR15 in 15:0, writes in 31:16.
    pub intercept_cr: u32,
    /// 004h: reads of DR0 to DR15 in 15:0, writes in 31:16.
    pub intercept_dr: u32,
    /// 008h: exceptions by vector.
    pub intercept_exceptions: u32,
    /// 00Ch: exits 60h to 7Fh.
    pub intercept_3: Word3,
    /// 010h: exits 80h to 9Fh.
    pub intercept_4: Word4,
    /// 014h: exits A0h to BFh.
    pub intercept_5: Word5,
    _rsvd_018: [u8; 0x24],
    /// 03Ch: pause filter threshold, in cycles.
    pub pause_filter_threshold: u16,
    /// 03Eh: pause filter count.
    pub pause_filter_count: u16,
    /// 040h: physical address of the I/O permission map (12 KiB).
    pub iopm_base: u64,
    /// 048h: physical address of the MSR permission map (8 KiB).
    pub msrpm_base: u64,
    /// 050h: added to the guest's TSC.
    pub tsc_offset: u64,
    /// 058h: guest ASID; 0 is the host's and refused by VMRUN.
    pub asid: u32,
    /// 05Ch: what VMRUN flushes.
    pub tlb_control: TlbControl,
    _rsvd_05d: [u8; 3],
    /// 060h: virtual interrupts, AVIC and vGIF.
    pub v_intr: VIntr,
    /// 068h: bit 0 interrupt shadow, bit 1 guest interrupt mask (SEV-ES).
    pub interrupt_shadow: u64,
    /// 070h: why the guest exited.
    pub exit_code: ExitCode,
    /// 078h: EXITINFO1.
    pub exit_info_1: u64,
    /// 080h: EXITINFO2.
    pub exit_info_2: u64,
    /// 088h: the event whose delivery the exit cut short.
    pub exit_int_info: Event,
    /// 090h: nested paging and SEV enables.
    pub nested_control: NestedControl,
    /// 098h: guest-physical address of the APIC page, for AVIC.
    pub avic_apic_bar: u64,
    /// 0A0h: GHCB guest-physical address.
    pub ghcb_gpa: u64,
    /// 0A8h: the event that VMRUN injects.
    pub event_injection: Event,
    /// 0B0h: nested CR3.
    pub n_cr3: u64,
    /// 0B8h: bit 0 LBR virtualization, bit 1 VMLOAD/VMSAVE virtualization.
    pub lbr_control: u64,
    /// 0C0h: clean bits.
    pub clean: CleanBits,
    _rsvd_0c4: u32,
    /// 0C8h: RIP of the next instruction, for instruction intercepts and where saved at all.
    pub next_rip: u64,
    /// 0D0h: how many instruction bytes follow.
    pub bytes_fetched: u8,
    /// 0D1h: instruction bytes, for data page faults.
    pub instruction_bytes: [u8; 15],
    /// 0E0h: physical address of the AVIC backing page.
    pub avic_backing_page: u64,
    _rsvd_0e8: u64,
    /// 0F0h: physical address of the AVIC logical table.
    pub avic_logical_table: u64,
    /// 0F8h: physical address of the AVIC physical table, and in 11:0 its last index.
    pub avic_physical_table: u64,
    _rsvd_100: u64,
    /// 108h: physical address of the VMSA (SEV-ES).
    pub vmsa: u64,
    /// 110h: VMGEXIT RAX.
    pub vmgexit_rax: u64,
    /// 118h: VMGEXIT CPL.
    pub vmgexit_cpl: u64,
    /// 120h: bus lock threshold counter.
    pub bus_lock_counter: u16,
    _rsvd_122: [u8; 0x12],
    /// 134h: Secure AVIC: update IRR.
    pub update_irr: u32,
    /// 138h: allowed SEV features.
    pub allowed_sev_features: u64,
    /// 140h: guest SEV features.
    pub guest_sev_features: u64,
    _rsvd_148: u64,
    /// 150h: Secure AVIC: requested IRR.
    pub requested_irr: [u32; 8],
    _rsvd_170: [u8; 0x270],
    /// 3E0h: for the host's use.
    pub host_use: [u8; 0x20],
}

/// 05Ch: TLB control (APM §15.16.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(transparent)]
pub struct TlbControl(pub u8);

impl TlbControl {
    /// Nothing is flushed.
    pub const NONE: Self = Self(0);
    /// The whole TLB, all ASIDs. The only other value QEMU's TCG knows.
    pub const FLUSH_ALL: Self = Self(1);
    /// This guest's entries.
    pub const FLUSH_GUEST: Self = Self(3);
    /// This guest's non-global entries.
    pub const FLUSH_GUEST_NON_GLOBAL: Self = Self(7);
}

macro_rules! flags {
    ($(#[$doc:meta])* $name:ident: $repr:ty { $($(#[doc = $fdoc:literal])+ $flag:ident = $bit:literal;)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout)]
        #[repr(transparent)]
        pub struct $name($repr);
        bitflags! {
            impl $name: $repr {
                $($(#[doc = $fdoc])+ const $flag = 1 << $bit;)*
                const _ = !0;
            }
        }
    };
}

flags! {
    /// 090h.
    NestedControl: u64 {
        /// Nested paging.
        NP_ENABLE = 0;
        /// SEV.
        SEV_ENABLE = 1;
        /// SEV-ES.
        SEV_ES_ENABLE = 2;
        /// Guest mode execute trap.
        GMET_ENABLE = 3;
        /// Supervisor shadow stacks.
        SSS_CHECK_ENABLE = 4;
    }
}

flags! {
    /// 0C0h: what the processor may keep from the last VMRUN (APM §15.15.3).
    CleanBits: u32 {
        /// Intercepts, TSC offset, pause filter.
        INTERCEPTS = 0;
        /// Permission maps.
        PERMISSION_MAPS = 1;
        /// ASID.
        ASID = 2;
        /// 060h to 067h.
        TPR = 3;
        /// Nested paging.
        NESTED_PAGING = 4;
        /// CR0, CR3, CR4, EFER.
        CONTROL_REGISTERS = 5;
        /// DR6, DR7.
        DEBUG_REGISTERS = 6;
        /// GDTR, IDTR.
        DESCRIPTOR_TABLES = 7;
        /// CS, DS, SS, ES, CPL.
        SEGMENTS = 8;
        /// CR2.
        CR2 = 9;
        /// LBR.
        LBR = 10;
        /// 098h, 0E0h, 0F0h, 0F8h.
        AVIC = 11;
        /// CET.
        CET = 12;
    }
}

/// A VMCB: one 4 KiB page.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C, align(4096))]
pub struct Vmcb {
    /// Control area.
    pub control: ControlArea,
    /// State save area.
    pub save: SaveArea,
}

impl Vmcb {
    /// A VMCB of zeros: VMRUN refuses it (ASID 0, no VMRUN intercept).
    pub fn zeroed() -> Self {
        Self::new_zeroed()
    }

    /// Moves RIP behind the instruction that exited and ends its interrupt shadow (rule HLT-1:
    /// without that the shadow would cover one instruction too many).
    #[inline(always)]
    pub fn skip(&mut self, length: u64) {
        self.save.rip = self.save.rip.wrapping_add(length);
        self.control.interrupt_shadow = 0;
    }
}

const _: () = {
    assert!(size_of::<ControlArea>() == 0x400);
    assert!(size_of::<Vmcb>() == 0x1000);
    assert!(offset_of!(Vmcb, save) == 0x400);
    let table = [
        (offset_of!(ControlArea, intercept_3), 0x00c),
        (offset_of!(ControlArea, intercept_5), 0x014),
        (offset_of!(ControlArea, pause_filter_threshold), 0x03c),
        (offset_of!(ControlArea, iopm_base), 0x040),
        (offset_of!(ControlArea, msrpm_base), 0x048),
        (offset_of!(ControlArea, tsc_offset), 0x050),
        (offset_of!(ControlArea, asid), 0x058),
        (offset_of!(ControlArea, tlb_control), 0x05c),
        (offset_of!(ControlArea, v_intr), 0x060),
        (offset_of!(ControlArea, interrupt_shadow), 0x068),
        (offset_of!(ControlArea, exit_code), 0x070),
        (offset_of!(ControlArea, exit_info_1), 0x078),
        (offset_of!(ControlArea, exit_info_2), 0x080),
        (offset_of!(ControlArea, exit_int_info), 0x088),
        (offset_of!(ControlArea, nested_control), 0x090),
        (offset_of!(ControlArea, avic_apic_bar), 0x098),
        (offset_of!(ControlArea, ghcb_gpa), 0x0a0),
        (offset_of!(ControlArea, event_injection), 0x0a8),
        (offset_of!(ControlArea, n_cr3), 0x0b0),
        (offset_of!(ControlArea, lbr_control), 0x0b8),
        (offset_of!(ControlArea, clean), 0x0c0),
        (offset_of!(ControlArea, next_rip), 0x0c8),
        (offset_of!(ControlArea, bytes_fetched), 0x0d0),
        (offset_of!(ControlArea, avic_backing_page), 0x0e0),
        (offset_of!(ControlArea, avic_logical_table), 0x0f0),
        (offset_of!(ControlArea, avic_physical_table), 0x0f8),
        (offset_of!(ControlArea, vmsa), 0x108),
        (offset_of!(ControlArea, bus_lock_counter), 0x120),
        (offset_of!(ControlArea, update_irr), 0x134),
        (offset_of!(ControlArea, requested_irr), 0x150),
        (offset_of!(ControlArea, host_use), 0x3e0),
    ];
    let mut i = 0;
    while i < table.len() {
        assert!(table[i].0 == table[i].1);
        i += 1;
    }
};

#[cfg(test)]
mod tests {
    use super::*;
    use zerocopy::transmute;

    #[test]
    fn unknown_bits_survive_a_round_trip() {
        let bytes = [0xa5u8; 4096];
        let vmcb: Vmcb = transmute!(bytes);
        let v_intr = VIntr::from_bits(vmcb.control.v_intr.into_bits());
        assert_eq!(v_intr.into_bits(), 0xa5a5_a5a5_a5a5_a5a5);
        assert_eq!(vmcb.control.intercept_3.bits(), 0xa5a5_a5a5);
        assert_eq!(vmcb.control.clean.bits(), 0xa5a5_a5a5);
        let back: [u8; 4096] = transmute!(vmcb);
        assert_eq!(bytes, back);
    }

    #[test]
    fn skipping_an_instruction_ends_its_shadow() {
        let mut vmcb = Vmcb::zeroed();
        vmcb.control.interrupt_shadow = 1;
        vmcb.save.rip = 0x1000;
        vmcb.skip(3);
        assert_eq!((vmcb.save.rip, vmcb.control.interrupt_shadow), (0x1003, 0));
    }
}
