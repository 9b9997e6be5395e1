//! Requests and answers between two vCPUs that poll a while before they halt, as guests do whose idle driver
//! is haltpoll: the redis of seeds/001, which is woken by IPI when it was idle for long.
#![no_std]
#![no_main]

use guest_payloads::count::{Count, Counts};
use guest_payloads::ipi_choice::{self, Driver, Kernel, Send};
use guest_payloads::{apic, barrier, call, cpu, interrupt, payload, smp};

payload! {
    about: "Two vCPUs wake each other by reschedule IPIs, on the way that Linux would choose.";
    number n = 64, "Requests.";
    number late = 4, "Every so many requests comes late, when the server halts already.";
    number poll = 100000, "TSC ticks until a waiting vCPU halts.";
    number pause = 300000, "TSC ticks by which a late request is late.";
    choice mode: Mode { XApic = "xapic", X2Apic = "x2apic" } = "xapic", "The APIC's mode.";
    choice driver: Names { Logical = "logical", Physical = "physical" }
        = "logical", "What the kernel's APIC driver has for destinations.";
    run: run;
}

/// Linux's for a reschedule.
const VECTOR: u8 = 0xfd;

static N: Count = Count::new();
static POLL: Count = Count::new();
static LOGICAL: Count = Count::new();
static REQUEST: Count = Count::new();
static ANSWER: Count = Count::new();
static WRONG: Count = Count::new();
static CAME: Counts = Counts::new();

fn handler() {
    CAME.mine().add();
    apic::eoi();
}

fn driver() -> Driver {
    match (LOGICAL.get() != 0, apic::is_x2apic()) {
        (false, _) => Driver::Physical,
        (true, false) => Driver::Flat,
        (true, true) => Driver::Cluster,
    }
}

fn kernel() -> Kernel {
    let kernel = Kernel::booted(driver());
    if driver() == Driver::Flat {
        smp::take_logical_id();
    }
    kernel
}

/// Until that many IPIs have come; interrupts are on meanwhile.
fn wait_for(count: u64) {
    let came = CAME.mine();
    let start = cpu::tsc();
    cpu::sti();
    cpu::wait_until(|| came.get() >= count || cpu::tsc() - start >= POLL.get());
    cpu::cli();
    while came.get() < count {
        cpu::sti_hlt();
        cpu::cli();
    }
}

fn serve(_number: u32) {
    let way = kernel().way(1, Send::One(0));
    barrier::meet();
    call::begin("server");
    for request in 1..=N.get() {
        wait_for(request);
        ANSWER.set(2 * REQUEST.get() + 1);
        ipi_choice::send(way, VECTOR);
    }
    call::end();
    barrier::meet();
}

fn run(params: Params) {
    let Params { n, late, poll, pause, mode, driver } = params;
    assert!(smp::vcpus() == 2, "this payload needs `vcpus = 2`");
    apic::open(apic::Mode::xapic_if(mode == Mode::XApic));
    interrupt::on(VECTOR, handler);
    N.set(n);
    POLL.set(poll);
    LOGICAL.set(u64::from(driver == Names::Logical));
    smp::start(serve);
    let way = kernel().way(0, Send::One(1));
    barrier::meet();
    call::begin("client");
    for request in 1..=n {
        if request % late == 0 {
            smp::rest(pause);
        }
        REQUEST.set(request);
        ipi_choice::send(way, VECTOR);
        wait_for(request);
        WRONG.add_if(ANSWER.get() != 2 * request + 1);
    }
    call::end();
    barrier::meet();
    call::check("wrong answers", 0, WRONG.get());
    call::check("answers", n, CAME.of(0).get());
    call::check("requests", n, CAME.of(1).get());
}
