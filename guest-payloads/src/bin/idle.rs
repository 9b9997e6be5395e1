//! What a halted vCPU wakes for: an interrupt that it can take, a timer's or one that waited; not one
//! that TPR or IF keeps out; and an NMI in any case (APM vol. 3, HLT).
#![no_std]
#![no_main]

use guest_payloads::count::Count;
use guest_payloads::{apic, barrier, call, cpu, interrupt, payload, smp, timer};
use trapline_defs::apic::offset;

payload! {
    about: "Halts; what must not wake it waits, and what must comes later.";
    number n = 20, "How often.";
    number period = 50000, "Ticks until the timer, or until an IPI from the first vCPU.";
    choice case: Case {
        Nothing = "nothing", Pending = "pending", Tpr = "tpr", Masked = "masked",
        MaskedRemote = "masked-remote",
    } = "nothing", "What waits: nothing, until the timer; an IPI behind STI; one that TPR holds back, \
        until the timer; its own or the first vCPU's with IF clear, until an NMI.";
    choice mode: Mode { X2Apic = "x2apic", XApic = "xapic" } = "x2apic", "The APIC's mode.";
    run: run;
}

const NMI: u8 = 2;
/// The IPI that waits.
const LOW: u8 = 0x41;
/// The timer's, of a higher class.
const HIGH: u8 = 0xb0;

static N: Count = Count::new();
static REMOTE: Count = Count::new();
/// vCPU 1 is about to halt for so many times.
static HALTING: Count = Count::new();
static IPIS: Count = Count::new();
static EXPIRIES: Count = Count::new();
static NMIS: Count = Count::new();
/// Halts that ended too early, or with something missing or too much.
static WRONG: Count = Count::new();

/// What must have come by now.
fn expect(ipis: u64, expiries: u64, nmis: u64) {
    WRONG.add_if((IPIS.get(), EXPIRIES.get(), NMIS.get()) != (ipis, expiries, nmis));
}

fn run(Params { n, period, case, mode }: Params) {
    apic::open(apic::Mode::xapic_if(mode == Mode::XApic));
    interrupt::on(LOW, || {
        IPIS.add();
        apic::eoi();
    });
    interrupt::on(HIGH, || {
        EXPIRIES.add();
        apic::eoi();
    });
    interrupt::on(NMI, || NMIS.add());
    timer::set_up(HIGH);
    N.set(n);
    REMOTE.set(u64::from(case == Case::MaskedRemote));
    let expected = match case {
        Case::Nothing => (0, n, 0),
        Case::Pending => (n, 0, 0),
        Case::Tpr => (n, n, 0),
        Case::Masked | Case::MaskedRemote => (n, 0, n),
    };
    match case {
        Case::Nothing | Case::Pending | Case::Tpr => {
            call::begin("idle");
            for round in 1..=n {
                match case {
                    Case::Nothing => wait_for_timer(round, period),
                    Case::Pending => take_pending(round),
                    _ => wait_behind_tpr(round, period),
                }
            }
            call::end();
        }
        Case::Masked | Case::MaskedRemote => wake_by_nmi(n, period),
    }
    call::check("halts that did not end as they should", 0, WRONG.get());
    let seen = (IPIS.get(), EXPIRIES.get(), NMIS.get());
    call::check("IPIs", expected.0, seen.0);
    call::check("expiries", expected.1, seen.1);
    call::check("NMIs", expected.2, seen.2);
}

fn wait_for_timer(round: u64, period: u64) {
    let start = cpu::tsc();
    timer::arm(period);
    cpu::sti_hlt();
    cpu::cli();
    expect(0, round, 0);
    WRONG.add_if(cpu::tsc() - start < period);
}

fn take_pending(round: u64) {
    apic::self_ipi(LOW);
    cpu::sti_hlt();
    cpu::cli();
    expect(round, 0, 0);
}

fn wait_behind_tpr(round: u64, period: u64) {
    apic::write(offset::TPR, u64::from(LOW) | 0xf);
    apic::self_ipi(LOW);
    timer::arm(period);
    cpu::sti_hlt();
    expect(round - 1, round, 0);
    apic::write(offset::TPR, 0);
    cpu::wait_until(|| IPIS.get() >= round);
    cpu::cli();
    expect(round, round, 0);
}

/// The first vCPU lets the other one halt before each IPI. An NMI right before HLT would be one too
/// early: nothing can be checked and halted for at once.
fn wake_by_nmi(n: u64, period: u64) {
    assert!(smp::vcpus() == 2, "this case needs `vcpus = 2`");
    smp::start(halt_masked);
    barrier::meet();
    call::begin("waker");
    for round in 1..=n {
        cpu::wait_until(|| HALTING.get() == round);
        smp::rest(period);
        if REMOTE.get() != 0 {
            smp::send(1, LOW);
            smp::rest(period);
        }
        WRONG.add_if(IPIS.get() != round - 1 || NMIS.get() != round - 1);
        smp::send_nmi(1);
    }
    call::end();
    barrier::meet();
}

fn halt_masked(_number: u32) {
    call::begin("idle");
    barrier::meet();
    for round in 1..=N.get() {
        if REMOTE.get() == 0 {
            apic::self_ipi(LOW);
        }
        HALTING.set(round);
        cpu::hlt();
        expect(round - 1, 0, round);
        cpu::sti_nop();
        cpu::wait_until(|| IPIS.get() >= round);
        cpu::cli();
        expect(round, 0, round);
    }
    call::end();
    barrier::meet();
}
