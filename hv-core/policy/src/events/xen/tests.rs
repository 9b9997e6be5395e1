//! Xen's windows, and when it looks.

use super::*;
use crate::avic::activation;
use crate::avic::features::{Features, Offered};
use crate::avic::tables::Tables;
use crate::cpuid::Host;
use crate::handle;
use crate::memory::tests::Ram;
use crate::vm::{GuestClock, Shared};
use trapline_abi::machine::Machine;
use trapline_abi::plan::{Module, Policy};
use trapline_defs::apic::offset;
use trapline_defs::exit_code::ExitCode;

const MACHINE: Machine = Machine { xen: true, ..Machine::PLAIN };
const IF: u64 = 1 << 9;

struct Guest {
    vm: Vm<'static>,
    vcpu: Vcpu,
    vmcb: Box<Vmcb>,
    ram: Ram,
}

impl Guest {
    fn new() -> Self {
        Self::under(Policy::Xen417)
    }

    fn under(policy: Policy) -> Self {
        let shared: &'static Shared = Box::leak(Box::new(Shared::new(&MACHINE, None, 1 << 20)));
        let tables: &'static Tables = Box::leak(Box::new(Tables::new()));
        let clock = GuestClock { offset: 0, khz: 1_000_000 };
        let mut vm = Vm::new(shared, tables, MACHINE, None, 1 << 20, clock, 1);
        let offered = Offered::default();
        vm.use_features(Features::of(policy, Module::DEFAULT, offered));
        let host =
            Host { vendor: *b"AuthenticAMD", signature: 0, brand: [0; 48], physical_bits: 40 };
        let mut vcpu = Vcpu::new(&MACHINE, &host, 1_000_000, 0, 1);
        let _ = vcpu.lapic.write_mmio(offset::SVR, 0x1ff, crate::time::Ns(0));
        let mut vmcb = Box::new(Vmcb::zeroed());
        vmcb.control.intercept_cr = 1 << (16 + 8);
        activation::prepare(&vm, &vcpu, &mut vmcb);
        (vmcb.save.cr3, vmcb.save.rip, vmcb.save.rflags) = (0x1000, 0x5000, 2);
        (vcpu.lapic.event_request, vcpu.attention) = (false, false);
        assert!(vm.xen().map_shared_info(&Ram::identity(0x10000), 9));
        Self { vm, vcpu, vmcb, ram: Ram::identity(0x10000) }
    }

    fn exit(&mut self, code: ExitCode) -> handle::Handled {
        // VMRUN took what was to be injected.
        self.vmcb.control.event_injection = Event::new();
        self.vmcb.control.exit_code = code;
        handle::exit(&mut self.vm, &mut self.vcpu, &mut self.vmcb, &self.ram, 0)
    }

    fn evaluate(&mut self) {
        super::super::evaluate(&mut self.vm, &mut self.vcpu, &mut self.vmcb, &self.ram);
    }

    fn injected(&self) -> Option<u8> {
        let event = self.vmcb.control.event_injection;
        event.valid().then(|| event.vector())
    }

    fn window(&self) -> Option<(u8, bool)> {
        let v_intr = self.vmcb.control.v_intr;
        assert_eq!(v_intr.v_irq(), self.vmcb.control.intercept_3.contains(Word3::VINTR));
        assert_eq!(v_intr.v_intr_vector(), 0);
        v_intr.v_irq().then(|| (v_intr.v_intr_prio(), v_intr.v_ign_tpr()))
    }
}

#[test]
fn win_2_xens_window_has_the_class_of_what_waits_and_heeds_v_tpr_for_the_apics_vectors() {
    for vector in [0x31, 0xb0, 0xfe] {
        let mut guest = Guest::new();
        guest.vcpu.lapic.accept(vector, false);
        guest.evaluate();
        assert_eq!(guest.injected(), None);
        assert_eq!(guest.window(), Some((vector >> 4, false)));
        guest.vmcb.save.rflags |= IF;
        guest.exit(ExitCode::VINTR);
        assert_eq!((guest.injected(), guest.window()), (Some(vector), None));
    }
}

