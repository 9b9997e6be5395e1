//! The first synthetic timer as Windows runs it: messages to SINT3, armed anew for each guest tick.

use crate::count::Count;
use crate::page::Page;
use crate::{apic, interrupt, reference, synic};

const VECTOR: u8 = 0xd1;
const SINT: u32 = 3;
/// The slot's bytes in the message page.
const SLOT: usize = SINT as usize * 256;
/// Header: a message of a timer.
const TIMER_EXPIRED: u64 = 0x8000_0010;
/// Header: the next message waits until this one is gone.
const PENDING: u64 = 1 << 40;
const TYPE: u64 = 0xffff_ffff;
/// Units of reference time in a second.
const PER_SECOND: u64 = 10_000_000;
/// What the RTC's period is called here, too.
const HZ: u64 = 2048;

/// Guest ticks so far.
pub static TICKS: Count = Count::new();
/// Those that came before they were due.
pub static EARLY: Count = Count::new();
/// Interrupts without a timer's message.
pub static STRANGE: Count = Count::new();
/// EOM writes, which only a waiting message asks for.
pub static EOMS: Count = Count::new();
/// When the first one was armed.
static START: Count = Count::new();
/// Periods of 2048 Hz in a guest tick.
static EVERY: Count = Count::new();

static MESSAGES: Page = Page::new();

/// Starts it with `every` periods of 2048 Hz in a guest tick. SCONTROL is left alone.
pub fn start(every: u64) {
    EVERY.set(every);
    interrupt::on(VECTOR, on_message);
    synic::set_message_page(MESSAGES.address());
    synic::set_source(SINT, u64::from(VECTOR));
    synic::timer::configure(synic::timer::AUTO_ENABLE | synic::timer::sint(SINT));
    reference::open();
    START.set(reference::by_page());
    synic::timer::arm(due());
}

/// Stops it.
pub fn stop() {
    synic::timer::arm(0);
}

/// When the next one is due, rounded up. Time is read from a page, without an exit.
fn due() -> u64 {
    let periods = (TICKS.get() + 1) * EVERY.get();
    START.get() + (periods * PER_SECOND).div_ceil(HZ)
}

fn on_message() {
    EARLY.add_if(reference::by_page() < due());
    let header = MESSAGES.read(SLOT);
    STRANGE.add_if(header & TYPE != TIMER_EXPIRED);
    MESSAGES.write(SLOT, header & !TYPE);
    if MESSAGES.read(SLOT) & PENDING != 0 {
        EOMS.add();
        synic::end_of_message();
    }
    TICKS.add();
    synic::timer::arm(due());
    apic::eoi();
}
