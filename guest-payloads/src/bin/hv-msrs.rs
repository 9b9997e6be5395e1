//! Every MSR of Hyper-V's range, read and written once: an exit each, whatever becomes of it.
#![no_std]
#![no_main]

use guest_payloads::count::Count;
use guest_payloads::{apic, call, cpu, interrupt, payload, reference, synic, timer};

payload! {
    about: "Reads MSRs 4000_0000h to 4000_01FFh and writes back what it read, faults or not.";
    number n = 512, "How many MSRs.";
    number faults = 0, "How many reads have to fault.";
    run: run;
}

const FIRST: u32 = 0x4000_0000;
const RESET: u32 = 0x4000_0003;
const VP_RUNTIME: u32 = 0x4000_0010;
const VECTOR: u8 = 0xb0;
/// Ticks of the APIC timer that it sleeps.
const SLEEP: u64 = 1_000_000;

static VALUE: Count = Count::new();
static CAME: Count = Count::new();

#[inline(never)]
fn read(msr: u32) {
    VALUE.set(cpu::read_msr(msr));
}

#[inline(never)]
fn write(msr: u32, value: u64) {
    cpu::write_msr(msr, value);
}

fn handler() {
    CAME.add();
    apic::eoi();
}

/// What VP_RUNTIME and reference time advance by while the vCPU sleeps.
fn sleep() -> (u64, u64) {
    interrupt::on(VECTOR, handler);
    timer::set_up(VECTOR);
    let before = (cpu::read_msr(VP_RUNTIME), reference::by_msr());
    timer::arm(SLEEP);
    while CAME.get() == 0 {
        cpu::sti_hlt();
        cpu::cli();
    }
    (cpu::read_msr(VP_RUNTIME) - before.0, reference::by_msr() - before.1)
}

fn run(Params { n, faults }: Params) {
    apic::open(apic::Mode::X2Apic);
    synic::identify();
    let mut faulted = 0;
    let mut strange = 0;
    call::begin("msrs");
    for msr in (FIRST..).take(n as usize) {
        VALUE.set(0);
        let unreadable = interrupt::may_fault(2, || read(msr));
        faulted += u64::from(unreadable);
        let value = VALUE.get();
        let unwritable = interrupt::may_fault(2, || write(msr, value));
        // EOI alone can be written and not read.
        strange += u64::from(unreadable && !unwritable);
    }
    call::end();
    call::check("HV-021: reads that fault", faults, faulted);
    call::check("HV-024: MSRs that can only be written", 1, strange);
    write(RESET, 0);
    call::check("HV-035: RESET reads 0", 0, cpu::read_msr(RESET));
    let unwritable = interrupt::may_fault(2, || write(VP_RUNTIME, 0));
    call::check("HV-023: VP_RUNTIME cannot be written", 1, unwritable.into());
    let (ran, passed) = sleep();
    // It slept nearly all of the time.
    call::check("run time includes no sleep", 1, u64::from(10 * ran <= passed));
    call::check("run time goes on when awake", 1, u64::from(ran > 0));
}
