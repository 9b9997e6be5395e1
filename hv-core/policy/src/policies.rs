//! The policies: what each release of a hypervisor does differently, one small file for each.
//!
//! A release is a table of facts, mostly the one before it with some rows changed. It is read once, when
//! a scenario starts, and becomes [`crate::avic::features::Features`]: no exit looks a policy up. What takes
//! code of its own is a function elsewhere that a fact turns on, such as [`crate::xen_rfc`].

mod kvm_5_15;
mod kvm_5_8;
mod kvm_5_8_patch1;
mod kvm_6_12;
mod kvm_6_18;
mod laboratory;
mod release;
#[cfg(test)]
mod tests;
mod xen_4_17;
mod xen_avic_rfc;

pub use release::Release;
use trapline_abi::plan::Policy;

/// What a policy copies.
pub const fn of(policy: Policy) -> &'static Release {
    match policy {
        Policy::Kvm58 => &kvm_5_8::RELEASE,
        Policy::Kvm58Patch1 => &kvm_5_8_patch1::RELEASE,
        Policy::Kvm515 => &kvm_5_15::RELEASE,
        Policy::Kvm612 => &kvm_6_12::RELEASE,
        Policy::Kvm618 => &kvm_6_18::RELEASE,
        Policy::XenAvicRfc => &xen_avic_rfc::RELEASE,
        Policy::Xen417 => &xen_4_17::RELEASE,
        Policy::Laboratory => &laboratory::RELEASE,
    }
}
