//! What Trapline claims, shown with the real hv-core, the real payloads and the real QEMU.
//!
//! - [`determinism`]: the same bytes in every run, whatever ran before.
//! - [`oracle`]: QEMU's own log of VM exits agrees with hv-core's counts.
//! - [`order`]: the exits of a self-IPI come in the order of the trace in seeds/003.
//! - [`boot_paths`]: qboot, SeaBIOS and GRUB give the same results.
//! - [`broken_payloads`]: an ELF file that lies about itself harms nobody else.
//! - [`damage`]: a record stream that lost or changed a byte is never taken for a good one.
//! - [`silence`]: a target that stops is ended, and its scenario named.
//! - [`names`]: what a test runner lists.
//! - [`traces`]: a traced vCPU does what it does untraced, and tells every trap.

mod boot_paths;
mod broken_payloads;
mod damage;
mod determinism;
mod laboratory;
mod names;
mod oracle;
mod order;
mod silence;
mod traces;
