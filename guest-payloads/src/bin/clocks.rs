//! All clocks of a machine are one time: each is read against the TSC, again and again.
//!
//! A clock that went `d` ticks lies between `d - 1` and `d + 1` of them in time, and its two readings lie
//! between the TSC's just before and just after each. If both intervals do not meet, it is wrong: there is
//! no other tolerance.
#![no_std]
#![no_main]

use guest_payloads::{apic, call, cpu, hpet, payload, pit, pm_timer, reference};

payload! {
    about: "Reads PIT, PM timer, HPET and reference time against the TSC.";
    number n = 10, "How often.";
    number apart = 4000, "Microseconds in between; the PIT's counter wraps after 54.";
    choice hyperv: HyperV { No = "no", Yes = "yes" } = "no", "Whether there is Hyper-V's reference time.";
    run: run;
}

const NS_PER_S: u64 = 1_000_000_000;
const FS_PER_S: u64 = 1_000_000_000_000_000;

/// A clock.
struct Clock {
    label: &'static str,
    hz: u64,
    /// It wraps behind that.
    mask: u64,
    read: fn() -> u64,
}

/// A reading, and the TSC before and after.
#[derive(Clone, Copy)]
struct Reading {
    before: u64,
    value: u64,
    after: u64,
}

impl Clock {
    fn read(&self) -> Reading {
        let before = cpu::tsc();
        let value = (self.read)();
        Reading { before, value, after: cpu::tsc() }
    }

    /// Whether what went by between two readings can be what the TSC says.
    fn agrees(&self, first: Reading, last: Reading) -> bool {
        let ticks = last.value.wrapping_sub(first.value) & self.mask;
        let in_ticks = |tsc: u64| nanoseconds(tsc) * u128::from(self.hz);
        let [least, most] = [last.before - first.after, last.after - first.before].map(in_ticks);
        let [one_more, one_less] = [ticks + 1, ticks.saturating_sub(1)]
            .map(|ticks| u128::from(ticks) * u128::from(NS_PER_S));
        one_more > least && one_less < most
    }
}

fn nanoseconds(ticks: u64) -> u128 {
    u128::from(ticks) * 1_000_000 / u128::from(cpu::tsc_khz())
}

fn run(Params { n, apart, hyperv }: Params) {
    apic::open(apic::Mode::X2Apic);
    pit::run_counter();
    hpet::start();
    let clocks = [
        Clock { label: "PIT", hz: pit::HZ, mask: 0xffff, read: pit::counter },
        Clock {
            label: "PM timer",
            hz: pm_timer::HZ,
            mask: pm_timer::MASK,
            read: pm_timer::counter,
        },
        Clock {
            label: "HPET",
            hz: FS_PER_S / hpet::period(),
            mask: 0xffff_ffff,
            read: hpet::counter,
        },
        Clock {
            label: "HPET, 64 bits",
            hz: FS_PER_S / hpet::period(),
            mask: u64::MAX,
            read: hpet::wide_counter,
        },
        Clock { label: "reference time", hz: 10_000_000, mask: u64::MAX, read: reference::by_msr },
    ];
    let clocks = if hyperv == HyperV::Yes { &clocks[..] } else { &clocks[..4] };
    let mut first = [Reading { before: 0, value: 0, after: 0 }; 5];
    for (clock, first) in clocks.iter().zip(&mut first) {
        *first = clock.read();
    }
    let mut wrong = [0; 5];
    let mut last = first;
    call::begin("read");
    for _ in 0..n {
        let until = cpu::tsc() + apart * cpu::tsc_khz() / 1000;
        while cpu::tsc() < until {}
        for (index, clock) in clocks.iter().enumerate() {
            let reading = clock.read();
            let goes_on = reading.value.wrapping_sub(last[index].value) & clock.mask != 0;
            wrong[index] += u64::from(!goes_on || !clock.agrees(first[index], reading));
            last[index] = reading;
        }
    }
    call::end();
    for (clock, wrong) in clocks.iter().zip(wrong) {
        call::check(clock.label, 0, wrong);
    }
}
