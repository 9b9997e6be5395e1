//! One scenario: loading, running, reporting.

use crate::apic::HostApic;
use crate::clock::{self, Clock};
use crate::core_block::{CoreBlock, Left};
use crate::guest_memory::GuestRam;
use crate::svm::tables::VmTables;
use crate::svm::world::{self, FxArea, World};
use crate::{calls, guest, phase, records, report, run, svm};
use hv_core::account::Account;
use hv_core::last_exits::LastExits;
use hv_core::payload::Payload as Elf;
use trapline_abi::boot::GUEST_MEMORY;
use trapline_abi::plan::{Payload, Policy, Scenario};
use trapline_abi::record::{Outcome, Record};
use trapline_defs::cpuid::SvmFeatures;
use trapline_policy::cpuid::Host;
use trapline_policy::handle::Stop;
use trapline_policy::vcpu::Vcpu;
use trapline_policy::vm::{GuestClock, Vm};
use trapline_silicon::Silicon;

/// What scenarios run on, one after the other.
pub struct Bench {
    /// What guests may know of the processor.
    pub host: Host,
    /// The processor's SVM features.
    pub features: SvmFeatures,
    /// The processor is QEMU's TCG.
    pub is_tcg: bool,
    /// Frequencies.
    pub clock: Clock,
    /// The host's timer.
    pub apic: HostApic,
    /// The boot core's world.
    pub world: World,
    /// The VM's tables.
    pub tables: &'static mut VmTables,
    /// Guest RAM.
    pub memory: GuestRam,
    /// The vCPU's accounts.
    pub account: &'static mut Account,
}

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

/// Runs one scenario; the bench comes back as it was.
pub fn run(bench: Bench, index: u32, scenario: &Scenario<'_>, payload: &Payload<'_>) -> Bench {
    records::put(&Record::ScenarioBegin { index, name: scenario.name });
    records::flush();
    let elf = match check(scenario, payload) {
        Ok(elf) => elf,
        Err(end) => {
            finish(index, &end, 0);
            return bench;
        }
    };
    let mut core = prepare(bench, scenario, &elf);
    phase::sync_closed(&core.apic, &core.clock);
    let start = clock::now();
    core.set_time_zero(start);
    core.ends_at = start.saturating_add(scenario.budget_ticks);
    run::arm(&mut core);
    let end = turn(&mut core);
    let ticks = core.exited_at.wrapping_add(core.vm.clock.offset);
    core.apic.arm(0);
    report::traps(&mut core);
    if end.outcome != Outcome::Done {
        report::postmortem(&mut core);
    }
    finish(index, &end, ticks);
    core.into_bench()
}

/// Refuses what cannot be run, by name.
#[expect(
    clippy::result_large_err,
    reason = "there is no allocator to box it with, and one a scenario"
)]
fn check<'a>(scenario: &Scenario<'_>, payload: &Payload<'a>) -> Result<Elf<'a>, End> {
    let refuse = |why: core::fmt::Arguments<'_>| End::new(Outcome::Refused, why);
    let Policy::Kvm612 = scenario.policy;
    if Silicon::profile(scenario.silicon).is_err() {
        let (name, known) = (scenario.silicon, trapline_silicon::PROFILES);
        return Err(refuse(format_args!("no silicon profile {name}; there is {known:?}")));
    }
    if scenario.vcpus != 1 {
        return Err(refuse(format_args!("{} vCPUs: this version runs one", scenario.vcpus)));
    }
    Elf::read(payload.elf).map_err(|why| refuse(format_args!("{}: {}", payload.name, why.text())))
}

/// A core with a guest that was never entered.
fn prepare(bench: Bench, scenario: &Scenario<'_>, elf: &Elf<'_>) -> CoreBlock {
    let Bench { host, features, is_tcg, clock, apic, mut world, tables, mut memory, account } =
        bench;
    let khz = clock.tsc_khz;
    let clock_zero = GuestClock { offset: 0, khz };
    let mut vm = Vm::new(scenario.machine, scenario.seed, GUEST_MEMORY, clock_zero);
    vm.soft_injection = is_tcg;
    let vcpu = Vcpu::new(&scenario.machine, &host, khz, 0, 1);
    guest::load(&mut memory, elf, scenario, khz);
    tables.map_all();
    world.fx = FxArea::RESET;
    guest::reset_vmcb(world.vmcb(), tables, elf.entry);
    account.reset();
    let mut core = CoreBlock {
        world,
        vcpu,
        account,
        last_exits: LastExits::new(),
        vm,
        memory,
        tables,
        apic,
        clock,
        exited_at: 0,
        exits_left: scenario.budget_exits.max(1),
        ends_at: 0,
        armed_for: 0,
        left: Left::Not,
        host,
        features,
        window: calls::OpenWindow::NONE,
    };
    core.vcpu.gprs.rdi = trapline_abi::boot::BOOT_PAGE;
    core
}

/// The guest's turns until something ends the scenario.
fn turn(core: &mut CoreBlock) -> End {
    loop {
        world::run(core);
        let left = match core.left {
            Left::Block => match run::block(core) {
                None => continue,
                Some(left) => left,
            },
            Left::Call => match calls::answer(core) {
                None => continue,
                Some(end) => return end,
            },
            left => left,
        };
        return ended(core, left);
    }
}

fn ended(core: &mut CoreBlock, left: Left) -> End {
    let rip = core.world.vmcb().save.rip;
    let code = core.world.vmcb().control.exit_code;
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
            let address = core.world.vmcb().control.exit_info_2;
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
        Left::Stop(Stop::Init) => {
            End::new(Outcome::Unhandled, format_args!("INIT of the bootstrap vCPU at rip {rip:#x}"))
        }
        _ => End::new(Outcome::Unhandled, format_args!("exit {code:?} at rip {rip:#x}")),
    }
}

fn finish(index: u32, end: &End, ticks: u64) {
    let detail = end.detail.as_str();
    records::put(&Record::ScenarioEnd { index, outcome: end.outcome, detail, ticks });
    records::flush();
}

impl CoreBlock {
    /// Guest time is 0 at host TSC `start`.
    fn set_time_zero(&mut self, start: u64) {
        self.vm.clock.offset = start.wrapping_neg();
        self.world.vmcb().control.tsc_offset = self.vm.clock.offset;
        self.exited_at = start;
    }

    /// Takes `ticks` of host time out of the guest's: it happened while the guest was stopped.
    pub fn hide_time(&mut self, ticks: u64) {
        self.vm.clock.offset = self.vm.clock.offset.wrapping_sub(ticks);
        self.world.vmcb().control.tsc_offset = self.vm.clock.offset;
        self.ends_at = self.ends_at.saturating_add(ticks);
    }

    fn into_bench(self) -> Bench {
        let is_tcg = self.vm.soft_injection;
        let Self { host, features, clock, apic, world, tables, memory, account, .. } = self;
        svm::gif::close();
        Bench { host, features, is_tcg, clock, apic, world, tables, memory, account }
    }
}
