//! One boot.

use super::machine::{arguments, file};
use super::{Accel, Ending, Process, Qemu, Start, TargetError, stderr};
use crate::transcript::{Decoder, Transcript};
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// How often the record file is looked at. The process's end is noticed at once.
const GLANCE: Duration = Duration::from_millis(20);

/// One QEMU process to be.
#[derive(Clone, Debug)]
pub struct Boot<'a> {
    /// QEMU.
    pub qemu: &'a Qemu,
    /// hv-core's image.
    pub core: &'a Path,
    /// What executes it.
    pub accel: Accel,
    /// How it starts.
    pub start: Start,
    /// The machine's cores: as many as any of the plan's scenarios needs.
    pub cores: u16,
    /// Whether QEMU logs its VM exits ([`crate::oracle`]). Guest timings do not change.
    pub oracle: bool,
    /// The boot's folder; made if it does not exist, and kept.
    pub dir: PathBuf,
}

/// Wall-clock limits. Time counts anew at every begin and end of a scenario.
#[derive(Clone, Debug)]
pub struct Limits {
    /// For booting, and between scenarios.
    pub start: Duration,
    /// For each scenario of the plan.
    pub scenarios: Vec<Duration>,
}

/// What came of a boot.
#[derive(Clone, Debug)]
pub struct BootRun {
    /// What hv-core said.
    pub transcript: Transcript,
    /// How QEMU ended.
    pub ending: Ending,
    /// What QEMU printed that may explain it.
    pub stderr: String,
    /// Where its files are.
    pub dir: PathBuf,
    /// From the start of QEMU to its end.
    pub wall: Duration,
}

impl BootRun {
    /// Whether it ended well and nothing is missing.
    pub fn is_good(&self) -> bool {
        self.ending == Ending::Good && self.transcript.complete
    }

    /// The error for a boot in which nothing could be run.
    pub fn into_error(self) -> TargetError {
        if self.ending == Ending::Good {
            let path = self.dir.join(file::SERIAL);
            let bytes = std::fs::metadata(&path).map_or(0, |meta| meta.len());
            return TargetError::RecordsLost { free: free_mib(&self.dir), path, bytes };
        }
        let mut evidence = String::new();
        let mut say = |who: &str, what: &str| {
            for line in what.lines() {
                evidence.push_str(&format!("\n  {who}: {line}"));
            }
        };
        for (_, text) in &self.transcript.logs {
            say("hv-core", text);
        }
        say("hv-core", self.transcript.panic().unwrap_or_default());
        say("QEMU", &self.stderr);
        TargetError::NoBoot { ending: self.ending, evidence, dir: self.dir }
    }
}

