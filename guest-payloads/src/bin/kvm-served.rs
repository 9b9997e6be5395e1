//! What of KVM's interface is there, by what CPUID offers and by whether the host enforces that (HC-1, HC-3, HC-5,
//! HC-8, PVC-2).
#![no_std]
#![no_main]

use guest_payloads::count::Count;
use guest_payloads::kvm::{self, Offer, StealTime, feature, number};
use guest_payloads::page::Page;
use guest_payloads::{apic, call, cpu, interrupt, payload};
use trapline_defs::msr::{
    KVM_POLL_CONTROL, KVM_PV_EOI, KVM_STEAL_TIME, KVM_SYSTEM_TIME, KVM_SYSTEM_TIME_OLD,
    KVM_WALL_CLOCK, KVM_WALL_CLOCK_OLD,
};

payload! {
    about: "Tries each MSR and hypercall of KVM's: which fault, and which answer.";
    choice enforced: Enforced { No = "no", Yes = "yes" } = "no", "The host serves what CPUID offers only.";
    choice hyperv: HyperV { No = "no", Yes = "yes" } = "no", "The guest can become one of Hyper-V.";
    run: run;
}

const GUEST_OS_ID: u32 = 0x4000_0000;
const VECTOR: u8 = 0x51;
const ENOSYS: i64 = -1000;
const EINVAL: i64 = -22;
/// Bit 11 of an ICR, and the shorthand for oneself.
const LOGICAL: u64 = 1 << 11;
const SELF: u64 = 1 << 18;

/// Each MSR with the feature bit that offers it.
const MSRS: [(u32, u32); 7] = [
    (KVM_WALL_CLOCK_OLD, feature::CLOCK_OLD),
    (KVM_SYSTEM_TIME_OLD, feature::CLOCK_OLD),
    (KVM_WALL_CLOCK, feature::CLOCK),
    (KVM_SYSTEM_TIME, feature::CLOCK),
    (KVM_STEAL_TIME, feature::STEAL_TIME),
    (KVM_PV_EOI, feature::PV_EOI),
    (KVM_POLL_CONTROL, feature::POLL_CONTROL),
];
/// Each call, with arguments that do nothing; the yield is to oneself, and so is the kick.
const CALLS: [(u64, u32); 3] = [
    (number::KICK_CPU, feature::PV_UNHALT),
    (number::SEND_IPI, feature::PV_IPI),
    (number::SCHED_YIELD, feature::SCHED_YIELD),
];
const WRMSR_LENGTH: u64 = 2;

const NMI: u8 = 2;
const NMI_MODE: u64 = 4 << 8;

static NMIS: Count = Count::new();
static PAGE: Page = Page::new();

fn write_faults(msr: u32, value: u64) -> bool {
    interrupt::may_fault(WRMSR_LENGTH, || cpu::write_msr(msr, value))
}

fn read_faults(msr: u32) -> bool {
    interrupt::may_fault(WRMSR_LENGTH, || {
        cpu::read_msr(msr);
    })
}

fn run(Params { enforced, hyperv }: Params) {
    apic::open(apic::Mode::X2Apic);
    let offer = Offer::find().unwrap_or(Offer { features: 0, hints: 0 });
    let is_served = |bit| enforced == Enforced::No || offer.has(bit);
    let mask = |is_one: &dyn Fn(u32, u32) -> bool| {
        let bit = |at: usize| u64::from(is_one(MSRS[at].0, MSRS[at].1)) << at;
        (0..MSRS.len()).map(bit).sum::<u64>()
    };
    let expected = mask(&|_, bit| !is_served(bit));
    call::check(
        "HC-5 MSRs that fault when read, one bit each",
        expected,
        mask(&|msr, _| read_faults(msr)),
    );
    // 0 turns each off, and poll control, too.
    call::check(
        "HC-5 MSRs that fault when written",
        expected,
        mask(&|msr, _| write_faults(msr, 0)),
    );
    for (number, bit) in CALLS {
        let expected = if is_served(bit) { 0 } else { ENOSYS };
        let answer = kvm::hypercall(number, [0; 4]);
        call::check("HC-5 what a hypercall answers", expected as u64, answer as u64);
    }
    for (number, expected) in [(1, 0), (2, ENOSYS), (12, ENOSYS), (1 << 32 | 10, ENOSYS)] {
        let answer = kvm::hypercall(number, [0; 4]);
        call::check("HC-8 calls that nothing hides", expected as u64, answer as u64);
    }
    if is_served(feature::PV_IPI) {
        for wrong in [LOGICAL, SELF] {
            let answer = kvm::send_ipi(1, 0, wrong | u64::from(VECTOR));
            call::check("HC-3 a destination that is not physical", EINVAL as u64, answer as u64);
        }
        call::check("HC-3 nothing was sent", 0, apic::requested(VECTOR).into());
        interrupt::on(NMI, || NMIS.add());
        call::check(
            "HC-4 who accepts an NMI by hypercall",
            1,
            kvm::send_ipi(1, 0, NMI_MODE) as u64,
        );
        call::check("HC-4 NMIs that came", 1, NMIS.get());
        call::check("HC-4 ids that nobody has", 0, kvm::send_ipi(!1, 0, VECTOR.into()) as u64);
    }
    if is_served(feature::POLL_CONTROL) && is_served(feature::STEAL_TIME) {
        values();
    }
    if hyperv == HyperV::Yes {
        beside_hyperv();
    }
}

/// Values that MSRs take and do not take.
fn values() {
    let poll = |value| (write_faults(KVM_POLL_CONTROL, value), cpu::read_msr(KVM_POLL_CONTROL));
    call::check("PVC-2 poll control takes 1", 1, poll(1).1);
    let (faults, value) = poll(2);
    call::check("PVC-2 poll control does not take 2", 1 << 1 | 1, u64::from(faults) << 1 | value);
    let page = PAGE.address();
    let faults =
        (1..6).map(|bit| u64::from(write_faults(KVM_STEAL_TIME, page | 1 | 1 << bit))).sum();
    call::check("PVC-2 bits of steal time's address that fault", 5, faults);
    StealTime::open();
    call::check("PVC-2 steal time is written at once", 2, StealTime::of(0).version().into());
}

/// A guest that says who it is to Hyper-V speaks to Hyper-V from then on.
fn beside_hyperv() {
    let to_self = || kvm::send_ipi(1, 0, VECTOR.into());
    cpu::write_msr(GUEST_OS_ID, 1);
    to_self();
    call::check(
        "HC-1 hypercall 10 of a guest of Hyper-V sends nothing",
        0,
        apic::requested(VECTOR).into(),
    );
    cpu::write_msr(GUEST_OS_ID, 0);
    call::check("HC-1 and of another one it does", 1, to_self() as u64);
    call::check("HC-1 its IPI is there", 1, apic::requested(VECTOR).into());
}
