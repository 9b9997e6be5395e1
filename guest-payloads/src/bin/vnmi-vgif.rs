//! Virtual NMI (APM vol. 2 §15.21.10) and virtual GIF (§15.33.2). Interrupts are off unless a check says
//! otherwise.
#![no_std]
#![no_main]

use core::sync::atomic::{AtomicU64, Ordering::Relaxed};
use guest_payloads::laboratory::{self as lab, Field, Part, code, control, v_intr};
use guest_payloads::trial::{self, NONE, chosen, enter_open, fresh, one, outcome, request};
use guest_payloads::{call, call::check, cpu, interrupt, payload};
use trapline_abi::laboratory::{MEANWHILE_AGAIN, MEANWHILE_NMI};
use trapline_defs::apic::offset::{IRR, ISR};

payload! {
    about: "Makes virtual NMIs pending and masked, and moves vGIF, as the hypervisor of itself.";
    choice registers: Registers { XApic = "xapic", X2Apic = "x2apic" } = "xapic", "The APIC's interface.";
    run: run;
}

const NMI: u8 = 2;
/// Intercepts: words 3 and 4.
const NMI_INTERCEPT: u64 = 1 << 1;
const VINTR: u64 = 1 << 4;
const HLT: u64 = 1 << 24;
const STGI: u64 = 1 << (32 + 4);
const CLGI: u64 = 1 << (32 + 5);
const V_IRQ_60: u64 = v_intr::V_IRQ | 8 << 16 | 0x60 << 32;
const ENABLE: u64 = v_intr::V_NMI_ENABLE;
const PENDING: u64 = v_intr::V_NMI;
const MASK: u64 = v_intr::V_NMI_MASK;
const SOON: u64 = 20_000;
const STGI_EXIT: u64 = one(0x84);
const CLGI_EXIT: u64 = one(0x85);

/// NMIs that the handler makes pending, one VMRUN each.
static MORE: AtomicU64 = AtomicU64::new(0);
/// V_NMI and V_NMI_MASK as the handler's first exit found them.
static INSIDE: AtomicU64 = AtomicU64::new(0);
static NMIS: AtomicU64 = AtomicU64::new(0);

fn nmi() {
    if NMIS.fetch_add(1, Relaxed) == 0 {
        INSIDE.store(word() & (PENDING | MASK), Relaxed);
        for _ in 0..MORE.swap(0, Relaxed) {
            lab::change(control::V_INTR, 0, PENDING);
        }
    }
}

fn word() -> u64 {
    lab::control(control::V_INTR)
}

fn set(bits: u64) {
    lab::change(control::V_INTR, 0, bits);
}

fn run(Params { registers }: Params) {
    trial::prepare(registers == Registers::X2Apic);
    lab::change(control::INTERCEPT_3, STGI | CLGI, 0);
    interrupt::on(NMI, nmi);
    taken();
    held();
    cut_short();
    others();
    gif();
    gif_and_events();
}

/// A new trial with VNMI on, and these bits.
fn with(bits: u64) {
    fresh();
    NMIS.store(0, Relaxed);
    INSIDE.store(u64::MAX, Relaxed);
    set(ENABLE);
    if bits != 0 {
        set(bits);
    }
}

fn nmis() -> u64 {
    NMIS.load(Relaxed)
}

fn taken() {
    with(0);
    let without = lab::control(control::INTERCEPT_3) & !NMI_INTERCEPT;
    let seen = trial::set_and_see(Field::Control(control::INTERCEPT_3), without);
    check("VNMI-001 NMIs not intercepted", one(code::INVALID), seen);

    with(0);
    set(PENDING);
    check("VNMI-002 NMI at VMRUN", 1, nmis());
    check("VNMI-002 in the handler: MASK", MASK, INSIDE.load(Relaxed));
    check("VNMI-004 after IRET: neither", 0, word() & (PENDING | MASK));
    check("VNMI-002 exits", NONE, outcome());
    check("VNMI-005 IF was 0", 0, cpu::flags() & 1 << 9);

    with(MASK);
    trial::iret();
    check("VNMI-004 IRET clears MASK", 0, word() & (PENDING | MASK));

    with(MASK);
    set(PENDING);
    check("VNMI-003 MASK holds it", 0, nmis());
    check("VNMI-003 both bits", PENDING | MASK, word() & (PENDING | MASK));
    trial::iret();
    check("VNMI-003 until IRET", 1, nmis());
    check("VNMI-003 exits", NONE, outcome());

    with(0);
    MORE.store(2, Relaxed);
    set(PENDING);
    check("VNMI-013 two more from the handler: one", 2, nmis());
    check("VNMI-013 neither bit is left", 0, word() & (PENDING | MASK));
}

fn held() {
    // At HLT, in the shadow of STI: the NMI has to wait for the instruction.
    with(0);
    lab::poke(Field::Meanwhile, MEANWHILE_NMI | MEANWHILE_AGAIN);
    lab::change(control::INTERCEPT_3, 0, HLT);
    lab::clear();
    trial::sti_hlt();
    check("VNMI-006 held in a shadow", PENDING, lab::peek(Field::Exit(1, Part::VIntr)) & PENDING);
    check("VNMI-006 one instruction ran", 2 << 32 | code::HLT, outcome());
    check("VNMI-006 then taken", 1, nmis());

    with(v_intr::V_GIF_ENABLE);
    set(PENDING);
    check("VNMI-007 vGIF 0 holds it", 0, nmis());
    check("VNMI-007 pending", PENDING, word() & (PENDING | MASK));
    trial::stgi();
    check("VNMI-007 until STGI", 1, nmis());
    check("VNMI-007 exits", NONE, outcome());
}

