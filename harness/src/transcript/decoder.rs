//! From bytes to records to a transcript.

use super::scenario::vectors;
use super::{
    Check, End, Fault, Hello, LastExit, Place, Postmortem, Problem, Row, ScenarioRun, Stats,
    Transcript, Trap, Value, Window,
};
use trapline_abi::exit::ExitKey;
use trapline_abi::frame;
use trapline_abi::record::Record;

/// Bytes without a frame delimiter after which they are given up as no frame.
const MAX_PIECE: usize = 16 * frame::MAX_FRAME;

/// Takes the serial stream in pieces of any size, as it arrives.
#[derive(Debug, Default)]
pub struct Decoder {
    /// Bytes since the last delimiter.
    piece: Vec<u8>,
    /// The sequence number that comes next.
    next: u32,
    /// Whether the last scenario is still open.
    open: bool,
    /// How many more Exit or Last records must follow at once.
    owed: u32,
    said_goodbye: bool,
    transcript: Transcript,
}

impl Decoder {
    /// Takes the next bytes of the stream.
    pub fn push(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            if byte == 0 {
                let mut piece = std::mem::take(&mut self.piece);
                self.piece_ends(&mut piece);
                piece.clear();
                self.piece = piece;
            } else {
                self.piece.push(byte);
                if self.piece.len() == MAX_PIECE {
                    let piece = std::mem::take(&mut self.piece);
                    self.no_frame(&piece);
                }
            }
        }
    }

    /// What was decoded so far.
    pub fn so_far(&self) -> &Transcript {
        &self.transcript
    }

    /// The scenario that is running: begun and not ended.
    pub fn running(&self) -> Option<&ScenarioRun> {
        self.transcript.scenarios.last().filter(|_| self.open)
    }

    /// Whether hv-core said goodbye: nothing more will come.
    pub fn has_ended(&self) -> bool {
        self.said_goodbye
    }

    /// The stream is over.
    pub fn finish(mut self) -> Transcript {
        let piece = std::mem::take(&mut self.piece);
        if !piece.is_empty() {
            match text(&piece) {
                Some(text) => self.problem(Fault::StrayText(text)),
                None => self.problem(Fault::TornFrame { bytes: piece.len() }),
            }
        }
        self.settle_debt();
        if !self.said_goodbye {
            self.problem(Fault::NoGoodbye);
        }
        let lost = self.transcript.problems.iter().any(Problem::is_loss);
        self.transcript.complete = !lost;
        self.transcript
    }

    fn piece_ends(&mut self, piece: &mut [u8]) {
        if piece.is_empty() {
            return;
        }
        // Decoding is in place and leaves nothing to show of a piece that is no frame.
        let raw = piece.to_vec();
        match frame::decode(piece) {
            Ok((sequence, record)) => {
                self.count(sequence);
                self.record(&record);
            }
            Err(_) => self.no_frame(&raw),
        }
    }

    fn no_frame(&mut self, piece: &[u8]) {
        let fault = match text(piece) {
            Some(text) => Fault::StrayText(text),
            None => Fault::CorruptFrame { bytes: piece.len() },
        };
        self.problem(fault);
    }

    fn count(&mut self, sequence: u32) {
        if sequence < self.next {
            self.problem(Fault::StartedOver);
        } else if sequence > self.next {
            self.problem(Fault::Gap { records: sequence - self.next });
            // What was owed may be among the missing; the gap is problem enough.
            self.owed = 0;
        }
        self.next = sequence.wrapping_add(1);
    }

    fn record(&mut self, record: &Record<'_>) {
        if !matches!(record, Record::Exit { .. } | Record::Last { .. }) {
            self.settle_debt();
        }
        if self.said_goodbye {
            self.out_of_place("a record follows hv-core's goodbye");
        }
        match *record {
            Record::Hello { .. } => self.hello(record),
            Record::Log { level, text } => {
                let line = (level, text.to_owned());
                match self.run() {
                    Some(run) => run.logs.push(line),
                    None => self.transcript.logs.push(line),
                }
            }
            Record::ScenarioBegin { index, name } => {
                if self.open {
                    self.out_of_place("the next scenario begins before this one ended");
                }
                let run = ScenarioRun { index, name: name.to_owned(), ..ScenarioRun::default() };
                self.transcript.scenarios.push(run);
                self.open = true;
            }
            Record::ScenarioEnd { index, outcome, detail, ticks } => match self.run() {
                Some(run) if run.index == index => {
                    run.end = Some(End { outcome, detail: detail.to_owned(), ticks });
                    self.open = false;
                }
                Some(_) => {
                    self.out_of_place(&format!(
                        "the end of scenario {index} is in another's place"
                    ));
                    self.open = false;
                }
                None => self.out_of_place(&format!("scenario {index} ends without a beginning")),
            },
            Record::Goodbye { scenarios } => {
                if self.open {
                    self.out_of_place("hv-core says goodbye before the scenario ended");
                    self.open = false;
                }
                let ended =
                    self.transcript.scenarios.iter().filter(|run| run.end.is_some()).count();
                if ended != scenarios as usize {
                    self.out_of_place(&format!("{scenarios} scenarios were run, {ended} reported"));
                }
                self.said_goodbye = true;
            }
            Record::Panic { text } => self.problem(Fault::Panic(text.to_owned())),
            _ => match self.run() {
                Some(run) => match part(run, record) {
                    Ok(Part::Whole) => {}
                    Ok(Part::Head(rows)) => self.owed = rows,
                    Ok(Part::Row) if self.owed > 0 => self.owed -= 1,
                    Ok(Part::Row) => self.out_of_place("a table has more rows than announced"),
                    Err(what) => self.out_of_place(what),
                },
                None => self.out_of_place("a record of a scenario, but none is running"),
            },
        }
    }

    fn hello(&mut self, record: &Record<'_>) {
        let Record::Hello {
            protocol,
            boot,
            signature,
            brand,
            asids,
            svm_features,
            tsc_khz,
            cores,
            scenarios,
        } = *record
        else {
            return;
        };
        if self.transcript.hello.is_some() {
            self.out_of_place("hv-core said hello again");
            return;
        }
        if protocol != trapline_abi::PROTOCOL {
            self.problem(Fault::Protocol(protocol));
        }
        let brand = brand.to_owned();
        self.transcript.hello = Some(Hello {
            protocol,
            boot,
            signature,
            brand,
            asids,
            svm_features,
            tsc_khz,
            cores,
            scenarios,
        });
    }

    fn run(&mut self) -> Option<&mut ScenarioRun> {
        self.transcript.scenarios.last_mut().filter(|_| self.open)
    }

    /// Exit and Last records follow their head at once; fewer than announced is a loss.
    fn settle_debt(&mut self) {
        if self.owed > 0 {
            let owed = std::mem::take(&mut self.owed);
            self.out_of_place(&format!("{owed} rows of a table are missing"));
        }
    }

    fn out_of_place(&mut self, what: &str) {
        self.problem(Fault::OutOfPlace(what.to_owned()));
    }

    fn problem(&mut self, fault: Fault) {
        let place = match (self.transcript.scenarios.last(), self.open) {
            (None, _) => Place::BeforeScenarios,
            (Some(run), true) => Place::In { index: run.index, name: run.name.clone() },
            (Some(run), false) => Place::After(run.name.clone()),
        };
        self.transcript.problems.push(Problem { place, fault });
    }
}

