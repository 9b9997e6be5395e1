//! One scenario: loading, running, reporting.

// UNSAFETY: the shared part is a static that is filled anew for every scenario.
#![expect(unsafe_code, reason = "places the VM's shared part while no other core runs")]

use crate::arch::page::Slot;
use crate::core_block::{CoreBlock, Home};
use crate::guest_memory::GuestRam;
use crate::laboratory::{self, Rings};
use crate::outbox::Outbox;
use crate::run::Turn;
use crate::svm::tables::VM_TABLES;
use crate::svm::world::{self, FxArea, Handlers, World};
use crate::vcpu_block::{Left, VcpuBlock};
use crate::{
    calls, clock, cores, guest, modeled, phase, records, report, run, traced, turns, vcpus,
};
use core::ops::ControlFlow;
use core::sync::atomic::{AtomicBool, Ordering::SeqCst};
use hv_core::account::Account;
use hv_core::last_exits::LastExits;
use hv_core::model::{Model, Underneath};
use hv_core::payload::Payload as Elf;
use hv_core::trace::Trace;
use hv_core::traps::Traps;
use trapline_abi::boot::GUEST_MEMORY;
use trapline_abi::machine::Machine;
use trapline_abi::plan::{MAX_VCPUS, Payload, Policy, Scenario};
use trapline_abi::record::{Level, Outcome, Record};
use trapline_policy::avic::activation;
use trapline_policy::avic::features::{Features, Offered};
use trapline_policy::avic::tables::Tables;
use trapline_policy::cpuid::Host;
use trapline_policy::handle::Stop;
use trapline_policy::mailbox::Mailbox;
use trapline_policy::vcpu::Vcpu;
use trapline_policy::vm::{GuestClock, Shared, Vm};
use trapline_policy::xen_rfc::Crash;
use trapline_silicon::{Enumeration, Feature, Knobs, Mode, Quirks, Silicon};

/// What scenarios run on, one after the other.
pub struct Bench {
    /// What guests may know of the processor.
    pub host: Host,
    /// What its processor has of what silicon descriptions are about.
    pub machine: Enumeration,
    /// The processor is QEMU's TCG.
    pub is_tcg: bool,
    /// Cores that are up.
    pub cores: u32,
}

/// The VM's shared part; a new one for every scenario, placed while all other cores are parked.
static SHARED: Slot<Shared> = Slot::empty();

/// The VM's tables for AVIC; made ready anew for every scenario.
static AVIC_TABLES: Tables = Tables::new();

/// Somebody ended the scenario.
static ENDED: AtomicBool = AtomicBool::new(false);

/// How it ended, and what there is to say about it.
pub struct End {
    /// How.
    pub outcome: Outcome,
    /// More about it.
    pub detail: records::Text<256>,
}

impl End {
    /// An end with a remark.
    pub fn new(outcome: Outcome, detail: core::fmt::Arguments<'_>) -> Self {
        let mut text = records::Text::new();
        // A longer remark is cut.
        let _ = core::fmt::Write::write_fmt(&mut text, detail);
        Self { outcome, detail: text }
    }
}

/// Runs one scenario.
pub fn run(bench: &Bench, index: u32, scenario: &Scenario<'_>, payload: &Payload<'_>) {
    records::put(&Record::ScenarioBegin { index, name: scenario.name });
    records::flush();
    let (elf, silicon) = match check(bench, scenario, payload) {
        Ok(checked) => checked,
        Err(end) => return finish(index, &end, 0),
    };
    let vcpus = usize::from(scenario.vcpus);
    records::put(&Record::Silicon {
        modeled: silicon.mask(Mode::Modeled),
        real: silicon.mask(Mode::Real),
    });
    prepare(bench, scenario, &elf, silicon);
    let core = cores::core(0);
    phase::sync_closed(&core.apic, &core.clock);
    let start = clock::now();
    for number in 0..vcpus {
        let block = vcpus::block(number);
        block.set_time_zero(start);
        block.ends_at = start.saturating_add(scenario.budget_ticks);
    }
    for number in 1..usize::from(scenario.cores) {
        cores::release(&core.apic, number);
        // The core's first vCPU is the last to fall asleep, waiting for a SIPI like the others: from
        // there on the core takes no time.
        while !mailbox(number).is_asleep() && !is_over() {
            core::hint::spin_loop();
        }
    }
    run_core(core);
    cores::wait_parked();
    let ended = (0..vcpus).find(|&number| vcpus::block(number).end.is_some());
    report_all(index, vcpus, ended.unwrap_or(0));
}

