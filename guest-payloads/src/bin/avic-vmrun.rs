//! VMRUN with AVIC and the APIC page (APM vol. 2 §15.29.3, §15.29.4, §15.29.5.2, §15.15).
#![no_std]
#![no_main]
// UNSAFETY: a page table entry of the guest's own, and the APIC page at other addresses.
#![expect(unsafe_code, reason = "where the APIC page is mapped")]

use guest_payloads::laboratory::{self as lab, Field, Knob, Part, code, control, v_intr};
use guest_payloads::trial::{self, NONE, chosen, fresh, one, outcome, set_and_see};
use guest_payloads::{apic, call, call::check, cpu, payload};
use trapline_abi::boot::PAGE_TABLES;
use trapline_defs::apic::offset::{EOI, ID, IRR, ISR, TPR};

payload! {
    about: "Enters itself with AVIC set up rightly and wrongly, and moves the APIC's page.";
    choice kind: Kind {
        XApic = "xapic", X2Apic = "x2apic", NoX2Avic = "no-x2avic", NoAvic = "no-avic",
        Fetch = "fetch", Walk = "walk",
    } = "xapic", "The APIC's interface, what the processor lacks, or what no guest may do.";
    run: run;
}

const REFUSED: u64 = one(code::INVALID);
const APIC: u64 = 0xfee0_0000;

fn run(Params { kind }: Params) {
    trial::prepare(kind == Kind::X2Apic);
    match kind {
        Kind::NoAvic => return without_avic(),
        Kind::NoX2Avic => {
            let word = lab::control(control::V_INTR) | v_intr::X2AVIC;
            let seen = set_and_see(Field::Control(control::V_INTR), word);
            return chosen("AVIC-003 x2AVIC that is not there", REFUSED, seen);
        }
        Kind::Fetch => return fetch(),
        Kind::Walk => return walk(),
        Kind::XApic | Kind::X2Apic => {}
    }
    refused(kind == Kind::X2Apic);
    ignored();
    entry();
    if kind == Kind::XApic {
        clean();
        tag();
        leaf();
        moved();
        two_addresses();
        plain();
    }
}

/// AVIC-001: a bit that means nothing here.
fn without_avic() {
    check("AVIC-001 VMRUN", NONE, outcome());
    trial::request(0x40);
    chosen("AVIC-001 no delivery", 0, trial::open());
    chosen("AVIC-001 IRR", 0x40, trial::top(IRR));
}

fn refused(x2apic: bool) {
    let word = lab::control(control::V_INTR);
    let alone = word & !v_intr::AVIC | v_intr::X2AVIC;
    check("AVIC-002 bit 30 alone", REFUSED, set_and_see(Field::Control(control::V_INTR), alone));

    let table = lab::peek(Field::PhysicalTable);
    let last = |index| set_and_see(Field::Control(control::PHYSICAL), table | index);
    if x2apic {
        check("AVIC-006 last index 511", NONE, last(511));
        check("AVIC-006 last index 512", REFUSED, last(512));
    } else {
        check("AVIC-004 last index 255", NONE, last(255));
        check("AVIC-005 last index 256", REFUSED, last(256));
    }
    last(254);

    let beyond = 1 << lab::peek(Field::PhysicalBits);
    let set = |offset| set_and_see(Field::Control(offset), beyond);
    chosen("AVIC-008 backing page beyond memory", REFUSED, set(control::BACKING));
    chosen("AVIC-008 physical table beyond memory", REFUSED, set(control::PHYSICAL));
    let rule = if x2apic { "AVIC-009 unused logical table" } else { "AVIC-008 logical table" };
    chosen(rule, REFUSED, set(control::LOGICAL));

    // Without nested paging the guest would run on host memory, should VMRUN accept it.
    if lab::is_modeled() {
        let without = lab::control(control::NESTED) & !1;
        let seen = set_and_see(Field::Control(control::NESTED), without);
        check("AVIC-010 no nested paging", REFUSED, seen);
    }
    check("AVIC-002 the last good VMCB", word, lab::control(control::V_INTR));
}

