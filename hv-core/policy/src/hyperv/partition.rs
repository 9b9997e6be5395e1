//! What a VM has once.

use super::view::View;
use super::{DecrementRule, Effect};
use crate::fault::Gp;
use crate::policies::Release;
use crate::vm::MAX_VCPUS;
use trapline_abi::machine::HyperV;

const ENABLE: u64 = 1;
const PAGE: u64 = 0xfff;

/// VMMCALL; RET: all that a hypercall page needs. KVM writes it into the guest's own page and leaves it at that:
/// the rest keeps what was there, and the guest may write over all of it, where the TLFS has an overlay and
/// `#GP` (HV-231).
const HYPERCALL_CODE: &[u8] = &[0x0f, 0x01, 0xd9, 0xc3];
/// Beside Xen's interface OR EAX, 8000_0000h comes first, as under KVM and Xen (rule HC-1).
const HYPERCALL_CODE_BESIDE_XEN: &[u8] = &[0x0d, 0x00, 0x00, 0x00, 0x80, 0x0f, 0x01, 0xd9, 0xc3];

/// The state that all vCPUs of a VM share.
#[derive(Clone, Debug)]
pub struct Partition {
    /// Whether SIMP and SIEFP pages are zeroed when a guest enables them, as under KVM's first
    /// SynIC capability; the second one leaves the pages alone (HV-066).
    pub zero_pages: bool,
    /// How the AutoEOI count goes down.
    pub decrement: DecrementRule,
    /// The SynIC itself inhibits AVIC, so that nobody counts AutoEOI (Linux 5.6 to 5.14).
    synic_inhibits: bool,
    /// Hypercalls are Xen's unless the page says that they are not.
    pub beside_xen: bool,
    pub(super) auto_eoi_users: u32,
    offered: HyperV,
    memory: u64,
    guest_os_id: u64,
    hypercall: u64,
    reference_tsc: u64,
    views: [View; MAX_VCPUS],
}

impl Partition {
    /// A VM with `memory` bytes of RAM from guest-physical address 0. `offered` says what its
    /// CPUID has of Hyper-V.
    pub const fn new(offered: HyperV, memory: u64) -> Self {
        Self {
            zero_pages: true,
            decrement: DecrementRule::OldAndNotNew,
            synic_inhibits: false,
            beside_xen: false,
            auto_eoi_users: 0,
            offered,
            memory,
            guest_os_id: 0,
            hypercall: 0,
            reference_tsc: 0,
            views: [View::RESET; MAX_VCPUS],
        }
    }

    /// Counts AutoEOI as that release does, unless a fault was seeded.
    pub fn follow(&mut self, release: &Release) {
        self.synic_inhibits = release.synic_inhibits;
        if self.decrement == DecrementRule::OldAndNotNew {
            self.decrement = release.decrement;
        }
    }

    /// Whether AutoEOI is counted.
    pub(super) const fn counts_auto_eoi(&self) -> bool {
        !self.synic_inhibits
    }

    /// VM reset. The AutoEOI count follows from the [`super::Synic::reset`] of each vCPU.
    pub const fn reset(&mut self) {
        self.guest_os_id = 0;
        self.hypercall = 0;
        self.reference_tsc = 0;
    }

    /// Whether the guest's CPUID has all of that.
    #[inline]
    pub const fn offers(&self, what: HyperV) -> bool {
        self.offered.contains(what)
    }

    /// How many vCPUs use AutoEOI: the HYPERV inhibit is set while this is not 0 (HV-101 to 118).
    pub const fn auto_eoi_users(&self) -> u32 {
        self.auto_eoi_users
    }

    /// The value of GUEST_OS_ID. Not 0: VMMCALL is a Hyper-V hypercall (HC-1).
    #[inline]
    pub const fn guest_os_id(&self) -> u64 {
        self.guest_os_id
    }

    /// A vCPU's SynIC, as senders see it.
    pub const fn view(&self, vp_index: u32) -> &View {
        &self.views[vp_index as usize % MAX_VCPUS]
    }

    pub(super) const fn view_mut(&mut self, vp_index: u32) -> &mut View {
        &mut self.views[vp_index as usize % MAX_VCPUS]
    }

    /// The value of HYPERCALL.
    pub const fn hypercall(&self) -> u64 {
        self.hypercall
    }

    /// The value of REFERENCE_TSC.
    pub const fn reference_tsc(&self) -> u64 {
        self.reference_tsc
    }

    /// KVM takes every value, also that of a page that is not there (HV-166: as written).
    pub(super) const fn set_reference_tsc(&mut self, value: u64) -> Effect {
        self.reference_tsc = value;
        if value & ENABLE == 0 {
            return Effect::None;
        }
        Effect::ReferencePage { address: value & !PAGE }
    }

    pub(super) const fn set_guest_os_id(&mut self, value: u64) {
        self.guest_os_id = value;
        if value == 0 {
            self.hypercall &= !ENABLE;
        }
    }

    pub(super) fn set_hypercall(&mut self, value: u64) -> Result<Effect, Gp> {
        // KVM drops the whole write, not only the enable bit (HV-028).
        if self.guest_os_id == 0 {
            return Ok(Effect::None);
        }
        if value & ENABLE == 0 {
            self.hypercall = value;
            return Ok(Effect::None);
        }
        let address = self.page(value)?;
        self.hypercall = value;
        let bytes = if self.beside_xen { HYPERCALL_CODE_BESIDE_XEN } else { HYPERCALL_CODE };
        Ok(Effect::WriteBytes { address, bytes })
    }

    /// The address of the page that an MSR value names; `#GP` if it is not RAM.
    pub(super) fn page(&self, value: u64) -> Result<u64, Gp> {
        let address = value & !PAGE;
        // A page that starts below the end of RAM ends there at the latest.
        if address < self.memory & !PAGE { Ok(address) } else { Err(Gp) }
    }
}
