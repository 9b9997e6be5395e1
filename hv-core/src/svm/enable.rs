//! Turning SVM on.

// UNSAFETY: EFER and VM_HSAVE_PA.
#![expect(unsafe_code, reason = "enables SVM")]

use crate::arch::page::{Page, physical};
use core::arch::x86_64::__cpuid;
use trapline_defs::cpuid::{SVM_BIT, SvmFeatures};
use trapline_defs::msr::{EFER, VM_CR, VM_HSAVE_PA, efer};
use x86_64::registers::model_specific::Msr;

/// VM_CR.SVMDIS.
const SVM_DISABLED: u64 = 1 << 4;

/// What CPUID says of SVM.
#[derive(Clone, Copy, Debug)]
pub struct Offer {
    /// Number of ASIDs.
    pub asids: u32,
    /// Features.
    pub features: SvmFeatures,
}

/// Why SVM cannot be used.
pub enum NoSvm {
    /// CPUID Fn8000_0001 ECX bit 2 is clear.
    NotOffered,
    /// Firmware turned it off (VM_CR.SVMDIS).
    Disabled,
    /// No nested paging.
    NoNestedPaging,
}

impl NoSvm {
    /// What to tell people.
    pub fn text(&self) -> &'static str {
        match self {
            Self::NotOffered => {
                "the processor offers no SVM (CPUID Fn8000_0001 ECX bit 2); under QEMU use a -cpu with +svm"
            }
            Self::Disabled => "firmware has disabled SVM (VM_CR.SVMDIS); enable it in the setup",
            Self::NoNestedPaging => "the processor's SVM has no nested paging; under QEMU use +npt",
        }
    }
}

/// Reads the offer.
pub fn offer() -> Result<Offer, NoSvm> {
    if __cpuid(0x8000_0000).eax < 0x8000_000a || __cpuid(0x8000_0001).ecx & SVM_BIT == 0 {
        return Err(NoSvm::NotOffered);
    }
    let leaf = __cpuid(0x8000_000a);
    let features = SvmFeatures::from_bits_retain(leaf.edx);
    if !features.contains(SvmFeatures::NP) {
        return Err(NoSvm::NoNestedPaging);
    }
    // SAFETY: a processor with SVM has VM_CR.
    if unsafe { Msr::new(VM_CR).read() } & SVM_DISABLED != 0 {
        return Err(NoSvm::Disabled);
    }
    Ok(Offer { asids: leaf.ebx, features })
}

/// Turns SVM on for this core, with `save` as its host save area.
pub fn enable(save: &'static mut Page) {
    // SAFETY: `offer` said that there is SVM; the save area is a page of this core's own.
    unsafe {
        let mut register = Msr::new(EFER);
        register.write(register.read() | efer::SVME);
        Msr::new(VM_HSAVE_PA).write(physical(save));
    }
}
