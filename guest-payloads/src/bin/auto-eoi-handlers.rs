//! AutoEOI as its handlers see it: nothing is in service, nothing is owed, and what else is in service stays
//! (spec hyperv.md 3.6).
#![no_std]
#![no_main]

use guest_payloads::count::Count;
use guest_payloads::page::Page;
use guest_payloads::synic::{self, AUTO_EOI, MASKED};
use guest_payloads::{apic, call, cpu, interrupt, ioapic, payload, rtc, smp};
use trapline_defs::apic::offset;

payload! {
    about: "Takes interrupts with and without AutoEOI, nested, behind TPR, cut short, and looks at ISR, IRR and PPR.";
    choice mode: Mode { X2Apic = "x2apic", XApic = "xapic" } = "x2apic", "The APIC's mode.";
    run: run;
}

const LOW: u8 = 0x41;
/// The vector with AutoEOI, and another one of its class.
const AUTO: u8 = 0x61;
const SAME: u8 = 0x62;
const PIN: u8 = 8;
const SINT: u32 = 3;
const SLOT: usize = SINT as usize * 256;
const EOM: u32 = 0x4000_0084;
/// A slot's header: MessagePending.
const PENDING: u64 = 1 << 40;
/// What an interrupt that must not come has to come, in ticks of the TSC.
const PATIENCE: u64 = 50_000;

static MESSAGES: Page = Page::new();
/// The vectors that came, the last one in the low byte.
static CAME: Count = Count::new();
/// What the handler of `AUTO` found: ISR and IRR bits of its vector, and PPR.
static FOUND: Count = Count::new();

fn note(vector: u8) {
    CAME.set(CAME.get() << 8 | u64::from(vector));
}

fn auto_eoi() {
    note(AUTO);
    let bits = u64::from(apic::in_service(AUTO)) | u64::from(apic::requested(AUTO)) << 1;
    FOUND.set(FOUND.get() | bits << 8 | apic::read(offset::PPR));
}

/// The vectors that come while it has interrupts on.
fn auto_eoi_open() {
    note(AUTO);
    apic::self_ipi(SAME);
    apic::self_ipi(LOW);
    cpu::sti_nop();
    cpu::cli();
    note(AUTO);
}

fn auto_eoi_with_stray_eoi() {
    note(AUTO);
    apic::eoi();
}

fn same() {
    note(SAME);
    apic::eoi();
}

fn low() {
    note(LOW);
    apic::eoi();
}

/// Ends nothing.
fn stay() {
    note(LOW);
}

fn set(flags: u64) {
    synic::set_source(0, flags | u64::from(AUTO));
}

/// Lets in what waits: the vectors that came.
fn open() -> u64 {
    CAME.set(0);
    cpu::sti_nop();
    cpu::cli();
    CAME.get()
}

fn take(vector: u8) -> u64 {
    apic::self_ipi(vector);
    open()
}

fn is_in_service(vector: u8) -> u64 {
    apic::in_service(vector).into()
}

fn alone() {
    interrupt::on(AUTO, auto_eoi);
    set(AUTO_EOI);
    FOUND.set(0);
    let first = take(AUTO);
    call::check("HV-082: two without an EOI", 0x6161, first << 8 | take(AUTO));
    call::check("HV-080, HV-081: ISR, IRR and PPR in its handler", 0, FOUND.get());
    set(0);
    let first = take(AUTO);
    call::check("HV-083: the second waits without an EOI", 0x6100, first << 8 | take(AUTO));
    let waits = u64::from(apic::requested(AUTO));
    call::check("HV-083: in service and requested", 3, is_in_service(AUTO) | waits << 1);
    apic::eoi();
    call::check("HV-083: an EOI releases it", 0x61, open());
    apic::eoi();
}

fn nested() {
    set(AUTO_EOI);
    interrupt::on(AUTO, auto_eoi_open);
    interrupt::on(LOW, low);
    interrupt::on(SAME, same);
    call::check("HV-084: its class and a lower one nest", 0x6162_4161, take(AUTO));
    interrupt::on(AUTO, auto_eoi);
    interrupt::on(LOW, stay);
    take(LOW);
    take(AUTO);
    call::check("HV-085: over a lower vector, which stays", 1, is_in_service(LOW));
    apic::eoi();
    call::check("HV-085: until its one EOI", 0, is_in_service(LOW));
    interrupt::on(AUTO, auto_eoi_with_stray_eoi);
    take(LOW);
    take(AUTO);
    call::check("HV-086: a stray EOI ends the lower vector", 0, is_in_service(LOW));
    interrupt::on(AUTO, auto_eoi);
}

