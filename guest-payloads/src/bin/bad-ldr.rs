//! Logical destinations that name nobody, or not everybody whom they seem to: the guest behind the
//! warning of seeds/000 about an IPI to a vCPU without a logical id.
#![no_std]
#![no_main]

use guest_payloads::count::{Count, Counts};
use guest_payloads::{apic, barrier, call, cpu, interrupt, payload, smp};
use trapline_defs::apic::offset;

payload! {
    about: "Sends IPIs to logical destinations; exactly those that they name must get them.";
    number n = 10, "IPIs to each destination.";
    number gap = 20000, "TSC ticks after each: time to arrive where it must not, and to halt.";
    choice ldr: Ldr {
        Unset = "unset", Late = "late", Multi = "multi", Alias = "alias", Nobody = "nobody",
        Partial = "partial",
    } = "nobody", "vCPU 1 sets no LDR, or later, or one of two bits, or vCPU 2's is the same (xAPIC); \
        or a destination names nobody; or somebody and nobody.";
    choice mode: Mode { X2Apic = "x2apic", XApic = "xapic" } = "x2apic", "The APIC's mode.";
    run: run;
}

const VECTOR: u8 = 0xb0;
/// Tells vCPU 1 to set its LDR, and everybody that it is over.
const SET: u8 = 0xb1;
const OVER: u8 = 0xb2;
/// The bits of vCPUs 1 and 2, one that vCPU 1 takes in case multi, and one of nobody.
const ONE: u32 = 1 << 1;
const TWO: u32 = 1 << 2;
const SECOND: u32 = 1 << 5;
const NOBODY: u32 = 1 << 6;
/// vCPU 1's bit, in a cluster that has none.
const OTHER_CLUSTER: u32 = 1 << 16 | ONE;

static LDR: Count = Count::new();
static TARGETS: Count = Count::new();
static IS_OVER: Count = Count::new();
static CAME: Counts = Counts::new();

impl Ldr {
    /// Destinations, and the vCPUs that they reach, one bit each.
    const fn plan(self, mode: Mode) -> &'static [(u32, u32)] {
        match (self, mode) {
            (Self::Unset, _) => &[(ONE, 0), (ONE | TWO, TWO)],
            // From the second on vCPU 1 has its bit.
            (Self::Late, _) => &[(ONE, 0), (ONE, ONE)],
            (Self::Multi, _) => &[(ONE, ONE), (SECOND, ONE), (ONE | SECOND, ONE)],
            (Self::Alias, _) => &[(ONE, ONE | TWO), (TWO, 0)],
            (Self::Nobody, Mode::XApic) => &[(NOBODY, 0)],
            (Self::Nobody, Mode::X2Apic) => &[(NOBODY, 0), (OTHER_CLUSTER, 0)],
            (Self::Partial, _) => {
                &[(NOBODY | ONE, ONE), (NOBODY | TWO, TWO), (NOBODY | ONE | TWO, ONE | TWO)]
            }
        }
    }
}

fn set_ldr(bits: u32) {
    apic::write(offset::LDR, u64::from(bits) << 24);
}

/// What a vCPU does about its LDR before anything is sent.
fn prepare(me: u32) {
    let ldr = LDR.get();
    match me {
        1 if ldr == Ldr::Unset as u64 || ldr == Ldr::Late as u64 => {}
        1 if ldr == Ldr::Multi as u64 => set_ldr(ONE | SECOND),
        2 if ldr == Ldr::Alias as u64 => set_ldr(ONE),
        _ => smp::take_logical_id(),
    }
}

fn target(me: u32) {
    prepare(me);
    // A vCPU that no destination reaches has no IPI to wake up for.
    call::begin(if TARGETS.get() >> me & 1 != 0 { "named" } else { "unnamed" });
    barrier::meet();
    while IS_OVER.get() == 0 {
        cpu::sti_hlt();
        cpu::cli();
    }
    call::end();
    barrier::meet();
}

fn run(Params { n, gap, ldr, mode }: Params) {
    assert!(smp::vcpus() > 2, "this payload needs `vcpus = 3` or more");
    let fits = mode == Mode::XApic || matches!(ldr, Ldr::Nobody | Ldr::Partial);
    assert!(fits, "x2APIC's LDR cannot be written");
    apic::open(apic::Mode::xapic_if(mode == Mode::XApic));
    interrupt::on(VECTOR, || {
        CAME.mine().add();
        apic::eoi();
    });
    interrupt::on(SET, || {
        smp::take_logical_id();
        apic::eoi();
    });
    interrupt::on(OVER, apic::eoi);
    let plan = ldr.plan(mode);
    LDR.set(ldr as u64);
    TARGETS.set(plan.iter().fold(0, |all, &(_, reached)| all | u64::from(reached)));
    prepare(0);
    smp::start(target);
    barrier::meet();
    smp::rest(gap);
    let mut expected = [0; smp::MAX_VCPUS];
    let mut wrong = 0;
    // What comes back to the sender is noticed, too.
    cpu::sti();
    call::begin("sender");
    for (step, &(destination, reached)) in plan.iter().enumerate() {
        if step > 0 && ldr == Ldr::Late {
            smp::send(1, SET);
            smp::rest(gap);
        }
        for _ in 0..n {
            smp::send_to_mask(destination, VECTOR);
            smp::rest(gap);
            for vcpu in 0..smp::vcpus() {
                let count = &mut expected[vcpu as usize];
                *count += u64::from(reached >> vcpu & 1);
                cpu::wait_until(|| CAME.of(vcpu).get() >= *count);
                wrong += u64::from(CAME.of(vcpu).get() != *count);
            }
        }
    }
    call::end();
    cpu::cli();
    IS_OVER.set(1);
    smp::send_to_others(OVER);
    barrier::meet();
    call::check("IPIs that came where they must not, or twice", 0, wrong);
    for vcpu in 0..smp::vcpus() {
        call::check("IPIs", expected[vcpu as usize], CAME.of(vcpu).get());
    }
}
