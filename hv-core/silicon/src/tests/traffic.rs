//! Several vCPUs under random traffic, against a second, simpler description of the same machine.
//!
//! Held after every step: IRR and ISR of every vCPU are what the simple description says, so no
//! vector is lost, invented or delivered twice; the PPR follows TPR and ISR; what is delivered
//! outranks V_TPR and what is in service. At the end every bell is heard and every vCPU runs with
//! TPR 0: nothing may be left.

use super::bench::{Bench, DONE, OPEN, PHYSICAL_BITS, Ram, VMCB, host, page, silicon};
use crate::{AvicMode, Boundary, Knobs, Outcome, Processor, Taken};
use proptest::prelude::*;
use std::collections::BTreeSet;
use trapline_defs::apic::{DFR_CLUSTER, offset};
use trapline_defs::avic::{FailureId, IncompleteIpi, LogicalEntry, PhysicalEntry};
use trapline_defs::exit_code::ExitCode;
use trapline_defs::vmcb::ControlArea;

const CORES: u16 = 4;

type Set = BTreeSet<u8>;

struct Machine {
    bench: Bench,
    mode: AvicMode,
    clustered: bool,
    cores: Vec<(Processor, ControlArea)>,
    /// Doorbells on their way.
    bells: Vec<u16>,
    requested: [Set; CORES as usize],
    serving: [Set; CORES as usize],
}

impl Machine {
    fn new(mode: AvicMode, clustered: bool) -> Self {
        let bench = Bench::ready(mode);
        let mut machine = Self {
            mode,
            clustered,
            cores: Vec::new(),
            bells: Vec::new(),
            requested: Default::default(),
            serving: Default::default(),
            bench,
        };
        for id in 0..CORES {
            if clustered {
                // Two clusters of two.
                machine.ram().set_reg(id, offset::DFR, DFR_CLUSTER);
                machine.ram().set_logical(id, LogicalEntry::new());
            }
            let mut control = machine.bench.control;
            control.avic_backing_page = page(id);
            let knobs = Knobs::default();
            let cpu = Processor::new(silicon("zen5"), knobs, host(id), PHYSICAL_BITS);
            machine.cores.push((cpu, control));
        }
        for id in (0..CORES).filter(|_| clustered) {
            let entry = LogicalEntry::new().with_guest_id(id as u8).with_valid(true);
            machine.ram().set_logical(4 * (id / 2) + id % 2, entry);
        }
        (0..CORES).for_each(|id| machine.run(id));
        machine
    }

    fn ram(&self) -> &Ram {
        &self.bench.ram
    }

    /// Load and VMRUN.
    fn run(&mut self, id: u16) {
        self.ram().set_entry(id, PhysicalEntry::running(page(id), host(id)));
        let (cpu, control) = &mut self.cores[usize::from(id)];
        cpu.vmrun(VMCB + u64::from(id) * 0x1000, control, &self.bench.ram).unwrap();
    }

    /// #VMEXIT and put.
    fn park(&mut self, id: u16) {
        let (cpu, control) = &mut self.cores[usize::from(id)];
        cpu.vmexit(control);
        self.ram().set_entry(id, PhysicalEntry::parked(page(id)).with_host_id(host(id)));
    }

    fn in_guest(&self, id: u16) -> bool {
        self.cores[usize::from(id)].0.in_guest()
    }

    fn write(&mut self, id: u16, register: u16, value: u64) -> Outcome {
        let (cpu, _) = &mut self.cores[usize::from(id)];
        let (ram, bells) = (&self.bench.ram, &mut self.bells);
        let ring = |host: u16| bells.push(host - 0x100);
        if self.mode == AvicMode::X2Avic {
            let msr = offset::to_msr(register);
            cpu.write_msr(msr, value, crate::Gate::OPEN, ram, ring)
        } else {
            cpu.write_mmio(crate::Access::dword(register), value as u32, ram, ring)
        }
    }

