//! What one instruction came to under the laboratory, in one word that a rule can be held to.
//!
//! Bits 63:60 of the word say how many exits there were, 59:48 the exit code, 47:40 how far behind the
//! instruction's start RIP was, and 39:0 what of the exit information the manual defines. An
//! instruction that did not exit comes to 0, one that raised `#GP` instead to [`GP`].

// UNSAFETY: instructions whose address has to be known.
#![expect(unsafe_code, reason = "the accesses that rules are about")]

use crate::laboratory::{self as lab, Field, Part, code, control, v_intr};
use crate::{apic, call, cpu, interrupt};
use core::arch::asm;
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};
use trapline_defs::apic::{DEFAULT_BASE, offset};

/// No exit, no fault.
pub const NOTHING: u64 = 0;
/// `#GP` in the guest and no exit.
pub const GP: u64 = 0xd << 48;
/// Every instruction here has two bytes.
pub const LENGTH: u64 = 2;
/// ICR bit 12: an exit may leave it set (APM vol. 2 §16.5, delivery status).
pub const BUSY: u32 = 1 << 12;
/// A host APIC id that no core has: its doorbell can be seen, not heard. Add a guest's id.
pub const NO_CORE: u16 = 0x100;
/// Backing pages that rules may use.
pub const PAGES: u8 = 8;

const fn one_exit(code: u64, behind: u64, information: u64) -> u64 {
    1 << 60 | code << 48 | behind << 40 | information
}

/// Exit 402h of a write that took place: RIP behind it (APM vol. 2 §15.29.9.2, Table 15-28).
pub const fn traps(register: u16) -> u64 {
    one_exit(code::NO_ACCEL, LENGTH, 1 << 32 | register as u64)
}

/// Exit 402h of a write that did not: RIP at it.
pub const fn write_faults(register: u16) -> u64 {
    one_exit(code::NO_ACCEL, 0, 1 << 32 | register as u64)
}

/// Exit 402h of a read.
pub const fn read_faults(register: u16) -> u64 {
    one_exit(code::NO_ACCEL, 0, register as u64)
}

/// Exit 7Ch at an RDMSR or WRMSR (§15.11).
pub const fn intercepted(write: bool) -> u64 {
    one_exit(code::MSR, 0, write as u64)
}

/// Exit 401h (Tables 15-26, 15-27).
pub const fn incomplete(id: u64, index: u16) -> u64 {
    one_exit(code::INCOMPLETE_IPI, LENGTH, id << 32 | index as u64)
}

/// The word without the table index: of an exit that the manual gives none, or any of several.
pub const fn without_index(word: u64) -> u64 {
    word & !0xfff
}

/// One check of a rule that says several things: what is reported is the first that does not hold.
#[derive(Debug)]
pub struct Rule {
    label: &'static str,
    expected: u64,
    actual: u64,
}

impl Rule {
    /// A rule's check, whose label begins with the rule's id.
    pub const fn new(label: &'static str) -> Self {
        Self { label, expected: 0, actual: 0 }
    }

    /// Something that has to be so.
    pub const fn is(&mut self, expected: u64, actual: u64) -> &mut Self {
        if self.expected == self.actual {
            (self.expected, self.actual) = (expected, actual);
        }
        self
    }
}

impl Drop for Rule {
    fn drop(&mut self) {
        call::check(self.label, self.expected, self.actual);
    }
}

/// What an access came to.
#[derive(Clone, Copy, Debug)]
pub struct Came {
    /// The word.
    pub word: u64,
    /// What was read.
    pub value: u64,
}

/// The word of what happened at the instruction at `at` since [`lab::clear`], `#GP` or not.
pub fn word(at: u64, fault: bool) -> u64 {
    let exits = lab::exits();
    if exits == 0 {
        return if fault { GP } else { NOTHING };
    }
    let exit = lab::exit(0);
    let information = match exit.code {
        code::INCOMPLETE_IPI => exit.info_2 & 0xff_0000_0fff,
        code::NO_ACCEL => exit.info_1 & 0x1_0000_0fff,
        // A register's number with decode assists, otherwise nothing.
        code::WRITE_CR8 => 0,
        _ => exit.info_1 & 0xff_ffff_ffff,
    };
    let behind = lab::peek(Field::Exit(0, Part::Rip)).wrapping_sub(at);
    let behind = if fault { 0xff } else { behind.min(0xfe) };
    exits.min(15) << 60 | (exit.code & 0xfff) << 48 | behind << 40 | information
}

