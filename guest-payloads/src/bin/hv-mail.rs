//! Messages from every vCPU to every other one (spec hyperv.md 3.4).
#![no_std]
#![no_main]

use guest_payloads::count::{Count, Counts};
use guest_payloads::hypercall::{self, POST_MESSAGE};
use guest_payloads::page::Page;
use guest_payloads::{apic, barrier, call, cpu, interrupt, payload, smp, synic};

payload! {
    about: "Every vCPU sends messages to every other one; each must come once, and each sender's in order.";
    number n = 50, "How many messages from each to each.";
    run: run;
}

const VECTOR: u8 = 0xb0;
const SINT: u32 = 2;
const SLOT: usize = SINT as usize * 256;
const NO_BUFFERS: u64 = 0x13;

static SLOTS: [Page; smp::MAX_VCPUS] = [const { Page::new() }; smp::MAX_VCPUS];
static BLOCKS: [Page; smp::MAX_VCPUS] = [const { Page::new() }; smp::MAX_VCPUS];
/// Messages that came, by vCPU, and the next one of each sender: one page a vCPU, one word a sender.
static CAME: Counts = Counts::new();
static NEXT: [Page; smp::MAX_VCPUS] = [const { Page::new() }; smp::MAX_VCPUS];
static WRONG: Count = Count::new();
static REFUSED: Count = Count::new();
static N: Count = Count::new();

/// Takes the message, and asks for the one that waits behind it.
fn handler() {
    let me = smp::number() as usize;
    let header = SLOTS[me].read(SLOT);
    if header as u32 != 0 {
        let (sender, number) = (SLOTS[me].read(SLOT + 16) as usize, SLOTS[me].read(SLOT + 24));
        let sender = sender % smp::MAX_VCPUS;
        WRONG.add_if(NEXT[me].read(sender * 8) != number);
        NEXT[me].write(sender * 8, number + 1);
        CAME.mine().add();
        SLOTS[me].write(SLOT, header >> 32 << 32);
        // Looked at behind the store: more may have come to wait meanwhile.
        if SLOTS[me].read(SLOT) >> 40 & 1 != 0 {
            cpu::write_msr(synic::EOM, 0);
        }
    }
    apic::eoi();
}

fn run(Params { n }: Params) {
    assert!(smp::vcpus() > 1, "this payload needs `vcpus = 2` or more");
    apic::open(apic::Mode::X2Apic);
    interrupt::on(VECTOR, handler);
    hypercall::open();
    N.set(n);
    smp::start(exchange);
    exchange(0);
    let each = n * u64::from(smp::vcpus() - 1);
    for vcpu in 0..smp::vcpus() {
        call::check("HV-062: messages that came", each, CAME.of(vcpu).get());
    }
    call::check("HV-062: messages out of order", 0, WRONG.get());
    call::check("HV-225: refusals but for buffers", 0, REFUSED.get());
}

fn exchange(me: u32) {
    let (n, vcpus) = (N.get(), smp::vcpus());
    synic::set_message_page(SLOTS[me as usize].address());
    synic::set_source(SINT, VECTOR.into());
    barrier::meet();
    call::begin("mail");
    cpu::sti();
    for number in 0..n {
        for to in (0..vcpus).filter(|&to| to != me) {
            send(me, to, number);
        }
    }
    cpu::cli();
    let each = n * u64::from(vcpus - 1);
    while CAME.mine().get() < each {
        cpu::sti_hlt();
        cpu::cli();
    }
    call::end();
    barrier::meet();
}

fn send(me: u32, to: u32, number: u64) {
    let block = &BLOCKS[me as usize];
    let words = [u64::from(to * 16 + SINT), 16 << 32 | 1, me.into(), number];
    for (at, word) in words.into_iter().enumerate() {
        block.write(at * 8, word);
    }
    loop {
        let status = hypercall::call(POST_MESSAGE, block.address(), 0);
        if status == NO_BUFFERS {
            // The receiver gets time to empty its slot.
            smp::rest(2000);
            continue;
        }
        REFUSED.add_if(status != 0);
        return;
    }
}