fn ignored() {
    fresh();
    let page = lab::control(control::BACKING);
    let seen = set_and_see(Field::Control(control::BACKING), page | 0xabc);
    trial::request(0x40);
    chosen("AVIC-011 low bits of 0E0h exit", NONE, seen);
    chosen("AVIC-011 same page", 0x40, trial::open());
    lab::set_control(control::BACKING, page);

    fresh();
    lab::change(control::INTERCEPT_3, 0, 1 << 4);
    lab::change(control::V_INTR, 0, v_intr::V_IRQ | 0xf << 16 | 0x77 << 32);
    check("AVIC-012 V_IRQ is not taken", 0, trial::open());
    chosen("AVIC-012 nor does VINTR exit", NONE, outcome());
    let kept = lab::control(control::V_INTR) & (v_intr::V_IRQ | v_intr::X2AVIC | v_intr::AVIC);
    lab::change(control::INTERCEPT_3, 1 << 4, 0);
    let mode = if apic::is_x2apic() { v_intr::X2AVIC } else { 0 };
    check("AVIC-014 bits 31, 30 and V_IRQ stay", v_intr::V_IRQ | v_intr::AVIC | mode, kept);

    fresh();
    lab::change(control::V_INTR, 0, v_intr::IGNORE_TPR | 0x5);
    trial::request(0x40);
    check("AVIC-013 V_IGN_TPR is ignored", 0, trial::open());
    check("AVIC-013 IRR", 0x40, trial::top(IRR));

    fresh();
    apic::write(TPR, 0x70);
    check("AVIC-014 V_TPR is written back", 7, lab::v_tpr());
}

/// Registers and delivery do not look at the vCPU's own entry.
fn entry() {
    fresh();
    let host = lab::peek(Field::HostId) as u16;
    check("AVIC-018 own entry invalid", NONE, set_and_see(Field::Entry(0), 0));
    lab::set_page(0, TPR, 0x20);
    check("AVIC-018 TPR", 0x20, apic::read(TPR));
    trial::request(0x40);
    check("AVIC-018 delivery", 0x40, trial::open());
    check("AVIC-018 exits", NONE, outcome());
    lab::set_entry(0, 0, Some(host));
}

/// Whose page the guest sees: the number in its ID register.
fn seen_page() -> u64 {
    apic::read(ID) >> 24
}

fn enter_on(page: u8) {
    lab::set_control(control::BACKING, lab::peek(Field::Address(page)));
}

/// Fields that the clean bits say not to load.
fn clean() {
    fresh();
    lab::set_page(1, ID, 1 << 24);
    let keeps = lab::try_poke(Field::Knob(Knob::KeepClean), 1);
    lab::poke(Field::Clean, 1 << 11);
    enter_on(1);
    if keeps {
        check("AVIC-016 clean: the processor's copy", 0, seen_page());
    }
    lab::poke(Field::Clean, 0);
    check("AVIC-016 not clean: the VMCB's page", 1, seen_page());
    enter_on(0);

    // A vector that V_TPR lets through only where AVIC is on.
    lab::change(control::V_INTR, v_intr::AVIC, 0);
    trial::request(0x40);
    check("AVIC-017 off at once", 0, trial::open());
    lab::change(control::V_INTR, 0, v_intr::AVIC);
    check("AVIC-017 on at once", 0x40, trial::open());
    lab::try_poke(Field::Knob(Knob::KeepClean), 0);
}

/// The TLB entry of another vCPU's page.
fn tag() {
    fresh();
    lab::poke(Field::Flush, 3);
    seen_page();
    let stale = lab::try_poke(Field::Knob(Knob::StaleTag), 1);
    enter_on(1);
    if stale {
        check("AVIC-020 no flush: the other page", 0, seen_page());
    }
    lab::poke(Field::Flush, 3);
    check("AVIC-019 TLB_CONTROL 3: its own page", 1, seen_page());
    lab::try_poke(Field::Knob(Knob::StaleTag), 0);
    enter_on(0);
    lab::poke(Field::Flush, 3);
}