/// Reads a register through the interface that is open.
pub fn read(register: u16) -> Came {
    if apic::is_x2apic() { read_msr(offset::to_msr(register)) } else { read_page(register) }
}

/// Writes a register through the interface that is open.
pub fn write(register: u16, value: u64) -> Came {
    if apic::is_x2apic() {
        write_msr(offset::to_msr(register), value)
    } else {
        write_page(register, value as u32)
    }
}

/// RDMSR.
#[inline(never)]
pub fn read_msr(msr: u32) -> Came {
    let (mut at, mut low, mut high) = (0, 0u64, 0u64);
    lab::clear();
    // SAFETY: reads a register of the guest's own machine.
    let fault = interrupt::may_fault(LENGTH, || unsafe {
        asm!("lea {}, [rip + 2f]", "2:", "rdmsr", out(reg) at, in("ecx") msr,
            inout("rax") low, inout("rdx") high, options(nostack));
    });
    Came { word: word(at, fault), value: high << 32 | low }
}

/// WRMSR.
#[inline(never)]
pub fn write_msr(msr: u32, value: u64) -> Came {
    let mut at = 0;
    lab::clear();
    // SAFETY: as for `read_msr`.
    let fault = interrupt::may_fault(LENGTH, || unsafe {
        asm!("lea {}, [rip + 2f]", "2:", "wrmsr", out(reg) at, in("ecx") msr,
            in("eax") value as u32, in("edx") (value >> 32) as u32, options(nostack));
    });
    Came { word: word(at, fault), value }
}

/// MOV from the APIC page, four bytes.
#[inline(never)]
pub fn read_page(register: u16) -> Came {
    let (at, value): (u64, u64);
    lab::clear();
    // SAFETY: the page is mapped, and no memory of ours lies there.
    unsafe {
        asm!("lea {}, [rip + 2f]", "2:", "mov eax, [rdi]", out(reg) at,
            in("rdi") DEFAULT_BASE + u64::from(register), out("rax") value, options(nostack));
    }
    Came { word: word(at, false), value }
}

/// MOV to the APIC page, four bytes.
#[inline(never)]
pub fn write_page(register: u16, value: u32) -> Came {
    let at: u64;
    lab::clear();
    // SAFETY: as for `read_page`.
    unsafe {
        asm!("lea {}, [rip + 2f]", "2:", "mov [rdi], eax", out(reg) at,
            in("rdi") DEFAULT_BASE + u64::from(register), in("eax") value, options(nostack));
    }
    Came { word: word(at, false), value: value.into() }
}

/// XCHG with the APIC page, which reads and writes.
#[inline(never)]
pub fn exchange(register: u16, value: u32) -> Came {
    let at: u64;
    let mut value = u64::from(value);
    lab::clear();
    // SAFETY: as for `read_page`.
    unsafe {
        asm!("lea {}, [rip + 2f]", "2:", "xchg [rdi], eax", out(reg) at,
            in("rdi") DEFAULT_BASE + u64::from(register), inout("rax") value, options(nostack));
    }
    Came { word: word(at, false), value }
}

/// MOV to CR8, of four bytes.
#[inline(never)]
pub fn write_cr8(value: u64) -> Came {
    let at: u64;
    lab::clear();
    // SAFETY: changes which interrupts are taken.
    unsafe {
        asm!("lea {}, [rip + 2f]", "2:", "mov cr8, rax", out(reg) at, in("rax") value,
            options(nostack));
    }
    Came { word: word(at, false), value }
}

/// Vectors that were taken, the last one in the low byte.
static TAKEN: AtomicU64 = AtomicU64::new(0);

fn note(vector: u8) {
    TAKEN.store(TAKEN.load(Relaxed) << 8 | u64::from(vector), Relaxed);
}