impl Boot<'_> {
    /// Runs a plan to its end, however that comes. `watch` sees the decoder after every arrival
    /// of records.
    ///
    /// # Errors
    /// Only when QEMU could not be started or its files not be written or read; everything else
    /// is in the [`BootRun`].
    pub fn run(
        &self,
        plan: &[u8],
        limits: &Limits,
        watch: &mut dyn FnMut(&Decoder),
    ) -> Result<BootRun, TargetError> {
        let log = self.prepare(plan)?;
        let started = Instant::now();
        let cannot_run = |source| TargetError::Process { path: self.qemu.path.clone(), source };
        let cannot_read =
            |source| TargetError::File { what: "read", path: self.dir.join(file::SERIAL), source };
        let mut process = Process::spawn(&mut self.command(log)?).map_err(cannot_run)?;
        let mut tail = Tail { path: self.dir.join(file::SERIAL), at: 0 };
        let mut decoder = Decoder::default();
        let mut phase = Phase { mark: (0, false), since: started };
        let ending = loop {
            let status = process.wait(GLANCE).map_err(cannot_run)?;
            if tail.feed(&mut decoder).map_err(cannot_read)? {
                watch(&decoder);
            }
            if let Some(status) = status {
                break Ending::of(status);
            }
            if let Some(limit) = phase.overrun(&decoder, limits) {
                process.kill().map_err(cannot_run)?;
                tail.feed(&mut decoder).map_err(cannot_read)?;
                break Ending::Silent(limit);
            }
        };
        Ok(BootRun {
            transcript: decoder.finish(),
            ending,
            stderr: stderr::worth_showing(&self.dir.join(file::QEMU)),
            dir: self.dir.clone(),
            wall: started.elapsed(),
        })
    }

    /// QEMU's arguments. The files that they name are in the boot's folder.
    pub fn arguments(&self) -> Vec<String> {
        arguments(self.accel, &self.start, self.oracle, self.cores)
    }

    /// The shell command that repeats the boot.
    pub fn reproduction(&self) -> String {
        let arguments = self.arguments().join(" ");
        format!("cd {} && {} {arguments}", self.dir.display(), self.qemu.path.display())
    }

    fn command(&self, log: File) -> Result<Command, TargetError> {
        let stdout = log.try_clone().map_err(|source| TargetError::File {
            what: "open",
            path: self.dir.join(file::QEMU),
            source,
        })?;
        let mut command = Command::new(&self.qemu.path);
        command
            .args(arguments(self.accel, &self.start, self.oracle, self.cores))
            .current_dir(&self.dir)
            .stdin(Stdio::null())
            .stdout(stdout)
            .stderr(log);
        Ok(command)
    }

    /// Puts the boot's files into its folder; returns QEMU's log.
    fn prepare(&self, plan: &[u8]) -> Result<File, TargetError> {
        let failed = |what, path: &Path| {
            let path = path.to_owned();
            move |source| TargetError::File { what, path, source }
        };
        std::fs::create_dir_all(&self.dir).map_err(failed("make", &self.dir))?;
        let path = self.dir.join(file::PLAN);
        std::fs::write(&path, plan).map_err(failed("write", &path))?;
        let link = self.dir.join(file::CORE);
        // QEMU says nothing of use about a kernel that is not there.
        let core = std::fs::canonicalize(self.core).map_err(failed("find", self.core))?;
        let _ = std::fs::remove_file(&link);
        std::os::unix::fs::symlink(core, &link).map_err(failed("link", &link))?;
        // Emptied here, so that records of an earlier boot are never taken for this one's.
        let serial = self.dir.join(file::SERIAL);
        File::create(&serial).map_err(failed("write", &serial))?;
        let path = self.dir.join(file::QEMU);
        File::create(&path).map_err(failed("write", &path))
    }
}

/// The record file, as it grows.
struct Tail {
    path: PathBuf,
    at: u64,
}

impl Tail {
    /// Feeds what is new; says whether there was anything.
    fn feed(&mut self, decoder: &mut Decoder) -> std::io::Result<bool> {
        let mut file = File::open(&self.path)?;
        // Up to the length that the file claims: a device would never end.
        let new = file.metadata()?.len().saturating_sub(self.at);
        if new == 0 {
            return Ok(false);
        }
        file.seek(SeekFrom::Start(self.at))?;
        let mut bytes = Vec::new();
        self.at += file.take(new).read_to_end(&mut bytes)? as u64;
        decoder.push(&bytes);
        Ok(true)
    }
}

/// The stretch of a boot that a limit applies to.
struct Phase {
    /// Scenarios begun, and whether the last is running.
    mark: (usize, bool),
    since: Instant,
}

impl Phase {
    /// The limit, if it was overrun.
    fn overrun(&mut self, decoder: &Decoder, limits: &Limits) -> Option<Duration> {
        let running = decoder.running();
        let mark = (decoder.so_far().scenarios.len(), running.is_some());
        if mark != self.mark {
            *self = Self { mark, since: Instant::now() };
        }
        let limit = running
            .and_then(|run| limits.scenarios.get(run.index as usize).copied())
            .unwrap_or(limits.start);
        (self.since.elapsed() > limit).then_some(limit)
    }
}

fn free_mib(dir: &Path) -> u64 {
    rustix::fs::statvfs(dir).map_or(0, |fs| fs.f_bavail.saturating_mul(fs.f_frsize) >> 20)
}

#[cfg(test)]
#[path = "boot_tests.rs"]
mod tests;
