//! One synthetic timer: its registers, and when it expires. All times are reference time, in 100 ns.

/// CONFIG: it runs.
pub const ENABLE: u64 = 1;
/// CONFIG: COUNT is a period, not a time.
pub const PERIODIC: u64 = 1 << 1;
/// CONFIG: writing COUNT enables it.
pub const AUTO_ENABLE: u64 = 1 << 3;
/// CONFIG: an expiry is an interrupt with the vector of bits 11:4, without a message.
pub const DIRECT: u64 = 1 << 12;

/// A timer. KVM ignores the lazy bit and stores reserved ones; so does this.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Timer {
    config: u64,
    count: u64,
    /// When it expires, if it was started.
    expires: Option<u64>,
    /// It expired and could not tell the guest: it stands still (STIM-1).
    stalled: bool,
}

impl Timer {
    /// The value of CONFIG.
    pub const fn config(&self) -> u64 {
        self.config
    }

    /// The value of COUNT.
    pub const fn count(&self) -> u64 {
        self.count
    }

    /// It repeats by itself.
    pub const fn is_periodic(&self) -> bool {
        self.config & PERIODIC != 0
    }

    /// The SINT that gets its messages.
    pub const fn sint(&self) -> usize {
        (self.config >> 16 & 0xf) as usize
    }

    /// The vector of its interrupts, if they are direct.
    pub const fn direct_vector(&self) -> Option<u8> {
        if self.config & DIRECT != 0 { Some((self.config >> 4) as u8) } else { None }
    }

    /// The guest writes CONFIG at `now`. A running timer starts anew.
    pub fn set_config(&mut self, value: u64, now: u64) {
        let was_enabled = self.config & ENABLE != 0;
        self.config = value;
        // KVM refuses SINT0 only to a timer that was enabled already; the TLFS to every one (HV-136).
        if was_enabled && self.sint() == 0 && self.direct_vector().is_none() {
            self.config &= !ENABLE;
        }
        self.start(now);
    }

    /// The guest writes COUNT at `now`.
    pub fn set_count(&mut self, value: u64, now: u64) {
        self.count = value;
        if value == 0 {
            self.config &= !ENABLE;
        } else if self.config & AUTO_ENABLE != 0 {
            self.config |= ENABLE;
        }
        self.start(now);
    }

    /// The host restores COUNT at `now`: Enable stays what CONFIG made it.
    pub fn restore_count(&mut self, value: u64, now: u64) {
        self.count = value;
        self.start(now);
    }

    fn start(&mut self, now: u64) {
        self.stalled = false;
        self.expires = (self.config & ENABLE != 0 && self.count != 0)
            .then(|| if self.is_periodic() { now.saturating_add(self.count) } else { self.count });
    }

    /// When it has something to tell next, if ever.
    pub const fn expires(&self) -> Option<u64> {
        if self.stalled { None } else { self.expires }
    }

    /// It expired at `now` or before and the guest was told, or need not be.
    pub fn told(&mut self, now: u64) {
        let Some(expired) = self.expires else { return };
        self.expires = None;
        if self.is_periodic() {
            // Missed ticks are dropped, the phase stays (HV-148).
            let late = now.saturating_sub(expired) % self.count;
            self.expires = Some(now.saturating_add(self.count - late));
        } else {
            self.config &= !ENABLE;
        }
    }

    /// It expired and the guest could not be told.
    pub const fn stall(&mut self) {
        self.stalled = true;
    }

    /// It waits for its slot.
    pub const fn waits(&self) -> bool {
        self.stalled && self.direct_vector().is_none()
    }

    /// The guest may have emptied a message slot: a stalled timer expires once more. A direct one has to be
    /// written to. Whether anything changed.
    pub const fn retry(&mut self) -> bool {
        let again = self.waits();
        self.stalled &= !again;
        again
    }
}
