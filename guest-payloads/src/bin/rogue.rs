//! Everything that a payload must not get away with.
#![no_std]
#![no_main]
#![expect(unsafe_code, reason = "wild accesses are the point")]

use core::arch::asm;
use guest_payloads::{apic, call, cpu, interrupt, payload};
use trapline_abi::boot::GUEST_MEMORY;
use trapline_defs::apic::offset;
use trapline_defs::msr::TSC_DEADLINE;

payload! {
    about: "Misbehaves in one way: a negative control for hv-core and the harness.";
    number n = 4096, "How many wild accesses, where there are many.";
    choice how: How {
        Spin = "spin", Storm = "storm", HaltForever = "halt-forever", TripleFault = "triple-fault",
        Panic = "panic", WildRead = "wild-read", WildWrite = "wild-write", WildJump = "wild-jump",
        WildMsrs = "wild-msrs", WildPorts = "wild-ports", Vmrun = "vmrun", FailedCheck = "failed-check",
        NestedWindow = "nested-window", Cr4 = "cr4", BadCr3 = "bad-cr3", Ud = "ud",
        FarDeadline = "far-deadline", CallInWindow = "call-in-window",
    } = "spin", "The way.";
    run: run;
}

/// Memory that the guest does not have, seen through a page table entry of its own making.
fn beyond_memory() -> *mut u64 {
    let entry = (trapline_abi::boot::PAGE_TABLES + 2 * 0x1000 + 16) as *mut u64;
    // SAFETY: the third entry of the loader's page directory, unused so far: maps 4 MiB on.
    unsafe { entry.write_volatile(GUEST_MEMORY | 0x83) };
    GUEST_MEMORY as *mut u64
}

fn run(Params { n, how }: Params) {
    match how {
        How::Spin => loop {
            cpu::pause();
        },
        How::Storm => loop {
            cpu::vmmcall(0x7777);
        },
        How::HaltForever => {
            cpu::cli();
            cpu::hlt();
        }
        // SAFETY: an empty IDT makes the next exception a triple fault.
        How::TripleFault => unsafe {
            let empty = [0u64; 2];
            asm!("lidt [{}]", "ud2", in(reg) &empty);
        },
        How::Panic => panic!("as told"),
        // SAFETY: the loader's nested tables end the access.
        How::WildRead => call::value("read", unsafe { beyond_memory().read_volatile() }),
        // SAFETY: as above.
        How::WildWrite => unsafe { beyond_memory().write_volatile(1) },
        // SAFETY: as above.
        How::WildJump => unsafe { asm!("jmp {}", in(reg) beyond_memory()) },
        How::WildMsrs => wild_msrs(n),
        How::WildPorts => wild_ports(),
        How::Vmrun => {
            // SAFETY: must raise #UD, which ends the payload by its panic.
            unsafe { asm!("vmrun rax", in("rax") 0x5000) };
        }
        How::FailedCheck => call::check("a check that fails", 1, 2),
        How::NestedWindow => {
            call::begin("outer");
            call::begin("inner");
            call::end();
        }
        // SAFETY: above the physical width: VMRUN refuses it, or the move faults.
        How::BadCr3 => unsafe { asm!("mov cr3, {}", in(reg) 1u64 << 50 | 0x2000) },
        // SAFETY: ends in the payload's panic.
        How::Ud => unsafe { asm!("ud2") },
        How::FarDeadline => far_deadline(),
        How::CallInWindow => call_in_window(),
        // CR4 bits that CPUID does not offer: #GP.
        How::Cr4 => {
            let faulted = interrupt::may_fault(3, || {
                // SAFETY: must fault.
                unsafe { asm!("mov cr4, rax", in("rax") 0x20_0620u64) };
            });
            call::check("#GP for CR4 bits that are not offered", 1, u64::from(faulted));
        }
    }
}

/// A deadline at the end of time must not disturb the present.
fn far_deadline() {
    apic::open(apic::Mode::X2Apic);
    apic::write(offset::LVT_TIMER, 2 << 17 | 0xb0);
    cpu::write_msr(TSC_DEADLINE, u64::MAX - 20_000);
    cpu::sti();
    let start = cpu::tsc();
    while cpu::tsc() - start < 100_000 {
        cpu::pause();
    }
    cpu::cli();
    call::check("the deadline stands", u64::MAX - 20_000, cpu::read_msr(TSC_DEADLINE));
}

/// A call inside a window costs it nothing but its own few instructions.
fn call_in_window() {
    for (label, calls) in [("plain", false), ("with-call", true)] {
        call::begin(label);
        let start = cpu::tsc();
        while cpu::tsc() - start < 10_000 {}
        if calls {
            call::value("in the window", 1);
        }
        let start = cpu::tsc();
        while cpu::tsc() - start < 10_000 {}
        call::end();
    }
}

/// Writes MSRs all over the place, those that would hurt a host among them.
fn wild_msrs(n: u64) {
    // VM_HSAVE_PA, VM_CR, the AVIC doorbell, SMM base, SYSCFG, top of memory, TSC, MTRRs.
    let dangerous =
        [0xc001_0117u32, 0xc001_0114, 0xc001_011b, 0xc001_0111, 0xc001_0010, 0xc001_001a, 0x200];
    let scattered = (0..n as u32).map(|i| i.wrapping_mul(0x9e37_79b9) & 0xc001_3fff);
    let (mut tried, mut faulted) = (0, 0);
    for msr in dangerous.into_iter().chain(scattered) {
        // Its own ground and its own interrupts stay.
        if matches!(msr, 0x1b | 0x10 | 0x800..=0x8ff | 0xc000_0080..=0xc000_0102) {
            continue;
        }
        tried += 1;
        faulted += u64::from(interrupt::may_fault(2, || cpu::write_msr(msr, 0x1000)));
        interrupt::may_fault(2, || {
            cpu::read_msr(msr);
        });
    }
    call::check("some MSRs were tried", 1, u64::from(tried > 0));
    call::value("tried", tried);
    call::value("faulted", faulted);
}

/// Writes every port there is: reset, power, the host's serial line and its way out among them.
fn wild_ports() {
    for port in 0..=u16::MAX {
        cpu::write_port(port, 0x5a);
    }
    call::value("ports", 1 << 16);
}
