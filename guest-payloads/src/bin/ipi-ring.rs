//! A token that goes round: each IPI is answered by one to the next vCPU. A lost IPI ends the round, a
//! duplicated one comes to a vCPU that is not its turn.
#![no_std]
#![no_main]

use core::sync::atomic::{AtomicU64, Ordering::SeqCst};
use guest_payloads::{apic, call, cpu, interrupt, payload, smp, synic};

payload! {
    about: "Passes a token from vCPU to vCPU by IPI; each gets it when it is its turn.";
    number rounds = 100, "How often the token goes round.";
    choice send: Send { X2Apic = "x2apic", XApic = "xapic" }
        = "x2apic", "The APIC's mode.";
    choice wait: Wait { Hlt = "hlt", Spin = "spin" }
        = "hlt", "vCPUs halt until it comes, or spin.";
    choice aside: Aside { Nothing = "nothing", Inhibit = "inhibit" }
        = "nothing", "The last vCPU takes part, or inhibits and releases AVIC by SynIC's AutoEOI.";
    run: run;
}

const VECTOR: u8 = 0xb0;

static ROUNDS: AtomicU64 = AtomicU64::new(0);
static SPIN: AtomicU64 = AtomicU64::new(0);
static HOPS: AtomicU64 = AtomicU64::new(0);
static WRONG: AtomicU64 = AtomicU64::new(0);
/// vCPUs that take part.
static RING: AtomicU64 = AtomicU64::new(0);
static TOGGLES: AtomicU64 = AtomicU64::new(0);
static FINISHED: AtomicU64 = AtomicU64::new(0);
/// Tokens that came, by vCPU.
static CAME: [AtomicU64; smp::MAX_VCPUS] = [const { AtomicU64::new(0) }; smp::MAX_VCPUS];

fn handler() {
    let (me, vcpus) = (smp::number(), RING.load(SeqCst));
    let hop = HOPS.fetch_add(1, SeqCst) + 1;
    let is_my_turn = hop % vcpus == u64::from(me);
    WRONG.fetch_add(u64::from(!is_my_turn), SeqCst);
    CAME[me as usize].fetch_add(1, SeqCst);
    apic::eoi();
    if hop < ROUNDS.load(SeqCst) * vcpus {
        smp::send((me + 1) % vcpus as u32, VECTOR);
    }
}

/// Lets AVIC be inhibited and released, after pauses of any length, until the ring is done.
fn stand_aside() {
    let mut random = 0x9e37_79b9_7f4a_7c15u64;
    while FINISHED.load(SeqCst) < RING.load(SeqCst) {
        for flags in [synic::AUTO_EOI, 0] {
            synic::set_source(0, flags | u64::from(VECTOR));
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            smp::rest(random % 20_000);
        }
        TOGGLES.fetch_add(1, SeqCst);
    }
    synic::set_source(0, synic::MASKED);
    FINISHED.fetch_add(1, SeqCst);
}

fn take_part(number: u32) {
    if u64::from(number) >= RING.load(SeqCst) {
        return stand_aside();
    }
    let (came, rounds) = (&CAME[number as usize], ROUNDS.load(SeqCst));
    call::begin("ring");
    if number == 0 {
        smp::send(1, VECTOR);
    }
    while came.load(SeqCst) < rounds {
        if SPIN.load(SeqCst) == 0 {
            cpu::sti_hlt();
        } else {
            cpu::sti();
            cpu::pause();
        }
        cpu::cli();
    }
    call::end();
    FINISHED.fetch_add(1, SeqCst);
}

fn run(params: Params) {
    let aside = params.aside == Aside::Inhibit;
    let ring = u64::from(smp::vcpus()) - u64::from(aside);
    assert!(ring > 1, "this payload needs `vcpus = 2` or more, 3 with one aside");
    RING.store(ring, SeqCst);
    if aside {
        synic::identify();
    }
    apic::open(if params.send == Send::XApic { apic::Mode::XApic } else { apic::Mode::X2Apic });
    interrupt::on(VECTOR, handler);
    ROUNDS.store(params.rounds, SeqCst);
    SPIN.store(u64::from(params.wait == Wait::Spin), SeqCst);
    smp::start(take_part);
    smp::rest(20_000);
    take_part(0);
    cpu::wait_until(|| FINISHED.load(SeqCst) >= u64::from(smp::vcpus()));
    call::check("tokens that came out of turn", 0, WRONG.load(SeqCst));
    call::check("hops", params.rounds * ring, HOPS.load(SeqCst));
    if aside {
        call::value("times that AVIC was inhibited", TOGGLES.load(SeqCst));
    }
}
