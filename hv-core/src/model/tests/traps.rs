//! Traps that are none of the model's business.

use super::super::{Around, Model, Seen, Underneath};
use super::machine::Machine;
use trapline_abi::machine::Machine as Platform;
use trapline_defs::apic::offset;
use trapline_defs::avic::NoAccel;
use trapline_defs::exit_code::ExitCode;
use trapline_defs::intercept::{Word3, Word5};
use trapline_defs::vmcb::{NestedControl, Vmcb};
use trapline_policy::avic::features::Features;
use trapline_policy::cpuid::Host;
use trapline_policy::memory::GuestMemory;
use trapline_policy::vcpu::Vcpu;
use trapline_silicon::{Enumeration, Knobs, Memory, Silicon};

struct Nothing;

impl GuestMemory for Nothing {
    fn size(&self) -> u64 {
        0
    }
    fn read_u64(&self, _: u64) -> Option<u64> {
        None
    }
    fn write_u8(&self, _: u64, _: u8) -> bool {
        false
    }
}

impl Memory for Nothing {
    fn load32(&self, _: u64) -> u32 {
        0
    }
    fn store32(&self, _: u64, _: u32) {}
    fn load64(&self, _: u64) -> u64 {
        0
    }
    fn fetch_or32(&self, _: u64, _: u32) -> u32 {
        0
    }
    fn fetch_and32(&self, _: u64, _: u32) -> u32 {
        0
    }
    fn barrier(&self) {}
}

/// A guest with the Idle HLT intercept, and nothing pending, at this trap.
fn seen(code: ExitCode) -> (Seen, Vmcb) {
    let platform = Platform { tsc_deadline: false, ..Platform::PLAIN };
    let host = Host { vendor: [0; 12], signature: 0, brand: [0; 48], physical_bits: 40 };
    let mut vcpu = Vcpu::new(&platform, &host, 1_000_000, 0, 1);
    let mut vmcb = Vmcb::zeroed();
    vmcb.control.intercept_3 = Word3::INTR | Word3::NMI;
    vmcb.control.intercept_5 = Word5::IDLE_HLT;
    vmcb.control.nested_control = NestedControl::NP_ENABLE;
    let silicon = Silicon::read("zen5", Enumeration::of(u32::MAX, u32::MAX)).unwrap();
    let underneath =
        Underneath { host_id: 0, physical_bits: 40, closed_map: 0, soft_injection: false };
    let mut model = Model::new(silicon, Knobs::default(), underneath);
    model.enter(0x9000, &mut vmcb, &Nothing).unwrap();
    vmcb.control.exit_code = code;
    vmcb.save.rip = 0x5000;
    let around = Around { guest: &Nothing, memory: &Nothing, leaf: || None, saved: true };
    (model.trap(&mut vcpu, &mut vmcb, &around, |_| ()), vmcb)
}

#[test]
fn ihlt_029_idle_hlt_changes_neither_mwait_nor_pause() {
    let (halted, vmcb) = seen(ExitCode::HLT);
    assert_eq!((halted, vmcb.control.exit_code), (Seen::Exit, ExitCode::IDLE_HLT));
    const PAUSE: ExitCode = ExitCode(0x77);
    for code in [PAUSE, ExitCode::MWAIT, ExitCode::MWAIT_CONDITIONAL, ExitCode::MONITOR] {
        let (seen, vmcb) = seen(code);
        assert_eq!((seen, vmcb.control.exit_code, vmcb.save.rip), (Seen::Exit, code, 0x5000));
    }
}

#[test]
fn avic_070_a_repeated_store_stops_at_each_register_that_traps_model_defined() {
    let mut machine = Machine::new(false, Features { avic: true, ..Features::default() });
    let gprs = &mut machine.cores[0].vcpu.gprs;
    (gprs.rcx, gprs.rdi) = (2, 0xfee0_0320);
    machine.cores[0].vmcb.save.rax = 0x1_00b0;
    assert_eq!(machine.store(0, 0x5010, offset::LVT_TIMER), Seen::Exit);
    let core = &machine.cores[0];
    assert_eq!(core.vmcb.control.exit_code, ExitCode::AVIC_NOACCEL);
    assert_eq!(core.vmcb.control.exit_info_1, NoAccel::at(offset::LVT_TIMER, true).into_bits());
    assert_eq!((core.vmcb.save.rip, core.vcpu.gprs.rcx), (0x5010, 1), "at the REP, one left");
    assert_eq!(core.vcpu.gprs.rdi, 0xfee0_0324);
    assert_eq!(machine.vm.avic.page(0).load(offset::LVT_TIMER), 0x1_00b0);
    // Registers are 16 bytes apart: what the second iteration does, the manual does not say.
    assert_eq!(machine.store(0, 0x5010, 0x324), Seen::Undefined);
}

#[test]
fn a_repeated_store_into_plain_memory_of_the_page_goes_on() {
    let mut machine = Machine::new(false, Features { avic: true, ..Features::default() });
    let gprs = &mut machine.cores[0].vcpu.gprs;
    (gprs.rcx, gprs.rdi) = (2, 0xfee0_02f0);
    machine.cores[0].vmcb.save.rax = 7;
    assert_eq!(machine.store(0, 0x5010, 0x2f0), Seen::Absorbed);
    assert_eq!((machine.cores[0].vmcb.save.rip, machine.cores[0].vcpu.gprs.rcx), (0x5010, 1));
    assert_eq!(machine.store(0, 0x5010, 0x2f0), Seen::Absorbed);
    assert_eq!((machine.cores[0].vmcb.save.rip, machine.cores[0].vcpu.gprs.rcx), (0x5012, 0));
}
