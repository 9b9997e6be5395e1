//! The alarm: when the time matches its three registers.

use super::registers::Format;

/// The alarm registers, as the guest wrote them. C0h to FFh match everything (RTC-018).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Alarm {
    pub(super) second: u8,
    pub(super) minute: u8,
    pub(super) hour: u8,
}

impl Alarm {
    /// The register at an index of the chip, if that index is an alarm register.
    pub(super) fn at(&mut self, index: u8) -> Option<&mut u8> {
        Some(match index {
            0x01 => &mut self.second,
            0x03 => &mut self.minute,
            0x05 => &mut self.hour,
            _ => return None,
        })
    }

    /// Seconds from `time`, in seconds since midnight, to the next match: 1 to 86400, or `None` if
    /// there is no such time of day.
    pub(super) fn distance(&self, time: u32, format: Format) -> Option<u32> {
        let every = |byte: u8| byte & 0xc0 == 0xc0;
        let field = |byte, value| if every(byte) { None } else { Some(u32::from(value)) };
        let second = field(self.second, format.decode(self.second));
        let minute = field(self.minute, format.decode(self.minute));
        let hour = field(self.hour, format.decode_hour(self.hour));
        let beyond = |field: Option<u32>, limit| field.is_some_and(|value| value >= limit);
        if beyond(second, 60) || beyond(minute, 60) || beyond(hour, 24) {
            return None;
        }
        // From the next second on, field by field: the smaller fields start at their first
        // match once a larger one had to move.
        let from = time + 1;
        let first = |field: Option<u32>| field.unwrap_or(0);
        let at = |h: u32, m: u32, s: u32| h * 3600 + m * 60 + s;
        let (h, m, s) = (from / 3600, from / 60 % 60, from % 60);
        let reach = |field: Option<u32>, now: u32| match field {
            None => Some(now),
            Some(value) if value >= now => Some(value),
            Some(_) => None,
        };
        let here = |value: u32, field: Option<u32>| field.is_none_or(|f| f == value);
        if h < 24 {
            if here(h, hour) {
                if here(m, minute)
                    && let Some(s) = reach(second, s)
                {
                    return Some(at(h, m, s) - time);
                }
                if let Some(m) = reach(minute, m + 1)
                    && m < 60
                {
                    return Some(at(h, m, first(second)) - time);
                }
            }
            if let Some(h) = reach(hour, h + 1)
                && h < 24
            {
                return Some(at(h, first(minute), first(second)) - time);
            }
        }
        Some(at(24 + first(hour), first(minute), first(second)) - time)
    }
}

#[cfg(test)]
mod tests {
    use super::super::HOUR_24;
    use super::*;

    /// The definition: look at every second of the next day.
    fn slow(alarm: &Alarm, time: u32, format: Format) -> Option<u32> {
        let hit = |byte: u8, want: u32, decoded: u8| byte >= 0xc0 || u32::from(decoded) == want;
        (1..=86_400).find(|d| {
            let t = (time + d) % 86_400;
            hit(alarm.second, t % 60, format.decode(alarm.second))
                && hit(alarm.minute, t / 60 % 60, format.decode(alarm.minute))
                && hit(alarm.hour, t / 3600, format.decode_hour(alarm.hour))
        })
    }

    #[test]
    fn rtc_018_the_distance_is_that_of_a_search_through_the_day() {
        let formats = [Format::of(HOUR_24), Format::of(0)];
        let hours = [0xff, 0x00, 0x05, 0x12, 0x81, 0x92, 0x23, 0x24, 0x99];
        let parts = [0xff, 0x00, 0x07, 0x30, 0x59, 0x60];
        let times = [0, 59, 60, 3599, 18_000, 18_001, 43_199, 43_200, 86_398, 86_399];
        for format in formats {
            for hour in hours {
                for minute in parts {
                    for second in parts {
                        let alarm = Alarm { second, minute, hour };
                        // The search takes a while: a few times for each alarm will do.
                        let spread = usize::from(second ^ minute ^ hour);
                        for time in [times[spread % 10], times[(spread + 3) % 10]] {
                            let got = alarm.distance(time, format);
                            assert_eq!(got, slow(&alarm, time, format), "{alarm:x?} at {time}");
                        }
                    }
                }
            }
        }
    }
}
