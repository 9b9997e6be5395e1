//! Accounting: which exits happened, how often, and how long each took.
//!
//! A vCPU has two tables, one for the open window and one for everything outside windows (marks
//! included), so that their sum is every trap the vCPU took. Rows are keyed by code and detail
//! together; sums by code are made when a table is read, not when it is written.
//!
//! The duration of an exit runs from #VMEXIT to the next VMRUN. Its end is known only after the
//! guest was entered again, so the account of an exit is closed by the next one: [`Account::open`]
//! when it is handled, [`Account::close`] at the start of the next. That costs nothing extra and
//! leaves no part of the path out but the accounting of the exit before it.

use trapline_abi::exit::ExitKey;

/// Rows in a table. More details than this fold into one row of their code.
pub const ROWS: usize = 128;

/// Rows that are kept free for folded details and plain codes.
const RESERVE: usize = 48;

const WINDOW: usize = ROWS;
const _: () = assert!(2 * ROWS == 1 << u8::BITS);

/// A key that no exit has; the row that takes the duration before the first exit.
const SCRATCH: ExitKey = ExitKey(1);
const SCRATCH_ROW: usize = ROWS - 1;

/// One row: figures of durations in TSC ticks. How many there were is the histogram's sum, so it is
/// not counted a second time. The alignment makes the way from a row's number to its address one
/// shift.
#[derive(Clone, Copy, Debug)]
#[repr(align(512))]
pub struct Row {
    /// What is counted.
    pub key: ExitKey,
    /// Sum of the durations.
    pub sum: u64,
    /// Shortest.
    pub min: u64,
    /// Longest.
    pub max: u64,
    /// Sum of squares.
    pub sum_squares: u128,
    /// Element `i` counts durations in `2^i .. 2^(i+1)`; 0 counts as 1.
    pub histogram: [u32; 64],
}

impl Row {
    /// A row that no exit has used: all zeros, so that tables of them take no room in the image.
    const FREE: Self =
        Self { key: ExitKey::EMPTY, sum: 0, min: 0, max: 0, sum_squares: 0, histogram: [0; 64] };

    /// How many there were.
    pub fn count(&self) -> u64 {
        self.histogram.iter().map(|&n| u64::from(n)).sum()
    }

    #[inline(always)]
    fn add(&mut self, duration: u64) {
        self.sum += duration;
        self.sum_squares += u128::from(duration) * u128::from(duration);
        if duration < self.min {
            self.min = duration;
        }
        if duration > self.max {
            self.max = duration;
        }
        self.histogram[(duration | 1).ilog2() as usize & 63] += 1;
    }
}

/// The accounts of one vCPU.
#[derive(Debug)]
pub struct Account {
    rows: [Row; 2 * ROWS],
    /// 0 or [`WINDOW`].
    table: u8,
    /// The row that the last exit will go to. A byte has as many values as there are rows.
    open: u8,
    exited_at: u64,
    used: [usize; 2],
    folded: bool,
}

impl Default for Account {
    fn default() -> Self {
        Self::new()
    }
}

impl Account {
    /// Accounts without an exit, outside any window.
    pub fn new() -> Self {
        let mut account = Self::ZERO;
        account.reset();
        account
    }

    /// All zeros: to be reset before its first use.
    pub const ZERO: Self = Self {
        rows: [Row::FREE; 2 * ROWS],
        table: 0,
        open: 0,
        exited_at: 0,
        used: [0; 2],
        folded: false,
    };

    /// Forgets everything.
    pub fn reset(&mut self) {
        // Every row, whatever it says of itself: no scenario may inherit anything.
        self.rows.fill(Row::FREE);
        self.rows[SCRATCH_ROW].key = SCRATCH;
        self.used = [0; 2];
        (self.table, self.open, self.exited_at, self.folded) = (0, SCRATCH_ROW as u8, 0, false);
    }

    /// Closes the account of the exit before: the guest was entered again at TSC `entered_at`.
    #[inline(always)]
    pub fn close(&mut self, entered_at: u64) {
        let duration = entered_at.wrapping_sub(self.exited_at);
        self.rows[usize::from(self.open)].add(duration);
    }

