//! Everybody sends IPIs to everybody. Each sender has its own vector, and waits until its last one to
//! the same target was counted: edges cannot merge, so all must come, once.
#![no_std]
#![no_main]

use guest_payloads::count::{Count, Counts};
use guest_payloads::{apic, barrier, call, cpu, interrupt, payload, smp};

payload! {
    about: "Every vCPU sends IPIs to every other one; each counts them by sender.";
    number n = 50, "IPIs from each to each.";
    choice mode: Mode { X2Apic = "x2apic", XApic = "xapic" } = "x2apic", "The APIC's mode.";
    run: run;
}

/// That of the first vCPU; the others' follow.
const VECTOR: u8 = 0x48;

static N: Count = Count::new();
/// IPIs that came: by target, then by sender.
static CAME: [Counts; smp::MAX_VCPUS] = [const { Counts::new() }; smp::MAX_VCPUS];

fn handler(vector: u8) {
    CAME[smp::number() as usize].of(u32::from(vector - VECTOR)).add();
    apic::eoi();
}

fn others(me: u32) -> impl Iterator<Item = u32> {
    (0..smp::vcpus()).filter(move |&other| other != me)
}

fn storm(me: u32) {
    let n = N.get();
    let mine = &CAME[me as usize];
    barrier::meet();
    call::begin("storm");
    cpu::sti();
    for sent in 0..n {
        for other in others(me) {
            cpu::wait_until(|| CAME[other as usize].of(me).get() >= sent);
            smp::send(other, VECTOR + me as u8);
        }
    }
    cpu::cli();
    while others(me).any(|other| mine.of(other).get() < n) {
        cpu::sti_hlt();
        cpu::cli();
    }
    call::end();
    barrier::meet();
}

fn run(Params { n, mode }: Params) {
    assert!(smp::vcpus() > 1, "this payload needs `vcpus = 2` or more");
    apic::open(apic::Mode::xapic_if(mode == Mode::XApic));
    interrupt::on_each(VECTOR..VECTOR + smp::MAX_VCPUS as u8, handler);
    N.set(n);
    smp::start(storm);
    storm(0);
    for target in 0..smp::vcpus() {
        for sender in 0..smp::vcpus() {
            let expected = if sender == target { 0 } else { n };
            call::check("IPIs of one sender", expected, CAME[target as usize].of(sender).get());
        }
    }
}
