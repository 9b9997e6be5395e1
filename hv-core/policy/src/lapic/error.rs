//! The error status register (APM §16.4.6).

use super::{Lapic, LocalSource};

/// Who decides what the ESR shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorReporting {
    /// As KVM: it always reads 0, illegal vectors are sent and received like others (a vector below
    /// 16 waits in IRR for ever, since its class is never above PPR's).
    Kvm,
    /// As the manual: illegal vectors are refused and recorded, a write of the ESR shows the record
    /// and starts a new one.
    Architectural,
}

#[derive(Clone, Debug)]
pub(super) struct Errors {
    reporting: ErrorReporting,
    recorded: u32,
    shown: u32,
}

impl Errors {
    pub(super) const fn new() -> Self {
        Self { reporting: ErrorReporting::Kvm, recorded: 0, shown: 0 }
    }

    pub(super) const fn clear(&mut self) {
        self.recorded = 0;
        self.shown = 0;
    }

    pub(super) const fn shown(&self) -> u32 {
        self.shown
    }

    /// A guest write of the ESR.
    pub(super) const fn latch(&mut self) {
        self.shown = self.recorded;
        self.recorded = 0;
    }
}

impl Lapic {
    /// Chooses the ESR's behaviour.
    pub fn set_error_reporting(&mut self, reporting: ErrorReporting) {
        self.errors.reporting = reporting;
    }

    /// Records an error and raises the error entry's interrupt. False if errors go unnoticed.
    #[cold]
    pub(super) fn raise_error(&mut self, error: u32) -> bool {
        if self.errors.reporting == ErrorReporting::Kvm {
            return false;
        }
        self.errors.recorded |= error;
        // An error entry with an illegal vector would report itself without end.
        if self.lvt[LocalSource::Error as usize].vector() >= 16 {
            self.local_interrupt(LocalSource::Error);
        }
        true
    }
}
