//! Hyper-V's MSRs of a vCPU, by exits, with and without AVIC.

mod apic;
mod assist;
mod auto_eoi;
mod gates;

use crate::avic::features::Features;
use crate::avic::tests::bench::{Bench, FEATURES};
use crate::hyperv::{EOI, ICR, RESET, SINT0, TPR, VP_ASSIST_PAGE, VP_RUNTIME};
use crate::memory::GuestMemory;
use crate::time::Ns;
use crate::vm::Vm;
use trapline_abi::machine::{HyperV, Machine};
use trapline_defs::apic::offset;
use trapline_defs::event::Event;
use trapline_defs::exit_code::ExitCode;

const OFFERED: HyperV =
    HyperV::USUAL.union(HyperV::VAPIC).union(HyperV::RUNTIME).union(HyperV::RESET);
const MACHINE: Machine = Machine { tsc_deadline: false, hyperv: OFFERED, ..Machine::PLAIN };
const NO_AVIC: Features =
    Features { avic: false, x2avic: false, ipi_virtualization: false, ..FEATURES };
/// The assist page.
const PAGE: u64 = 0x8000;

/// ICR: oneself, assert; and all the same to somebody else.
const TO_SELF: u64 = 1 << 18 | ASSERT;
const ASSERT: u64 = 1 << 14;

fn machine(hyperv: HyperV) -> Machine {
    Machine { hyperv, ..MACHINE }
}

/// Machines of `vcpus` vCPUs in every way that an APIC can be worked on.
fn ways(vcpus: u32) -> impl Iterator<Item = Bench> {
    [(false, false), (true, false), (false, true), (true, true)].into_iter().map(
        move |(x2apic, avic)| {
            let mut bench = Bench::of(&MACHINE, vcpus, if avic { FEATURES } else { NO_AVIC }, None);
            for n in 0..vcpus {
                if x2apic {
                    bench.x2apic(n);
                }
                // What a new vCPU asks for by itself.
                bench.evaluate(n);
            }
            bench
        },
    )
}

/// A machine without AVIC.
fn plain() -> Bench {
    ways(1).next().unwrap()
}

impl Bench {
    fn avic(&self) -> bool {
        self.vm.features.avic
    }

    /// A bank of vectors, wherever it is: the one that is highest.
    fn top(&self, n: u32, bank: u16) -> Option<u8> {
        if self.vcpus[n as usize].avic.active {
            return self.page(n).vectors(bank).highest();
        }
        let lapic = &self.vcpus[n as usize].lapic;
        let words = if bank == offset::ISR { lapic.isr() } else { lapic.irr() };
        crate::lapic::Vectors(*words).highest()
    }

    /// An interrupt with `vector` arrives at vCPU `n` and is in service: the processor's doing under AVIC.
    fn serve(&mut self, n: u32, vector: u8) {
        if self.vcpus[n as usize].avic.active {
            self.page(n).set(offset::ISR, vector);
        } else {
            self.vcpus[n as usize].lapic.accept(vector, false);
            self.evaluate(n);
            assert_eq!(self.injected(n), Some(Event::interrupt(vector)));
        }
    }

    /// The first word of the assist page.
    fn word(&self) -> u32 {
        self.ram.read_u64(PAGE).unwrap() as u32
    }

    /// The guest takes the offer: BTR on bit 0. Whether there was one.
    fn take_offer(&mut self) -> bool {
        let word = self.word();
        self.ram.put(PAGE, &(word & !1).to_le_bytes());
        word & 1 != 0
    }

    /// An exit that means nothing.
    fn cpuid(&mut self) {
        let _ = self.injected(0);
        let _ = self.exit(0, ExitCode::CPUID, 0, 0);
    }
}

/// Puts an entry of the IOAPIC in place.
fn route(bench: &mut Bench, pin: u8, low: u32) {
    let vm: &Vm<'static> = &bench.vm;
    vm.with_devices(&mut bench.vcpus[0], Ns(1), |devices| {
        devices.ioapic.write_mmio(0, 4, u32::from(0x10 + 2 * pin));
        let _ = devices.ioapic.write_mmio(0x10, 4, low);
    });
    bench.map_changed(0);
}

/// Raises a line of the IOAPIC.
fn raise(bench: &mut Bench, pin: u8) {
    let vm: &Vm<'static> = &bench.vm;
    let message = vm.devices().ioapic.set_line(pin, true).expect("the line sends");
    vm.with_devices(&mut bench.vcpus[0], Ns(1), |_| ());
    let vcpu = &mut bench.vcpus[0];
    vm.deliver(vcpu, &mut vm.devices().ioapic, message);
}

/// Whether a level-triggered entry awaits its EOI.
fn remote_irr(bench: &Bench, pin: u8) -> bool {
    let mut devices = bench.vm.devices();
    devices.ioapic.write_mmio(0, 4, u32::from(0x10 + 2 * pin));
    devices.ioapic.read_mmio(0x10, 4) & 1 << 14 != 0
}
