//! Xen's event channels from one vCPU to itself or to another: the table measured under Debian's Xen
//! (spec pv-and-formats.md b.6).
#![no_std]
#![no_main]

use guest_payloads::count::{Count, Counts};
use guest_payloads::{apic, call, cpu, interrupt, payload, smp, xen};

payload! {
    about: "Sends events through Xen's event channels; each must come once, by an upcall of its own.";
    number n = 16, "How many events.";
    number gap = 20000, "TSC ticks between the last event's arrival and the next one: time to halt.";
    choice to: To { Own = "self", Last = "last" } = "self", "The sender itself, or the last vCPU.";
    choice by: By { Vector = "vector", Callback = "callback", Both = "both" }
        = "vector", "Upcalls come by a vector of the vCPU's APIC, which wants an EOI, by the global callback, or by both.";
    choice wait: Wait { Spin = "spin", Hlt = "hlt", Block = "block" }
        = "spin", "The receiver spins with interrupts on, halts, or blocks by hypercall.";
    choice mode: Mode { XApic = "xapic", X2Apic = "x2apic" } = "xapic", "The APIC's mode.";
    run: run;
}

const VECTOR: u8 = 0xb0;
const CALLBACK: u8 = 0xc1;

static N: Count = Count::new();
static WAIT: Count = Count::new();
static READY: Count = Count::new();
static FINISHED: Count = Count::new();
static REFUSED: Count = Count::new();
/// By vCPU: events, and upcalls without one.
static CAME: Counts = Counts::new();
static SPURIOUS: Counts = Counts::new();

fn take() {
    match xen::take_events() {
        0 => SPURIOUS.mine().add(),
        1 => CAME.mine().add(),
        more => panic!("{more} ports at once"),
    }
}

fn on_vector() {
    take();
    apic::eoi();
}

/// Lets in what came before the window: Xen tells a vCPU at once of its new vector.
fn settle() {
    cpu::sti_nop();
    cpu::cli();
}

fn run(Params { n, gap, to, by, wait, mode }: Params) {
    let target = if to == To::Own { 0 } else { smp::vcpus() - 1 };
    assert!((to == To::Own) == (smp::vcpus() == 1), "`vcpus` must be 1 to itself, 2 or more else");
    assert!(to == To::Last || wait != Wait::Block, "blocking is for another vCPU");
    apic::open(apic::Mode::xapic_if(mode == Mode::XApic));
    interrupt::on(VECTOR, on_vector);
    interrupt::on(CALLBACK, take);
    let leaves = xen::leaves().expect("a machine with `xen = true`");
    xen::open(leaves);
    let [features, vcpu, ..] = cpu::cpuid(leaves + 4);
    call::value("features", u64::from(features));
    call::check("XEN-11: version", 4 << 16 | 17, u64::from(cpu::cpuid(leaves + 1)[0]));
    call::check("XEN-11: leaf +4, the vCPU's id", 0, u64::from(vcpu));
    call::check("XEN-12: a port that is not bound", -22i64 as u64, xen::send(5) as u64);
    call::check("the shared info page is mapped", 0, xen::map_shared_info() as u64);
    N.set(n);
    WAIT.set(wait as u64);
    if to == To::Last {
        smp::start(receive);
    }
    if by != By::Vector {
        let told = xen::set_callback_vector(CALLBACK);
        call::check("a vector for the callback is taken", 0, told as u64);
    }
    if by != By::Callback {
        let told = xen::set_upcall_vector(target, VECTOR);
        call::check("a vector for upcalls is taken", 0, told as u64);
    }
    let port = xen::bind_ipi(target) as u32;
    call::check("XEN-7: the first port", 1, u64::from(port));
    READY.add();
    if to == To::Last {
        // The receiver is in its window.
        cpu::wait_until(|| READY.get() == 2);
    }
    settle();
    smp::rest(gap);
    let came = CAME.of(target);
    call::begin("sender");
    for count in 1..=n {
        if to == To::Own && wait == Wait::Spin {
            cpu::sti();
        }
        REFUSED.add_if(xen::send(port) != 0);
        if to == To::Own && wait != Wait::Spin {
            // It waits already: interrupts are off.
            cpu::sti_hlt();
        }
        cpu::wait_until(|| came.get() >= count);
        cpu::cli();
        if to == To::Last {
            smp::rest(gap);
        }
    }
    call::end();
    if to == To::Last {
        cpu::wait_until(|| FINISHED.get() == 1);
    }
    call::check("hypercalls that were refused", 0, REFUSED.get());
    call::check("XEN-7, XEN-8: events", n, came.get());
    // One by the vector's setting; the callback looks at a flag, which was not set. With both, the callback
    // comes first, and takes the event from the vector.
    let spurious = match by {
        By::Vector => 1,
        By::Callback => 0,
        By::Both => 1 + n,
    };
    call::check("XEN-9: upcalls without an event", spurious, SPURIOUS.of(target).get());
}

fn receive(_number: u32) {
    let came = CAME.mine();
    cpu::wait_until(|| READY.get() == 1);
    settle();
    call::begin("target");
    READY.add();
    while came.get() < N.get() {
        if WAIT.get() == Wait::Spin as u64 {
            cpu::sti();
            cpu::wait_until(|| came.get() >= N.get());
        } else if WAIT.get() == Wait::Hlt as u64 {
            cpu::sti_hlt();
        } else {
            // The hypercall's own exit is behind the shadow of STI, so that nothing is let in before it.
            REFUSED.add_if(xen::sti_block() != 0);
        }
        cpu::cli();
    }
    call::end();
    FINISHED.add();
}
