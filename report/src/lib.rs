//! The qualification report: one model, written as JSON, from which every other form is made.
//!
//! - [`model`]: what a report says. [`schema`]: the same as JSON Schema. [`store`]: reading it back.
//! - [`waivers`]: what is known to fail and accepted, by whom and until when.
//! - [`judge`]: qualified or not, and why.
//! - [`html`]: the page for people. [`junit`], [`ktap`], [`kcidb`]: the forms for machines.
//!
//! This crate runs nothing and knows no hypervisor: whoever has results fills in the model. Every
//! rendering is a function of the model alone, so that `report.json` can be rendered again anywhere.
#![forbid(unsafe_code)]

mod cases;
mod figures;
pub mod html;
pub mod judge;
pub mod junit;
pub mod kcidb;
pub mod ktap;
pub mod model;
pub mod schema;
pub mod store;
pub mod waivers;

#[cfg(test)]
mod sample;
