//! Mailboxes: how a vCPU is reached from others.
//!
//! A vCPU's APIC and events are its own; whoever has something for it leaves it here, and the vCPU
//! takes it out before it enters the guest. Edges that arrive twice before that are one, as in IRR.
//!
//! The order that makes sure nothing is slept over: a sender stores, marks the box full and only then
//! looks at the state; the owner sets its state and only then looks at the mark. Whichever comes
//! second sees the other (all of it sequentially consistent).
//!
//! Several vCPUs may share a core, and its state says of each whether it is ready. One that is preempted is
//! in state `Host`: it will look into its box before it enters, so it is not kicked. One that is blocked
//! is `Asleep`, whether its core sleeps or runs another one; whoever finds it so makes it ready by
//! the change to `Host`, and then kicks the core. The core looks at the states of its vCPUs after it took
//! a physical interrupt and before it enters a guest or sleeps. A kick that comes before that look has
//! its state seen, because the state was changed first; one that comes later is still pending then,
//! and ends the guest's turn or the sleep. A vCPU of the same core sends no kick: its core looks on
//! the way back into the guest.

use crate::lapic::{Delivery, Identity};
use core::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, Ordering::Release, Ordering::SeqCst};
use spin::Mutex;

/// Where a vCPU is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum State {
    /// Its core will look into the box before the guest runs: it handles something, or has other vCPUs
    /// to run first.
    Host = 0,
    /// The guest runs.
    Guest = 1,
    /// The guest runs, and somebody has already sent a kick.
    Leaving = 2,
    /// It is blocked: its core does something else, or sleeps, until there is something.
    Asleep = 3,
}

const NMI: u32 = 1 << 0;
const INIT: u32 = 1 << 1;
const SIPI: u32 = 1 << 2;
const LOOK: u32 = 1 << 3;
const UPDATE: u32 = 1 << 5;
const UNHALT: u32 = 1 << 6;
const MESSAGES: u32 = 1 << 7;
const EVALUATE: u32 = 1 << 16;
/// A second NMI: KVM takes in as many as it may, and that is two at most (process_nmi).
const SECOND_NMI: u32 = NMI << 4;
const SIPI_VECTOR: u32 = 8;
/// The SIPI and its vector.
const SIPI_PART: u32 = SIPI | 0xff << SIPI_VECTOR;

/// A vCPU's mailbox. Cache lines of its own: every exit writes the state.
#[derive(Debug)]
#[repr(align(128))]
pub struct Mailbox {
    full: AtomicBool,
    state: AtomicU8,
    edges: [AtomicU32; 8],
    levels: [AtomicU32; 8],
    other: AtomicU32,
    identity: Mutex<Identity>,
}

/// What was in a mailbox beside interrupts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Letters {
    /// NMIs; that there were more than two makes no difference.
    pub nmis: u8,
    /// An INIT.
    pub init: bool,
    /// A SIPI and its vector.
    pub sipi: Option<u8>,
    /// The devices' deadlines moved.
    pub look: bool,
    /// Whether AVIC may be on changed.
    pub update: bool,
    /// A halt ends, whatever interrupts are open (KVM's `pv_unhalted`).
    pub unhalt: bool,
    /// Messages wait at its ports.
    pub messages: bool,
    /// Events that come from beside the APIC may be there.
    pub evaluate: bool,
}

impl Default for Mailbox {
    fn default() -> Self {
        Self::new()
    }
}

impl Mailbox {
    /// An empty box of a vCPU that no destination names yet.
    pub const fn new() -> Self {
        Self {
            full: AtomicBool::new(false),
            state: AtomicU8::new(State::Host as u8),
            edges: [const { AtomicU32::new(0) }; 8],
            levels: [const { AtomicU32::new(0) }; 8],
            other: AtomicU32::new(0),
            identity: Mutex::new(Identity::NOBODY),
        }
    }

    /// Empties it for the next scenario.
    pub fn reset(&self) {
        for word in self.edges.iter().chain(&self.levels).chain([&self.other]) {
            word.store(0, SeqCst);
        }
        self.full.store(false, SeqCst);
        self.state.store(State::Host as u8, SeqCst);
        *self.identity.lock() = Identity::NOBODY;
    }

