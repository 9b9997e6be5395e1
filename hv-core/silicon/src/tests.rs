//! Host tests by area. A test that shows a rule of the rule list starts with the rule's id; where
//! the manual leaves the rule open its name ends in `_model_defined`.

mod bench;
mod concurrency;
mod delivery;
mod description;
mod destination;
mod doorbell;
mod end_of_interrupt;
mod icr;
mod idle;
mod nested_page;
mod nmi;
mod ordering;
mod priority;
mod properties;
mod reads;
mod stale;
mod targets;
mod traffic;
mod vectors;
mod vgif;
mod vmrun;
mod writes;
