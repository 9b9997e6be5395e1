//! The VP assist page's first bit, NoEoiRequired, where no AVIC is in its way (TLFS 6.0b, EOI assist).
#![no_std]
#![no_main]

use guest_payloads::count::Count;
use guest_payloads::vapic::{self, EOI, VP_ASSIST_PAGE};
use guest_payloads::{apic, call, cpu, interrupt, ioapic, payload, rtc, synic};

payload! {
    about: "Looks at NoEoiRequired in handlers, takes the offer or not, and looks what is in service.";
    choice mode: Mode { X2Apic = "x2apic", XApic = "xapic" } = "x2apic", "The APIC's mode.";
    run: run;
}

const LOW: u8 = 0x41;
const HIGH: u8 = 0x61;
const LINE: u8 = 0x71;
const PIN: u8 = 8;
/// What the page is full of before it is enabled.
const FILLING: u64 = 0xa5a5_a5a5_a5a5_a5a5;
/// Memory ends at 4 MiB.
const NOWHERE: u64 = 4 << 20;

/// What the handlers saw of the bit: four bits each, the last one lowest.
static SEEN: Count = Count::new();

fn note(bit: bool) {
    SEEN.set(SEEN.get() << 4 | u64::from(bit));
}

/// Ends nothing and takes nothing.
fn look() {
    note(vapic::needs_no_eoi());
}

/// As Windows: takes the offer, or writes EOI.
fn end() {
    let taken = vapic::take_offer();
    note(taken);
    if !taken {
        cpu::write_msr(EOI, 0);
    }
}

/// Writes EOI and leaves the bit alone.
fn end_by_apic() {
    note(vapic::needs_no_eoi());
    apic::eoi();
}

/// A lower vector is requested while it runs.
fn request_lower() {
    let before = vapic::needs_no_eoi();
    apic::self_ipi(LOW);
    note(before);
    note(vapic::needs_no_eoi());
    cpu::write_msr(EOI, 0);
}

/// A higher vector comes while it runs and takes its offer; then it ends itself.
fn let_higher_in() {
    note(vapic::needs_no_eoi());
    apic::self_ipi(HIGH);
    cpu::sti_nop();
    cpu::cli();
    // Nobody looked since the higher one's offer was taken: this EOI is the exit that finds both.
    note(vapic::needs_no_eoi());
    cpu::write_msr(EOI, 0);
}

/// Turns the page off, unconsumed.
fn close() {
    note(vapic::needs_no_eoi());
    vapic::close_assist();
}

fn lower_line_and_end() {
    note(vapic::needs_no_eoi());
    rtc::write(rtc::B, rtc::HOURS_24);
    cpu::write_msr(EOI, 0);
}

/// Takes `vector`, which it sends itself: what handlers saw.
fn take(vector: u8) -> u64 {
    apic::self_ipi(vector);
    open()
}

fn open() -> u64 {
    SEEN.set(0);
    cpu::sti_nop();
    cpu::cli();
    SEEN.get()
}

fn in_service() -> u64 {
    let of = |vector| u64::from(apic::in_service(vector));
    of(LOW) | of(HIGH) << 1 | of(LINE) << 2
}

#[inline(never)]
fn write_msr(msr: u32, value: u64) {
    cpu::write_msr(msr, value);
}

fn enable() {
    vapic::fill_assist(FILLING);
    let faults = interrupt::may_fault(2, || write_msr(VP_ASSIST_PAGE, NOWHERE | 1));
    call::check("HV-036: a page outside of RAM faults", 1, faults.into());
    vapic::open_assist(FILLING);
    let page = vapic::assist();
    call::check("HV-036: the first word is zero", FILLING & !0xffff_ffff, page.read(0));
    let changed = (8..4096).step_by(8).filter(|&at| page.read(at) != FILLING).count();
    call::check("HV-036: words behind it that changed", 0, changed as u64);
}

fn run(Params { mode }: Params) {
    apic::open(apic::Mode::xapic_if(mode == Mode::XApic));
    synic::identify();
    interrupt::on(LOW, end);
    interrupt::on(HIGH, end);
    apic::settle(HIGH);
    enable();

    call::check("HV-181: the bit in the handler of an edge", 1, take(HIGH));
    call::check("HV-181: in service at the next exit", 0, in_service());

    interrupt::on(HIGH, end_by_apic);
    interrupt::on(LOW, look);
    take(LOW);
    call::check("HV-185: the bit is seen", 1, take(HIGH));
    call::check("HV-185: one vector retired by the APIC's EOI", 1, in_service());
    call::check("HV-185: and later none", 1, in_service());
    cpu::write_msr(EOI, 0);

    interrupt::on(LOW, end);
    interrupt::on(HIGH, request_lower);
    // 1 before, 0 after the request; then the lower one's own.
    call::check("HV-184: taken back for a lower vector, which comes", 0x101, take(HIGH));
    call::check("HV-184: in service", 0, in_service());

    interrupt::on(LOW, let_higher_in);
    interrupt::on(HIGH, end);
    // The lower one's, the higher one's, and what is left for the lower one.
    call::check("HV-187: it is the highest vector's alone", 0x110, take(LOW));
    call::check("HV-198: one EOI after a taken offer ends both", 0, in_service());

    interrupt::on(HIGH, close);
    call::check("HV-188: the bit is seen", 1, take(HIGH));
    call::check("HV-188: in service with the page off", 2, in_service());
    cpu::write_msr(EOI, 0);
    call::check("HV-188: in service after an EOI", 0, in_service());

    vapic::open_assist(0);
    interrupt::on(LINE, lower_line_and_end);
    rtc::write(rtc::A, 0x26);
    ioapic::write_low_half(PIN, ioapic::LEVEL | u64::from(LINE));
    rtc::write(rtc::B, rtc::HOURS_24 | rtc::PIE);
    cpu::wait_until(|| ioapic::low_half(PIN) & ioapic::REMOTE_IRR != 0);
    call::check("HV-183: the bit in a level-triggered one's handler", 0, open());
    call::check("HV-183: in service", 0, in_service());
    ioapic::mask(PIN);

    synic::set_source(0, synic::AUTO_EOI | u64::from(HIGH));
    interrupt::on(HIGH, look);
    call::check("HV-094: the bit in an AutoEOI vector's handler", 0, take(HIGH));
    call::check("HV-094: in service", 0, in_service());
    call::check("HV-094: the bit afterwards", 0, vapic::needs_no_eoi().into());
}