#[test]
fn win_2_xen_2_what_tpr_holds_back_waits_in_the_window_and_cr8_stays_the_guests() {
    let mut guest = Guest::new();
    guest.vmcb.save.rflags |= IF;
    guest.vmcb.control.v_intr.set_v_tpr(15);
    guest.vcpu.lapic.set_tpr(0xf0);
    guest.vcpu.lapic.accept(0xb0, false);
    guest.evaluate();
    assert_eq!(guest.injected(), None);
    assert_eq!(guest.window(), Some((0xb, false)), "V_TPR is above");
    assert_eq!(guest.vmcb.control.intercept_cr & 1 << (16 + 8), 0);
    // The same class is not above.
    guest.vmcb.control.v_intr.set_v_tpr(0xb);
    guest.exit(ExitCode::CPUID);
    assert_eq!(guest.injected(), None);
    guest.vmcb.control.v_intr.set_v_tpr(0xa);
    guest.exit(ExitCode::VINTR);
    assert_eq!((guest.injected(), guest.window()), (Some(0xb0), None));
}

#[test]
fn win_2_under_tcg_equal_priority_is_kept_out() {
    let mut guest = Guest::new();
    guest.vm.soft_injection = true;
    guest.vcpu.lapic.accept(0xb0, false);
    guest.evaluate();
    assert_eq!(guest.window(), Some((0xa, false)));
}

#[test]
fn win_2_xen_3_xen_4_the_global_callback_ignores_v_tpr_and_stays_until_its_flag_is_cleared() {
    let mut guest = Guest::new();
    crate::xen::upcall::set_callback(&guest.vm, &mut guest.vcpu, Some(0xc1));
    guest.vmcb.save.rflags |= IF;
    guest.vmcb.control.v_intr.set_v_tpr(15);
    guest.vcpu.lapic.set_tpr(0xf0);
    guest.ram.put(0x9000, &[1]);
    guest.vcpu.lapic.accept(0xfe, false);
    guest.evaluate();
    assert_eq!(guest.injected(), Some(0xc1), "before the APIC's, and whatever TPR is");
    assert_eq!(guest.window(), Some((0xc, true)));
    assert_eq!(guest.vcpu.lapic.highest_isr(), None, "no EOI is owed");
    // The handler clears the flag and returns: one exit of the window.
    guest.ram.put(0x9000, &[0]);
    guest.exit(ExitCode::VINTR);
    assert_eq!((guest.injected(), guest.window()), (None, Some((0xf, false))));
}

#[test]
fn xen_1_what_waits_is_looked_at_again_at_every_exit_and_the_hlt_exit_injects() {
    let mut guest = Guest::new();
    guest.vcpu.lapic.accept(0xb0, false);
    guest.evaluate();
    assert!(!handle::settled(&guest.vcpu, &guest.vmcb), "the short way of CPUID is no way");
    guest.vmcb.save.rflags |= IF;
    guest.vmcb.control.interrupt_shadow = 1;
    let handled = guest.exit(ExitCode::HLT);
    assert_eq!(handled.next, handle::Next::Enter);
    assert_eq!(guest.injected(), Some(0xb0));
    // WIN-1 holds of Xen's window, too.
    assert_eq!(guest.window(), Some((0xb, false)));
    guest.vmcb.save.rflags &= !IF;
    guest.vcpu.lapic.eoi();
    guest.exit(ExitCode::VINTR);
    assert_eq!((guest.injected(), guest.window()), (None, None));
    assert!(!guest.vcpu.lapic.event_request && !guest.vcpu.attention, "nothing waits");
}

#[test]
fn xen_3_a_lower_class_waits_for_the_eoi_without_a_window() {
    let mut guest = Guest::new();
    guest.vmcb.save.rflags |= IF;
    guest.vcpu.lapic.accept(0xb0, false);
    guest.evaluate();
    guest.vcpu.lapic.accept(0xb1, false);
    guest.exit(ExitCode::CPUID);
    assert_eq!((guest.injected(), guest.window()), (None, None));
    guest.vcpu.lapic.eoi();
    guest.exit(ExitCode::CPUID);
    assert_eq!(guest.injected(), Some(0xb1));
}

#[test]
fn xen_3_a_software_disabled_apic_delivers_nothing() {
    let mut guest = Guest::new();
    guest.vmcb.save.rflags |= IF;
    guest.vcpu.lapic.accept(0xb0, false);
    let _ = guest.vcpu.lapic.write_mmio(offset::SVR, 0xff, crate::time::Ns(0));
    guest.evaluate();
    assert_eq!((guest.injected(), guest.window()), (None, None));
    assert!(!handle::wakes(&guest.vm, &guest.vcpu, &guest.vmcb, &guest.ram));
}

