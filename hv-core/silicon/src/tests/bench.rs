//! A bench: memory, tables and one core in guest mode, for a VM of a few vCPUs.

use crate::{
    Access, AvicMode, Boundary, Enumeration, Exit, Gate, Knobs, Memory, Outcome, Processor, Rip,
    Silicon, Taken,
};
use std::sync::atomic::{AtomicU64, Ordering, fence};
use trapline_defs::apic::offset;
use trapline_defs::avic::{FailureId, IncompleteIpi, LogicalEntry, NoAccel, PhysicalEntry};
use trapline_defs::cpuid::SvmFeatures;
use trapline_defs::exit_code::ExitCode;
use trapline_defs::intercept::Word3;
use trapline_defs::vmcb::{ControlArea, NestedControl, Vmcb};

/// First byte of the memory of a bench.
const BASE: u64 = 0x10_0000;
/// Physical table, eight pages.
pub const TABLE: u64 = BASE;
/// Logical table.
pub const LOGICAL: u64 = BASE + 0x8000;
/// A page that holds nothing the model should touch.
pub const SCRATCH: u64 = BASE + 0x9000;
/// Backing pages, by guest APIC id.
const PAGES: u64 = BASE + 0x1_0000;
/// vCPUs with a backing page of their own.
pub const VCPUS: u16 = 8;
const END: u64 = PAGES + VCPUS as u64 * 0x1000;
/// The APIC page's guest-physical address.
pub const BAR: u64 = 0xfee0_0000;
/// Physical address of the bench's VMCB.
pub const VMCB: u64 = 0x7000;
/// Width of physical addresses.
pub const PHYSICAL_BITS: u8 = 40;

/// Memory that several threads may use. Touching anything outside is a failure.
pub struct Ram(Vec<AtomicU64>);

impl Ram {
    pub fn new() -> Self {
        Self((0..(END - BASE) / 8).map(|_| AtomicU64::new(0)).collect())
    }

    fn cell(&self, address: u64) -> &AtomicU64 {
        assert!((BASE..END).contains(&address), "touched {address:#x}, where there is no memory");
        &self.0[((address - BASE) / 8) as usize]
    }

    pub fn store64(&self, address: u64, value: u64) {
        self.cell(address).store(value, Ordering::SeqCst);
    }

    pub fn words(&self) -> Vec<u64> {
        self.0.iter().map(|word| word.load(Ordering::SeqCst)).collect()
    }

    /// An entry of the physical table.
    pub fn set_entry(&self, id: u16, entry: PhysicalEntry) {
        self.store64(TABLE + u64::from(id) * 8, entry.into_bits());
    }

    pub fn set_logical(&self, index: u16, entry: LogicalEntry) {
        self.store32(LOGICAL + u64::from(index) * 4, entry.into_bits());
    }

    pub fn reg(&self, id: u16, offset: u16) -> u32 {
        self.load32(page(id) + u64::from(offset))
    }

    pub fn set_reg(&self, id: u16, offset: u16, value: u32) {
        self.store32(page(id) + u64::from(offset), value);
    }

    pub fn has(&self, id: u16, bank: u16, vector: u8) -> bool {
        self.reg(id, bank + u16::from(vector / 32) * 16) >> (vector % 32) & 1 != 0
    }

    /// Sets a vector as a hypervisor or another core does: no doorbell.
    pub fn set(&self, id: u16, bank: u16, vector: u8) {
        let word = page(id) + u64::from(bank) + u64::from(vector / 32) * 16;
        self.fetch_or32(word, 1 << (vector % 32));
    }

    pub fn clear(&self, id: u16, bank: u16, vector: u8) {
        let word = page(id) + u64::from(bank) + u64::from(vector / 32) * 16;
        self.fetch_and32(word, !(1 << (vector % 32)));
    }

    /// Every vector in a bank of any vCPU.
    pub fn all(&self, bank: u16) -> Vec<(u16, u8)> {
        let every = (0..VCPUS).flat_map(|id| (0..=255).map(move |vector| (id, vector)));
        every.filter(|&(id, vector)| self.has(id, bank, vector)).collect()
    }
}

impl Memory for Ram {
    fn load32(&self, address: u64) -> u32 {
        (self.cell(address).load(Ordering::Acquire) >> (8 * (address & 4))) as u32
    }

