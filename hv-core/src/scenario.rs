//! One scenario: loading, running, reporting.

// UNSAFETY: the shared part is a static that is filled anew for every scenario.
#![expect(unsafe_code, reason = "places the VM's shared part while no other core runs")]

use crate::apic::HostApic;
use crate::arch::page::Slot;
use crate::clock::{self, Clock};
use crate::guest_memory::GuestRam;
use crate::outbox::Outbox;
use crate::svm::tables::VM_TABLES;
use crate::svm::world::{self, FxArea, World};
use crate::vcpu_block::{Left, VcpuBlock};
use crate::{calls, cores, guest, phase, records, report, run};
use core::sync::atomic::{AtomicBool, Ordering::SeqCst};
use hv_core::account::Account;
use hv_core::last_exits::LastExits;
use hv_core::payload::Payload as Elf;
use trapline_abi::boot::GUEST_MEMORY;
use trapline_abi::plan::{Machine, Payload, Policy, Scenario};
use trapline_abi::record::{Level, Outcome, Record};
use trapline_policy::cpuid::Host;
use trapline_policy::handle::Stop;
use trapline_policy::mailbox::State;
use trapline_policy::vcpu::Vcpu;
use trapline_policy::vm::{GuestClock, Shared, Vm};
use trapline_silicon::Silicon;

/// What scenarios run on, one after the other.
pub struct Bench {
    /// What guests may know of the processor.
    pub host: Host,
    /// The processor is QEMU's TCG.
    pub is_tcg: bool,
    /// Cores that are up.
    pub cores: u32,
}

/// The VM's shared part; a new one for every scenario, placed while all other cores are parked.
static SHARED: Slot<Shared> = Slot::empty();

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
    let elf = match check(bench, scenario, payload) {
        Ok(elf) => elf,
        Err(end) => return finish(index, &end, 0),
    };
    let vcpus = usize::from(scenario.vcpus);
    prepare(bench, scenario, &elf);
    let block = cores::block(0);
    phase::sync_closed(&block.apic, &block.clock);
    let start = clock::now();
    for number in 0..vcpus {
        let block = cores::block(number);
        block.set_time_zero(start);
        block.ends_at = start.saturating_add(scenario.budget_ticks);
    }
    let block = cores::block(0);
    for number in 1..vcpus {
        cores::release(&block.apic, number);
        // Asleep where its vCPU waits for a SIPI: from there on it takes no time.
        while block.vm.mailbox(number as u32).state() != State::Asleep && !is_over() {
            core::hint::spin_loop();
        }
    }
    run_core(block);
    cores::wait_parked();
    let ended = (0..vcpus).find(|&number| cores::block(number).end.is_some());
    report_all(index, vcpus, ended.unwrap_or(0));
}

/// Runs a core's vCPU until the scenario ends. The core's GIF is clear before and after.
pub fn run_core(block: &mut VcpuBlock) {
    let end = turn(block);
    block.apic.arm(0);
    if !ENDED.swap(true, SeqCst) {
        block.end = end;
        let others = ((1u32 << block.vm.vcpus) - 1) & !(1 << block.vcpu.index);
        cores::kick(&block.apic, others);
    }
}

/// Whether the scenario is over.
pub fn is_over() -> bool {
    ENDED.load(SeqCst)
}

fn report_all(index: u32, vcpus: usize, ended: usize) {
    for number in 0..vcpus {
        let block = cores::block(number);
        report::close(block);
        if !block.outbox.deliver() {
            records::log(
                Level::Error,
                format_args!("vCPU {number} said more than there is room for"),
            );
        }
    }
    for number in 0..vcpus {
        report::traps(cores::block(number));
    }
    let block = cores::block(ended);
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
            report::postmortem(cores::block(number));
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
) -> Result<Elf<'a>, End> {
    let refuse = |why: core::fmt::Arguments<'_>| End::new(Outcome::Refused, why);
    let Policy::Kvm612 = scenario.policy;
    if Silicon::profile(scenario.silicon).is_err() {
        let (name, known) = (scenario.silicon, trapline_silicon::PROFILES);
        return Err(refuse(format_args!("no silicon profile {name}; there is {known:?}")));
    }
    let (wanted, cores) = (u32::from(scenario.vcpus), bench.cores);
    if wanted == 0 || wanted > cores {
        return Err(refuse(format_args!("{wanted} vCPUs, but there are {cores} cores")));
    }
    Elf::read(payload.elf).map_err(|why| refuse(format_args!("{}: {}", payload.name, why.text())))
}

