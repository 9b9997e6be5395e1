//! How Hyper-V's hypercalls are made and refused (TLFS 6.0b 3; spec hyperv.md 7), in KVM 6.12's words.
#![no_std]
#![no_main]

use guest_payloads::count::Counts;
use guest_payloads::hypercall::{
    self, FAST, NOTIFY_LONG_SPIN_WAIT, POST_MESSAGE, SEND_IPI, SEND_IPI_EX, SIGNAL_EVENT, call,
    header,
};
use guest_payloads::page::Page;
use guest_payloads::rule::Rule;
use guest_payloads::{apic, barrier, call as payload_call, cpu, interrupt, payload, smp};

payload! {
    about: "Makes hypercalls of every kind, right and wrong; checks their status and what they did.";
    choice xmm: Xmm { Offered = "offered", Missing = "missing" }
        = "offered", "Whether the machine has `hv-xmm-input`.";
    run: run;
}

const VECTOR: u8 = 0xb0;
/// A vector as the calls have it.
const V: u64 = VECTOR as u64;
const SUCCESS: u64 = 0;
const INVALID_CODE: u64 = 2;
const INVALID_INPUT: u64 = 3;
const INVALID_ALIGNMENT: u64 = 4;
const ACCESS_DENIED: u64 = 6;

/// Two pages in a row, for blocks that cross from one into the other.
static BLOCKS: [Page; 2] = [Page::new(), Page::new()];
static CAME: Counts = Counts::new();

fn handler() {
    CAME.mine().add();
    apic::eoi();
}

fn run(params: Params) {
    apic::open(apic::Mode::X2Apic);
    interrupt::on(VECTOR, handler);
    hypercall::open();
    hypercall::step_over_undefined();
    smp::start(target);
    refusals();
    instructions();
    blocks();
    plain_ipis();
    extended_ipis();
    xmm(params.xmm == Xmm::Offered);
    the_page();
}

fn target(_number: u32) {
    loop {
        take();
    }
}

/// Every vCPU takes what was sent to it: it waits for all others, lets its hypervisor look by an exit, and
/// opens interrupts.
fn take() {
    barrier::meet();
    cpu::cpuid(0);
    cpu::sti_nop();
    cpu::cli();
    barrier::meet();
}

/// Which vCPUs got an IPI since the last time, one bit each; 16 bits above them, got more than one.
fn hit() -> u64 {
    take();
    (0..smp::vcpus())
        .map(|vcpu| {
            let came = CAME.of(vcpu).get();
            CAME.of(vcpu).set(0);
            match came {
                0 => 0,
                1 => 1 << vcpu,
                _ => 1 << (16 + vcpu),
            }
        })
        .sum()
}

fn everybody() -> u64 {
    (1 << smp::vcpus()) - 1
}

fn put(words: &[u64]) -> u64 {
    for (at, &word) in words.iter().enumerate() {
        BLOCKS[0].write(at * 8, word);
    }
    BLOCKS[0].address()
}

fn refusals() {
    let (result, changed) = hypercall::call_with_all_registers(0x7fff);
    Rule::new("HV-202 an unknown code").is(INVALID_CODE, result).is(0, changed);
    Rule::new("HV-247 an extended call, not offered").is(ACCESS_DENIED, call(0x8001, 0, 0));
    let mut rule = Rule::new("HV-203 reserved bits of the input value");
    for bit in [27, 28, 29, 30, 31, 44, 45, 46, 47, 60, 61, 62, 63] {
        rule.is(INVALID_INPUT, call(1 << bit | FAST | SEND_IPI, V, everybody()));
    }
    drop(rule);
    let mut rule = Rule::new("HV-204 repetitions of single calls");
    for code in [NOTIFY_LONG_SPIN_WAIT, SEND_IPI, POST_MESSAGE, SIGNAL_EVENT] {
        for repeats in [1 << 32, 1 << 43, 1 << 48, 1 << 59] {
            rule.is(INVALID_INPUT, call(repeats | FAST | code, V, everybody()));
        }
    }
    drop(rule);
    let mut rule = Rule::new("HV-205 a header of what has none");
    for code in [NOTIFY_LONG_SPIN_WAIT, SEND_IPI, POST_MESSAGE, SIGNAL_EVENT] {
        rule.is(INVALID_INPUT, call(header(1) | FAST | code, V, everybody()));
    }
    drop(rule);
    payload_call::check("HV-203, HV-204, HV-205: interrupts", 0, hit());
    let wait = call(FAST | NOTIFY_LONG_SPIN_WAIT, 100, 0);
    Rule::new("HV-227 a long spin wait").is(SUCCESS, wait);
    let mut rule = Rule::new("HV-009 calls that CPUID offers");
    let [eax, ..] = cpu::cpuid(0x4000_0004);
    rule.is(3 << 10, (eax & 3 << 10).into());
    for code in [SEND_IPI, SEND_IPI_EX] {
        rule.is(0, u64::from(call(code, 0, 0) == INVALID_CODE));
    }
}

