//! The model as a processor that a policy could run on.
