//! The inhibit that AutoEOI causes is the VM's: what one vCPU does to its sources turns AVIC off and on for
//! another one, whatever that has requested, in service, or sleeps for (spec hyperv.md 4).
#![no_std]
#![no_main]

use guest_payloads::count::Count;
use guest_payloads::synic::{self, AUTO_EOI, MASKED};
use guest_payloads::{apic, call, cpu, interrupt, payload, smp};
use trapline_abi::call::Query;

payload! {
    about: "vCPUs 1 and 2 turn AutoEOI on and off; vCPU 0 reads the inhibit, or sends to vCPU 1 meanwhile.";
    number n = 20, "How often, or how many IPIs.";
    choice case: Case { Count = "count", Race = "race", Pending = "pending", Cost = "cost" } = "count",
        "One after the other; at once; with interrupts of vCPU 1 on their way; or what IPIs to it cost.";
    choice mode: Mode { X2Apic = "x2apic", XApic = "xapic" } = "x2apic", "The APIC's mode.";
    run: run;
}

/// KVM's bit of the HYPERV reason.
const HYPERV: u64 = 1 << 1;
const SOURCE: u32 = 2;
const AUTO: u8 = 0x31;
const VECTORS: [u8; 3] = [0x41, 0x51, 0x52];
/// What an interrupt that must not come has to come, in ticks of the TSC.
const PATIENCE: u64 = 20_000;

/// What vCPU 0 wants of another one.
mod order {
    pub const ON: u64 = 1;
    pub const OFF: u64 = 2;
    /// Both, n times.
    pub const RACE: u64 = 3;
    /// Requests all vectors of itself, interrupts off.
    pub const REQUEST: u64 = 4;
    /// Lets interrupts in for a moment.
    pub const OPEN: u64 = 5;
    /// Takes one and leaves it in service.
    pub const SERVE: u64 = 6;
    /// Ends it.
    pub const END: u64 = 7;
    /// Halts until an interrupt came.
    pub const HALT: u64 = 8;
    /// Spins with interrupts on until n came.
    pub const RECEIVE: u64 = 9;
}

static N: Count = Count::new();
static ORDERS: [Count; 3] = [const { Count::new() }; 3];
static DONE: [Count; 3] = [const { Count::new() }; 3];
/// The vectors that came to vCPU 1, the last one in the low byte; how many; whether they stay in service.
static CAME: Count = Count::new();
static TOTAL: Count = Count::new();
static STAYS: Count = Count::new();
/// Times at which what was in service was not, or the other way round.
static WRONG: Count = Count::new();

fn handler(vector: u8) {
    CAME.set(CAME.get() << 8 | u64::from(vector));
    TOTAL.add();
    if STAYS.get() == 0 {
        apic::eoi();
    }
}

fn set(flags: u64) {
    synic::set_source(SOURCE, flags | u64::from(AUTO));
}

fn other(number: u32) {
    let (order, done) = (&ORDERS[number as usize], &DONE[number as usize]);
    let mut last = 0;
    loop {
        cpu::wait_until(|| order.get() >> 8 != last);
        last = order.get() >> 8;
        obey(order.get() & 0xff);
        done.set(last);
    }
}

fn obey(order: u64) {
    match order {
        order::ON => set(AUTO_EOI),
        order::OFF => set(MASKED),
        order::RACE => {
            for _ in 0..N.get() {
                set(AUTO_EOI);
                set(0);
            }
        }
        order::REQUEST => VECTORS.into_iter().for_each(apic::self_ipi),
        order::OPEN => {
            cpu::sti_nop();
            cpu::cli();
        }
        order::SERVE => {
            STAYS.set(1);
            apic::self_ipi(VECTORS[0]);
            cpu::sti_nop();
            cpu::cli();
            STAYS.set(0);
            WRONG.add_if(!apic::in_service(VECTORS[0]));
        }
        order::END => {
            WRONG.add_if(!apic::in_service(VECTORS[0]));
            apic::eoi();
            WRONG.add_if(apic::in_service(VECTORS[0]));
        }
        order::HALT => {
            while CAME.get() == 0 {
                cpu::sti_hlt();
                cpu::cli();
            }
        }
        _ => {
            // The first access after AVIC came back finds its page unmapped (INH-1).
            apic::id();
            let inhibited = state() != 0;
            call::begin(if inhibited { "receiver-inhibited" } else { "receiver-active" });
            cpu::sti();
            cpu::wait_until(|| TOTAL.get() >= N.get());
            cpu::cli();
            call::end();
        }
    }
}

