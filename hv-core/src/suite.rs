//! What hv-core does with a plan: each scenario in turn, and nothing of one in the next.

use crate::apic::HostApic;
use crate::clock::Clock;
use crate::scenario::{self, Bench};
use crate::svm::enable::{self, Offer};
use crate::{cores, debug_exit, records};
use core::arch::x86_64::__cpuid;
use trapline_abi::debug_exit::{DONE, NO_PLAN, UNUSABLE};
use trapline_abi::plan::{Clock as ClockKind, Plan};
use trapline_abi::record::{BootPath, Level, Record};
use trapline_policy::cpuid::Host;
use trapline_silicon::Enumeration;

/// Runs the plan and ends hv-core.
pub fn run(path: BootPath, blob: &[u8]) -> ! {
    let plan = Plan::read(blob);
    // Without a plan nothing says whether this is icount, where a measurement is out of place.
    let kind = plan.as_ref().map_or(ClockKind::Icount, |plan| plan.head.clock);
    let clock = Clock::find(kind, &HostApic::open());
    let offer = enable::offer();
    let host = host();
    let cores = if offer.is_ok() {
        scenario::open();
        cores::bring_up(clock)
    } else {
        1
    };
    let scenarios = plan.as_ref().map_or(0, |plan| plan.head.scenarios);
    hello(path, &host, &clock, offer.as_ref().ok(), cores, scenarios);
    if let Err(why) = offer {
        fail(UNUSABLE, why.text());
    }
    let plan = match plan {
        Ok(plan) => plan,
        Err(why) => {
            records::log(Level::Error, format_args!("{why}"));
            fail(NO_PLAN, "there is nothing to run")
        }
    };
    let bench = Bench { host, machine: enumeration(), is_tcg: is_tcg(), cores };
    let mut run = 0;
    for (index, scenario) in plan.scenarios().enumerate() {
        let payload = plan.payloads().nth(scenario.payload as usize);
        let Some(payload) = payload else { continue };
        scenario::run(&bench, index as u32, &scenario, &payload);
        run += 1;
    }
    records::put(&Record::Goodbye { scenarios: run });
    records::drain();
    debug_exit::end(DONE)
}

fn fail(code: u32, why: &str) -> ! {
    records::log(Level::Error, format_args!("{why}"));
    records::drain();
    debug_exit::end(code)
}

fn hello(
    path: BootPath,
    host: &Host,
    clock: &Clock,
    offer: Option<&Offer>,
    cores: u32,
    scenarios: u32,
) {
    let brand = core::str::from_utf8(&host.brand).unwrap_or("").trim_end_matches('\0').trim();
    records::put(&Record::Hello {
        protocol: trapline_abi::PROTOCOL,
        boot: path,
        signature: host.signature,
        brand,
        asids: offer.map_or(0, |o| o.asids),
        svm_features: offer.map_or(0, |o| o.features.bits()),
        tsc_khz: clock.tsc_khz,
        cores,
        scenarios,
    });
}

/// Whether the processor is QEMU's TCG (leaf 4000_0000h spells its name).
fn is_tcg() -> bool {
    const HYPERVISOR: u32 = 1 << 31;
    let name = __cpuid(0x4000_0000);
    __cpuid(1).ecx & HYPERVISOR != 0
        && [name.ebx, name.ecx, name.edx]
            == [
                u32::from_le_bytes(*b"TCGT"),
                u32::from_le_bytes(*b"CGTC"),
                u32::from_le_bytes(*b"GTCG"),
            ]
}

/// What CPUID says of interrupt virtualization.
fn enumeration() -> Enumeration {
    let leaf = __cpuid(0x8000_000a);
    Enumeration::of(leaf.ecx, leaf.edx)
}

/// What guests may know of the processor.
fn host() -> Host {
    let zero = __cpuid(0);
    let mut vendor = [0; 12];
    for (part, word) in vendor.chunks_exact_mut(4).zip([zero.ebx, zero.edx, zero.ecx]) {
        part.copy_from_slice(&word.to_le_bytes());
    }
    let mut brand = [0; 48];
    let mut physical_bits = 36;
    let last = __cpuid(0x8000_0000).eax;
    if last >= 0x8000_0008 {
        for (part, leaf) in brand.chunks_exact_mut(16).zip(0x8000_0002..) {
            let words = __cpuid(leaf);
            for (bytes, word) in
                part.chunks_exact_mut(4).zip([words.eax, words.ebx, words.ecx, words.edx])
            {
                bytes.copy_from_slice(&word.to_le_bytes());
            }
        }
        physical_bits = __cpuid(0x8000_0008).eax as u8;
    }
    Host { vendor, signature: __cpuid(1).eax, brand, physical_bits }
}