    /// The APICs that a command names, or `None` if it names one that is not there. Asks of each
    /// APIC whether the destination is meant for it.
    fn named(&self, sender: u16, low: u32, destination: u32) -> Option<Vec<u16>> {
        let x2 = self.mode == AvicMode::X2Avic;
        let ids = 0..CORES;
        let everyone = destination == if x2 { !0 } else { 0xff };
        match (low >> 18 & 3, low >> 11 & 1) {
            (1, _) => Some(vec![sender]),
            (2, _) => Some(ids.collect()),
            (3, _) => Some(ids.filter(|&id| id != sender).collect()),
            _ if everyone => Some(ids.collect()),
            (_, 0) => (destination < u32::from(CORES)).then(|| vec![destination as u16]),
            _ => {
                let logical = |id: u16| match (x2, self.clustered) {
                    (true, _) => (u32::from(id >> 4) << 16, 1 << (id & 0xf)),
                    (false, false) => (0, 1 << id),
                    (false, true) => (u32::from(id / 2) << 4, 1 << (id % 2)),
                };
                let (mask, bits) = match (x2, self.clustered) {
                    (true, _) => (0xffff_0000, destination & 0xffff),
                    (false, false) => (0, destination),
                    (false, true) => (0xf0, destination & 0xf),
                };
                let in_cluster = |id: &u16| logical(*id).0 == destination & mask;
                let known = ids.clone().filter(in_cluster).fold(0, |all, id| all | logical(id).1);
                let missing = bits & !known != 0 || (!x2 && self.clustered && destination > 0xef);
                let meant = |id: &u16| in_cluster(id) && logical(*id).1 & bits != 0;
                (!missing).then(|| ids.filter(meant).collect())
            }
        }
    }

    fn send(&mut self, id: u16, low: u32, destination: u32) {
        let x2 = self.mode == AvicMode::X2Avic;
        let sent = if x2 {
            self.write(id, offset::ICR, u64::from(destination) << 32 | u64::from(low))
        } else {
            assert_eq!(self.write(id, offset::ICR_HIGH, u64::from(destination << 24)), DONE);
            self.write(id, offset::ICR, u64::from(low))
        };
        let failure = match sent {
            Outcome::Absorbed(()) => None,
            Outcome::Exit(exit) if exit.code == ExitCode::AVIC_INCOMPLETE_IPI => {
                Some(IncompleteIpi::from_bits(exit.info_2).id())
            }
            other => panic!("{other:?}"),
        };
        let named = self.named(id, low, destination);
        let expected = if low >> 8 & 7 != 0 || low >> 15 & 1 != 0 {
            Some(FailureId::INVALID_TYPE)
        } else if low & 0xff < 16 {
            Some(FailureId::INVALID_VECTOR)
        } else {
            match &named {
                None => Some(FailureId::INVALID_TARGET),
                Some(_) if low >> 18 & 3 == 1 => None,
                Some(ids) => {
                    let parked = ids.iter().any(|&id| !self.in_guest(id));
                    parked.then_some(FailureId::NOT_RUNNING)
                }
            }
        };
        assert_eq!(failure, expected, "ICR {low:#x} to {destination:#x}: {named:?}");
        if matches!(failure, None | Some(FailureId::NOT_RUNNING)) {
            for target in named.unwrap_or_default() {
                self.requested[usize::from(target)].insert(low as u8);
            }
        }
    }

    fn boundary(&mut self, id: u16, at: Boundary) {
        let at_once = self.cores[usize::from(id)].0.interrupt_pending();
        let (cpu, _) = &mut self.cores[usize::from(id)];
        let v_tpr = cpu.v_intr().v_tpr();
        match cpu.boundary(at, &self.bench.ram) {
            Taken::Nothing => assert!(!at_once || !at.interrupts || at.shadow),
            Taken::Interrupt(vector) => {
                let serving = &mut self.serving[usize::from(id)];
                assert_eq!(self.requested[usize::from(id)].last(), Some(&vector));
                assert!(self.requested[usize::from(id)].remove(&vector), "{vector:#x} twice");
                assert!(
                    vector >> 4 > v_tpr && serving.last().is_none_or(|top| vector >> 4 > top >> 4)
                );
                assert!(serving.insert(vector));
                self.check_ppr(id);
            }
            other => panic!("{other:?}"),
        }
    }

