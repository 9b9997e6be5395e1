//! HLT and Idle HLT (APM vol. 2 §15.9, Table 15-7).
//!
//! HLT is in the shadow of STI, or interrupts are off: nothing is taken before it. Where it retires and
//! nothing wakes the guest, a physical interrupt does, whose exit shows it.
#![no_std]
#![no_main]
use core::arch::naked_asm;
use guest_payloads::laboratory::{self as lab, Field, Knob, Part, code, control, v_intr};
use guest_payloads::trial::{self, NONE, chosen, cli_hlt, one, outcome, request, sti_hlt};
use guest_payloads::{call::check, cpu, interrupt, payload};
use trapline_abi::laboratory::{MEANWHILE_AGAIN, MEANWHILE_NMI};
use trapline_defs::apic::offset::{IRR, ISR};

payload! {
    about: "Executes HLT with the intercepts and with what is pending as the rules say.";
    choice avic: Avic { XApic = "xapic", X2Apic = "x2apic" } = "xapic", "The APIC's interface.";
    choice processor: Has { IdleHlt = "has", Nothing = "lacks" } = "has", "Whether it has Idle HLT.";
    run: run;
}

/// Intercepts: plain HLT in word 3; word 4 is above it. Idle HLT in word 5.
const HLT: u64 = 1 << 24;
const VINTR: u64 = 1 << 4;
const IDLE: u64 = 1 << 6;
/// V_IRQ with vector 60h and this priority.
const fn v_irq(priority: u64) -> u64 {
    v_intr::V_IRQ | priority << 16 | 0x60 << 32
}
/// Ticks within which HLT is long reached.
const SOON: u64 = 20_000;
const IDLE_EXIT: u64 = one(code::IDLE_HLT);
const TIMER_EXIT: u64 = one(code::INTR);

/// A new trial: intercepts of HLT, with AVIC or without and then with these bits of 060h.
fn with(hlt: bool, idle: bool, word: Option<u64>) {
    if word.is_some() {
        trial::fresh_without_avic();
    } else {
        trial::fresh();
    }
    lab::change(control::INTERCEPT_3, HLT | VINTR, if hlt { HLT } else { 0 });
    lab::change(control::INTERCEPT_5, IDLE, if idle { IDLE } else { 0 });
    lab::change(control::V_INTR, 0, word.unwrap_or(0));
    lab::clear();
}

fn soon() {
    lab::poke(Field::Timer, SOON);
}

fn run(Params { avic, processor }: Params) {
    trial::prepare(avic == Avic::X2Apic);
    if processor == Has::Nothing {
        with(false, true, None);
        soon();
        sti_hlt();
        return chosen("IHLT-024 a bit that means nothing", TIMER_EXIT, outcome());
    }
    intercepts();
    without_avic();
    nmi();
    avic_pending();
    parked();
    exits();
    clean();
}

fn intercepts() {
    for word in [None, Some(0)] {
        with(false, true, word);
        let hlt = sti_hlt();
        check("IHLT-001 nothing pending", IDLE_EXIT, outcome());
        check("IHLT-001 RIP at HLT", hlt, trial::part(Part::Rip));
        let infos = trial::part(Part::Info1) | trial::part(Part::Info2);
        chosen("IHLT-001 EXITINFO1 and 2", 0, infos);
        check("IHLT-001 EXITINTINFO", 0, trial::part(Part::IntInfo) & 1 << 31);
        with(true, true, word);
        sti_hlt();
        check("IHLT-002 plain HLT wins", one(code::HLT), outcome());
        with(true, false, word);
        sti_hlt();
        check("IHLT-004 plain HLT alone", one(code::HLT), outcome());
        with(false, true, word);
        cli_hlt();
        check("IHLT-019 CLI; HLT, nothing pending", IDLE_EXIT, outcome());
    }
    with(true, true, None);
    request(0x50);
    let hlt = sti_hlt();
    check("IHLT-003 plain HLT looks at nothing", one(code::HLT), outcome());
    check("IHLT-003 50h is taken behind it", hlt + 1, trial::came_at());

    with(false, false, None);
    lab::change(control::INTERCEPT_3, 0, 1 << (32 + 6));
    soon();
    sti_hlt();
    check("IHLT-023 bit 6 of word 4 is another", TIMER_EXIT, outcome());

    with(false, true, None);
    cpu::pause();
    check("IHLT-029 PAUSE", NONE, outcome());
}