    /// Tells others what its APIC is called.
    pub fn publish(&self, identity: Identity) {
        *self.identity.lock() = identity;
    }

    /// What its APIC is called.
    pub fn identity(&self) -> Identity {
        *self.identity.lock()
    }

    /// Whether there is something in it.
    #[inline(always)]
    pub fn is_full(&self) -> bool {
        self.full.load(SeqCst)
    }

    /// The owner says where it is. Setting [`State::Guest`] or [`State::Asleep`], it must look at
    /// [`Mailbox::is_full`] afterwards.
    #[inline(always)]
    pub fn set_state(&self, state: State) {
        self.state.store(state as u8, SeqCst);
    }

    /// Whether its owner is blocked, and nobody has woken it.
    #[inline]
    pub fn is_asleep(&self) -> bool {
        self.state() == State::Asleep
    }

    /// Where its owner is.
    pub fn state(&self) -> State {
        match self.state.load(SeqCst) {
            0 => State::Host,
            1 => State::Guest,
            2 => State::Leaving,
            _ => State::Asleep,
        }
    }

    /// The guest was left: who leaves something from now on needs no kick. A sender that misses this
    /// store kicks in vain, so it need not be ordered.
    #[inline(always)]
    pub fn left(&self) {
        self.state.store(State::Host as u8, Release);
    }

    /// The owner is about to enter the guest; it must look at [`Mailbox::is_full`] afterwards.
    #[inline(always)]
    pub fn enter(&self) {
        self.set_state(State::Guest);
    }

    /// Leaves a delivery; whether its core has to be kicked for it.
    #[must_use]
    pub fn put(&self, delivery: Delivery) -> bool {
        match delivery {
            Delivery::Interrupt { vector, level } => {
                let (word, bit) = (usize::from(vector / 32), 1 << (vector % 32));
                let box_ = if level { &self.levels } else { &self.edges };
                box_[word].fetch_or(bit, SeqCst);
            }
            Delivery::Nmi => self.change(|other| other | NMI | (other & NMI) << 4),
            // An INIT overtakes a SIPI that was not taken out yet; the last SIPI is the one.
            Delivery::Init => self.change(|other| other & !SIPI_PART | INIT),
            Delivery::Sipi { vector } => {
                self.change(|other| other & !SIPI_PART | SIPI | u32::from(vector) << SIPI_VECTOR)
            }
            Delivery::Unhalt => self.change(|other| other | UNHALT),
            // KVM drops an SMI without SMM, and ignores ExtINT in an IPI.
            Delivery::None | Delivery::Smi | Delivery::ExtInt => return false,
        }
        self.kick()
    }

    /// Asks its core to look at the devices' deadlines; whether it has to be kicked for that.
    #[must_use]
    pub fn put_look(&self) -> bool {
        self.other.fetch_or(LOOK, SeqCst);
        self.kick()
    }

    /// Asks its vCPU to look whether AVIC may be on; whether its core has to be kicked for that.
    #[must_use]
    pub fn put_update(&self) -> bool {
        self.other.fetch_or(UPDATE, SeqCst);
        self.kick()
    }

    /// Tells its vCPU that messages wait at its ports; whether its core has to be kicked for that.
    #[must_use]
    pub fn put_messages(&self) -> bool {
        self.other.fetch_or(MESSAGES, SeqCst);
        self.kick()
    }

    /// Asks its vCPU to evaluate events; whether its core has to be kicked for that.
    #[must_use]
    pub fn put_evaluate(&self) -> bool {
        self.other.fetch_or(EVALUATE, SeqCst);
        self.kick()
    }

    /// Whether its owner is in the guest, as far as is known: it may be on its way out.
    pub fn in_guest(&self) -> bool {
        matches!(self.state(), State::Guest | State::Leaving)
    }

    /// Wakes its core if that sleeps; whether it has to be kicked for it. The owner looks for what it
    /// is woken for after it has set [`State::Asleep`].
    #[must_use]
    pub fn wake(&self) -> bool {
        let (from, to) = (State::Asleep as u8, State::Host as u8);
        self.state.compare_exchange(from, to, SeqCst, SeqCst).is_ok()
    }

