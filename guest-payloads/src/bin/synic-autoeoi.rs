//! AutoEOI and the inhibit that it causes (spec hyperv.md 3.6 and 4.2; the patches of seeds/000).
#![no_std]
#![no_main]

use core::sync::atomic::{AtomicU64, Ordering};
use guest_payloads::{apic, call, cpu, interrupt, payload, synic};
use trapline_abi::call::Query;
use trapline_defs::apic::offset;

payload! {
    about: "Toggles AutoEOI on SynIC sources; checks ISR and PPR after delivery and the count.";
    number n = 50, "How many on-off cycles.";
    choice sources: Sources { One = "one", Several = "several", Shared = "shared" }
        = "one", "One source, three with a vector each, or three on one vector.";
    run: run;
}

const VECTOR: u8 = 0xb0;
/// KVM's bit of the HYPERV reason.
const HYPERV: u64 = 1 << 1;

static DELIVERED: AtomicU64 = AtomicU64::new(0);
static IN_SERVICE: AtomicU64 = AtomicU64::new(0);
static PPR: AtomicU64 = AtomicU64::new(0);

/// An AutoEOI vector's handler: nothing is in service, PPR is TPR's, and no EOI is owed.
fn auto_eoi_handler() {
    DELIVERED.fetch_add(1, Ordering::Relaxed);
    IN_SERVICE.fetch_add(u64::from(apic::in_service(VECTOR)), Ordering::Relaxed);
    PPR.fetch_max(apic::read(offset::PPR), Ordering::Relaxed);
}

/// The same vector without AutoEOI: in service, its class is PPR's, and an EOI is owed.
fn plain_handler() {
    DELIVERED.fetch_add(1, Ordering::Relaxed);
    IN_SERVICE.fetch_add(u64::from(apic::in_service(VECTOR)), Ordering::Relaxed);
    PPR.fetch_max(apic::read(offset::PPR), Ordering::Relaxed);
    apic::eoi();
}

fn run(Params { n, sources }: Params) {
    apic::open(apic::Mode::X2Apic);
    synic::identify();
    let used = if sources == Sources::One { 1 } else { 3 };
    let vector = |source| match sources {
        Sources::Several => u64::from(VECTOR) + u64::from(source),
        Sources::One | Sources::Shared => u64::from(VECTOR),
    };
    let set = |source: u32, flags: u64| synic::set_source(source, flags | vector(source));

    // On and off, n times: the count is 1 in between, whatever the number of sources.
    let mut wrong_on = 0;
    let mut wrong_off = 0;
    for _ in 0..n {
        for source in 0..used {
            set(source, synic::AUTO_EOI);
            wrong_on += u64::from(!inhibited());
        }
        for source in 0..used {
            set(source, 0);
            let last = source + 1 == used;
            wrong_off += u64::from(inhibited() == last);
        }
    }
    call::check("HV-101: AutoEOI set and HYPERV not inhibiting", 0, wrong_on);
    call::check("HV-106: HYPERV inhibit wrong after a clear", 0, wrong_off);
    call::check("HV-107: AutoEOI users after all cycles", 0, count());

    // The same without a query in between: what the toggles themselves cost.
    call::begin("toggle");
    for _ in 0..n {
        for source in 0..used {
            set(source, synic::AUTO_EOI);
        }
        for source in 0..used {
            set(source, 0);
        }
    }
    call::end();

    // Delivery with AutoEOI: two interrupts without an EOI between them.
    for source in 0..used {
        set(source, synic::AUTO_EOI);
    }
    call::check("HV-102, HV-103: users with all sources on", 1, count());
    interrupt::on(VECTOR, auto_eoi_handler);
    cpu::sti();
    call::begin("auto-eoi");
    for _ in 0..n {
        apic::self_ipi(VECTOR);
    }
    call::end();
    cpu::cli();
    call::check("HV-082, HV-087: deliveries without EOI", n, DELIVERED.swap(0, Ordering::Relaxed));
    call::check(
        "HV-080: in service in an AutoEOI handler",
        0,
        IN_SERVICE.swap(0, Ordering::Relaxed),
    );
    call::check("HV-081: PPR in an AutoEOI handler", 0, PPR.swap(0, Ordering::Relaxed));

    // And without AutoEOI, which the last source alone keeps up (HV-088, HV-112, HV-113).
    for source in 1..used {
        set(source, 0);
        call::check("HV-105: still inhibited by the first source", 1, u64::from(inhibited()));
    }
    set(0, 0);
    call::check("HV-106: inhibit gone with the last source", 0, u64::from(inhibited()));
    interrupt::on(VECTOR, plain_handler);
    cpu::sti();
    call::begin("explicit-eoi");
    for _ in 0..n {
        apic::self_ipi(VECTOR);
    }
    call::end();
    cpu::cli();
    call::check("HV-090: deliveries with EOI", n, DELIVERED.swap(0, Ordering::Relaxed));
    call::check("HV-090: in service in its handler", n, IN_SERVICE.swap(0, Ordering::Relaxed));
    call::check("PPR in its handler", u64::from(VECTOR & 0xf0), PPR.swap(0, Ordering::Relaxed));

    for source in 0..used {
        set(source, synic::MASKED);
    }
}

fn count() -> u64 {
    call::query(Query::AutoEoiCount).unwrap_or(u64::MAX)
}

fn inhibited() -> bool {
    call::query(Query::ApicvInhibits).is_some_and(|mask| mask & HYPERV != 0)
}
