//! Frames: how a record survives a serial line.
//!
//! One frame is `00 COBS(postcard(sequence, record) CRC-32/ISCSI) 00`. The zero in front keeps a
//! frame readable after stray text (firmware, a panic of someone else's); the sequence number
//! makes a lost frame an error instead of a silence.

use crate::record::Record;
use crc::{CRC_32_ISCSI, Crc, Table};
use postcard::ser_flavors::crc::CrcModifier;
use postcard::ser_flavors::{Cobs, Slice};
use serde::Serialize;

/// The check of every frame and of the plan.
pub const CRC: Crc<u32, Table<16>> = Crc::<u32, Table<16>>::new(&CRC_32_ISCSI);
const FRAME_CRC: Crc<u32> = Crc::<u32>::new(&CRC_32_ISCSI);

/// The largest frame hv-core sends, delimiters included, in bytes.
pub const MAX_FRAME: usize = 4096;

/// Why bytes are not a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameError {
    /// The record does not fit in the buffer.
    TooLong,
    /// The bytes between two delimiters are not COBS: torn, or not a frame at all.
    NotCobs,
    /// COBS, but the check or the record's shape is wrong: corrupt.
    Corrupt,
}

#[derive(Serialize)]
struct Body<'a>(u32, &'a Record<'a>);

/// Writes the frame of `record` into `buffer`; returns the frame's bytes.
///
/// # Errors
/// [`FrameError::TooLong`] when the buffer is too small.
pub fn encode<'b>(
    sequence: u32,
    record: &Record<'_>,
    buffer: &'b mut [u8],
) -> Result<&'b [u8], FrameError> {
    let (first, rest) = buffer.split_first_mut().ok_or(FrameError::TooLong)?;
    *first = 0;
    let flavor = Cobs::try_new(Slice::new(rest)).map_err(|_| FrameError::TooLong)?;
    let used = postcard::serialize_with_flavor(
        &Body(sequence, record),
        CrcModifier::new(flavor, FRAME_CRC.digest()),
    )
    .map_err(|_| FrameError::TooLong)?
    .len();
    Ok(&buffer[..used + 1])
}

/// Writes a record without frame and number, to keep it; returns its length, `None` if it does not
/// fit.
pub fn encode_bare(record: &Record<'_>, buffer: &mut [u8]) -> Option<usize> {
    postcard::to_slice(record, buffer).ok().map(|bytes| bytes.len())
}

/// Reads what [`encode_bare`] wrote.
pub fn decode_bare(bytes: &[u8]) -> Option<Record<'_>> {
    postcard::from_bytes(bytes).ok()
}

/// Decodes the bytes between two delimiters, in place; returns sequence number and record.
///
/// # Errors
/// [`FrameError::NotCobs`] or [`FrameError::Corrupt`].
pub fn decode(bytes: &mut [u8]) -> Result<(u32, Record<'_>), FrameError> {
    let len = postcard_cobs_decode(bytes)?;
    postcard::from_bytes_crc32::<(u32, Record<'_>)>(&bytes[..len], FRAME_CRC.digest())
        .map_err(|_| FrameError::Corrupt)
}

/// COBS in place. postcard depends on a `cobs` crate but does not export its decoder alone, and
/// `from_bytes_cobs` cannot be combined with the CRC.
fn postcard_cobs_decode(bytes: &mut [u8]) -> Result<usize, FrameError> {
    let (mut read, mut write) = (0, 0);
    while read < bytes.len() {
        let code = bytes[read] as usize;
        if code == 0 || read + code > bytes.len() {
            return Err(FrameError::NotCobs);
        }
        bytes.copy_within(read + 1..read + code, write);
        write += code - 1;
        read += code;
        if code != 0xff && read < bytes.len() {
            bytes[write] = 0;
            write += 1;
        }
    }
    Ok(write)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Level;

    fn framed(record: &Record<'_>) -> Vec<u8> {
        let mut buffer = [0; MAX_FRAME];
        encode(7, record, &mut buffer).unwrap().to_vec()
    }

    #[test]
    fn a_frame_round_trips_at_every_length() {
        for len in 0..600 {
            let text: String = (0..len).map(|i| char::from(b'a' + (i % 26) as u8)).collect();
            let record = Record::Log { level: Level::Info, text: &text };
            let mut bytes = framed(&record);
            assert_eq!(bytes.first(), Some(&0));
            assert_eq!(bytes.last(), Some(&0));
            let end = bytes.len() - 1;
            assert!(!bytes[1..end].contains(&0));
            assert_eq!(decode(&mut bytes[1..end]), Ok((7, record)));
        }
    }

    #[test]
    fn a_flipped_bit_or_a_lost_byte_is_never_a_record() {
        let good = framed(&Record::Log { level: Level::Warn, text: "sixteen bytes ok" });
        for at in 1..good.len() - 1 {
            for bit in 0..8 {
                let mut bad = good.clone();
                bad[at] ^= 1 << bit;
                let end = bad.len() - 1;
                assert!(decode(&mut bad[1..end]).is_err(), "byte {at} bit {bit}");
            }
            let mut short = good.clone();
            short.remove(at);
            let end = short.len() - 1;
            assert!(decode(&mut short[1..end]).is_err(), "byte {at} lost");
        }
    }

    #[test]
    fn a_record_that_does_not_fit_is_refused() {
        let record = Record::Log { level: Level::Info, text: "far too long for this" };
        assert_eq!(encode(0, &record, &mut [0; 8]), Err(FrameError::TooLong));
    }
}
