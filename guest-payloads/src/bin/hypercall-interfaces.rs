//! Which interface answers a VMMCALL where several are there (rule HC-1).
#![no_std]
#![no_main]

use guest_payloads::page::Page;
use guest_payloads::{apic, call, cpu, interrupt, payload, synic, xen};

payload! {
    about: "Makes a hypercall that no interface has, before and after it says that it is a guest of Hyper-V's.";
    run: run;
}

const HYPERV_HYPERCALL: u32 = 0x4000_0001;
/// A number that is none of Xen's, KVM's or Hyper-V's, in the register of each.
const NONE: u64 = 0x3ff;
/// Xen's ENOSYS, and Hyper-V's "invalid hypercall code".
const OF_XEN: u64 = -38i64 as u64;
const OF_HYPERV: u64 = 2;

static HYPERV_CALLS: Page = Page::new();

fn run(_: Params) {
    apic::open(apic::Mode::X2Apic);
    let leaves = xen::leaves().expect("a machine with `xen = true`");
    xen::open(leaves);
    let [_, msr, ..] = cpu::cpuid(leaves + 2);
    call::check("XEN-11: the MSR beside Hyper-V's", 0x4000_0200, u64::from(msr));
    call::check("XEN-10: it reads 0", 0, cpu::read_msr(msr));
    let faults = interrupt::may_fault(2, || cpu::write_msr(msr, 1));
    call::check("XEN-10: it takes whole pages only", 1, u64::from(faults));
    call::check("HC-1: Xen's before KVM's", OF_XEN, cpu::vmmcall(NONE));
    call::check("HC-1: Xen's by its page", OF_XEN, xen::hypercall(NONE % 128, 0, 0) as u64);
    synic::identify();
    cpu::write_msr(HYPERV_HYPERCALL, HYPERV_CALLS.address() | 1);
    call::check("HC-1: Xen's before Hyper-V's", OF_XEN, cpu::vmmcall(NONE));
    call::check(
        "HC-1: Hyper-V's by its page",
        OF_HYPERV,
        xen::hypercall_of_hyperv(&HYPERV_CALLS, NONE),
    );
    call::check(
        "HC-1: Xen's by its page, after all",
        OF_XEN,
        xen::hypercall(NONE % 128, 0, 0) as u64,
    );
}