    fn store32(&self, address: u64, value: u32) {
        let shift = 8 * (address & 4);
        let (mask, value) = (!(u64::from(!0u32) << shift), u64::from(value) << shift);
        let store = |old: u64| Some(old & mask | value);
        self.cell(address).fetch_update(Ordering::SeqCst, Ordering::SeqCst, store).unwrap();
    }

    fn load64(&self, address: u64) -> u64 {
        self.cell(address).load(Ordering::Acquire)
    }

    fn fetch_or32(&self, address: u64, bits: u32) -> u32 {
        let shift = 8 * (address & 4);
        (self.cell(address).fetch_or(u64::from(bits) << shift, Ordering::SeqCst) >> shift) as u32
    }

    fn fetch_and32(&self, address: u64, bits: u32) -> u32 {
        let shift = 8 * (address & 4);
        let bits = u64::from(bits) << shift | !(u64::from(!0u32) << shift);
        (self.cell(address).fetch_and(bits, Ordering::SeqCst) >> shift) as u32
    }

    fn barrier(&self) {
        fence(Ordering::SeqCst);
    }
}

/// The backing page of a guest APIC id.
pub fn page(id: u16) -> u64 {
    PAGES + u64::from(id) * 0x1000
}

/// The host APIC id of the core that runs a vCPU.
pub fn host(id: u16) -> u16 {
    0x100 + id
}

/// A machine that has everything.
pub fn machine() -> Enumeration {
    Enumeration { edx: SvmFeatures::all(), x2avic_ext: true }
}

pub fn silicon(name: &str) -> Silicon {
    Silicon::read(name, machine()).unwrap()
}

pub struct Bench {
    pub ram: Ram,
    pub cpu: Processor,
    pub control: ControlArea,
    pub rung: Vec<u16>,
    id: u16,
}

impl Bench {
    /// vCPU 0 of a VM with vCPUs 0 to 3 running, all with entries in both tables, on Zen 5. Not
    /// entered yet.
    pub fn ready(mode: AvicMode) -> Self {
        Self::on(silicon("zen5"), mode)
    }

    pub fn on(silicon: Silicon, mode: AvicMode) -> Self {
        let ram = Ram::new();
        for id in 0..VCPUS {
            let x2apic = mode == AvicMode::X2Avic;
            ram.set_reg(id, offset::ID, u32::from(id) << if x2apic { 0 } else { 24 });
            ram.set_reg(id, offset::DFR, !0);
            ram.set_reg(id, offset::SVR, 0x1ff);
        }
        for id in 0..4 {
            ram.set_entry(id, PhysicalEntry::running(page(id), host(id)));
            ram.set_logical(id, LogicalEntry::new().with_guest_id(id as u8).with_valid(true));
        }
        let mut control = Vmcb::zeroed().control;
        control.nested_control = NestedControl::NP_ENABLE;
        control.intercept_3 = Word3::INTR | Word3::NMI;
        control.avic_apic_bar = BAR;
        control.avic_backing_page = page(0);
        control.avic_logical_table = LOGICAL;
        control.avic_physical_table = TABLE | u64::from(VCPUS - 1);
        control.v_intr = control
            .v_intr
            .with_avic_enable(mode != AvicMode::Off)
            .with_x2avic_enable(mode == AvicMode::X2Avic);
        let cpu = Processor::new(silicon, Knobs::default(), host(0), PHYSICAL_BITS);
        Self { ram, cpu, control, rung: Vec::new(), id: 0 }
    }

    /// [`Bench::ready`], entered.
    pub fn new(mode: AvicMode) -> Self {
        let mut bench = Self::ready(mode);
        bench.enter();
        bench
    }

    /// Both interfaces, entered.
    pub fn both() -> [Self; 2] {
        [Self::new(AvicMode::XAvic), Self::new(AvicMode::X2Avic)]
    }

    /// VMRUN; must succeed.
    pub fn enter(&mut self) {
        self.cpu.vmrun(VMCB, &self.control, &self.ram).unwrap();
    }

    /// #VMEXIT, a change by the hypervisor, VMRUN.
    pub fn reenter(&mut self, change: impl FnOnce(&mut ControlArea, &Ram)) {
        self.cpu.vmexit(&mut self.control);
        change(&mut self.control, &self.ram);
        self.enter();
    }

