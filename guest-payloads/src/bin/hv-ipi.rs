//! IPIs by Hyper-V's hypercall: one exit for any number of targets (spec hyperv.md 7.3).
#![no_std]
#![no_main]

use guest_payloads::count::{Count, Counts};
use guest_payloads::hypercall::{self, FAST, SEND_IPI, SEND_IPI_EX, header};
use guest_payloads::page::Page;
use guest_payloads::{apic, call, cpu, interrupt, payload, smp, synic};

payload! {
    about: "Sends IPIs to a set of vCPUs by hypercall; each of the set must get each of them once.";
    number n = 64, "How many IPIs.";
    number mask = 0, "vCPUs that get them, one bit each, not the first; 0: all but the first two.";
    number gap = 20000, "TSC ticks between the last answer and the next IPI: time to halt.";
    choice form: Form { Fast = "fast", Slow = "slow", Sparse = "sparse", Xmm = "xmm", All = "all" }
        = "fast", "The call: its mask in registers or memory; a set of banks in memory or XMM registers; \
            everybody, the sender too.";
    choice wait: Wait { Hlt = "hlt", Spin = "spin" }
        = "hlt", "Targets halt, or spin with interrupts on.";
    choice apic: Apic { X2Apic = "x2apic", XApic = "xapic" }
        = "x2apic", "The APICs' mode.";
    choice auto_eoi: AutoEoi { Unused = "unused", Used = "used", Last = "last" }
        = "unused", "Whether a source with AutoEOI inhibits AVIC meanwhile: of another vector, or on the last \
            vCPU of the IPI's.";
    run: run;
}

const VECTOR: u8 = 0xb0;
const OTHER_VECTOR: u64 = 0xc0;

static BLOCK: Page = Page::new();
static CAME: Counts = Counts::new();
/// Of those that came, the ones that were in service; asked only if [`LOOKS`] says so.
static IN_SERVICE: Counts = Counts::new();
static LOOKS: Count = Count::new();
static N: Count = Count::new();
static TARGETS: Count = Count::new();
static SPINS: Count = Count::new();
static READY: Count = Count::new();
static FINISHED: Count = Count::new();

fn handler() {
    CAME.mine().add();
    if LOOKS.get() == 0 {
        return apic::eoi();
    }
    if apic::in_service(VECTOR) {
        IN_SERVICE.mine().add();
        apic::eoi();
    }
}

fn run(params: Params) {
    let vcpus = smp::vcpus();
    let everybody = (1 << vcpus) - 1;
    apic::open(apic::Mode::xapic_if(params.apic == Apic::XApic));
    interrupt::on(VECTOR, handler);
    hypercall::open();
    if params.auto_eoi == AutoEoi::Used {
        synic::set_source(1, synic::AUTO_EOI | OTHER_VECTOR);
    }
    let mask = match (params.form, params.mask) {
        (Form::All, _) => everybody,
        (_, 0) => everybody & !0b11,
        (_, mask) => mask & everybody & !1,
    };
    for (number, word) in [u64::from(VECTOR), mask].into_iter().enumerate() {
        BLOCK.write(number * 8, word);
    }
    // Behind it the other form: vector, format, valid banks, bank.
    for (number, word) in [u64::from(VECTOR), 0, 1, mask].into_iter().enumerate() {
        BLOCK.write(16 + number * 8, word);
    }
    for (number, word) in [u64::from(VECTOR), 1, 0].into_iter().enumerate() {
        BLOCK.write(48 + number * 8, word);
    }
    N.set(params.n);
    LOOKS.set(u64::from(params.auto_eoi == AutoEoi::Last));
    TARGETS.set(mask);
    SPINS.set(u64::from(params.wait == Wait::Spin));
    smp::start(target);
    let others = u64::from((mask & !1).count_ones());
    cpu::wait_until(|| READY.get() == others);
    smp::rest(params.gap);
    let arrived =
        |count| (0..vcpus).all(|vcpu| mask >> vcpu & 1 == 0 || CAME.of(vcpu).get() >= count);
    let address = BLOCK.address();
    let mut refused = 0;
    let mut late = 0;
    cpu::sti();
    call::begin("sender");
    for count in 1..=params.n {
        let vector = u64::from(VECTOR);
        let status = match params.form {
            Form::Fast => hypercall::call(FAST | SEND_IPI, vector, mask),
            Form::Slow => hypercall::call(SEND_IPI, address, 0),
            Form::Sparse => hypercall::call(header(1) | SEND_IPI_EX, address + 16, 0),
            Form::All => hypercall::call(SEND_IPI_EX, address + 48, 0),
            Form::Xmm => {
                hypercall::call_with_xmm(header(1) | FAST | SEND_IPI_EX, vector, 0, [1, mask])
            }
        };
        // Its own came before the instruction behind the call.
        late += u64::from(mask & 1 != 0 && CAME.of(0).get() != count);
        refused += u64::from(status != 0);
        cpu::wait_until(|| arrived(count));
        smp::rest(params.gap);
    }
    call::end();
    cpu::cli();
    cpu::wait_until(|| FINISHED.get() == others);
    call::check("HV-213, HV-230: calls that were refused", 0, refused);
    call::check("HV-216: IPIs to oneself that came late", 0, late);
    for vcpu in 0..vcpus {
        let came = CAME.of(vcpu).get();
        if mask >> vcpu & 1 != 0 {
            call::check("HV-213, HV-222: IPIs in the set", params.n, came);
            if LOOKS.get() != 0 {
                let expected = if vcpu == vcpus - 1 { 0 } else { params.n };
                call::check(
                    "HV-217: those that needed an EOI",
                    expected,
                    IN_SERVICE.of(vcpu).get(),
                );
            }
        } else {
            call::check("HV-213: IPIs outside of the set", 0, came);
        }
    }
}

fn target(number: u32) {
    if TARGETS.get() >> number & 1 == 0 {
        // Awake to whatever is not meant for it.
        loop {
            cpu::sti_hlt();
        }
    }
    let (n, came) = (N.get(), CAME.of(number));
    let spins = SPINS.get() != 0;
    if LOOKS.get() != 0 && number == smp::vcpus() - 1 {
        synic::set_source(1, synic::AUTO_EOI | u64::from(VECTOR));
    }
    call::begin("target");
    READY.add();
    if spins {
        cpu::sti();
        cpu::wait_until(|| came.get() >= n);
        cpu::cli();
    } else {
        while came.get() < n {
            cpu::sti_hlt();
            cpu::cli();
        }
    }
    call::end();
    FINISHED.add();
}