#[test]
fn xen_2_the_low_half_of_tpr_stays() {
    let mut guest = Guest::new();
    guest.vcpu.lapic.set_tpr(0x35);
    guest.vmcb.control.v_intr.set_v_tpr(3);
    guest.exit(ExitCode::CPUID);
    assert_eq!(guest.vcpu.lapic.tpr(), 0x35);
    guest.vmcb.control.v_intr.set_v_tpr(7);
    guest.exit(ExitCode::CPUID);
    assert_eq!(guest.vcpu.lapic.tpr(), 0x75);
}

#[test]
fn xen_5_a_second_nmi_waits_for_the_iret_and_then_behind_its_shadow() {
    let mut guest = Guest::new();
    guest.vmcb.save.rflags |= IF;
    guest.vcpu.nmi();
    guest.evaluate();
    assert_eq!(guest.injected(), Some(2));
    assert!(guest.vmcb.control.intercept_3.contains(Word3::IRET));
    guest.vcpu.nmi();
    guest.vcpu.nmi();
    guest.exit(ExitCode::CPUID);
    assert_eq!((guest.injected(), guest.window()), (None, None));
    assert_eq!(guest.vcpu.events.nmis, 1, "it is one bit");
    guest.exit(ExitCode::IRET);
    assert_eq!(guest.vmcb.control.interrupt_shadow, 1);
    assert_eq!((guest.injected(), guest.window()), (None, Some((0, true))));
    guest.vmcb.control.interrupt_shadow = 0;
    guest.exit(ExitCode::VINTR);
    assert_eq!((guest.injected(), guest.window()), (Some(2), None));
}

#[test]
fn xen_6_a_vcpu_that_halts_with_interrupts_off_is_down_and_no_nmi_wakes_it() {
    let mut guest = Guest::new();
    let wakes = |guest: &Guest| handle::wakes(&guest.vm, &guest.vcpu, &guest.vmcb, &guest.ram);
    assert_eq!(guest.exit(ExitCode::HLT).next, handle::Next::Block);
    guest.vcpu.nmi();
    assert!(!wakes(&guest));
    guest.vcpu.init();
    guest.vcpu.nmi();
    assert!(wakes(&guest), "INIT brings it back");
    let mut guest = Guest::new();
    guest.vmcb.save.rflags |= IF;
    assert_eq!(guest.exit(ExitCode::HLT).next, handle::Next::Block);
    guest.vcpu.nmi();
    assert!(wakes(&guest), "with interrupts on it only sleeps");
}

#[test]
fn win_2_under_kvm_the_global_callback_waits_in_kvms_window() {
    let mut guest = Guest::under(Policy::Kvm612);
    crate::xen::upcall::set_callback(&guest.vm, &mut guest.vcpu, Some(0xc1));
    guest.ram.put(0x9000, &[1]);
    guest.evaluate();
    assert_eq!((guest.injected(), guest.window()), (None, Some((15, false))));
    guest.vmcb.save.rflags |= IF;
    // KVM does not look at the HLT exit (rule HLT-2), but the vCPU goes on.
    assert_eq!(guest.exit(ExitCode::HLT).next, handle::Next::Enter);
    assert_eq!(guest.injected(), None);
    guest.exit(ExitCode::VINTR);
    assert_eq!((guest.injected(), guest.window()), (Some(0xc1), Some((15, false))));
    guest.ram.put(0x9000, &[0]);
    guest.exit(ExitCode::VINTR);
    assert_eq!((guest.injected(), guest.window()), (None, None));
}

#[test]
fn nothing_of_the_processors_virtualization_is_used() {
    let everything = Offered {
        avic: true,
        avic_hidden: true,
        x2avic: true,
        idle_hlt: true,
        vnmi: true,
        ..Offered::default()
    };
    let module = Module { force_avic: true, ..Module::DEFAULT };
    let used = Features::of(Policy::Xen417, module, everything);
    let Features { avic, x2avic, idle_hlt, vnmi, carries_tpr, xen, .. } = used;
    assert!(xen);
    assert_eq!([avic, x2avic, idle_hlt, vnmi, carries_tpr], [false; 5]);
}