/// Lets interrupts in for two instructions: which vectors were taken, the last one in the low byte. Their
/// handlers leave them in service.
pub fn take() -> u64 {
    TAKEN.store(0, Relaxed);
    cpu::sti_nop();
    cpu::cli();
    TAKEN.load(Relaxed)
}

/// Opens the APIC and turns AVIC on, with interrupts off and CR8 in the guest's hands.
pub fn open(x2apic: bool) {
    cpu::cli();
    interrupt::on_each(32..=254, note);
    apic::open(if x2apic { apic::Mode::X2Apic } else { apic::Mode::XApic });
    // What VMRUN refuses is an exit like any other from here on.
    lab::clear();
    lab::take_over(x2apic);
}

/// Turns AVIC on for a further vCPU, which calls this, on a backing page, after [`open`] on the first.
pub fn join(page: u8) {
    lab::clear();
    lab::set_page(page, offset::SVR, 0x1ff);
    lab::set_control(control::BACKING, lab::peek(Field::Address(page)));
    lab::set_control(control::APIC_BAR, DEFAULT_BASE);
    lab::set_control(control::PHYSICAL, lab::peek(Field::PhysicalTable) | 7);
    lab::set_control(control::LOGICAL, lab::peek(Field::LogicalTable));
    let mode = if apic::is_x2apic() { v_intr::X2AVIC } else { 0 };
    lab::change(control::V_INTR, 0xf | v_intr::X2AVIC, v_intr::AVIC | mode);
    lab::clear();
}

/// Makes the physical table's last index another one.
pub fn set_last(index: u16) {
    lab::change(control::PHYSICAL, 0xfff, index.into());
}

/// A guest of four running vCPUs whose APICs hold nothing: the last index is 7, ids 0 to 3 are valid, and
/// every core but the own one is [`NO_CORE`] plus the id.
pub fn fresh() {
    for page in 0..PAGES {
        for register in (offset::ISR..offset::ESR).step_by(16) {
            lab::set_page(page, register, 0);
        }
        let id = u16::from(page);
        if page < 4 {
            let own = lab::peek(Field::HostId) as u16;
            lab::set_entry(id, page, Some(if page == 0 { own } else { NO_CORE + id }));
        } else {
            lab::clear_entry(id);
        }
        lab::set_page(
            page,
            offset::ID,
            if apic::is_x2apic() { id.into() } else { u32::from(id) << 24 },
        );
        lab::set_page(page, offset::DFR, u32::MAX);
    }
    for index in 0..64 {
        lab::set_logical(index, None);
    }
    lab::set_page(0, offset::TPR, 0);
    lab::set_page(0, offset::PPR, 0);
    lab::set_v_tpr(0);
    set_last(7);
}

/// Writes the ICR: an APIC id, and the low half.
pub fn send(to: u32, low: u32) -> Came {
    if apic::is_x2apic() {
        return write(offset::ICR, u64::from(to) << 32 | u64::from(low));
    }
    write(offset::ICR_HIGH, u64::from(to) << 24);
    write(offset::ICR, low.into())
}

/// Which backing pages hold a request for `vector`, one bit each.
pub fn posted(vector: u8) -> u64 {
    (0..PAGES).filter(|&page| lab::has(page, offset::IRR, vector)).map(|page| 1 << page).sum()
}

/// Which backing pages hold any request.
pub fn requested() -> u64 {
    (0..PAGES).filter(|&page| !lab::is_empty(page, offset::IRR)).map(|page| 1 << page).sum()
}

/// Which guests' cores got a doorbell, one bit each.
fn rung() -> u64 {
    let id = |index| lab::peek(Field::Ring(index)).wrapping_sub(NO_CORE.into());
    (0..lab::rings() as u8).map(|index| 1u64.checked_shl(id(index) as u32).unwrap_or(1 << 63)).sum()
}

impl Rule {
    /// Exactly the cores of these guests got a doorbell, one each. A real processor tells nobody.
    pub fn rang(&mut self, guests: u64) -> &mut Self {
        if lab::is_modeled() { self.is(guests, rung()) } else { self }
    }
}
