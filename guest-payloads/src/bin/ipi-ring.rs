//! A token that goes round: each IPI is answered by one to the next vCPU. A lost IPI ends the round, a
//! duplicated one comes to a vCPU that is not its turn.
#![no_std]
#![no_main]

use core::sync::atomic::{AtomicU64, Ordering::SeqCst};
use guest_payloads::{apic, call, cpu, interrupt, payload, smp};

payload! {
    about: "Passes a token from vCPU to vCPU by IPI; each gets it when it is its turn.";
    number rounds = 100, "How often the token goes round.";
    choice send: Send { X2Apic = "x2apic", XApic = "xapic" }
        = "x2apic", "The APIC's mode.";
    choice wait: Wait { Hlt = "hlt", Spin = "spin" }
        = "hlt", "vCPUs halt until it comes, or spin.";
    run: run;
}

const VECTOR: u8 = 0xb0;

static ROUNDS: AtomicU64 = AtomicU64::new(0);
static SPIN: AtomicU64 = AtomicU64::new(0);
static HOPS: AtomicU64 = AtomicU64::new(0);
static WRONG: AtomicU64 = AtomicU64::new(0);
static FINISHED: AtomicU64 = AtomicU64::new(0);
/// Tokens that came, by vCPU.
static CAME: [AtomicU64; smp::MAX_VCPUS] = [const { AtomicU64::new(0) }; smp::MAX_VCPUS];

fn handler() {
    let (me, vcpus) = (smp::number(), smp::vcpus());
    let hop = HOPS.fetch_add(1, SeqCst) + 1;
    let is_my_turn = hop % u64::from(vcpus) == u64::from(me);
    WRONG.fetch_add(u64::from(!is_my_turn), SeqCst);
    CAME[me as usize].fetch_add(1, SeqCst);
    apic::eoi();
    if hop < ROUNDS.load(SeqCst) * u64::from(vcpus) {
        smp::send((me + 1) % vcpus, VECTOR);
    }
}

fn take_part(number: u32) {
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
    let vcpus = u64::from(smp::vcpus());
    assert!(vcpus > 1, "this payload needs `vcpus = 2` or more");
    apic::open(if params.send == Send::XApic { apic::Mode::XApic } else { apic::Mode::X2Apic });
    interrupt::on(VECTOR, handler);
    ROUNDS.store(params.rounds, SeqCst);
    SPIN.store(u64::from(params.wait == Wait::Spin), SeqCst);
    smp::start(take_part);
    smp::rest(20_000);
    take_part(0);
    cpu::wait_until(|| FINISHED.load(SeqCst) >= vcpus);
    call::check("tokens that came out of turn", 0, WRONG.load(SeqCst));
    call::check("hops", params.rounds * vcpus, HOPS.load(SeqCst));
}