fn cut_short() {
    with(0);
    call::evict(interrupt::idt_page());
    lab::clear();
    set(PENDING);
    check("VNMI-008 fault in the IDT", one(code::NPF), outcome());
    check("VNMI-008 EXITINTINFO", 0x8000_0202, trial::part(Part::IntInfo) & 0xffff_ffff);
    check("VNMI-008 neither bit", 0, trial::part(Part::VIntr) & (PENDING | MASK));
    check("VNMI-008 taken once", 1, nmis());
    check("VNMI-009 EVENTINJ sets MASK", MASK, INSIDE.load(Relaxed));

    with(0);
    lab::set_control(control::EVENT_INJECTION, 1 << 31 | 2 << 8 | 2);
    check("VNMI-009 EVENTINJ of an NMI", 1, nmis());
    check("VNMI-009 MASK in the handler", MASK, INSIDE.load(Relaxed));
    check("VNMI-009 none after IRET", 0, word() & (PENDING | MASK));
}

fn others() {
    interrupt::on_any(|vector, _| {
        ORDER.store(ORDER.load(Relaxed) << 8 | u64::from(vector) | nmis() << 16, Relaxed);
    });
    for avic in [true, false] {
        with(0);
        ORDER.store(0, Relaxed);
        if avic {
            request(0x60);
        } else {
            lab::change(control::V_INTR, v_intr::AVIC | v_intr::X2AVIC, V_IRQ_60);
        }
        enter_open(Field::Control(control::V_INTR), word() | PENDING);
        // The interrupt's handler found one NMI before it.
        chosen("VNMI-011 NMI before 60h", 1 << 16 | 0x60, ORDER.load(Relaxed));
    }
    trial::prepare_handlers();

    fresh();
    NMIS.store(0, Relaxed);
    set(PENDING | MASK);
    chosen("VNMI-012 VNMI off: nothing is taken", 0, nmis());
    chosen("VNMI-012 both bits stay", PENDING | MASK, word() & (PENDING | MASK));
}

static ORDER: AtomicU64 = AtomicU64::new(0);

fn v_gif() -> u64 {
    word() & v_intr::V_GIF
}

fn gif() {
    fresh();
    set(v_intr::V_GIF_ENABLE | v_intr::V_GIF);
    trial::clgi();
    check("VGIF-001 CLGI clears bit 9", 0, v_gif());
    check("VGIF-001 exits", NONE, outcome());
    lab::poke(Field::Timer, SOON);
    for _ in 0..20_000 {
        cpu::pause();
    }
    check("VGIF-001 physical interrupts exit", one(code::INTR), outcome());
    check("VGIF-006 with bit 9 clear", 0, trial::part(Part::VIntr) & v_intr::V_GIF);
    trial::stgi();
    check("VGIF-002 STGI sets bit 9", v_intr::V_GIF, v_gif());

    lab::change(control::INTERCEPT_3, 0, STGI | CLGI);
    lab::clear();
    trial::clgi();
    check("VGIF-003 CLGI intercepted", CLGI_EXIT, outcome());
    check("VGIF-003 bit 9", v_intr::V_GIF, v_gif());
    lab::change(control::V_INTR, v_intr::V_GIF, 0);
    lab::clear();
    trial::stgi();
    check("VGIF-004 STGI intercepted", STGI_EXIT, outcome());
    check("VGIF-004 bit 9", 0, v_gif());
    lab::change(control::INTERCEPT_3, STGI | CLGI, 0);
}

fn gif_and_events() {
    fresh();
    set(v_intr::V_GIF_ENABLE);
    request(0x40);
    check("VGIF-002 bit 9 clear holds 40h", 0, trial::open());
    check("VGIF-002 IRR", 0x40, trial::top(IRR));
    trial::stgi_open();
    check("VGIF-002 STGI lets it in", 0x40, trial::taken());

    fresh();
    request(0x40);
    check("VGIF-005 not enabled: 40h", 0x40, trial::open());
    check("VGIF-005 bit 9 stays", 0, v_gif());

    fresh();
    set(v_intr::V_GIF_ENABLE);
    lab::set_control(control::EVENT_INJECTION, 1 << 31 | 0x31);
    check("VGIF-007 EVENTINJ regardless", 0x31, trial::taken());
    check("VGIF-007 ISR", 0, trial::top(ISR));

    trial::fresh_without_avic();
    set(v_intr::V_GIF_ENABLE | V_IRQ_60);
    lab::change(control::INTERCEPT_3, 0, VINTR);
    lab::clear();
    trial::open();
    check("VGIF-008 bit 9 clear: no VINTR exit", NONE, outcome());
    trial::stgi_open();
    check("VGIF-008 after STGI", one(code::VINTR), outcome());
}
