//! The command as a user meets it: a workspace, a QEMU and images that behave as each test
//! needs, and exit codes, messages and files as they come out. [`real`] has the real QEMU and the
//! built images instead.

mod bad_input;
mod blessing;
mod collecting;
mod comparing;
mod fixture;
mod imported;
mod importing;
mod interrupted;
mod merging;
mod qualifying;
mod reading;
mod real;
mod reference;
mod running;
