//! xen_version (Xen, public/version.h, public/features.h).

use super::argument::Argument;
use super::errno::{Answer, Errno};
use crate::memory::GuestMemory;
use crate::xen::VERSION;

const GET_VERSION: u64 = 0;
const GET_FEATURES: u64 = 6;

/// Page tables are the guest's own, guest-physical addresses are not machine addresses, and the global
/// callback may be a vector.
const FEATURES: u32 = 1 << 0 | 1 << 2 | 1 << 8;

pub(super) fn op<M: GuestMemory>(command: u64, argument: Argument<'_, M>) -> Answer {
    match command {
        GET_VERSION => Ok(VERSION.into()),
        GET_FEATURES => {
            if argument.u32(0)? != 0 {
                return Err(Errno::Invalid);
            }
            argument.put(4, &FEATURES.to_le_bytes())?;
            Ok(0)
        }
        _ => Err(Errno::NoSuchCall),
    }
}