/// How a record stands to those around it.
enum Part {
    /// It stands alone.
    Whole,
    /// So many rows follow it at once.
    Head(u32),
    /// It is such a row.
    Row,
}

/// Puts a record into its scenario.
fn part(run: &mut ScenarioRun, record: &Record<'_>) -> Result<Part, &'static str> {
    match *record {
        Record::Check { vcpu, label, expected, actual } => {
            run.checks.push(Check { vcpu, label: label.to_owned(), expected, actual });
        }
        Record::Value { vcpu, label, value } => {
            run.values.push(Value { vcpu, label: label.to_owned(), value });
        }
        Record::Window { vcpu, label, ticks, rows } => {
            run.windows.push(Window {
                vcpu,
                label: label.to_owned(),
                ticks,
                rows: Vec::new(),
                order: Vec::new(),
            });
            return Ok(Part::Head(rows));
        }
        Record::Exit { key, durations } => {
            let window = run.windows.last_mut().ok_or("a row without a window")?;
            let stats = Stats::read(&durations).ok_or("a row with a malformed histogram")?;
            window.rows.push(Row { key: ExitKey(key), stats });
            return Ok(Part::Row);
        }
        Record::Order { vcpu, keys } => {
            let window = run.windows.last_mut().filter(|window| window.vcpu == vcpu);
            let window = window.ok_or("an order of exits without its window")?;
            let (keys, []) = keys.as_chunks::<8>() else { return Err("a cut order of exits") };
            window.order = keys.iter().map(|&key| ExitKey(u64::from_le_bytes(key))).collect();
        }
        Record::Silicon { modeled, real } => run.silicon = super::Used::of(modeled, real),
        Record::Trace { vcpu, events } => {
            for event in trapline_abi::trace::read(events) {
                run.events.push((vcpu, event.map_err(|_| "a cut event")?));
            }
        }
        Record::Traps { vcpu, code, count } => run.traps.push(Trap { vcpu, code, count }),
        Record::Postmortem {
            vcpu,
            rip,
            rsp,
            rflags,
            cr2,
            interrupt_shadow,
            halted,
            tpr,
            ppr,
            irr,
            isr,
            last,
        } => {
            let (irr, isr) = (vectors(irr), vectors(isr));
            run.postmortem.push(Postmortem {
                vcpu,
                rip,
                rsp,
                rflags,
                cr2,
                interrupt_shadow,
                halted,
                tpr,
                ppr,
                irr,
                isr,
                last: Vec::new(),
            });
            return Ok(Part::Head(last));
        }
        Record::Last { key, rip, at } => {
            let postmortem =
                run.postmortem.last_mut().ok_or("a last exit without a post-mortem")?;
            postmortem.last.push(LastExit { key: ExitKey(key), rip, at });
            return Ok(Part::Row);
        }
        _ => return Err("a record that belongs to no scenario"),
    }
    Ok(Part::Whole)
}

/// The piece as text, when it looks like text. Long text is cut: it is evidence, not data.
fn text(piece: &[u8]) -> Option<String> {
    let text = std::str::from_utf8(piece).ok()?;
    let plain = |c: char| !c.is_control() || matches!(c, '\n' | '\r' | '\t' | '\x1b' | '\x08');
    text.chars().all(plain).then(|| text.chars().take(200).collect())
}

#[cfg(test)]
#[path = "decoder_tests.rs"]
mod tests;