/// Gives an order and does not wait.
fn give(vcpu: usize, order: u64) {
    let last = ORDERS[vcpu].get() >> 8;
    ORDERS[vcpu].set((last + 1) << 8 | order);
}

fn wait_for(vcpu: usize) {
    let last = ORDERS[vcpu].get() >> 8;
    cpu::wait_until(|| DONE[vcpu].get() == last);
}

fn command(vcpu: usize, order: u64) {
    give(vcpu, order);
    wait_for(vcpu);
}

/// The count, and above it whether it inhibits.
fn state() -> u64 {
    let users = call::query(Query::AutoEoiCount).unwrap_or(u64::MAX);
    let inhibited = call::query(Query::ApicvInhibits).is_some_and(|mask| mask & HYPERV != 0);
    u64::from(inhibited) << 8 | users
}

/// vCPU 1, then vCPU 2 turn it on, then off in the same order; read in between by vCPU 0, which spins.
fn count(n: u64) {
    let mut wrong = [0; 4];
    call::begin("reader");
    for _ in 0..n {
        let steps = [(1, order::ON), (2, order::ON), (1, order::OFF), (2, order::OFF)];
        for (((vcpu, order), expected), wrong) in
            steps.into_iter().zip([0x101, 0x102, 0x101, 0]).zip(&mut wrong)
        {
            command(vcpu, order);
            *wrong += u64::from(state() != expected);
        }
    }
    call::end();
    call::check("HV-101: not inhibited by the first user", 0, wrong[0]);
    call::check("HV-104: not 2 users", 0, wrong[1]);
    call::check("HV-105: released by the first that left", 0, wrong[2]);
    call::check("HV-106: not released by the last", 0, wrong[3]);
}

/// Both toggle at once, and rest; then one of them stays on.
fn race(n: u64) {
    for round in 1..=4 {
        give(1, order::RACE);
        give(2, order::RACE);
        wait_for(1);
        wait_for(2);
        call::check("HV-121: count and inhibit after both rest", 0, state());
        let stays = 1 + round % 2;
        command(stays, order::ON);
        call::check("HV-121: with one user left", 0x101, state());
        command(stays, order::OFF);
    }
    call::value("toggles", 8 * n);
}

/// The inhibit comes or goes, by vCPU 2, around what vCPU 1 does.
fn pending(n: u64) {
    let mut missed = [0; 3];
    let all = u64::from(VECTORS[2]) << 16 | u64::from(VECTORS[1]) << 8 | u64::from(VECTORS[0]);
    for _ in 0..n {
        for (first, second) in [(order::OFF, order::ON), (order::ON, order::OFF)] {
            let at = usize::from(first == order::ON);
            command(2, first);
            CAME.set(0);
            command(1, order::REQUEST);
            command(2, second);
            command(1, order::OPEN);
            smp::rest(PATIENCE);
            command(1, order::OPEN);
            missed[at] += u64::from(CAME.get() != all);
            command(2, first);
            command(1, order::SERVE);
            command(2, second);
            command(1, order::END);
            command(2, first);
            CAME.set(0);
            give(1, order::HALT);
            smp::rest(PATIENCE);
            command(2, second);
            smp::send(1, VECTORS[0]);
            wait_for(1);
            missed[2] += u64::from(CAME.get() != u64::from(VECTORS[0]));
        }
    }
    call::check("HV-123: not all once after the inhibit came", 0, missed[0]);
    call::check("HV-124: not all once after it went", 0, missed[1]);
    call::check("HV-128: in service wrong after it flipped", 0, WRONG.get());
    call::check("HV-125: sleepers that were not woken once", 0, missed[2]);
    command(2, order::OFF);
    call::check("not inhibited in the end", 0, state());
}

/// IPIs to vCPU 1, which spins: with the inhibit, then without.
fn cost(n: u64) {
    for (order, label) in [(order::ON, "inhibited"), (order::OFF, "active")] {
        command(2, order);
        TOTAL.set(0);
        give(1, order::RECEIVE);
        smp::rest(PATIENCE);
        apic::id();
        call::begin(label);
        for sent in 1..=n {
            smp::send(1, VECTORS[0]);
            cpu::wait_until(|| TOTAL.get() >= sent);
        }
        call::end();
        wait_for(1);
        call::check("HV-127: IPIs that came", n, TOTAL.get());
    }
}

fn run(Params { n, case, mode }: Params) {
    apic::open(apic::Mode::xapic_if(mode == Mode::XApic));
    synic::identify();
    N.set(n);
    interrupt::on_each(VECTORS, handler);
    smp::start(other);
    match case {
        Case::Count => count(n),
        Case::Race => race(n),
        Case::Pending => pending(n),
        Case::Cost => cost(n),
    }
}