    /// Makes the bench's core run another vCPU of the VM.
    pub fn become_vcpu(&mut self, id: u16) {
        self.id = id;
        self.control.avic_backing_page = page(id);
    }

    pub fn is_x2(&self) -> bool {
        self.cpu.avic() == AvicMode::X2Avic
    }

    /// A read of a register, by whichever interface.
    pub fn read(&self, offset: u16) -> Outcome<u64> {
        if self.is_x2() {
            return self.cpu.read_msr(offset::to_msr(offset), Gate::OPEN, &self.ram);
        }
        match self.cpu.read_mmio(Access::dword(offset), &self.ram) {
            Outcome::Absorbed(value) => Outcome::Absorbed(u64::from(value)),
            Outcome::Exit(exit) => Outcome::Exit(exit),
            Outcome::Gp => Outcome::Gp,
            Outcome::Physical => Outcome::Physical,
            Outcome::Undefined => Outcome::Undefined,
        }
    }

    /// A write of a register, by whichever interface.
    pub fn write(&mut self, offset: u16, value: u64) -> Outcome {
        let ring = |host| self.rung.push(host);
        if self.cpu.avic() == AvicMode::X2Avic {
            self.cpu.write_msr(offset::to_msr(offset), value, Gate::OPEN, &self.ram, ring)
        } else {
            self.cpu.write_mmio(Access::dword(offset), value as u32, &self.ram, ring)
        }
    }

    /// A write of the ICR: low half and destination.
    pub fn send(&mut self, low: u32, destination: u32) -> Outcome {
        if self.is_x2() {
            return self.write(offset::ICR, u64::from(destination) << 32 | u64::from(low));
        }
        assert_eq!(self.write(offset::ICR_HIGH, u64::from(destination << 24)), DONE);
        self.write(offset::ICR, u64::from(low))
    }

    /// The exit 401h that [`Bench::send`] of this would come to.
    pub fn incomplete(&self, low: u32, destination: u32, id: FailureId, index: u16) -> Outcome {
        let high = if self.is_x2() { destination } else { destination << 24 };
        Outcome::Exit(Exit {
            code: ExitCode::AVIC_INCOMPLETE_IPI,
            info_1: u64::from(high) << 32 | u64::from(low),
            info_2: IncompleteIpi::because(id, index).into_bits(),
            rip: Rip::After,
        })
    }

    /// What is taken with IF=1, no shadow and nothing physical pending.
    pub fn boundary(&mut self) -> Taken {
        self.at(OPEN)
    }

    pub fn at(&mut self, at: Boundary) -> Taken {
        self.cpu.boundary(at, &self.ram)
    }

    pub fn doorbell(&mut self) {
        self.cpu.doorbell(&self.ram);
    }

    pub fn own(&self, offset: u16) -> u32 {
        self.ram.reg(self.id, offset)
    }
}

/// Interrupts on, nothing physical.
pub const OPEN: Boundary = Boundary {
    interrupts: true,
    shadow: false,
    host_interrupts: true,
    physical_interrupt: false,
    physical_nmi: false,
};

pub const DONE: Outcome = Outcome::Absorbed(());

/// Exit 402h.
pub fn no_accel(offset: u16, write: bool, rip: Rip) -> Exit {
    let info_1 = NoAccel::at(offset, write).into_bits();
    Exit { code: ExitCode::AVIC_NOACCEL, info_1, info_2: 0, rip }
}

/// Exit 402h of a write that took place.
pub fn trap(offset: u16) -> Outcome {
    Outcome::Exit(no_accel(offset, true, Rip::After))
}

/// Exit 402h of a write that did not.
pub fn fault(offset: u16) -> Outcome {
    Outcome::Exit(no_accel(offset, true, Rip::At))
}

/// The failure id and index of exit 401h.
pub fn failure(outcome: Outcome) -> (FailureId, u16) {
    match outcome {
        Outcome::Exit(exit) if exit.code == ExitCode::AVIC_INCOMPLETE_IPI => {
            let word = IncompleteIpi::from_bits(exit.info_2);
            (word.id(), word.index())
        }
        other => panic!("not an incomplete IPI: {other:?}"),
    }
}