    /// Opens the account of an exit with `key` that happened at TSC `exited_at`.
    #[inline(always)]
    pub fn open(&mut self, key: ExitKey, exited_at: u64) {
        if !self.reopen(key, exited_at) {
            self.search(key);
        }
    }

    /// The short way of [`Account::open`]: works if the key is in its first place. Whoever gets
    /// false must call [`Account::search`].
    #[inline(always)]
    pub fn reopen(&mut self, key: ExitKey, exited_at: u64) -> bool {
        self.exited_at = exited_at;
        self.open = self.table.wrapping_add(Self::hash(key));
        self.rows[usize::from(self.open)].key == key
    }

    /// As [`Account::close`], if there is an exit to close; then none is open, whatever comes: the next
    /// trap may be none.
    #[inline(always)]
    pub fn close_once(&mut self, entered_at: u64) {
        if self.open != SCRATCH_ROW as u8 {
            self.close(entered_at);
            self.open = SCRATCH_ROW as u8;
        }
    }

    /// As [`Account::open`], for an exit that never belongs to a window: a payload call.
    pub fn open_outside(&mut self, key: ExitKey, exited_at: u64) {
        let table = core::mem::replace(&mut self.table, 0);
        self.open(key, exited_at);
        self.table = table;
    }

    /// Multiplicative hashing: one multiplication and one shift put code and detail into a row.
    #[inline(always)]
    fn hash(key: ExitKey) -> u8 {
        (key.0.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - ROWS.ilog2())) as u8
    }

    /// The long way of [`Account::open`].
    #[cold]
    #[inline(never)]
    pub fn search(&mut self, key: ExitKey) {
        self.open = self.row_of(key) as u8;
    }

    /// The row of a key in the current table, made if need be.
    fn row_of(&mut self, key: ExitKey) -> usize {
        let table = usize::from(self.table);
        let first = usize::from(Self::hash(key));
        for step in 0..ROWS {
            let at = table + (first + step) % ROWS;
            if self.rows[at].key == key {
                return at;
            }
            if self.rows[at].key == ExitKey::EMPTY {
                let used = &mut self.used[table / WINDOW];
                let plain = ExitKey::plain(key.code());
                if *used >= ROWS - RESERVE && plain != key {
                    self.folded = true;
                    return self.row_of(plain);
                }
                *used += 1;
                self.rows[at].key = key;
                self.rows[at].min = u64::MAX;
                return at;
            }
        }
        // More codes than RESERVE do not exist; were it so, the trap totals would show it.
        SCRATCH_ROW
    }

    /// From here on exits belong to a new window, whose table starts empty.
    pub fn begin_window(&mut self) {
        self.clear(WINDOW);
        self.table = WINDOW as u8;
    }

    /// From here on exits are outside again; the window's rows stay until the next one begins.
    pub fn end_window(&mut self) {
        self.table = 0;
    }

    /// Whether a window is open.
    pub fn in_window(&self) -> bool {
        usize::from(self.table) == WINDOW
    }

    /// Moves the last window's rows into the table of everything, after they were reported.
    pub fn merge_window(&mut self) {
        let table = core::mem::replace(&mut self.table, 0);
        for at in WINDOW..2 * ROWS {
            let row = self.rows[at];
            if row.key == ExitKey::EMPTY {
                continue;
            }
            let into = self.row_of(row.key);
            for (total, n) in self.rows[into].histogram.iter_mut().zip(row.histogram) {
                *total += n;
            }
        }
        self.table = table;
        self.clear(WINDOW);
    }

    /// The rows of the last window, in no order.
    pub fn window(&self) -> impl Iterator<Item = &Row> {
        self.rows[WINDOW..].iter().filter(|row| row.key != ExitKey::EMPTY)
    }

    /// Every trap by exit code: calls `report` once a code, in code order. Windows must have been
    /// merged.
    pub fn traps(&self, mut report: impl FnMut(u64, u64)) {
        let rows =
            || self.rows[..ROWS].iter().filter(|r| r.key != ExitKey::EMPTY && r.key != SCRATCH);
        let mut last = None;
        while let Some(code) =
            rows().map(|r| r.key.code()).filter(|&c| last.is_none_or(|l| c > l)).min()
        {
            report(code, rows().filter(|r| r.key.code() == code).map(Row::count).sum());
            last = Some(code);
        }
    }

    /// Whether details were folded into a row of their code.
    pub fn folded(&self) -> bool {
        self.folded
    }

    fn clear(&mut self, table: usize) {
        for row in &mut self.rows[table..table + ROWS] {
            if row.key != ExitKey::EMPTY {
                *row = Row::FREE;
            }
        }
        self.used[table / WINDOW] = 0;
        if table == 0 {
            self.rows[SCRATCH_ROW].key = SCRATCH;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use trapline_abi::exit::{CPUID, IOIO, MSR};

    fn exit(account: &mut Account, key: ExitKey, at: u64, duration: u64) {
        account.open(key, at);
        account.close(at + duration);
    }

    #[test]
    fn a_window_holds_its_own_exits_and_the_totals_hold_all() {
        let mut account = Account::new();
        account.close(5);
        exit(&mut account, ExitKey::plain(0x78), 10, 3);
        account.begin_window();
        let icr = ExitKey::access(MSR, 0x830, true);
        for duration in [100, 120, 90] {
            exit(&mut account, icr, 50, duration);
        }
        account.end_window();
        exit(&mut account, ExitKey::plain(0x78), 400, 7);
        let rows: Vec<_> = account.window().collect();
        assert_eq!(rows.len(), 1);
        let row = rows[0];
        assert_eq!((row.key, row.count(), row.sum, row.min, row.max), (icr, 3, 310, 90, 120));
        assert_eq!(row.sum_squares, 100 * 100 + 120 * 120 + 90 * 90);
        assert_eq!(row.histogram[6], 3);
        account.merge_window();
        let mut traps = Vec::new();
        account.traps(|code, count| traps.push((code, count)));
        assert_eq!(traps, [(0x78, 2), (MSR, 3)]);
    }

    #[test]
    fn a_mark_is_counted_outside_its_window_only() {
        let mark = ExitKey::number(0x81, 0x5452_4c01);
        let mut account = Account::new();
        for _ in 0..2 {
            account.begin_window();
            exit(&mut account, ExitKey::plain(0x78), 10, 3);
            account.open_outside(mark, 20);
            account.end_window();
            assert_eq!(account.window().map(|r| (r.key, r.count())).collect::<Vec<_>>().len(), 1);
            account.merge_window();
            account.close(50);
        }
        let mut traps = Vec::new();
        account.traps(|code, count| traps.push((code, count)));
        assert_eq!(traps, [(0x78, 2), (0x81, 2)]);
    }

    #[test]
    fn a_flood_of_details_folds_and_loses_no_exit() {
        let mut account = Account::new();
        account.begin_window();
        for port in 0..5000u32 {
            exit(&mut account, ExitKey::access(IOIO, port, false), 0, 1);
        }
        exit(&mut account, ExitKey::number(CPUID, 1), 0, 1);
        assert!(account.folded());
        let of = |code| account.window().filter(|r| r.key.code() == code).map(Row::count).sum();
        let (io, cpuid): (u64, u64) = (of(IOIO), of(CPUID));
        assert_eq!((io, cpuid), (5000, 1));
        account.end_window();
        account.merge_window();
        let mut total = 0;
        account.traps(|_, count| total += count);
        assert_eq!(total, 5001);
    }

    #[test]
    fn a_reset_forgets_everything() {
        let mut account = Account::new();
        exit(&mut account, ExitKey::plain(0x78), 10, 3);
        account.begin_window();
        account.open(ExitKey::plain(0x78), 20);
        account.end_window();
        account.merge_window();
        // The open exit's row is gone: this goes nowhere, and must not come back.
        account.close(23);
        account.reset();
        account.close(9);
        account.traps(|_, _| panic!("nothing happened"));
        account.begin_window();
        account.open(ExitKey::plain(0x78), 30);
        account.close(31);
        assert_eq!(account.window().map(Row::count).sum::<u64>(), 1);
    }
}