/// Runs a core's vCPUs until the scenario ends. The core's GIF is clear before and after.
pub fn run_core(core: &CoreBlock) {
    core.apic.accept_all();
    let ended = turns::run(core);
    core.apic.arm(0);
    if !ENDED.swap(true, SeqCst) {
        if let Some((vcpu, end)) = ended {
            vcpus::block(vcpu as usize).end = Some(end);
        }
        cores::kick(&core.apic, !core.schedule.get().vcpus());
    }
}

/// A vCPU's mailbox, which everybody may look at.
fn mailbox(vcpu: usize) -> &'static Mailbox {
    // SAFETY: `prepare` placed it, and no other one is before all cores have parked.
    unsafe { SHARED.share() }.mailbox(vcpu as u32)
}

/// Whether the scenario is over.
pub fn is_over() -> bool {
    ENDED.load(SeqCst)
}

fn report_all(index: u32, vcpus: usize, ended: usize) {
    for number in 0..vcpus {
        let block = vcpus::block(number);
        report::close(block);
        if !block.outbox.deliver() {
            records::log(
                Level::Error,
                format_args!("vCPU {number} said more than there is room for"),
            );
        }
    }
    for number in 0..vcpus {
        report::traps(vcpus::block(number));
        traced::report(vcpus::block(number));
    }
    let block = vcpus::block(ended);
    let ticks = block.exited_at.wrapping_add(block.vm.clock.offset);
    let Some(end) = block.end.take() else {
        return finish(
            index,
            &End::new(Outcome::Unhandled, format_args!("nobody ended it")),
            ticks,
        );
    };
    if end.outcome != Outcome::Done {
        for number in 0..vcpus {
            report::postmortem(vcpus::block(number));
        }
    }
    finish(index, &end, ticks);
}

/// Refuses what cannot be run, by name.
#[expect(
    clippy::result_large_err,
    reason = "there is no allocator to box it with, and one a scenario"
)]
fn check<'a>(
    bench: &Bench,
    scenario: &Scenario<'_>,
    payload: &Payload<'a>,
) -> Result<(Elf<'a>, Silicon), End> {
    let refuse = |why: core::fmt::Arguments<'_>| End::new(Outcome::Refused, why);
    let silicon = Silicon::read(scenario.silicon, bench.machine)
        .map_err(|why| refuse(format_args!("{why}")))?;
    silicon
        .check(bench.machine)
        .map_err(|why| refuse(format_args!("silicon {}: {why}", scenario.silicon)))?;
    if silicon.mode(Feature::Avic) == Mode::Real && silicon.any(Mode::Modeled) {
        return Err(refuse(format_args!(
            "silicon {}: a real avic beside modeled features is not supported: make all of them real, \
             or model avic",
            scenario.silicon
        )));
    }
    let (vcpus, wanted, cores) = (scenario.vcpus, u32::from(scenario.cores), bench.cores);
    if vcpus == 0 || vcpus > MAX_VCPUS {
        return Err(refuse(format_args!("{vcpus} vCPUs; there can be 1 to {MAX_VCPUS}")));
    }
    if wanted == 0 || scenario.cores > vcpus {
        return Err(refuse(format_args!("{vcpus} vCPUs cannot share {wanted} cores")));
    }
    if wanted > cores {
        return Err(refuse(format_args!("it needs {wanted} cores, but there are {cores}")));
    }
    let elf = Elf::read(payload.elf)
        .map_err(|why| refuse(format_args!("{}: {}", payload.name, why.text())))?;
    Ok((elf, silicon))
}

/// What the policy finds in the described processor.
fn offered(silicon: &Silicon) -> Offered {
    Offered {
        avic: silicon.enumeration().edx.contains(Feature::Avic.bit()),
        avic_hidden: silicon.quirks().contains(Quirks::AVIC_HIDDEN),
        x2avic: silicon.has(Feature::X2Avic),
        idle_hlt: silicon.has(Feature::IdleHlt),
        vnmi: silicon.has(Feature::Vnmi),
        family_17h: silicon.quirks().contains(Quirks::ERRATUM_1235),
    }
}

