//! The command as a user meets it: a workspace, a QEMU and images that behave as each test
//! needs, and exit codes, messages and files as they come out.

mod bad_input;
mod blessing;
mod fixture;
mod reading;
mod running;