fn leaf() {
    fresh();
    lab::set_page(0, TPR, 0x30);
    lab::poke(Field::Leaf, 0);
    lab::clear();
    apic::read(TPR);
    check("AVIC-173 no leaf", one(code::NPF), outcome());
    check("AVIC-173 EXITINFO2", APIC + u64::from(TPR), trial::part(Part::Info2));
    check(
        "AVIC-173 EXITINFO1: final address, read",
        1 << 32,
        trial::part(Part::Info1) & 0x3_0000_0003,
    );

    trial::serve(0x40);
    lab::poke(Field::Leaf, 1);
    lab::clear();
    apic::write(EOI, 0);
    check("AVIC-174 read-only leaf, write", one(code::NPF), outcome());
    check("AVIC-174 EXITINFO1: P, W", 1 << 32 | 3, trial::part(Part::Info1) & 0x3_0000_0003);
    check("AVIC-174 EXITINFO2", APIC + u64::from(EOI), trial::part(Part::Info2));
    check("AVIC-174 ISR", 0x40, trial::top(ISR));
    lab::clear();
    check("AVIC-174 reads go through", 0x30, apic::read(TPR));
    check("AVIC-174 reads exit", NONE, outcome());
    lab::poke(Field::Leaf, 3);
    lab::clear();
    // hv-core's leaf maps nothing of the APIC's.
    check("AVIC-175 what the leaf maps is not used", 0x30, apic::read(TPR));
    check("AVIC-175 exits", NONE, outcome());
}

fn store(address: u64, value: u32) {
    // SAFETY: no RAM lies there: the APIC page, wherever it is.
    unsafe { (address as *mut u32).write_volatile(value) };
}

fn load(address: u64) -> u64 {
    // SAFETY: as for `store`; reading an APIC register touches nothing.
    u64::from(unsafe { cpu::read_memory(address) })
}

/// V_APIC_BAR elsewhere: the next page, which the guest's page tables map like the first.
fn moved() {
    fresh();
    let (there, tpr) = (APIC + 0x1000, u64::from(TPR));
    lab::set_control(control::APIC_BAR, there);
    lab::clear();
    store(there + tpr, 0x60);
    check("AVIC-176 V_TPR", 6, lab::v_tpr());
    check("AVIC-176 read", 0x60, load(there + tpr));
    check("AVIC-176 exits", NONE, outcome());
    store(APIC + tpr, 0x20);
    check("AVIC-176 FEE0_0080h is no TPR", 6, lab::v_tpr());
    check("AVIC-176 nor BP[080]", 0x60, lab::page(0, TPR).into());
    lab::set_control(control::APIC_BAR, APIC);
}

/// A second linear address of the APIC page: a page of RAM that nothing uses, in the guest's own tables.
fn two_addresses() {
    fresh();
    let linear = 0x9000u64;
    let entry = (PAGE_TABLES + 4 * 0x1000 + (linear >> 12) * 8) as *mut u64;
    // SAFETY: the entry of a page that neither payload nor runtime uses.
    let before = unsafe { entry.replace(APIC | 0x13) };
    cpu::flush(linear);
    lab::clear();
    store(linear + u64::from(TPR), 0x50);
    check("AVIC-178 V_TPR, by the other address", 5, lab::v_tpr());
    check("AVIC-178 first address", 0x50, apic::read(TPR));
    check("AVIC-178 other address", 0x50, load(linear + u64::from(TPR)));
    check("AVIC-178 exits", NONE, outcome());
    // SAFETY: as before.
    unsafe { entry.write(before) };
    cpu::flush(linear);
}

/// AVIC-179: executes what lies in the APIC page. What comes of it the manual leaves open.
fn fetch() {
    // SAFETY: hv-core ends the scenario here.
    let page = unsafe { core::mem::transmute::<u64, extern "C" fn()>(APIC + 0x20) };
    page();
    call::check("AVIC-179 a fetch from the APIC page", 0, 1);
}

/// AVIC-179: the guest's own page table lies in the APIC page.
fn walk() {
    // 512 GiB and up, which nothing maps: the second entry of the top level.
    let entry = (PAGE_TABLES + 8) as *mut u64;
    // SAFETY: nothing reaches what it maps but the access below, at which hv-core ends the scenario.
    unsafe { entry.write(APIC | 0x13) };
    load(1 << 39);
    call::check("AVIC-179 a page table in the APIC page", 0, 1);
}

/// The page without AVIC.
fn plain() {
    trial::fresh_without_avic();
    apic::write(TPR, 0x70);
    check("AVIC-015 AVIC off: BP[080]", 0, lab::page(0, TPR).into());
    check("AVIC-015 V_TPR", 0, lab::v_tpr());
}