/// V_IRQ, of a guest without AVIC.
fn without_avic() {
    with(false, true, Some(v_irq(8)));
    let hlt = sti_hlt();
    check("IHLT-006 V_IRQ pending", NONE, outcome());
    check("IHLT-006 60h is taken", 0x60, trial::taken());
    check("IHLT-006 behind HLT", hlt + 1, trial::came_at());

    with(false, true, Some(v_irq(8)));
    lab::change(control::INTERCEPT_3, 0, VINTR);
    let hlt = sti_hlt();
    check("IHLT-007 VINTR exits instead", one(code::VINTR), outcome());
    check("IHLT-007 behind HLT", hlt + 1, trial::part(Part::Rip));
    check("IHLT-007 nothing is taken", 0, trial::taken());

    // With interrupts off: under QEMU's TCG an equal priority would be taken behind HLT (docs/tcg.md T1).
    with(false, true, Some(v_irq(5) | 5));
    cli_hlt();
    check("IHLT-008 priority equal to V_TPR", IDLE_EXIT, outcome());

    with(false, true, Some(v_irq(2) | v_intr::IGNORE_TPR | 5));
    sti_hlt();
    check("IHLT-009 V_IGN_TPR", NONE, outcome());
    check("IHLT-009 60h is taken", 0x60, trial::taken());

    with(false, true, Some(v_irq(2) | 5));
    cli_hlt();
    check("IHLT-009 without it", IDLE_EXIT, outcome());

    with(false, true, Some(v_irq(8) | v_intr::V_GIF_ENABLE));
    soon();
    cli_hlt();
    chosen("IHLT-020 vGIF 0: pending", TIMER_EXIT, outcome());
}

fn nmi() {
    // Pending before HLT but masked by the shadow: set at an exit in it.
    with(true, false, None);
    lab::change(control::V_INTR, 0, v_intr::V_NMI_ENABLE);
    lab::poke(Field::Meanwhile, MEANWHILE_NMI | MEANWHILE_AGAIN);
    lab::clear();
    let hlt = sti_hlt();
    check("IHLT-010 plain HLT, twice", 2 << 32 | code::HLT, outcome());
    check("IHLT-010 NMI is taken", 2, trial::taken());
    check("IHLT-010 behind HLT", hlt + 1, trial::came_at());

    for word in [None, Some(0)] {
        with(false, true, word);
        lab::change(control::V_INTR, 0, v_intr::V_NMI_ENABLE | v_intr::V_NMI_MASK);
        lab::change(control::V_INTR, 0, v_intr::V_NMI);
        soon();
        cli_hlt();
        chosen("IHLT-011 V_NMI masked: pending", TIMER_EXIT, outcome());
        check("IHLT-011 and not taken", 0, trial::taken());

        with(false, true, word);
        lab::change(control::V_INTR, 0, v_intr::V_NMI);
        lab::clear();
        cli_hlt();
        chosen("IHLT-012 V_NMI without VNMI", IDLE_EXIT, outcome());
    }
}

fn avic_pending() {
    with(false, true, None);
    request(0x50);
    let hlt = sti_hlt();
    check("IHLT-013 50h pending", NONE, outcome());
    check("IHLT-013 taken", 0x50, trial::taken());
    check("IHLT-013 behind HLT", hlt + 1, trial::came_at());

    with(false, true, None);
    lab::set_v_tpr(5);
    request(0x5f);
    sti_hlt();
    chosen("IHLT-016 V_TPR 5 masks 5Fh", IDLE_EXIT, outcome());
    check("IHLT-016 IRR", 0x5f, trial::top(IRR));

    with(false, true, None);
    trial::serve(0x58);
    request(0x51);
    sti_hlt();
    chosen("IHLT-017 ISR 58h masks 51h", IDLE_EXIT, outcome());
    check("IHLT-017 IRR", 0x51, trial::top(IRR));
    check("IHLT-017 ISR", 0x58, trial::top(ISR));
}

