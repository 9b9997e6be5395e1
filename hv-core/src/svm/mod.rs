//! SVM: turning it on, what it reads, and the world switch.

pub mod enable;
pub mod gif;
pub mod tables;
pub mod world;