    fn change(&self, how: impl Fn(u32) -> u32) {
        // It never declines.
        let _ = self.other.fetch_update(SeqCst, SeqCst, |other| Some(how(other)));
    }

    /// As KVM: one kick for a guest that runs or a core that sleeps, however many want one.
    fn kick(&self) -> bool {
        self.full.store(true, SeqCst);
        let change = |from: State, to: State| {
            self.state.compare_exchange(from as u8, to as u8, SeqCst, SeqCst).is_ok()
        };
        change(State::Guest, State::Leaving) || change(State::Asleep, State::Host)
    }

    /// Takes everything out: interrupts go to `accept` (vector, level), the rest is returned.
    pub fn take(&self, mut accept: impl FnMut(u8, bool)) -> Letters {
        self.full.store(false, SeqCst);
        for (words, level) in [(&self.levels, true), (&self.edges, false)] {
            for (index, word) in words.iter().enumerate() {
                let mut bits = word.swap(0, SeqCst);
                while bits != 0 {
                    accept(index as u8 * 32 + bits.trailing_zeros() as u8, level);
                    bits &= bits - 1;
                }
            }
        }
        let other = self.other.swap(0, SeqCst);
        Letters {
            nmis: u8::from(other & NMI != 0) + u8::from(other & SECOND_NMI != 0),
            init: other & INIT != 0,
            sipi: (other & SIPI != 0).then_some((other >> SIPI_VECTOR) as u8),
            look: other & LOOK != 0,
            update: other & UPDATE != 0,
            unhalt: other & UNHALT != 0,
            messages: other & MESSAGES != 0,
            evaluate: other & EVALUATE != 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(mailbox: &Mailbox) -> (Vec<(u8, bool)>, Letters) {
        let mut interrupts = Vec::new();
        let letters = mailbox.take(|vector, level| interrupts.push((vector, level)));
        (interrupts, letters)
    }

    #[test]
    fn what_is_left_is_taken_once() {
        let mailbox = Mailbox::new();
        for vector in [0x31, 0xff, 0x31] {
            assert!(!mailbox.put(Delivery::Interrupt { vector, level: false }));
        }
        assert!(!mailbox.put(Delivery::Interrupt { vector: 0x40, level: true }));
        assert!(!mailbox.put(Delivery::Nmi));
        assert!(!mailbox.put(Delivery::Sipi { vector: 8 }));
        assert!(!mailbox.put_messages());
        assert!(mailbox.is_full());
        let (interrupts, letters) = taken(&mailbox);
        assert_eq!(interrupts, [(0x40, true), (0x31, false), (0xff, false)]);
        let expected = Letters { nmis: 1, sipi: Some(8), messages: true, ..Letters::default() };
        assert_eq!(letters, expected);
        assert!(!mailbox.is_full());
        assert_eq!(taken(&mailbox), (vec![], Letters::default()));
    }

    #[test]
    fn a_running_guest_and_a_sleeper_are_kicked_once() {
        let mailbox = Mailbox::new();
        mailbox.set_state(State::Guest);
        assert!(mailbox.put(Delivery::Nmi));
        assert!(!mailbox.put(Delivery::Nmi), "a kick is under way");
        mailbox.set_state(State::Asleep);
        assert!(mailbox.put(Delivery::Init));
        assert!(!mailbox.put(Delivery::Nmi), "it is waking");
        mailbox.set_state(State::Host);
        assert!(!mailbox.put(Delivery::Init));
    }

    /// Two vCPUs of one core, and senders elsewhere that wait for each answer: one that is slept over would
    /// be waited for in vain.
    #[test]
    fn nothing_is_slept_over_on_a_shared_core() {
        use std::sync::atomic::AtomicU64;
        use std::time::{Duration, Instant};
        const ROUNDS: u64 = 2000;
        let boxes = [const { Mailbox::new() }; 2];
        let (kick, over) = (AtomicBool::new(false), AtomicBool::new(false));
        let came = [const { [const { AtomicU64::new(0) }; 2] }; 2];
        let deadline = Instant::now() + Duration::from_secs(60);
        let wait = |what: &dyn Fn() -> bool| {
            while !what() {
                assert!(Instant::now() < deadline, "slept over");
                std::thread::yield_now();
            }
        };
        let core = || {
            while !over.load(SeqCst) {
                for (mailbox, came) in boxes.iter().zip(&came) {
                    if mailbox.is_asleep() {
                        continue;
                    }
                    // Its turn: what is in the box is taken out until it is empty, then it blocks.
                    loop {
                        mailbox.set_state(State::Host);
                        mailbox.take(|vector, _| {
                            came[usize::from(vector)].fetch_add(1, SeqCst);
                        });
                        mailbox.set_state(State::Asleep);
                        if !mailbox.is_full() {
                            break;
                        }
                    }
                }
                // The core sleeps if all of them do, until it is kicked.
                if boxes.iter().all(Mailbox::is_asleep) {
                    wait(&|| kick.swap(false, SeqCst) || over.load(SeqCst));
                }
            }
        };
        let sender = |vector: u8| {
            for round in 1..=ROUNDS {
                for (mailbox, came) in boxes.iter().zip(&came) {
                    if mailbox.put(Delivery::Interrupt { vector, level: false }) {
                        kick.store(true, SeqCst);
                    }
                    wait(&|| came[usize::from(vector)].load(SeqCst) == round);
                }
            }
        };
        std::thread::scope(|threads| {
            threads.spawn(core);
            let senders = [0, 1].map(|vector| threads.spawn(move || sender(vector)));
            let results = senders.map(|sender| sender.join());
            over.store(true, SeqCst);
            assert!(results.iter().all(Result::is_ok), "a sender waited in vain");
        });
    }

    #[test]
    fn an_init_overtakes_a_sipi_and_the_last_sipi_is_the_one() {
        let mailbox = Mailbox::new();
        let put = |delivery| assert!(!mailbox.put(delivery));
        put(Delivery::Sipi { vector: 0x10 });
        put(Delivery::Init);
        put(Delivery::Nmi);
        let letters = Letters { init: true, nmis: 1, ..Letters::default() };
        assert_eq!(taken(&mailbox).1, letters);
        put(Delivery::Init);
        put(Delivery::Sipi { vector: 0x10 });
        put(Delivery::Sipi { vector: 8 });
        let letters = Letters { init: true, sipi: Some(8), ..Letters::default() };
        assert_eq!(taken(&mailbox).1, letters);
    }

    #[test]
    fn two_nmis_are_two_and_a_third_is_the_second() {
        let mailbox = Mailbox::new();
        for (put, nmis) in [(1, 1), (2, 2), (3, 2)] {
            for _ in 0..put {
                assert!(!mailbox.put(Delivery::Nmi));
            }
            assert_eq!(taken(&mailbox).1, Letters { nmis, ..Letters::default() });
        }
    }

    #[test]
    fn an_unhalt_is_a_letter_of_its_own() {
        let mailbox = Mailbox::new();
        mailbox.set_state(State::Asleep);
        assert!(mailbox.put(Delivery::Unhalt));
        let letters = Letters { unhalt: true, ..Letters::default() };
        assert_eq!(taken(&mailbox), (vec![], letters));
    }

    #[test]
    fn who_is_to_look_for_events_is_kicked_or_woken_for_it() {
        let mailbox = Mailbox::new();
        mailbox.set_state(State::Guest);
        assert!(mailbox.put_evaluate());
        let letters = Letters { evaluate: true, ..Letters::default() };
        assert_eq!(taken(&mailbox), (vec![], letters));
        mailbox.set_state(State::Asleep);
        assert!(mailbox.put_evaluate());
        assert!(!mailbox.is_asleep());
    }

    #[test]
    fn what_means_nothing_to_a_vcpu_leaves_nothing() {
        let mailbox = Mailbox::new();
        for delivery in [Delivery::None, Delivery::Smi, Delivery::ExtInt] {
            assert!(!mailbox.put(delivery));
        }
        assert!(!mailbox.is_full());
    }
}
