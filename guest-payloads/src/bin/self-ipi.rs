//! Self-IPIs: the test behind the Idle HLT patches (seeds/003), and its relatives in corrections.md
//! section 3.0.
#![no_std]
#![no_main]

use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use guest_payloads::{apic, call, cpu, interrupt, payload};
use trapline_abi::call::Query;
use trapline_defs::apic::offset;
use trapline_defs::msr::KVM_PV_EOI;

payload! {
    about: "Sends itself IPIs and waits for each; x must be 1 after every one.";
    number n = 200, "How many IPIs.";
    choice send: Send { X2ApicIcr = "x2apic-icr", X2ApicSelf = "x2apic-self", XApic = "xapic" }
        = "x2apic-icr", "The register that sends.";
    choice wait: Wait { Hlt = "hlt", Nop = "nop", Spin = "spin" }
        = "hlt", "CLI, send, STI and HLT or NOP; or send with interrupts on and spin.";
    choice raise: Raise { None = "none", Cr8 = "cr8", Tpr = "tpr" }
        = "none", "Raises TPR above the vector before the IPI and lowers it after.";
    choice eoi: EoiBy { Apic = "apic", Pv = "pv" }
        = "apic", "The APIC register, or KVM's paravirtual EOI where it is offered.";
    choice cold: Cold { None = "none", Idt = "idt", PvWord = "pv-word" }
        = "none", "A page that is evicted right before the window.";
    run: run;
}

const VECTOR: u8 = 0xb0;

static X: AtomicU64 = AtomicU64::new(0);

/// The word that KVM sets when it takes the EOI over, on a page of its own.
#[repr(C, align(4096))]
struct PvWord(AtomicBool);
static PV_WORD: PvWord = PvWord(AtomicBool::new(false));

fn handler() {
    X.fetch_add(1, Ordering::Relaxed);
    apic::eoi();
}

fn pv_handler() {
    X.fetch_add(1, Ordering::Relaxed);
    // One instruction tests and clears it; was it set, the hypervisor does the EOI.
    if !PV_WORD.0.swap(false, Ordering::Relaxed) {
        apic::eoi();
    }
}

fn run(params: Params) {
    let mode = if params.send == Send::XApic { apic::Mode::XApic } else { apic::Mode::X2Apic };
    apic::open(mode);
    interrupt::on(VECTOR, handler);
    apic::settle(VECTOR);
    interrupt::on(VECTOR, if params.eoi == EoiBy::Pv { pv_handler } else { handler });
    match params.cold {
        Cold::None => {}
        Cold::Idt => call::evict(interrupt::idt_page()),
        Cold::PvWord => call::evict(&PV_WORD),
    }
    let injections = call::query(Query::Injections);
    let mut wrong = 0;
    call::begin("ipi");
    if params.eoi == EoiBy::Pv {
        cpu::write_msr(KVM_PV_EOI, core::ptr::from_ref(&PV_WORD) as u64 | 1);
    }
    if params.wait == Wait::Spin {
        cpu::sti();
    }
    for _ in 0..params.n {
        X.store(0, Ordering::Relaxed);
        one(&params);
        wrong += u64::from(X.load(Ordering::Relaxed) != 1);
    }
    call::end();
    cpu::cli();
    call::check("IPIs after which x was not 1", 0, wrong);
    if let (Some(before), Some(after)) = (injections, call::query(Query::Injections)) {
        call::value("injections", after - before);
    }
}

#[inline(always)]
fn one(params: &Params) {
    if params.wait != Wait::Spin {
        cpu::cli();
    }
    match params.raise {
        Raise::None => {}
        Raise::Cr8 => cpu::write_cr8(15),
        Raise::Tpr => apic::write(offset::TPR, 0xf0),
    }
    match params.send {
        Send::X2ApicSelf => {
            cpu::write_msr(offset::to_msr(offset::SELF_IPI), u64::from(VECTOR));
        }
        Send::X2ApicIcr | Send::XApic => apic::self_ipi(VECTOR),
    }
    match params.raise {
        Raise::None => {}
        Raise::Cr8 => cpu::write_cr8(0),
        Raise::Tpr => apic::write(offset::TPR, 0),
    }
    match params.wait {
        Wait::Hlt => cpu::sti_hlt(),
        Wait::Nop => cpu::sti_nop(),
        Wait::Spin => {
            while X.load(Ordering::Relaxed) == 0 {
                cpu::pause();
            }
        }
    }
}