fn instructions() {
    hypercall::undefined();
    hypercall::vmcall();
    Rule::new("HV-229 VMCALL on AMD").is(1, hypercall::undefined());
    payload_call::begin("one");
    let status = call(0x7fff, 0, 0);
    payload_call::end();
    Rule::new("HV-230 a call that came back").is(INVALID_CODE, status);
}

fn blocks() {
    let (first, second) = (BLOCKS[0].address(), BLOCKS[1].address());
    let all = everybody();
    let mut rule = Rule::new("HV-206 alignment is not asked of IPIs");
    // Four bytes in: the vector is the upper half of the first word.
    put(&[V << 32, all << 32, all >> 32]);
    rule.is(SUCCESS, call(SEND_IPI, first + 4, 0)).is(all, hit());
    rule.is(INVALID_ALIGNMENT, call(SIGNAL_EVENT, first + 4, 0));
    rule.is(INVALID_ALIGNMENT, call(POST_MESSAGE, first + 4, 0));
    drop(rule);
    let mut rule = Rule::new("HV-207 crossing: messages no, IPIs yes");
    BLOCKS[0].write(4088, V);
    BLOCKS[1].write(0, all);
    rule.is(second, first + 4096);
    rule.is(SUCCESS, call(SEND_IPI, second - 8, 0)).is(all, hit());
    rule.is(INVALID_INPUT, call(POST_MESSAGE, second - 8, 0));
    drop(rule);
    let mut rule = Rule::new("HV-208 blocks that are not RAM");
    for address in [0xfed0_0000, 1 << 40, !7] {
        for code in [SEND_IPI, header(1) | SEND_IPI_EX] {
            rule.is(INVALID_INPUT, call(code, address, 0));
        }
    }
    rule.is(0, hit());
}

fn plain_ipis() {
    let all = everybody();
    let mut rule = Rule::new("HV-211 a vector below 16, in KVM's words");
    rule.is(INVALID_INPUT, call(FAST | SEND_IPI, 0x0f, all)).is(0, hit());
    drop(rule);
    let mut rule = Rule::new("HV-212 reserved bytes in registers");
    rule.is(INVALID_INPUT, call(FAST | SEND_IPI, 1 << 32 | V, all)).is(0, hit());
    drop(rule);
    let mut rule = Rule::new("HV-213 exactly the set");
    for mask in 0..=all {
        rule.is(SUCCESS, call(FAST | SEND_IPI, V, mask)).is(mask, hit());
    }
    drop(rule);
    let mut rule = Rule::new("HV-214 vCPUs that are not there");
    rule.is(SUCCESS, call(FAST | SEND_IPI, V, !0)).is(all, hit());
    drop(rule);
    let mut rule = Rule::new("HV-215 nobody");
    rule.is(SUCCESS, call(FAST | SEND_IPI, V, 0)).is(0, hit());
    drop(rule);
    cpu::sti();
    let mut rule = Rule::new("HV-216 an IPI to oneself comes at once");
    rule.is(SUCCESS, call(FAST | SEND_IPI, V, 1)).is(1, CAME.mine().get());
    cpu::cli();
    rule.is(1, hit());
}

fn extended_ipis() {
    let all = everybody();
    let mut rule = Rule::new("HV-218 banks follow each other");
    let set = put(&[V, 0, 0b101, 0b11, 0b100]);
    rule.is(SUCCESS, call(header(2) | SEND_IPI_EX, set, 0)).is(0b11, hit());
    drop(rule);
    let mut rule = Rule::new("HV-219 a header that does not fit");
    for (length, valid) in [(0, 1), (2, 1), (1, 0), (1, 0b11)] {
        let set = put(&[V, 0, valid, all, all]);
        rule.is(INVALID_INPUT, call(header(length) | SEND_IPI_EX, set, 0));
    }
    rule.is(0, hit());
    drop(rule);
    let mut rule = Rule::new("HV-220 everybody; other formats sparse");
    rule.is(SUCCESS, call(SEND_IPI_EX, put(&[V, 1, 0]), 0)).is(all, hit());
    let set = put(&[V, 2, 1, 0b10]);
    rule.is(SUCCESS, call(header(1) | SEND_IPI_EX, set, 0)).is(0b10, hit());
}

fn xmm(is_offered: bool) {
    let input = header(1) | FAST | SEND_IPI_EX;
    if is_offered {
        let mut rule = Rule::new("HV-221 a set in XMM registers");
        for mask in 0..=everybody() {
            rule.is(SUCCESS, hypercall::call_with_xmm(input, V, 0, [1, mask])).is(mask, hit());
        }
    } else {
        let mut rule = Rule::new("HV-210 XMM registers, not offered");
        hypercall::undefined();
        hypercall::call_with_xmm(input, V, 0, [1, everybody()]);
        rule.is(1, hypercall::undefined()).is(0, hit());
    }
}

/// KVM has no overlay: the page stays the guest's memory.
fn the_page() {
    let page = hypercall::page();
    let code = page.read(0);
    let mut rule = Rule::new("HV-231 a store into the page is taken");
    // VMMCALL, RET; the rest is as the guest left it.
    rule.is(0xc3d9_010f, code);
    page.write(8, 0x1234);
    rule.is(0x1234, page.read(8)).is(INVALID_CODE, call(0x7fff, 0, 0));
}
