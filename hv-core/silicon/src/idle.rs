//! HLT and Idle HLT (APM vol. 2 §15.9, Table 15-7).

use crate::exit::Exit;
use crate::feature::Feature;
use crate::processor::{AvicMode, Processor};
use trapline_defs::exit_code::ExitCode;
use trapline_defs::intercept::{Word3, Word5};

/// What HLT does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Halt {
    /// `#GP(0)`: not in ring 0. Comes before any intercept.
    Gp,
    /// Exit with RIP at HLT; nRIP is behind it.
    Exit(Exit),
    /// HLT retires and ends the interrupt shadow. The processor halts until a
    /// [`Processor::boundary`] takes something, which may be at once.
    Halts,
}

impl Processor {
    /// HLT. `interrupts` is the guest's RFLAGS.IF; the interrupt shadow does not matter: an
    /// interrupt that STI holds back is as pending as any.
    ///
    /// The plain intercept goes first and looks at nothing. Idle HLT exits only if there is neither
    /// a virtual NMI nor a virtual interrupt, in one step: nothing can arrive between look and exit.
    pub fn halt(&self, cpl: u8, interrupts: bool) -> Halt {
        if cpl != 0 {
            Halt::Gp
        } else if self.loaded.word_3.contains(Word3::HLT) {
            Halt::Exit(Exit::intercept(ExitCode::HLT))
        } else if self.intercepts_idle() && !self.anything_pending(interrupts) {
            Halt::Exit(Exit::intercept(ExitCode::IDLE_HLT))
        } else {
            Halt::Halts
        }
    }

    fn intercepts_idle(&self) -> bool {
        self.silicon.has(Feature::IdleHlt) && self.loaded.word_5.contains(Word5::IDLE_HLT)
    }

    /// Model-defined (P14): neither V_NMI_MASK nor vGIF=0 makes anything less pending, and
    /// RFLAGS.IF=0 only by knob. A guest may so halt without exit and without waking: the
    /// hypervisor needs a timer and the INTR intercept (AVH-032).
    fn anything_pending(&self, interrupts: bool) -> bool {
        let nmi = self.vnmi() && self.loaded.v_intr.v_nmi();
        let interrupt = if self.loaded.mode == AvicMode::Off {
            self.v_irq_pending()
        } else {
            self.latched.is_some()
        };
        nmi || interrupt && (interrupts || self.knobs.idle_hlt_ignores_if)
    }
}
