//! Dates: what the time registers mean.
//!
//! The registers are bytes that a guest may fill with anything, so every conversion here is total:
//! a field out of range is taken as the nearest one in range.

/// Seconds of a day.
pub(super) const DAY: u64 = 86_400;

/// Days from 0000-03-01 to `year`-`month`-1 in the Gregorian calendar, `month` 1 to 12.
///
/// A year that starts in March puts the leap day last, so that month lengths are one formula.
const fn days_before(year: u64, month: u64) -> u64 {
    // One era more than there is, so that January and February of year 0 stay positive.
    let year = year + 400 - (month <= 2) as u64;
    let month = (month + 9) % 12;
    year * 365 + year / 4 - year / 100 + year / 400 + (month * 153 + 2) / 5
}

/// A point in time as the registers hold it, in binary and 24 hours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Date {
    /// Year, 0 to 9999.
    pub year: u16,
    /// Month, 1 to 12.
    pub month: u8,
    /// Day of the month, 1 to 31.
    pub day: u8,
    /// Day of the week, 1 (Sunday) to 7: a register of its own that only counts along.
    pub weekday: u8,
    /// Hour, 0 to 23.
    pub hour: u8,
    /// Minute, 0 to 59.
    pub minute: u8,
    /// Second, 0 to 59.
    pub second: u8,
}

impl Date {
    /// 2026-01-01 00:00:00, a Thursday: where every scenario starts.
    pub const START: Self =
        Self { year: 2026, month: 1, day: 1, weekday: 5, hour: 0, minute: 0, second: 0 };

    /// Seconds since 1970-01-01 00:00:00.
    pub const fn unix_time(&self) -> u64 {
        let days = days_before(self.year as u64, self.month as u64) + self.day as u64 - 1;
        let minutes = self.hour as u64 * 60 + self.minute as u64;
        (days - days_before(1970, 1)) * DAY + minutes * 60 + self.second as u64
    }

    /// Seconds since midnight.
    pub(super) fn time_of_day(&self) -> u32 {
        let minutes = u32::from(self.hour.min(23)) * 60 + u32::from(self.minute.min(59));
        minutes * 60 + u32::from(self.second.min(59))
    }

    /// This date `seconds` later.
    pub(super) fn after(&self, seconds: u64) -> Self {
        let time = u64::from(self.time_of_day()) + seconds % DAY;
        let passed = seconds / DAY + time / DAY;
        let time = time % DAY;
        let month = self.month.clamp(1, 12);
        let day = self.day.clamp(1, 31);
        let days = days_before(self.year.into(), month.into()) + u64::from(day) - 1 + passed;
        let (year, month, day) = civil(days);
        Self {
            year,
            month,
            day,
            weekday: ((u64::from(self.weekday.clamp(1, 7)) - 1 + passed % 7) % 7 + 1) as u8,
            hour: (time / 3600) as u8,
            minute: (time / 60 % 60) as u8,
            second: (time % 60) as u8,
        }
    }
}

/// Year (modulo 10000), month and day of a number of days as [`days_before`] counts them.
fn civil(days: u64) -> (u16, u8, u8) {
    const ERA: u64 = 146_097; // days in 400 years
    let (era, day) = (days / ERA, days % ERA);
    // The last day of a 4, 100 or 400 year cycle must not count as a new year.
    let year = (day - day / 1460 + day / 36_524 - day / (ERA - 1)) / 365;
    let of_year = day - (year * 365 + year / 4 - year / 100);
    let month = (of_year * 5 + 2) / 153;
    let of_month = of_year - (month * 153 + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = era * 400 + year + (month <= 2) as u64 - 400;
    ((year % 10_000) as u16, month as u8, of_month as u8)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn date(year: u16, month: u8, day: u8) -> Date {
        Date { year, month, day, weekday: 1, hour: 23, minute: 59, second: 59 }
    }

    #[track_caller]
    fn midnight(from: Date, to: (u16, u8, u8)) {
        let next = from.after(1);
        assert_eq!((next.year, next.month, next.day), to);
        assert_eq!((next.hour, next.minute, next.second, next.weekday), (0, 0, 0, 2));
    }

    #[test]
    fn months_years_and_leap_days_roll_over() {
        midnight(date(2026, 1, 31), (2026, 2, 1));
        midnight(date(2026, 2, 28), (2026, 3, 1));
        midnight(date(2028, 2, 28), (2028, 2, 29));
        midnight(date(2000, 2, 28), (2000, 2, 29));
        midnight(date(2100, 2, 28), (2100, 3, 1));
        midnight(date(1999, 12, 31), (2000, 1, 1));
        midnight(date(0, 1, 31), (0, 2, 1));
        midnight(date(9999, 12, 31), (0, 1, 1));
    }

    #[test]
    fn every_day_of_eight_centuries_is_one_after_the_day_before() {
        let mut date = Date { year: 1600, month: 1, day: 1, weekday: 7, ..Date::START };
        let mut days = 0u64;
        while date.year < 2400 {
            let by = |years| date.year.is_multiple_of(years);
            let leap = by(4) && (!by(100) || by(400));
            let length = match date.month {
                2 => 28 + u8::from(leap),
                4 | 6 | 9 | 11 => 30,
                _ => 31,
            };
            let next = date.after(DAY);
            let same_month = (date.year, date.month, date.day + 1);
            let got = (next.year, next.month, next.day);
            if date.day < length {
                assert_eq!(got, same_month);
            } else {
                assert_eq!(next.day, 1, "after {date:?}");
            }
            if (date.year, date.month, date.day) == (2026, 1, 1) {
                assert_eq!(date.weekday, Date::START.weekday, "1600-01-01 was a Saturday");
            }
            date = next;
            days += 1;
        }
        assert_eq!(days, 2 * 146_097);
    }
}
