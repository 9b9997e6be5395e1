//! Single accesses of a guest with code and page tables.

use super::super::{Around, Model, Seen, Underneath};
use std::cell::RefCell;
use trapline_abi::machine::Machine;
use trapline_defs::event::Event;
use trapline_defs::exit_code::ExitCode;
use trapline_defs::intercept::Word3;
use trapline_defs::vmcb::{NestedControl, Vmcb};
use trapline_policy::cpuid::Host;
use trapline_policy::memory::GuestMemory;
use trapline_policy::vcpu::Vcpu;
use trapline_silicon::{Enumeration, Knobs, Memory, Silicon};

/// Host and guest have the same memory, and this much of it.
const SIZE: u64 = 0x2_0000;
/// Guest page tables: one level each, then one page of 2 MiB that maps everything to itself.
const CR3: u64 = 0x1000;
const CODE: u64 = 0x5000;
const BACKING: u64 = 0x6000;
const TABLE: u64 = 0x7000;
/// The architectural permission map; two pages, all open.
const MAP: u64 = 0x8000;

struct Ram(RefCell<Vec<u8>>);

impl Ram {
    fn get<const N: usize>(&self, at: u64) -> [u8; N] {
        let at = at as usize;
        self.0.borrow()[at..at + N].try_into().unwrap()
    }

    fn put(&self, at: u64, bytes: &[u8]) {
        let at = at as usize;
        self.0.borrow_mut()[at..at + bytes.len()].copy_from_slice(bytes);
    }
}

impl GuestMemory for Ram {
    fn size(&self) -> u64 {
        SIZE
    }

    fn read_u64(&self, address: u64) -> Option<u64> {
        (address < SIZE).then(|| self.load64(address))
    }

    fn write_u8(&self, address: u64, value: u8) -> bool {
        self.put(address, &[value]);
        true
    }
}

impl Memory for Ram {
    fn load32(&self, address: u64) -> u32 {
        u32::from_le_bytes(self.get(address))
    }

    fn store32(&self, address: u64, value: u32) {
        self.put(address, &value.to_le_bytes());
    }

    fn load64(&self, address: u64) -> u64 {
        u64::from_le_bytes(self.get(address))
    }

    fn fetch_or32(&self, address: u64, bits: u32) -> u32 {
        let old = self.load32(address);
        self.store32(address, old | bits);
        old
    }

    fn fetch_and32(&self, address: u64, bits: u32) -> u32 {
        let old = self.load32(address);
        self.store32(address, old & bits);
        old
    }

    fn barrier(&self) {}
}

struct Bench {
    model: Model,
    vcpu: Vcpu,
    vmcb: Vmcb,
    ram: Ram,
}

impl Bench {
    /// A guest on Zen 4, AVIC in xAPIC mode, about to be entered at this code.
    fn new(code: &[u8]) -> Self {
        let ram = Ram(RefCell::new(vec![0; SIZE as usize]));
        for (table, entry) in [(CR3, 0x2003u64), (0x2000, 0x3003), (0x3000, 0x83)] {
            ram.put(table, &entry.to_le_bytes());
        }
        ram.put(CODE, code);
        let machine = Machine { tsc_deadline: false, ..Machine::PLAIN };
        let host = Host { vendor: [0; 12], signature: 0, brand: [0; 48], physical_bits: 40 };
        let silicon = Silicon::read("zen4", Enumeration::of(0, 1)).unwrap();
        let underneath =
            Underneath { host_id: 0, physical_bits: 40, closed_map: 0, soft_injection: false };
        let mut vmcb = Vmcb::zeroed();
        let control = &mut vmcb.control;
        control.nested_control = NestedControl::NP_ENABLE;
        control.intercept_3 = Word3::INTR | Word3::NMI;
        control.avic_apic_bar = 0xfee0_0000;
        control.avic_backing_page = BACKING;
        control.avic_physical_table = TABLE;
        control.msrpm_base = MAP;
        control.v_intr = control.v_intr.with_avic_enable(true);
        (vmcb.save.cr3, vmcb.save.rip) = (CR3, CODE);
        Self {
            model: Model::new(silicon, Knobs::default(), underneath),
            vcpu: Vcpu::new(&machine, &host, 1_000_000, 0, 1),
            vmcb,
            ram,
        }
    }

    fn enter(&mut self) {
        self.model.enter(0x4000, &mut self.vmcb, &self.ram).unwrap();
    }

    /// What this exit of the processor underneath is.
    fn trap(&mut self, code: ExitCode, info_1: u64) -> Seen {
        (self.vmcb.control.exit_code, self.vmcb.control.exit_info_1) = (code, info_1);
        let around = Around { guest: &self.ram, memory: &self.ram, leaf: || None, saved: true };
        self.model.trap(&mut self.vcpu, &mut self.vmcb, &around, |_| panic!("rang"))
    }
}

#[test]
fn avic_076_an_msr_that_nobody_intercepts_is_not_there_in_xapic_mode() {
    let mut bench = Bench::new(&[0x0f, 0x30]);
    bench.ram.store32(BACKING + 0x120, 1 << 21);
    bench.enter();
    bench.vcpu.gprs.rcx = 0x80b;
    assert_eq!(bench.trap(ExitCode::MSR, 1), Seen::Absorbed);
    assert_eq!(bench.vmcb.control.event_injection, Event::GP);
    assert_eq!(bench.vmcb.save.rip, CODE);
    assert_eq!(bench.ram.load32(BACKING + 0x120), 1 << 21);
}

#[test]
fn avic_076_an_intercepted_msr_is_the_hypervisor_s() {
    let mut bench = Bench::new(&[0x0f, 0x30]);
    // Two bits an MSR: writes of 80Bh are the upper one of the fourth pair there.
    bench.ram.put(MAP + 0x80b / 4, &[1 << 7]);
    bench.enter();
    bench.vcpu.gprs.rcx = 0x80b;
    assert_eq!(bench.trap(ExitCode::MSR, 1), Seen::Exit);
    assert!(!bench.vmcb.control.event_injection.valid());
}

#[test]
fn avic_080_cr8_is_v_tpr_without_v_intr_masking() {
    let mut bench = Bench::new(&[]);
    bench.vmcb.control.v_intr.set_v_tpr(2);
    let before = bench.vmcb.control.v_intr;
    bench.enter();
    assert!(bench.vmcb.control.v_intr.v_intr_masking());
    assert_eq!(bench.vmcb.control.v_intr.v_tpr(), 2);
    bench.model.leave(&mut bench.vmcb);
    assert_eq!(bench.vmcb.control.v_intr, before);
}
