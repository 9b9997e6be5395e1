//! Requests and answers between vCPUs, each of which waits for the other: what hackbench and redis make
//! of two vCPUs (seeds/001, seeds/002).
#![no_std]
#![no_main]

use guest_payloads::count::{Count, Counts};
use guest_payloads::{apic, barrier, call, cpu, interrupt, payload, smp};

payload! {
    about: "The first vCPU asks each other one in turn, by IPI and memory, and waits for the answer.";
    number n = 100, "Requests to each of the others.";
    choice mode: Mode { X2Apic = "x2apic", XApic = "xapic" } = "x2apic", "The APIC's mode.";
    choice wait: Wait { Hlt = "hlt", Spin = "spin" } = "hlt", "Both sides halt, or spin.";
    run: run;
}

const VECTOR: u8 = 0xb0;

static N: Count = Count::new();
static SPIN: Count = Count::new();
static REQUEST: Count = Count::new();
static ANSWER: Count = Count::new();
static WRONG: Count = Count::new();
static CAME: Counts = Counts::new();

fn handler() {
    CAME.mine().add();
    apic::eoi();
}

/// Until that many IPIs have come. Interrupts are off but while it waits, so every wait that halts
/// halts once, however early the IPI is.
fn wait_for(count: u64) {
    let came = CAME.mine();
    while came.get() < count {
        if SPIN.get() == 0 {
            cpu::sti_hlt();
        } else {
            cpu::sti();
            cpu::wait_until(|| came.get() >= count);
        }
        cpu::cli();
    }
}

fn ask() {
    let others = u64::from(smp::vcpus()) - 1;
    barrier::meet();
    call::begin("client");
    for request in 1..=N.get() * others {
        REQUEST.set(request);
        smp::send((1 + (request - 1) % others) as u32, VECTOR);
        wait_for(request);
        WRONG.add_if(ANSWER.get() != answer(request));
    }
    call::end();
    barrier::meet();
}

fn serve(_number: u32) {
    call::begin("server");
    barrier::meet();
    for request in 1..=N.get() {
        wait_for(request);
        ANSWER.set(answer(REQUEST.get()));
        smp::send(0, VECTOR);
    }
    call::end();
    barrier::meet();
}

fn answer(request: u64) -> u64 {
    2 * request + 1
}

fn run(Params { n, mode, wait }: Params) {
    let others = u64::from(smp::vcpus()) - 1;
    assert!(others > 0, "this payload needs `vcpus = 2` or more");
    apic::open(apic::Mode::xapic_if(mode == Mode::XApic));
    interrupt::on(VECTOR, handler);
    N.set(n);
    SPIN.set(u64::from(wait == Wait::Spin));
    smp::start(serve);
    ask();
    call::check("wrong answers", 0, WRONG.get());
    call::check("answers", n * others, CAME.of(0).get());
    for server in 1..smp::vcpus() {
        call::check("requests", n, CAME.of(server).get());
    }
}
