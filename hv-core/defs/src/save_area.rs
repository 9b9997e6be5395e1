//! The VMCB's state save area, 400h to FFFh (APM Table B-2).

use crate::segment::Segment;
use core::mem::offset_of;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// Guest state that VMRUN loads and #VMEXIT saves, and (FS, GS, TR, LDTR, the SYSCALL and SYSENTER
/// MSRs, KernelGSBase) that VMLOAD and VMSAVE move.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct SaveArea {
    /// ES.
    pub es: Segment,
    /// CS.
    pub cs: Segment,
    /// SS.
    pub ss: Segment,
    /// DS.
    pub ds: Segment,
    /// FS.
    pub fs: Segment,
    /// GS.
    pub gs: Segment,
    /// GDTR.
    pub gdtr: Segment,
    /// LDTR.
    pub ldtr: Segment,
    /// IDTR.
    pub idtr: Segment,
    /// TR.
    pub tr: Segment,
    _rsvd_4a0: [u8; 0x2b],
    /// CPL. QEMU takes the CPL from SS.DPL instead: keep them equal.
    pub cpl: u8,
    _rsvd_4cc: u32,
    /// EFER.
    pub efer: u64,
    _rsvd_4d8: [u8; 0x70],
    /// CR4.
    pub cr4: u64,
    /// CR3.
    pub cr3: u64,
    /// CR0.
    pub cr0: u64,
    /// DR7.
    pub dr7: u64,
    /// DR6.
    pub dr6: u64,
    /// RFLAGS.
    pub rflags: u64,
    /// RIP.
    pub rip: u64,
    _rsvd_580: [u8; 0x58],
    /// RSP.
    pub rsp: u64,
    /// S_CET.
    pub s_cet: u64,
    /// SSP.
    pub ssp: u64,
    /// ISST_ADDR.
    pub isst_addr: u64,
    /// RAX.
    pub rax: u64,
    /// STAR.
    pub star: u64,
    /// LSTAR.
    pub lstar: u64,
    /// CSTAR.
    pub cstar: u64,
    /// SFMASK.
    pub sfmask: u64,
    /// KernelGSBase.
    pub kernel_gs_base: u64,
    /// SYSENTER_CS.
    pub sysenter_cs: u64,
    /// SYSENTER_ESP.
    pub sysenter_esp: u64,
    /// SYSENTER_EIP.
    pub sysenter_eip: u64,
    /// CR2.
    pub cr2: u64,
    _rsvd_648: [u8; 0x20],
    /// Guest PAT, used with nested paging.
    pub g_pat: u64,
    /// DBGCTL.
    pub dbgctl: u64,
    /// LastBranchFromIP.
    pub br_from: u64,
    /// LastBranchToIP.
    pub br_to: u64,
    /// LastIntFromIP.
    pub last_excp_from: u64,
    /// LastIntToIP.
    pub last_excp_to: u64,
    _rsvd_698: [u8; 0x968],
}

const _: () = {
    assert!(size_of::<SaveArea>() == 0xc00);
    let table = [
        (offset_of!(SaveArea, es), 0x400),
        (offset_of!(SaveArea, tr), 0x490),
        (offset_of!(SaveArea, cpl), 0x4cb),
        (offset_of!(SaveArea, efer), 0x4d0),
        (offset_of!(SaveArea, cr4), 0x548),
        (offset_of!(SaveArea, rflags), 0x570),
        (offset_of!(SaveArea, rip), 0x578),
        (offset_of!(SaveArea, rsp), 0x5d8),
        (offset_of!(SaveArea, rax), 0x5f8),
        (offset_of!(SaveArea, star), 0x600),
        (offset_of!(SaveArea, kernel_gs_base), 0x620),
        (offset_of!(SaveArea, cr2), 0x640),
        (offset_of!(SaveArea, g_pat), 0x668),
        (offset_of!(SaveArea, last_excp_to), 0x690),
    ];
    let mut i = 0;
    while i < table.len() {
        assert!(table[i].0 + 0x400 == table[i].1);
        i += 1;
    }
};
