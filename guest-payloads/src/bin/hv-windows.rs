//! What Windows does with the SynIC and the first synthetic timer when it starts (spec hyperv.md 4.4, 5.4).
#![no_std]
#![no_main]

use guest_payloads::count::Count;
use guest_payloads::page::Page;
use guest_payloads::rule::Rule;
use guest_payloads::{
    apic, barrier, call, cpu, hypercall, interrupt, payload, reference, smp, synic,
};
use trapline_abi::call::Query;

payload! {
    about: "Sets up sources on every vCPU and a timer on the first one, as Windows does, and takes ticks.";
    number n = 20, "How many ticks.";
    number period = 1000, "Units of 100 ns from one tick to the next.";
    run: run;
}

/// KiHvInterrupt's vector, for sources 0, 1 and 4 of kernels of about 2017 and 2018.
const SHARED: u64 = 0x30;
const OLD_SOURCES: [u32; 3] = [0, 1, 4];
/// The clock's vector and source; it never has AutoEOI.
const CLOCK: u8 = 0xd1;
const CLOCK_SOURCE: u32 = 3;
/// Leaf 4000_0004h EAX: AutoEOI is deprecated.
const NO_AUTO_EOI: u32 = 1 << 9;
/// KVM's bit of the HYPERV reason.
const HYPERV: u64 = 1 << 1;

static MESSAGES: Page = Page::new();
static TICKS: Count = Count::new();
static EOMS: Count = Count::new();
static EARLY: Count = Count::new();

/// The clock's handler: empties the slot, asks for what waits behind it, ends the interrupt.
fn tick() {
    const SLOT: usize = CLOCK_SOURCE as usize * 256;
    let header = MESSAGES.read(SLOT);
    EARLY.add_if(reference::by_page() < MESSAGES.read(SLOT + 24));
    MESSAGES.write(SLOT, header >> 32 << 32);
    if header >> 40 & 1 != 0 {
        EOMS.add();
        cpu::write_msr(synic::EOM, 0);
    }
    TICKS.add();
    apic::eoi();
}

/// On each processor, at its start.
fn old_sources() {
    let [eax, ..] = cpu::cpuid(0x4000_0004);
    let flags = if eax & NO_AUTO_EOI == 0 { synic::AUTO_EOI } else { 0 };
    for source in OLD_SOURCES {
        synic::set_source(source, SHARED | flags);
    }
}

fn other(_number: u32) {
    old_sources();
    barrier::meet();
}

fn run(Params { n, period }: Params) {
    apic::open(apic::Mode::X2Apic);
    interrupt::on(CLOCK, tick);
    hypercall::open();
    smp::start(other);
    old_sources();
    barrier::meet();
    let [eax, ..] = cpu::cpuid(0x4000_0004);
    let users = || call::query(Query::AutoEoiCount).unwrap_or(u64::MAX);
    let inhibited =
        || u64::from(call::query(Query::ApicvInhibits).is_some_and(|m| m & HYPERV != 0));
    if eax & NO_AUTO_EOI == 0 {
        let mut rule = Rule::new("HV-240 every vCPU uses AutoEOI");
        rule.is(smp::vcpus().into(), users()).is(1, inhibited());
        drop(rule);
        let mut rule = Rule::new("HV-242 one of three sources masked again");
        synic::set_source(0, synic::MASKED);
        rule.is(smp::vcpus().into(), users()).is(1, inhibited());
    } else {
        Rule::new("HV-241 nobody uses AutoEOI").is(0, users()).is(0, inhibited());
    }
    ticks(n, period);
    Rule::new("HV-247 an extended call, not offered").is(6, hypercall::call(0x8001, 0, 0));
}

/// SIMP, SINT3, STIMER0_CONFIG; SCONTROL is not touched. Then one write a tick.
fn ticks(n: u64, period: u64) {
    reference::open();
    synic::set_message_page(MESSAGES.address());
    synic::set_source(CLOCK_SOURCE, CLOCK.into());
    synic::timer::configure(synic::timer::sint(CLOCK_SOURCE) | synic::timer::AUTO_ENABLE);
    call::begin("ticks");
    for count in 1..=n {
        synic::timer::arm(reference::by_page() + period);
        while TICKS.get() < count {
            cpu::sti_hlt();
            cpu::cli();
        }
    }
    call::end();
    let mut rule = Rule::new("HV-243 ticks without a write to SCONTROL");
    rule.is(n, TICKS.get()).is(0, EARLY.get());
    drop(rule);
    Rule::new("HV-244 EOMs for lone ticks").is(0, EOMS.get());
}