/// Halted with interrupts off.
fn parked() {
    with(false, true, None);
    request(0x50);
    soon();
    let hlt = cli_hlt();
    chosen("IHLT-018 CLI; HLT, 50h pending: parks", TIMER_EXIT, outcome());
    chosen("IHLT-018 60h behind HLT", hlt + 1, trial::part(Part::Rip));
    chosen("IHLT-026 one exit, none A6h", TIMER_EXIT, outcome());
    check("IHLT-018 50h waits", 0x50, trial::open());

    // The other reading of the sources.
    if lab::try_poke(Field::Knob(Knob::IdleIgnoresIf), 0) {
        with(false, true, None);
        request(0x50);
        cli_hlt();
        check("IHLT-018 where IF=0 counts", IDLE_EXIT, outcome());
        lab::poke(Field::Knob(Knob::IdleIgnoresIf), 1);
    }
}

/// Around the exit.
fn exits() {
    with(false, true, None);
    lab::poke(Field::Meanwhile, 0x50);
    let hlt = sti_hlt();
    chosen("IHLT-027 A6h, 50h comes, RIP + 1", IDLE_EXIT, outcome());
    chosen("IHLT-027 50h is taken", 0x50, trial::taken());
    chosen("IHLT-027 behind HLT", hlt + 1, trial::came_at());

    with(false, true, None);
    lab::poke(Field::Meanwhile, 0x50 | MEANWHILE_AGAIN);
    let hlt = sti_hlt();
    check("IHLT-028 A6h, 50h comes, HLT again", IDLE_EXIT, outcome());
    check("IHLT-028 50h is taken", 0x50, trial::taken());
    check("IHLT-028 behind HLT", hlt + 1, trial::came_at());

    with(false, true, None);
    interrupt::gate(0x31, halting_handler);
    trial::enter_open(Field::Control(control::EVENT_INJECTION), 1 << 31 | 0x31);
    check("IHLT-021 EVENTINJ is consumed", IDLE_EXIT, outcome());
    let hlt = halting_handler as *const () as u64;
    check("IHLT-021 RIP at the handler's HLT", hlt, trial::part(Part::Rip));

    with(false, true, None);
    stepped_hlt();
    let first = lab::exit(0).code;
    chosen("IHLT-031 TF=1: A6h before #DB", code::IDLE_HLT, first);
}

/// A handler that begins with HLT.
#[unsafe(naked)]
extern "C" fn halting_handler() {
    naked_asm!("hlt", "iretq")
}

/// HLT with TF set.
#[unsafe(naked)]
extern "C" fn stepped_hlt() {
    naked_asm!(
        "pushfq",
        "pushfq",
        "or qword ptr [rsp], 0x100",
        "popfq",
        "hlt",
        "popfq",
        "nop",
        "ret",
    )
}

/// Intercepts that the clean bits say not to load.
fn clean() {
    with(false, true, None);
    let keeps = lab::try_poke(Field::Knob(Knob::KeepClean), 1);
    lab::poke(Field::Clean, 1);
    lab::change(control::INTERCEPT_3, 0, HLT);
    lab::clear();
    cli_hlt();
    if keeps {
        check("IHLT-025 clean: old intercepts", IDLE_EXIT, outcome());
    }
    lab::poke(Field::Clean, 0);
    lab::clear();
    cli_hlt();
    check("IHLT-025 not clean: new ones", one(code::HLT), outcome());
    lab::try_poke(Field::Knob(Knob::KeepClean), 0);
}