/// Guest memory, the shared part, and a block for each vCPU, none of which was ever entered.
fn prepare(bench: &Bench, scenario: &Scenario<'_>, elf: &Elf<'_>) {
    let khz = cores::block(0).clock.tsc_khz;
    let clock = GuestClock { offset: 0, khz };
    // SAFETY: all other cores are parked, and the references in the blocks are replaced below.
    let shared =
        unsafe { SHARED.place(Shared::new(&scenario.machine, scenario.seed, GUEST_MEMORY)) };
    let vcpus = u32::from(scenario.vcpus);
    let mut vm = Vm::new(shared, scenario.machine, scenario.seed, GUEST_MEMORY, clock, vcpus);
    vm.soft_injection = bench.is_tcg;
    ENDED.store(false, SeqCst);
    VM_TABLES.map_all();
    for index in 0..vcpus {
        let block = cores::block(index as usize);
        block.vcpu = Vcpu::new(&scenario.machine, &bench.host, khz, index, vcpus);
        block.vm = vm;
        block.mailbox = vm.mailbox(index);
        block.mailbox.publish(block.vcpu.lapic.identity());
        block.world.fx = FxArea::RESET;
        guest::reset_vmcb(block.world.vmcb(), block.tables, elf.entry);
        block.account.reset();
        block.last_exits = LastExits::new();
        block.exits_left = scenario.budget_exits.max(1);
        block.armed_for = 0;
        block.left = Left::Not;
        block.window = calls::OpenWindow::NONE;
        block.end = None;
    }
    let block = cores::block(0);
    guest::load(&mut block.memory, elf, scenario, khz);
    block.vcpu.gprs.rdi = trapline_abi::boot::BOOT_PAGE;
}

/// What a block has before there was a scenario.
const NO_MACHINE: Machine =
    Machine { x2apic: false, tsc_deadline: false, kvm: false, hyperv: false };

/// Makes a shared part for blocks without a vCPU; before any core is opened.
pub fn open() {
    // SAFETY: the first one.
    unsafe { SHARED.place(Shared::new(&NO_MACHINE, None, GUEST_MEMORY)) };
}

/// The block of a core that has no vCPU yet.
pub fn idle_block(
    world: World,
    apic: HostApic,
    clock: Clock,
    account: &'static mut Account,
    outbox: &'static mut Outbox,
) -> VcpuBlock {
    let host = Host { vendor: [0; 12], signature: 0, brand: [0; 48], physical_bits: 36 };
    let guest_clock = GuestClock { offset: 0, khz: clock.tsc_khz };
    // SAFETY: `open` placed one; it is replaced before any vCPU runs.
    let shared: &'static Shared = unsafe { SHARED.share() };
    VcpuBlock {
        world,
        vcpu: Vcpu::new(&NO_MACHINE, &host, clock.tsc_khz, 0, 1),
        account,
        mailbox: shared.mailbox(0),
        last_exits: LastExits::new(),
        vm: Vm::new(shared, NO_MACHINE, None, GUEST_MEMORY, guest_clock, 0),
        // SAFETY: `boot` checked the memory map. Handles are one a core, and only the boot core
        // clears and fills guest memory, while the others are parked.
        memory: unsafe { GuestRam::new() },
        tables: &VM_TABLES,
        apic,
        clock,
        exited_at: 0,
        exits_left: 0,
        ends_at: 0,
        armed_for: 0,
        left: Left::Not,
        window: calls::OpenWindow::NONE,
        outbox,
        end: None,
    }
}

/// The guest's turns until something ends the scenario: `None` when it was another core.
fn turn(block: &mut VcpuBlock) -> Option<End> {
    loop {
        let left = if block.vcpu.waits_for_sipi {
            Left::Block
        } else if let Some(left) = run::enter(block) {
            left
        } else {
            world::run(block);
            block.left
        };
        let left = match left {
            Left::Block => match run::block(block) {
                None => continue,
                Some(left) => left,
            },
            Left::Call => match calls::answer(block) {
                None => continue,
                end => return end,
            },
            left => left,
        };
        if left == Left::Elsewhere {
            return None;
        }
        block.left = left;
        return Some(ended(block, left));
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