    fn eoi(&mut self, id: u16) {
        assert_eq!(self.write(id, offset::EOI, 0), DONE);
        if self.serving[usize::from(id)].pop_last().is_some() {
            self.check_ppr(id);
        }
    }

    fn check_ppr(&self, id: u16) {
        let tpr = self.ram().reg(id, offset::TPR);
        let top = u32::from(self.serving[usize::from(id)].last().copied().unwrap_or(0));
        let ppr = if tpr >> 4 >= top >> 4 { tpr } else { top & 0xf0 };
        assert_eq!(self.ram().reg(id, offset::PPR), ppr);
    }

    fn check(&self) {
        for id in 0..CORES {
            for (bank, expected) in [
                (offset::IRR, &self.requested[usize::from(id)]),
                (offset::ISR, &self.serving[usize::from(id)]),
            ] {
                let mut words = [0u32; 8];
                for &vector in expected {
                    words[usize::from(vector >> 5)] |= 1 << (vector & 31);
                }
                for (word, &bits) in (0u16..).zip(&words) {
                    assert_eq!(self.ram().reg(id, bank + word * 16), bits, "vCPU {id} {bank:#x}");
                }
            }
        }
    }

    fn step(&mut self, bits: u64) {
        let id = (bits >> 4 & 3) as u16;
        let value = (bits >> 8) as u32;
        let at = Boundary { interrupts: value & 3 != 0, shadow: value & 0xc == 0xc, ..OPEN };
        match (bits & 0xf, self.in_guest(id)) {
            (0, true) => self.park(id),
            (0..=3, false) => self.run(id),
            (_, false) => {}
            (1..=6, true) => {
                // Vectors of all classes, mostly plain fixed IPIs to those who exist.
                let vector = value & 0xff;
                let shorthand = if value >> 8 & 3 == 0 { value >> 10 & 3 } else { 0 };
                let odd = if value >> 12 & 0xf == 0 { value >> 16 & 0x87 } else { 0 } << 8;
                let logical = value >> 23 & 1;
                let destination = match bits >> 32 & 0xf {
                    0 => 0xff,
                    1 if self.mode == AvicMode::X2Avic => !0,
                    2 => (bits >> 40 & 0xff) as u32,
                    _ => (bits >> 40 & 0x13) as u32,
                };
                self.send(id, vector | shorthand << 18 | odd | logical << 11, destination);
            }
            (7, true) => {
                let tpr = u64::from(value & 0x7f);
                assert_eq!(self.write(id, offset::TPR, tpr), DONE);
                self.check_ppr(id);
            }
            (8 | 9, true) => self.eoi(id),
            (10..=13, true) => self.boundary(id, at),
            (_, true) => {
                if let Some(target) = self.bells.pop() {
                    self.cores[usize::from(target)].0.doorbell(&self.bench.ram);
                }
            }
        }
        self.check();
    }

    /// Lets everything come to rest.
    fn settle(&mut self) {
        for id in 0..CORES {
            if !self.in_guest(id) {
                self.run(id);
            }
        }
        while let Some(target) = self.bells.pop() {
            self.cores[usize::from(target)].0.doorbell(&self.bench.ram);
        }
        for id in 0..CORES {
            // At most 256 in service and as many requested.
            for _ in 0..512 {
                if self.at_rest(id) {
                    break;
                }
                self.boundary(id, OPEN);
                self.eoi(id);
                assert_eq!(self.write(id, offset::TPR, 0), DONE);
            }
        }
        self.check();
        assert!((0..CORES).all(|id| self.at_rest(id)), "a vector is lost");
    }

    fn at_rest(&self, id: u16) -> bool {
        self.requested[usize::from(id)].is_empty() && self.serving[usize::from(id)].is_empty()
    }
}

proptest! {
    // About a million steps.
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn nothing_is_lost_invented_or_delivered_twice(
        x2apic in any::<bool>(),
        clustered in any::<bool>(),
        steps in prop::collection::vec(any::<u64>(), 0..2000),
    ) {
        let mode = if x2apic { AvicMode::X2Avic } else { AvicMode::XAvic };
        let mut machine = Machine::new(mode, clustered);
        steps.into_iter().for_each(|bits| machine.step(bits));
        machine.settle();
    }
}
