//! A child process that cannot outlive its owner.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::OwnedFd;
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use std::io;
use std::process::{Child, Command, ExitStatus};
use std::time::Duration;

/// A running process; killed and reaped when dropped.
///
/// It stays in our process group: a test runner that ends a test signals the group, and a
/// terminal's interrupt reaches it too.
#[derive(Debug)]
pub struct Process {
    child: Child,
    /// `None` on kernels without pidfds; waiting is then done in short sleeps.
    pidfd: Option<OwnedFd>,
}

impl Process {
    /// Starts it.
    ///
    /// # Errors
    /// What the system says.
    pub fn spawn(command: &mut Command) -> io::Result<Self> {
        let child = command.spawn()?;
        let pidfd = i32::try_from(child.id())
            .ok()
            .and_then(Pid::from_raw)
            .and_then(|pid| pidfd_open(pid, PidfdFlags::empty()).ok());
        Ok(Self { child, pidfd })
    }

    /// Waits at most that long for its end; `None` when it still runs.
    ///
    /// # Errors
    /// What the system says.
    pub fn wait(&mut self, at_most: Duration) -> io::Result<Option<ExitStatus>> {
        if let Some(pidfd) = &self.pidfd {
            let timeout = Timespec::try_from(at_most).unwrap_or(Timespec { tv_sec: 1, tv_nsec: 0 });
            // An interrupted poll is a short wait; callers wait in a loop.
            match poll(&mut [PollFd::new(pidfd, PollFlags::IN)], Some(&timeout)) {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        } else if self.child.try_wait()?.is_none() {
            std::thread::sleep(at_most.min(Duration::from_millis(5)));
        }
        self.child.try_wait()
    }

    /// Kills it and waits for its end.
    ///
    /// # Errors
    /// What the system says.
    pub fn kill(&mut self) -> io::Result<ExitStatus> {
        self.child.kill()?;
        self.child.wait()
    }

    /// Its process id.
    pub fn id(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may be gone already; there is nobody to tell otherwise.
        let _ = self.kill();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Instant;

    fn sleeper() -> Process {
        Process::spawn(Command::new("sleep").arg("100")).unwrap()
    }

    #[test]
    fn waiting_ends_at_the_time_out_or_at_the_end() {
        let start = Instant::now();
        let mut process = sleeper();
        assert_eq!(process.wait(Duration::from_millis(30)).unwrap(), None);
        assert!(start.elapsed() >= Duration::from_millis(4));
        let mut short = Process::spawn(&mut Command::new("true")).unwrap();
        let status = loop {
            if let Some(status) = short.wait(Duration::from_secs(10)).unwrap() {
                break status;
            }
        };
        assert!(status.success());
        assert!(start.elapsed() < Duration::from_secs(5));
    }

    #[test]
    fn a_dropped_process_is_gone() {
        let process = sleeper();
        let path = format!("/proc/{}", process.id());
        assert!(std::path::Path::new(&path).exists());
        drop(process);
        assert!(!std::path::Path::new(&path).exists());
    }
}