fn switched() {
    set(0);
    take(AUTO);
    set(AUTO_EOI);
    call::check("HV-089: switched on in service, it stays so", 1, is_in_service(AUTO));
    apic::eoi();
    call::check("HV-089: until its EOI", 0, is_in_service(AUTO));
    take(AUTO);
    set(0);
    call::check("HV-090: switched off after, nothing is owed", 0, is_in_service(AUTO));
    take(AUTO);
    call::check("HV-090: by the next one it is", 1, is_in_service(AUTO));
    apic::eoi();
    set(AUTO_EOI);
    synic::set_source(1, u64::from(AUTO));
    take(AUTO);
    call::check("HV-088: with a plain source on its vector", 0, is_in_service(AUTO));
    set(AUTO_EOI | MASKED);
    take(AUTO);
    call::check("HV-088: masked, it counts no longer", 1, is_in_service(AUTO));
    apic::eoi();
    synic::set_source(1, MASKED);
}

fn held_back() {
    set(AUTO_EOI);
    apic::write(offset::TPR, 0x60);
    call::check("HV-092: TPR of its class holds it back", 0, take(AUTO));
    call::check("HV-092: it is requested", 1, apic::requested(AUTO).into());
    apic::write(offset::TPR, 0x50);
    call::check("HV-092: TPR below its class lets it in", 0x61, open());
    apic::write(offset::TPR, 0);
}

fn cut_short() {
    call::evict(interrupt::idt_page());
    call::check("HV-091: with the IDT's page away it comes once", 0x61, take(AUTO));
    call::check("HV-091: and not again", 0, open());
}

/// The RTC's line, level-triggered, as in payload `level-irq`.
fn beside_the_ioapic() {
    interrupt::on(LOW, stay);
    rtc::write(rtc::A, 0x26);
    ioapic::write_low_half(PIN, ioapic::LEVEL | u64::from(LOW));
    rtc::write(rtc::B, rtc::HOURS_24 | rtc::PIE);
    let awaits = || ioapic::low_half(PIN) & ioapic::REMOTE_IRR != 0;
    cpu::wait_until(awaits);
    open();
    take(AUTO);
    call::check("HV-093: the IOAPIC hears of no EOI", 1, awaits().into());
    rtc::write(rtc::B, rtc::HOURS_24);
    apic::eoi();
    call::check("HV-093: until there is one", 0, awaits().into());
    ioapic::mask(PIN);
}

fn behind_a_full_slot() {
    set(MASKED);
    synic::set_message_page(MESSAGES.address());
    synic::set_source(SINT, AUTO_EOI | u64::from(AUTO));
    MESSAGES.write(SLOT, 1);
    synic::timer::configure(synic::timer::AUTO_ENABLE | synic::timer::sint(SINT));
    CAME.set(0);
    cpu::sti();
    // Long past.
    synic::timer::arm(1);
    smp::rest(PATIENCE);
    call::check("HV-095: nothing comes to a full slot", 0, CAME.get());
    call::check("HV-095: which says that more wait", 1 | PENDING, MESSAGES.read(SLOT));
    MESSAGES.write(SLOT, 0);
    apic::eoi();
    apic::eoi();
    smp::rest(PATIENCE);
    call::check("HV-095: EOIs do not matter", 0, CAME.get() | MESSAGES.read(SLOT));
    cpu::write_msr(EOM, 0);
    smp::rest(PATIENCE);
    cpu::cli();
    call::check("HV-095: EOM brings it", 0x61, CAME.get());
    call::check("HV-095: with its message", 24 << 32 | 0x8000_0010, MESSAGES.read(SLOT));
}

fn run(Params { mode }: Params) {
    apic::open(apic::Mode::xapic_if(mode == Mode::XApic));
    synic::identify();
    alone();
    nested();
    switched();
    held_back();
    cut_short();
    beside_the_ioapic();
    behind_a_full_slot();
}
