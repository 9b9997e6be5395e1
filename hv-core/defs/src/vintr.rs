//! VMCB 060h: virtual interrupt control (APM §15.21, Table B-1).

use bitfield_struct::bitfield;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// The word at 060h.
#[bitfield(u64)]
#[derive(PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout)]
pub struct VIntr {
    /// Virtual TPR; written back on #VMEXIT.
    #[bits(4)]
    pub v_tpr: u8,
    #[bits(4)]
    _rsvd_7_4: u8,
    /// A virtual interrupt is pending. Ignored under AVIC.
    pub v_irq: bool,
    /// Virtual GIF.
    pub v_gif: bool,
    _rsvd_10: bool,
    /// A virtual NMI is pending.
    pub v_nmi: bool,
    /// Virtual NMIs are masked.
    pub v_nmi_mask: bool,
    #[bits(3)]
    _rsvd_15_13: u8,
    /// Priority of the virtual interrupt. Ignored under AVIC.
    #[bits(4)]
    pub v_intr_prio: u8,
    /// The virtual interrupt ignores V_TPR. Ignored under AVIC.
    pub v_ign_tpr: bool,
    #[bits(3)]
    _rsvd_23_21: u8,
    /// The guest's IF masks virtual interrupts only, the host's physical ones.
    pub v_intr_masking: bool,
    /// vGIF enable.
    pub v_gif_enable: bool,
    /// VNMI enable.
    pub v_nmi_enable: bool,
    #[bits(3)]
    _rsvd_29_27: u8,
    /// x2AVIC; requires AVIC too.
    pub x2avic_enable: bool,
    /// AVIC enable.
    pub avic_enable: bool,
    /// Vector of the virtual interrupt. Ignored under AVIC.
    pub v_intr_vector: u8,
    #[bits(24)]
    _rsvd_63_40: u32,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_lie_where_the_manual_puts_them() {
        assert_eq!(VIntr::new().with_v_irq(true).into_bits(), 1 << 8);
        assert_eq!(VIntr::new().with_v_intr_prio(0xf).into_bits(), 0xf << 16);
        assert_eq!(VIntr::new().with_v_ign_tpr(true).into_bits(), 1 << 20);
        assert_eq!(VIntr::new().with_v_intr_masking(true).into_bits(), 1 << 24);
        assert_eq!(VIntr::new().with_v_gif_enable(true).into_bits(), 1 << 25);
        assert_eq!(VIntr::new().with_v_nmi_enable(true).into_bits(), 1 << 26);
        assert_eq!(VIntr::new().with_x2avic_enable(true).into_bits(), 1 << 30);
        assert_eq!(VIntr::new().with_avic_enable(true).into_bits(), 1 << 31);
        assert_eq!(VIntr::new().with_v_intr_vector(0xb0).into_bits(), 0xb0 << 32);
    }
}
