//! Hyper-V's MSRs for EOI, ICR and TPR against the registers that they are other names of.
#![no_std]
#![no_main]

use guest_payloads::count::Count;
use guest_payloads::ioapic::{LEVEL, REMOTE_IRR};
use guest_payloads::vapic::{EOI, ICR, TPR};
use guest_payloads::{apic, call, cpu, interrupt, ioapic, payload, rtc, vapic};
use trapline_defs::apic::offset;

payload! {
    about: "Uses EOI, ICR and TPR by Hyper-V's MSRs, and looks at the APIC: faults, shared state, nesting.";
    choice mode: Mode { X2Apic = "x2apic", XApic = "xapic" } = "x2apic", "The APIC's mode.";
    run: run;
}

const LOW: u8 = 0x41;
const HIGH: u8 = 0x61;
const LINE: u8 = 0x71;
const PIN: u8 = 8;
/// Bytes of RDMSR and of WRMSR.
const LENGTH: u64 = 2;
const TO_SELF: u64 = 1 << 18 | 1 << 14;
const BUSY: u64 = 1 << 12;

static CAME: Count = Count::new();

/// Leaves its vector in service.
fn stay() {
    CAME.add();
}

fn end() {
    CAME.add();
    cpu::write_msr(EOI, 0);
}

fn lower_line_and_end() {
    CAME.add();
    rtc::write(rtc::B, rtc::HOURS_24);
    cpu::write_msr(EOI, 0);
}

/// 1 if the write raised `#GP`.
fn refused(msr: u32, value: u64) -> u64 {
    interrupt::may_fault(LENGTH, || write_msr(msr, value)).into()
}

#[inline(never)]
fn write_msr(msr: u32, value: u64) {
    cpu::write_msr(msr, value);
}

#[inline(never)]
fn read_msr(msr: u32) {
    cpu::read_msr(msr);
}

fn in_service() -> u64 {
    u64::from(apic::in_service(LOW)) | u64::from(apic::in_service(HIGH)) << 1
}

/// Lets in what waits.
fn open() -> u64 {
    CAME.set(0);
    cpu::sti_nop();
    cpu::cli();
    CAME.get()
}

fn faults() {
    let unread = interrupt::may_fault(LENGTH, || read_msr(EOI));
    call::check("HV-024: RDMSR of EOI faults", 1, unread.into());
    interrupt::on(HIGH, stay);
    cpu::write_msr(ICR, TO_SELF | u64::from(HIGH));
    call::check("HV-192: a self-IPI by MSR", 1, open());
    cpu::write_msr(TPR, 0x20);
    let mut faults = 0;
    for bit in [32, 47, 63] {
        faults += refused(EOI, 1 << bit) + refused(TPR, 1 << bit | 0x70);
    }
    call::check("HV-025: upper bits of EOI and TPR fault", 6, faults);
    call::check("HV-025: still in service", 2, in_service());
    call::check("HV-025: TPR as before", 0x20, vapic::tpr());
    cpu::write_msr(TPR, 0);
    cpu::write_msr(EOI, 0);
    call::check("HV-189: ended", 0, in_service());

    let mut faults = 0;
    let reserved = [13, 16, 17].into_iter().chain(20..32);
    for bit in reserved {
        faults += refused(ICR, 1 << bit | 1 << 14 | u64::from(LOW));
    }
    call::check("HV-038: reserved bits of ICR fault", 15, faults);
    call::check("HV-038: and send nothing", 0, u64::from(apic::requested(LOW)));
    interrupt::on(LOW, end);
    cpu::write_msr(ICR, BUSY | TO_SELF | u64::from(LOW));
    let icr = cpu::read_msr(ICR);
    call::check("HV-038: ICR reads without busy", TO_SELF | u64::from(LOW), icr & 0xffff_ffff);
    call::check("HV-038: busy does not keep it from sending", 1, open());
}

fn task_priority() {
    cpu::write_msr(TPR, 0x50);
    call::check("HV-037: the APIC's TPR", 0x50, apic::read(offset::TPR));
    call::check("HV-037: CR8", 5, cpu::read_cr8());
    cpu::write_cr8(7);
    call::check("HV-037: TPR by MSR after CR8", 0x70, vapic::tpr());
    apic::write(offset::TPR, 0x30);
    call::check("HV-037: TPR by MSR after the APIC's", 0x30, vapic::tpr());
    interrupt::on(LOW, end);
    cpu::write_msr(TPR, 0x40);
    cpu::sti();
    CAME.set(0);
    apic::self_ipi(LOW);
    call::check("HV-195: held back by TPR", 0, CAME.get());
    cpu::write_msr(TPR, 0x30);
    call::check("HV-195: taken at once below its class", 1, CAME.get());
    cpu::cli();
    cpu::write_msr(TPR, 0);
}

fn end_of_interrupt() {
    interrupt::on(LOW, stay);
    interrupt::on(HIGH, stay);
    apic::self_ipi(LOW);
    let came = open();
    apic::self_ipi(HIGH);
    call::check("both in service", 2, came + open());
    call::check("HV-189: both in service", 3, in_service());
    cpu::write_msr(EOI, 0);
    call::check("HV-189: the lower one still in service", 1, in_service());
    // The same vector waits for the end of its class.
    interrupt::on(LOW, end);
    apic::self_ipi(LOW);
    call::check("HV-191: it waits", 0, open());
    CAME.set(0);
    cpu::sti();
    cpu::write_msr(EOI, 0);
    call::check("HV-191: and is delivered at the EOI", 1, CAME.get());
    cpu::cli();
    call::check("HV-191: nothing in service", 0, in_service());
}

/// The RTC's line, level-triggered, as in payload `level-irq`.
fn level() {
    interrupt::on(LINE, lower_line_and_end);
    // 1024 Hz; the flag stays, so PIE is the line.
    rtc::write(rtc::A, 0x26);
    ioapic::write_low_half(PIN, LEVEL | u64::from(LINE));
    rtc::write(rtc::B, rtc::HOURS_24 | rtc::PIE);
    cpu::wait_until(|| ioapic::low_half(PIN) & REMOTE_IRR != 0);
    for _ in 0..3 {
        rtc::write(rtc::B, rtc::HOURS_24 | rtc::PIE);
        let sent = ioapic::low_half(PIN) & REMOTE_IRR != 0;
        call::check("HV-190: remote IRR before the EOI", 1, sent.into());
        call::check("HV-190: interrupts of the line", 1, open());
        let awaits = ioapic::low_half(PIN) & REMOTE_IRR != 0;
        call::check("HV-190: remote IRR after the EOI", 0, awaits.into());
    }
    ioapic::mask(PIN);
}

fn run(Params { mode }: Params) {
    apic::open(apic::Mode::xapic_if(mode == Mode::XApic));
    call::check("HV-197: leaf 3 EAX bit 4", 1, vapic::is_offered().into());
    faults();
    task_priority();
    end_of_interrupt();
    level();
}
