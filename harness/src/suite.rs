//! Suites: scenarios in TOML files.
//!
//! ```toml
//! [suite]
//! name = "self-ipi"
//! about = "IPIs to the own vCPU."
//!
//! [[scenario]]
//! name = "x2apic-{wait}"            # {parameter} stands for the parameter's text
//! payload = "self-ipi"
//! matrix = { wait = ["hlt", "nop"] } # one scenario for each combination
//! params = { n = 100 }
//! machine = { x2apic = true }        # also tsc-deadline, xen, pit-reinject, rtc-good and rtc-absent
//!                                    # (false), and kvm and hyperv: true, or a list of switches, such
//!                                    # as ["hv-vpindex", "hv-synic"]
//! silicon = "none"                   # these five are the defaults
//!                                    # or none, zen2, zen3, zen4, zen5, host; also "zen4 vnmi=off",
//!                                    # "none idle-hlt=modeled", "zen4 avic=real x2avic=real"
//! policy = "kvm-6.12"                # or kvm-5.8, kvm-5.8-patch1, kvm-5.15, kvm-6.18,
//!                                    # xen-avic-rfc, xen-4.17, laboratory
//! module = { avic = true }           # also enable-ipiv (true), force-avic (false)
//! vcpus = 1
//! cores = 1                          # as many as vCPUs, if not said: vCPU v runs on core v % cores
//! budget = { ticks = 200_000_000, exits = 200_000 }
//! cite = "corrections.md 3.0 row 1"
//!
//! [scenario.expect]                  # of the payload's only window
//! msr = "2*n"                        # by exit name,
//! "msr 0x830:W" = "n"                # by detail,
//! "io 0x71" = "<= 3*n"               # or by the sum of both directions
//! exits = "4*n"                      # all exits together
//! ticks = ">= n"                     # the window's length
//! order = ["msr 0x830:W", "hlt"]     # the last exits are rounds of these
//! allow = ["interrupt"]              # may occur; everything else unnamed must not
//! [scenario.expect.values]
//! ipis = "n"
//! [scenario.expect.warm-up]          # of the window with that label
//! msr = 1
//!
//! [[scenario.when]]                  # only where the parameters are these
//! is = { wait = "hlt" }
//! expect = { hlt = "n", vintr = "n" }
//!
//! [[scenario]]                       # a negative control: passes only if it fails, and with a
//! name = "negative-hlt-evaluates"    # reason that contains the text
//! payload = "self-ipi"
//! seed = "hlt-evaluates"
//! fails = "order in window"
//! [scenario.expect]
//! outcome = "done"
//! vintr = "n"
//! ```
//! A later `when` wins over an earlier one and over `expect`. Where a window has any rule, exits
//! that no rule names must not occur.
//!
//! Everything is checked when the file is read, formulas included: what is accepted can be run and
//! judged. A mistake is reported with file, line, column and the nearest word that is known.

mod error;
mod expect;
mod fields;
mod load;
mod machine;
mod matrix;
mod scenario;
mod settings;
mod subject;
mod words;

pub use error::SuiteError;
pub use expect::{Expect, Rule, WindowExpect};
pub use load::{Suite, load};
pub use machine::machine_words;
pub use scenario::{Budget, Scenario};
pub use settings::{Setting, Settings};
pub use subject::Subject;
pub use words::{outcome_word, policy_word, seed_word};

#[cfg(test)]
pub(crate) mod tests;
