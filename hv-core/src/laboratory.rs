//! The laboratory's calls: what a payload sets and reads (`trapline_abi::laboratory`).

use crate::arch::page::physical;
use crate::vcpu_block::VcpuBlock;
use crate::{clock, cores};
use core::sync::atomic::{AtomicU32, Ordering::SeqCst};
use trapline_abi::call::UNAVAILABLE;
use trapline_abi::laboratory::{Field, Knob, RINGS};
use trapline_defs::avic::{ADDRESS, LogicalEntry, PhysicalEntry};
use trapline_defs::event::{Event, EventKind};
use trapline_defs::vmcb::{CleanBits, TlbControl};
use trapline_policy::vm::Vm;
use trapline_silicon::{Chance, Evaluation, Outcome, doorbell};
use zerocopy::{FromBytes, IntoBytes};

/// Doorbells that a vCPU's processor rang.
pub struct Rings {
    ids: [u16; RINGS],
    count: u64,
}

impl Rings {
    /// None yet.
    pub const NONE: Self = Self { ids: [0; RINGS], count: 0 };

    /// Keeps one.
    pub fn note(&mut self, id: u16) {
        if let Some(place) = self.ids.get_mut(self.count as usize) {
            *place = id;
        }
        self.count += 1;
    }
}

/// The laboratory's MSR permission map: everything exits, but for what the payload lets through.
#[repr(C, align(4096))]
struct Map([AtomicU32; 2048]);

static MAP: Map = Map([const { AtomicU32::new(u32::MAX) }; 2048]);

/// The map as it is at a scenario's start; its physical address.
pub fn reset_map() -> u64 {
    for word in &MAP.0 {
        word.store(u32::MAX, SeqCst);
    }
    physical(&MAP)
}

/// The bit of an access to MSR 800h + `index` (APM vol. 2 §15.11): two a register from MSR 0 on.
fn permission(index: u8, write: bool) -> (&'static AtomicU32, u32) {
    let bit = (0x800 + usize::from(index)) * 2 + usize::from(write);
    (&MAP.0[bit / 32], 1 << (bit % 32))
}

/// Whether a physical address may go into a structure that the processor follows: one of AVIC's own
/// pages, or one that no processor has.
fn is_harmless(vm: &Vm<'_>, address: u64, bits: u8) -> bool {
    vm.avic.contains(address) || address >> bits != 0
}

/// Sets a field; 0, or [`UNAVAILABLE`].
pub fn poke(block: &mut VcpuBlock, field: u64, value: u64) -> u64 {
    match Field::from_word(field).and_then(|field| set(block, field, value)) {
        Some(()) => {
            let clean = CleanBits::from_bits_retain(block.vcpu.laboratory.clean);
            block.world.vmcb().control.clean = clean;
            0
        }
        None => UNAVAILABLE,
    }
}

fn set(block: &mut VcpuBlock, field: Field, value: u64) -> Option<()> {
    if !block.is_laboratory {
        return None;
    }
    let tables = block.vm.avic;
    match field {
        Field::Control(offset) => return set_control(block, offset, value),
        Field::Page(vcpu, register) if vcpu < 16 && register < 0x1000 => {
            tables.page(vcpu.into()).store(register, value as u32);
        }
        Field::Entry(id) => {
            let entry = PhysicalEntry::from_bits(value);
            if entry.valid() && !is_harmless(&block.vm, entry.page(), block.physical_bits) {
                return None;
            }
            tables.set_entry(id.into(), entry);
        }
        Field::Logical(index) => {
            tables.set_logical_entry(index, LogicalEntry::from_bits(value as u32));
        }
        Field::Leaf => {
            tables.set_leaf(value as u8);
            if !block.model_plays {
                match value {
                    0 => block.tables.unmap_apic(),
                    _ => block.tables.map_apic(),
                }
            }
        }
        Field::ReadIntercept(msr) => set_permission(msr, false, value),
        Field::WriteIntercept(msr) => set_permission(msr, true, value),
        Field::Exits => {
            block.vcpu.laboratory.clear();
            // A vCPU that was started by INIT and SIPI has the policy's map.
            block.world.vmcb().control.msrpm_base = physical(&MAP);
        }
        Field::Rings => block.rings = Rings::NONE,
        Field::Doorbell if block.model_plays => match doorbell::write(value) {
            Outcome::Absorbed(id) if id != block.core.apic_id => {
                if cores::is_host(id) {
                    block.core.apic.ring(id.into());
                }
            }
            Outcome::Absorbed(_) => {}
            _ => return None,
        },
        Field::Knob(knob) if block.model_plays => set_knob(block, knob, value != 0),
        Field::Timer => {
            block.vcpu.laboratory.deadline = clock::now().saturating_add(value);
            block.core.armed_for.set(0);
        }
        Field::Clean => block.vcpu.laboratory.clean = value as u32,
        Field::Flush => {
            let control = &mut block.world.vmcb().control;
            control.tlb_control = TlbControl(value as u8);
        }
        Field::Meanwhile => block.vcpu.laboratory.meanwhile = value,
        _ => return None,
    }
    Some(())
}

