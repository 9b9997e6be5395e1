//! IPIs as a Linux guest of KVM sends them, by hypercall or by its APIC: what seeds/001 is about. The benchmarks
//! there are `answer=none` (apic_ipi), `answer=wait` and `answer=lock` (ipi_bench).
#![no_std]
#![no_main]

use guest_payloads::count::{Count, Counts};
use guest_payloads::ipi_choice::{self, Driver, Kernel, Send, Way};
use guest_payloads::kvm::{self, StealTime};
use guest_payloads::{apic, barrier, call, cpu, interrupt, payload, smp};
use trapline_defs::apic::offset;

payload! {
    about: "The first vCPU sends IPIs to the last ones, on the way that Linux would choose; each must come once.";
    number n = 64, "How many.";
    number targets = 1, "How many vCPUs are meant.";
    number gap = 20000, "TSC ticks between an answer and the next IPI: time to halt.";
    number last = 0, "The last vCPU's APIC id, in xAPIC mode; 0: its number.";
    choice kind: Kind { Call = "call", One = "one" }
        = "call", "A function call on all targets, or a reschedule of the last one.";
    choice mode: Mode { X2Apic = "x2apic", XApic = "xapic" } = "x2apic", "The APIC's mode.";
    choice driver: Names { Physical = "physical", Logical = "logical" }
        = "physical", "What the kernel's APIC driver has for destinations. Logical ones are x2APIC's cluster, or the flat \
            mode of xAPIC before Linux 6.12.";
    choice wait: Wait { Hlt = "hlt", Spin = "spin" } = "hlt", "Targets halt, or spin with interrupts on.";
    choice answer: Answer { Wait = "wait", Lock = "lock", Nothing = "none" }
        = "wait", "The sender waits until each target has answered; or only before it sends again; or not at \
            all, and IPIs may merge.";
    run: run;
}

const VECTOR: u8 = 0xfb;

static N: Count = Count::new();
static FIRST: Count = Count::new();
static SPINS: Count = Count::new();
static MERGES: Count = Count::new();
static LOGICAL: Count = Count::new();
static STEALS: Count = Count::new();
/// IPIs that were sent, or are about to be.
static SENT: Count = Count::new();
/// vCPUs that were called preempted while they ran.
static CALLED_PREEMPTED: Count = Count::new();
static FINISHED: Count = Count::new();
static CAME: Counts = Counts::new();

fn handler() {
    CAME.mine().add();
    apic::eoi();
}

/// What every vCPU does first.
fn prepare() {
    if LOGICAL.get() != 0 {
        smp::take_logical_id();
    }
    if STEALS.get() != 0 {
        StealTime::open();
    }
    let id = ipi_choice::apic_id(smp::number());
    if id != smp::number() {
        apic::write(offset::ID, u64::from(id) << 24);
    }
}

fn target(number: u32) {
    prepare();
    if u64::from(number) < FIRST.get() {
        barrier::meet();
        loop {
            cpu::sti_hlt();
        }
    }
    let (n, came) = (N.get(), CAME.of(number));
    // Where IPIs may merge, all have come when one has come since the last one was sent.
    let is_over =
        || if MERGES.get() != 0 { SENT.get() == n && came.get() > 0 } else { came.get() >= n };
    // Nobody's slice ends in the window because of the barrier, and no IPI comes before STI.
    if SPINS.get() != 0 {
        call::begin("target");
        cpu::sti();
        barrier::meet();
    } else {
        barrier::meet();
        call::begin("target");
    }
    while !is_over() {
        if SPINS.get() != 0 {
            cpu::sti();
            cpu::wait_until(is_over);
        } else {
            cpu::sti_hlt();
        }
        cpu::cli();
    }
    call::end();
    CALLED_PREEMPTED.add_if(StealTime::of(number).is_preempted());
    FINISHED.add();
}

fn run(params: Params) {
    let Params { n, targets, kind, mode, driver, wait, answer, .. } = params;
    let cpus = smp::vcpus();
    assert!(
        targets > 0 && targets < u64::from(cpus),
        "this payload needs more `vcpus` than `targets`"
    );
    assert!(kind == Kind::Call || targets == 1, "a reschedule has one target");
    apic::open(apic::Mode::xapic_if(mode == Mode::XApic));
    interrupt::on(VECTOR, handler);
    let kernel = Kernel::booted(match (driver, mode) {
        (Names::Physical, _) => Driver::Physical,
        (Names::Logical, Mode::XApic) => Driver::Flat,
        (Names::Logical, Mode::X2Apic) => Driver::Cluster,
    });
    let first = cpus - targets as u32;
    N.set(n);
    FIRST.set(first.into());
    SPINS.set(u64::from(wait == Wait::Spin));
    MERGES.set(u64::from(answer == Answer::Nothing));
    LOGICAL.set(u64::from(driver == Names::Logical));
    STEALS.set(u64::from(kernel.yields()));
    if params.last != 0 {
        ipi_choice::rename(cpus - 1, params.last as u32);
    }
    smp::start(target);
    prepare();
    let meant = (first..cpus).fold(0, |mask, cpu| mask | 1 << cpu);
    let what = if kind == Kind::One { Send::One(first) } else { Send::Call(meant) };
    let way = kernel.way(0, what);
    let arrived = |count| ipi_choice::cpus(meant).all(|cpu| CAME.of(cpu).get() >= count);
    let yields = kernel.yields() && kind == Kind::Call && wait == Wait::Spin;
    let (mut accepted, mut yields_made, mut yielded) = (0, 0, 0);
    barrier::meet();
    smp::rest(params.gap);
    call::begin("sender");
    for count in 1..=n {
        if answer == Answer::Lock {
            cpu::wait_until(|| arrived(count - 1));
        }
        SENT.set(count);
        accepted += ipi_choice::send(way, VECTOR);
        if yields && let Some(cpu) = preempted(meant) {
            yields_made += 1;
            yielded += kvm::yield_to(ipi_choice::apic_id(cpu));
        }
        if answer == Answer::Wait {
            cpu::wait_until(|| arrived(count));
        }
        if answer != Answer::Nothing {
            smp::rest(params.gap);
        }
    }
    call::end();
    cpu::wait_until(|| FINISHED.get() == targets);
    for cpu in 1..cpus {
        let came = CAME.of(cpu).get();
        match () {
            () if meant >> cpu & 1 == 0 => call::check("HC-2 IPIs that others got", 0, came),
            () if MERGES.get() != 0 => {
                call::check("HC-2 a target got more IPIs than were sent", 0, u64::from(came > n));
            }
            () => call::check("HC-2 IPIs that a target got", n, came),
        }
    }
    let expected = if matches!(way, Way::Hypercall(_)) { n * targets } else { 0 };
    call::check("HC-4 APICs that accepted an IPI by hypercall", expected, accepted as u64);
    call::check("PVC-3 vCPUs that run and are called preempted", 0, CALLED_PREEMPTED.get());
    let is_robbed = StealTime::of(0).stolen() > 0;
    call::check(
        "PVC-3 whoever yields is stolen from",
        u64::from(yields_made > 0),
        is_robbed.into(),
    );
    call::check("HC-7 what a yield returns", 0, yielded as u64);
}

/// The first of them that waits for its core (rule PVI-4).
fn preempted(mask: u32) -> Option<u32> {
    ipi_choice::cpus(mask).find(|&cpu| StealTime::of(cpu).is_preempted())
}