/// The silicon that a vCPU runs on.
fn describe(bench: &Bench, scenario: &Scenario<'_>, silicon: Silicon, block: &mut VcpuBlock) {
    block.traps = Traps::NONE;
    block.model_plays = silicon.any(Mode::Modeled);
    block.is_laboratory = scenario.policy == Policy::Laboratory;
    block.rings = Rings::NONE;
    block.physical_bits = bench.host.physical_bits;
    if block.is_laboratory {
        block.world.vmcb().control.msrpm_base = laboratory::reset_map();
    }
    block.model = Model::new(
        silicon,
        Knobs::of(&silicon),
        Underneath {
            host_id: block.core.apic_id,
            physical_bits: bench.host.physical_bits,
            closed_map: block.vm.permissions.plain,
            soft_injection: bench.is_tcg,
        },
    );
    block.trace.reset();
    block.world.answer_by(if scenario.trace {
        Handlers::TRACED
    } else if block.model_plays || block.is_laboratory {
        Handlers::MODELED
    } else {
        Handlers::PLAIN
    });
}

/// Guest memory, the shared part, and a block for each vCPU, none of which was ever entered.
fn prepare(bench: &Bench, scenario: &Scenario<'_>, elf: &Elf<'_>, silicon: Silicon) {
    let khz = cores::core(0).clock.tsc_khz;
    let clock = GuestClock { offset: 0, khz };
    // SAFETY: all other cores are parked, and the references in the blocks are replaced below.
    let shared =
        unsafe { SHARED.place(Shared::new(&scenario.machine, scenario.seed, GUEST_MEMORY)) };
    let (vcpus, cores) = (u32::from(scenario.vcpus), u32::from(scenario.cores));
    let (machine, seed) = (scenario.machine, scenario.seed);
    let mut vm = Vm::new(shared, &AVIC_TABLES, machine, seed, GUEST_MEMORY, clock, vcpus);
    vm.soft_injection = bench.is_tcg;
    vm.permissions = VM_TABLES.permissions();
    vm.use_features(Features::of(scenario.policy, scenario.module, offered(&silicon)));
    ENDED.store(false, SeqCst);
    VM_TABLES.map_all();
    cores::assign(cores, vcpus);
    for index in 0..vcpus {
        let block = vcpus::block(index as usize);
        block.core = Home::new(cores::core((index % cores) as usize));
        block.world.host = block.core.host;
        block.vcpu = Vcpu::new(&scenario.machine, &bench.host, khz, index, vcpus);
        // Waiting for a SIPI, all but the first are blocked from the start.
        block.is_blocked = block.vcpu.waits_for_sipi;
        block.vm = vm;
        block.mailbox = vm.mailbox(index);
        block.mailbox.publish(block.vcpu.lapic.identity());
        block.world.fx = FxArea::RESET;
        guest::reset_vmcb(block.world.vmcb(), block.tables, elf.entry);
        activation::prepare(&vm, &block.vcpu, block.world.vmcb());
        describe(bench, scenario, silicon, block);
        block.account.reset();
        block.last_exits = LastExits::new();
        block.exits_left = scenario.budget_exits.max(1);
        block.left = Left::Not;
        block.window = calls::OpenWindow::NONE;
        block.end = None;
    }
    let block = vcpus::block(0);
    guest::load(&mut block.memory, elf, scenario, khz);
    block.vcpu.gprs.rdi = trapline_abi::boot::BOOT_PAGE;
}

const NO_PROCESSOR: Underneath =
    Underneath { host_id: 0, physical_bits: 36, closed_map: 0, soft_injection: false };

/// Makes a shared part for blocks without a vCPU; before any core is opened.
pub fn open() {
    // SAFETY: the first one.
    unsafe { SHARED.place(Shared::new(&Machine::PLAIN, None, GUEST_MEMORY)) };
}

/// The block of a vCPU before there was a scenario.
pub fn idle_block(
    world: World,
    core: Home,
    account: &'static mut Account,
    outbox: &'static mut Outbox,
    trace: &'static mut Trace,
) -> VcpuBlock {
    let host = Host { vendor: [0; 12], signature: 0, brand: [0; 48], physical_bits: 36 };
    let guest_clock = GuestClock { offset: 0, khz: core.clock.tsc_khz };
    // SAFETY: `open` placed one; it is replaced before any vCPU runs.
    let shared: &'static Shared = unsafe { SHARED.share() };
    VcpuBlock {
        world,
        vcpu: Vcpu::new(&Machine::PLAIN, &host, core.clock.tsc_khz, 0, 1),
        account,
        model: Model::new(Silicon::NONE, Knobs::default(), NO_PROCESSOR),
        model_plays: false,
        is_laboratory: false,
        rings: Rings::NONE,
        physical_bits: 36,
        traps: Traps::NONE,
        mailbox: shared.mailbox(0),
        last_exits: LastExits::new(),
        vm: Vm::new(shared, &AVIC_TABLES, Machine::PLAIN, None, GUEST_MEMORY, guest_clock, 0),
        // SAFETY: `boot` checked the memory map. Handles are one a vCPU, and only the boot core
        // clears and fills guest memory, while the others are parked.
        memory: unsafe { GuestRam::new() },
        tables: &VM_TABLES,
        core,
        is_blocked: false,
        exited_at: 0,
        exits_left: 0,
        ends_at: 0,
        left: Left::Not,
        window: calls::OpenWindow::NONE,
        outbox,
        trace,
        end: None,
    }
}

