//! Virtual GIF (APM vol. 2 §15.33.2).

use crate::exit::{Exit, Outcome};
use crate::feature::Feature;
use crate::processor::Processor;
use trapline_defs::exit_code::ExitCode;
use trapline_defs::intercept::Word4;

impl Processor {
    /// STGI in the guest. The intercept wins; without vGIF the instruction reaches the physical
    /// GIF.
    pub fn stgi(&mut self) -> Outcome {
        self.set_gif(true, Word4::STGI, ExitCode::STGI)
    }

    /// CLGI in the guest.
    pub fn clgi(&mut self) -> Outcome {
        self.set_gif(false, Word4::CLGI, ExitCode::CLGI)
    }

    fn set_gif(&mut self, value: bool, intercept: Word4, code: ExitCode) -> Outcome {
        if self.loaded.word_4.contains(intercept) {
            Outcome::Exit(Exit::intercept(code))
        } else if self.has_vgif() {
            self.loaded.v_intr.set_v_gif(value);
            Outcome::Absorbed(())
        } else {
            Outcome::Physical
        }
    }

    /// Whether virtual events may be taken: vGIF, where it is enabled. The physical GIF is always
    /// set in guest mode.
    #[inline]
    pub(crate) fn gif(&self) -> bool {
        !self.has_vgif() || self.loaded.v_intr.v_gif()
    }

    /// Whether the guest has a GIF of its own: STGI and CLGI move vGIF.
    #[inline]
    pub const fn has_vgif(&self) -> bool {
        self.silicon.has(Feature::VGif) && self.loaded.v_intr.v_gif_enable()
    }
}
