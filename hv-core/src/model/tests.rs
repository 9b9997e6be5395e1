//! The model as a processor that a policy runs on.

mod accesses;
mod features;
mod machine;
mod traffic;
mod traps;
