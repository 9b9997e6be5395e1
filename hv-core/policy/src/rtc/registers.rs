//! The time registers: how a date looks in BCD or binary, in 24 or 12 hours.

use super::calendar::Date;
use super::{DM, HOUR_24};

/// Bit 7 of an hour register in 12-hour mode.
const PM: u8 = 0x80;

/// The encoding that register B selects: its DM and 24/12 bits (RTC-019, RTC-020).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Format {
    binary: bool,
    hours_24: bool,
}

impl Format {
    pub(super) const fn of(b: u8) -> Self {
        Self { binary: b & DM != 0, hours_24: b & HOUR_24 != 0 }
    }

    /// The byte of a number from 0 to 99.
    pub(super) const fn encode(self, value: u8) -> u8 {
        if self.binary { value } else { ((value / 10) << 4) | (value % 10) }
    }

    /// The number of a byte; a BCD digit above 9 counts as what it is.
    pub(super) const fn decode(self, byte: u8) -> u8 {
        if self.binary { byte } else { (byte >> 4) * 10 + (byte & 0xf) }
    }

    /// The byte of an hour from 0 to 23. In 12-hour mode midnight is 12 AM and noon 12 PM.
    pub(super) const fn encode_hour(self, hour: u8) -> u8 {
        if self.hours_24 {
            return self.encode(hour);
        }
        let half = match hour % 12 {
            0 => 12,
            h => h,
        };
        self.encode(half) | if hour >= 12 { PM } else { 0 }
    }

    /// The hour of a byte.
    pub(super) const fn decode_hour(self, byte: u8) -> u8 {
        if self.hours_24 {
            return self.decode(byte);
        }
        let hour = self.decode(byte & !PM) % 12;
        if byte & PM != 0 { hour + 12 } else { hour }
    }
}

/// The bytes of the time registers, as the guest reads and writes them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TimeRegisters {
    pub(super) second: u8,
    pub(super) minute: u8,
    pub(super) hour: u8,
    pub(super) weekday: u8,
    pub(super) day: u8,
    pub(super) month: u8,
    pub(super) year: u8,
    pub(super) century: u8,
}

impl TimeRegisters {
    pub(super) fn of(date: &Date, format: Format) -> Self {
        Self {
            second: format.encode(date.second),
            minute: format.encode(date.minute),
            hour: format.encode_hour(date.hour),
            weekday: format.encode(date.weekday),
            day: format.encode(date.day),
            month: format.encode(date.month),
            year: format.encode((date.year % 100) as u8),
            century: format.encode((date.year / 100) as u8),
        }
    }

    pub(super) fn date(&self, format: Format) -> Date {
        let century = u16::from(format.decode(self.century).min(99));
        Date {
            year: century * 100 + u16::from(format.decode(self.year).min(99)),
            month: format.decode(self.month),
            day: format.decode(self.day),
            weekday: format.decode(self.weekday),
            hour: format.decode_hour(self.hour),
            minute: format.decode(self.minute),
            second: format.decode(self.second),
        }
    }

    /// The register at an index of the chip, if that index is a time register.
    pub(super) fn at(&mut self, index: u8) -> Option<&mut u8> {
        Some(match index {
            0x00 => &mut self.second,
            0x02 => &mut self.minute,
            0x04 => &mut self.hour,
            0x06 => &mut self.weekday,
            0x07 => &mut self.day,
            0x08 => &mut self.month,
            0x09 => &mut self.year,
            0x32 => &mut self.century,
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FORMATS: [u8; 4] = [0, DM, HOUR_24, DM | HOUR_24];

    #[test]
    fn rtc_019_020_every_hour_and_number_round_trips_in_every_format() {
        for b in FORMATS {
            let format = Format::of(b);
            for hour in 0..24 {
                assert_eq!(format.decode_hour(format.encode_hour(hour)), hour, "B={b:#x}");
            }
            for value in 0..100 {
                assert_eq!(format.decode(format.encode(value)), value, "B={b:#x}");
            }
        }
    }

    #[test]
    fn rtc_020_midnight_is_12_am_and_noon_12_pm() {
        let bcd = Format::of(0);
        let hours = [(0, 0x12), (1, 0x01), (11, 0x11), (12, 0x92), (13, 0x81), (23, 0x91)];
        for (hour, byte) in hours {
            assert_eq!(bcd.encode_hour(hour), byte);
        }
        assert_eq!(Format::of(DM).encode_hour(12), 0x8c);
    }

    #[test]
    fn rtc_019_a_date_is_the_same_in_every_format() {
        let date = Date { hour: 17, minute: 42, second: 59, ..Date::START };
        for b in FORMATS {
            let format = Format::of(b);
            assert_eq!(TimeRegisters::of(&date, format).date(format), date);
        }
    }
}