fn set_control(block: &mut VcpuBlock, offset: u16, value: u64) -> Option<()> {
    let value = match offset {
        // The permission maps and the nested tables stay hv-core's.
        0x40 | 0x48 | 0x58 | 0xb0 => return None,
        0x0e0 | 0x0f0 | 0x0f8 => {
            let address = value & !0xfff;
            let fits = is_harmless(&block.vm, address & ADDRESS, block.physical_bits);
            if !fits && address >> block.physical_bits == 0 {
                return None;
            }
            value
        }
        // docs/tcg.md T24.
        0x0a8 if block.vm.soft_injection => soft(Event::from_bits(value)).into_bits(),
        _ => value,
    };
    let control = &mut block.world.vmcb().control;
    block.vcpu.laboratory.changes(control);
    let bytes = control.as_mut_bytes();
    let at = usize::from(offset);
    bytes.get_mut(at..at + 8).filter(|_| at % 4 == 0)?.copy_from_slice(&value.to_le_bytes());
    Some(())
}

fn soft(event: Event) -> Event {
    let interrupt = event.valid() && event.kind() == EventKind::Interrupt;
    if interrupt { event.with_kind(EventKind::Software) } else { event }
}

fn set_permission(msr: u8, write: bool, value: u64) {
    let (word, bit) = permission(msr, write);
    if value == 0 {
        word.fetch_and(!bit, SeqCst);
    } else {
        word.fetch_or(bit, SeqCst);
    }
}

fn set_knob(block: &mut VcpuBlock, knob: Knob, on: bool) {
    let chance = if on { Chance::Always } else { Chance::Never };
    let mut knobs = block.model.processor().knobs();
    match knob {
        Knob::KeepClean => knobs.keep_clean = chance,
        Knob::StaleTag => knobs.stale_tlb_tag = chance,
        Knob::BusyLeft => knobs.busy_left = chance,
        Knob::StaleRunning => knobs.stale_is_running = chance,
        Knob::IdleIgnoresIf => knobs.idle_hlt_ignores_if = on,
        Knob::Relaxed => {
            knobs.evaluation = if on { Evaluation::Relaxed(chance) } else { Evaluation::Strict };
        }
    }
    block.model.processor().set_knobs(knobs);
}

/// Reads a field; [`UNAVAILABLE`] if there is none.
pub fn peek(block: &mut VcpuBlock, field: u64) -> u64 {
    let field = Field::from_word(field).filter(|_| block.is_laboratory);
    field.and_then(|field| get(block, field)).unwrap_or(UNAVAILABLE)
}

fn get(block: &mut VcpuBlock, field: Field) -> Option<u64> {
    let tables = block.vm.avic;
    Some(match field {
        Field::Control(offset) => {
            let at = usize::from(offset);
            let bytes = block.world.vmcb().control.as_bytes().get(at..at + 8)?;
            u64::read_from_bytes(bytes).ok()?
        }
        Field::Page(vcpu, register) if vcpu < 16 && register < 0x1000 => {
            tables.page(vcpu.into()).load(register).into()
        }
        Field::Address(vcpu) if vcpu < 16 => tables.backing_page(vcpu.into()),
        Field::PhysicalTable => tables.physical_table(),
        Field::LogicalTable => tables.logical_table(),
        Field::Entry(id) => tables.entry(id.into()).into_bits(),
        Field::Logical(index) => tables.logical_entry(index).into_bits().into(),
        Field::Leaf => tables.leaf().into(),
        Field::ReadIntercept(msr) => is_set(permission(msr, false)),
        Field::WriteIntercept(msr) => is_set(permission(msr, true)),
        Field::Exits => block.vcpu.laboratory.count(),
        Field::Exit(index, part) => block.vcpu.laboratory.part(index, part)?,
        Field::Rings => block.rings.count,
        Field::Ring(index) if u64::from(index) < block.rings.count => {
            (*block.rings.ids.get(usize::from(index))?).into()
        }
        Field::Doorbell if block.model_plays => u64::from(doorbell::read() == Outcome::Gp),
        Field::PhysicalBits => block.physical_bits.into(),
        Field::HostId => block.core.apic_id.into(),
        Field::Features => {
            let said = block.model.processor().silicon().enumeration();
            u64::from(said.x2avic_ext) << 32 | u64::from(said.edx.bits())
        }
        _ => return None,
    })
}

fn is_set((word, bit): (&AtomicU32, u32)) -> u64 {
    u64::from(word.load(SeqCst) & bit != 0)
}