/// A vCPU's turn, until another one of its core is to run, or until something ends the scenario: `None`
/// when it was another core.
pub fn turn(block: &mut VcpuBlock) -> ControlFlow<Option<End>> {
    loop {
        let left = if block.is_blocked {
            Left::Block
        } else if let Some(left) = run::enter(block) {
            left
        } else if !block.model_plays || modeled::enter(block) == Turn::Enter {
            world::run(block);
            block.left
        } else {
            block.left
        };
        let left = match left {
            Left::Block => match run::block(block) {
                None => continue,
                Some(left) => left,
            },
            Left::Call => match calls::answer(block) {
                None => continue,
                end => return ControlFlow::Break(end),
            },
            left => left,
        };
        match left {
            Left::Asleep | Left::Preempted | Left::Yielded => return ControlFlow::Continue(()),
            Left::Elsewhere => return ControlFlow::Break(None),
            _ => {}
        }
        block.left = left;
        return ControlFlow::Break(Some(ended(block, left)));
    }
}

fn ended(block: &mut VcpuBlock, left: Left) -> End {
    let rip = block.world.vmcb().save.rip;
    let code = block.world.vmcb().control.exit_code;
    match left {
        Left::TimeBudget => End::new(Outcome::TimeBudget, format_args!("at rip {rip:#x}")),
        Left::ExitBudget => End::new(Outcome::ExitBudget, format_args!("at rip {rip:#x}")),
        Left::Stuck => End::new(
            Outcome::Stuck,
            format_args!("halted before rip {rip:#x} with nothing that could wake it"),
        ),
        Left::Stop(Stop::Shutdown) => {
            End::new(Outcome::Shutdown, format_args!("triple fault, exit 7Fh"))
        }
        Left::Stop(Stop::BadMemory) => {
            let address = block.world.vmcb().control.exit_info_2;
            End::new(
                Outcome::BadMemory,
                format_args!("guest-physical address {address:#x} at rip {rip:#x}"),
            )
        }
        Left::Stop(Stop::InvalidGuestState) => {
            End::new(Outcome::InvalidGuestState, format_args!("VMEXIT_INVALID"))
        }
        Left::Stop(Stop::CannotEmulate) => End::new(
            Outcome::Unhandled,
            format_args!("exit {code:?}: the instruction at rip {rip:#x} is not emulated"),
        ),
        Left::Stop(Stop::Crashed) => {
            let why = block.vcpu.avic.crash.map_or("", Crash::text);
            End::new(
                Outcome::Unhandled,
                format_args!("the hypervisor crashes its guest at rip {rip:#x}: {why}"),
            )
        }
        Left::Stop(Stop::Init) => {
            End::new(Outcome::Unhandled, format_args!("INIT of the bootstrap vCPU at rip {rip:#x}"))
        }
        Left::Stop(Stop::Reset) => {
            End::new(Outcome::Reset, format_args!("the guest wrote RESET before rip {rip:#x}"))
        }
        _ => End::new(Outcome::Unhandled, format_args!("exit {code:?} at rip {rip:#x}")),
    }
}

fn finish(index: u32, end: &End, ticks: u64) {
    let detail = end.detail.as_str();
    records::put(&Record::ScenarioEnd { index, outcome: end.outcome, detail, ticks });
    records::flush();
}

impl VcpuBlock {
    /// Guest time is 0 at host TSC `start`.
    fn set_time_zero(&mut self, start: u64) {
        self.vm.clock.offset = start.wrapping_neg();
        self.world.vmcb().control.tsc_offset = self.vm.clock.offset;
        self.exited_at = start;
    }

    /// Takes `ticks` of host time out of the guest's: it happened while the guest was stopped. Not
    /// where there are other vCPUs, whose time went on.
    pub fn hide_time(&mut self, ticks: u64) {
        if self.vm.vcpus > 1 {
            return;
        }
        self.vm.clock.offset = self.vm.clock.offset.wrapping_sub(ticks);
        self.world.vmcb().control.tsc_offset = self.vm.clock.offset;
        self.ends_at = self.ends_at.saturating_add(ticks);
    }
}
